"""The progress bar: shown after a second, updated at a limited rate, and removed at the end."""

from __future__ import annotations

import threading

import pytest

from gpulab.notebook.progress import Progress


class RecordingScreen:
    """Screen that records the text of each bar."""

    def __init__(self):
        self.bars = []
        self.drawn = threading.Event()

    def add(self, view): ...

    def bar(self, view):
        self.bars.append(view.text if view else None)
        self.drawn.set()


class ManualClock:
    """Clock whose time the test sets."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def screen():
    return RecordingScreen()


@pytest.fixture
def clock():
    return ManualClock()


def test_short_work_shows_no_bar(screen, clock):
    with Progress(screen, "checking", clock=clock) as step:
        for done in range(3):
            clock.now += 0.3
            step(done, 3, "65x47x9")
    assert screen.bars == []


def test_bar_shows_completed_steps_and_the_current_label(screen, clock):
    with Progress(screen, "checking", clock=clock) as step:
        clock.now = 2.0
        step(1, 4, "33x70x3")
    assert screen.bars[0].count("#") == 5
    assert "33x70x3" in screen.bars[0]


def test_single_long_step_shows_a_bar_while_it_runs(screen):
    with Progress(screen, "checking", patience_s=0.01) as step:
        step(0, 1, "128x128x64")
        assert screen.drawn.wait(10)
    assert "128x128x64" in screen.bars[0]
    assert screen.bars[1:] == [None]


def test_bar_is_removed_at_the_end(screen, clock):
    with Progress(screen, "checking", clock=clock) as step:
        clock.now = 2.0
        step(1, 4)
    assert screen.bars[-1] is None


def test_bar_is_removed_after_an_error(screen, clock):
    def fail():
        with Progress(screen, "checking", clock=clock) as step:
            clock.now = 2.0
            step(1, 4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert screen.bars[-1] is None


def test_bar_is_drawn_at_most_ten_times_a_second(screen, clock):
    with Progress(screen, "checking", clock=clock) as step:
        for done in range(100):
            clock.now = 2.0 + done / 100
            step(done, 100)
    assert len(screen.bars) <= 12
