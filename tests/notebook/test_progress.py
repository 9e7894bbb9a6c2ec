"""The progress bar: only for work of more than a second, and nothing of it stays."""

from __future__ import annotations

import threading

import pytest

from gpulab.notebook.progress import Progress


class Watched:
    """A screen that remembers what was shown."""

    def __init__(self):
        self.bars = []
        self.drawn = threading.Event()

    def add(self, view): ...

    def bar(self, view):
        self.bars.append(view.text if view else None)
        self.drawn.set()


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def clock():
    return Clock()


def test_quick_work_shows_no_bar(watched, clock):
    with Progress(watched, "checking", clock=clock) as step:
        for done in range(3):
            clock.now += 0.3
            step(done, 3, "65x47x9")
    assert watched.bars == []


def test_long_work_shows_what_is_done_and_what_is_next(watched, clock):
    with Progress(watched, "checking", clock=clock) as step:
        clock.now = 2.0
        step(1, 4, "33x70x3")
    assert watched.bars[0] == "checking [#####...............] 1 of 4: 33x70x3"


def test_a_single_long_step_is_shown_while_it_runs(watched):
    with Progress(watched, "checking", patience_s=0.01) as step:
        step(0, 1, "128x128x64")
        assert watched.drawn.wait(10)
    assert watched.bars == ["checking [....................] 0 of 1: 128x128x64", None]


def test_the_bar_is_taken_away_at_the_end(watched, clock):
    with Progress(watched, "checking", clock=clock) as step:
        clock.now = 2.0
        step(1, 4)
    assert watched.bars[-1] is None


def test_the_bar_is_taken_away_after_an_error(watched, clock):
    def fail():
        with Progress(watched, "checking", clock=clock) as step:
            clock.now = 2.0
            step(1, 4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert watched.bars[-1] is None


def test_the_bar_is_drawn_ten_times_a_second_at_most(watched, clock):
    with Progress(watched, "checking", clock=clock) as step:
        for done in range(100):
            clock.now = 2.0 + done / 100
            step(done, 100)
    assert len(watched.bars) <= 12
