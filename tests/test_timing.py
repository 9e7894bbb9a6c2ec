"""The section timer, with a clock that is told what to say."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.timing import MEANINGS, Sections


class Clock:
    """Seconds that pass only when they are told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def after(self, seconds):
        self.now += seconds


class Gpu:
    """A GPU that runs what it is given one after the other, beside the host. `busy` is until when."""

    kind, name, measures_time = "cuda", "stand-in GPU", True

    def __init__(self, clock):
        self.clock, self.busy, self.waits = clock, clock.now, True

    def launch(self, seconds):
        self.busy = max(self.busy, self.clock.now) + seconds
        if self.waits:
            self.synchronize()

    def mark(self):
        return max(self.busy, self.clock.now)

    def between(self, start, stop):
        return (stop - start) * 1e3

    def synchronize(self):
        self.clock.now = max(self.busy, self.clock.now)

    @contextmanager
    def queueing(self):
        self.waits = False
        yield
        self.waits = True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def gpu(clock):
    return Gpu(clock)


def seconds(timers):
    return {row.name: row.seconds for row in timers.report() if row.spans}


def spans(timers, name):
    (row,) = (row for row in timers.report() if row.name == name)
    return [(span.start_s, span.stop_s) for span in row.spans]


def test_a_section_has_the_time_of_its_block(clock):
    timers = Sections(clock=clock)
    with timers.section("IO"):
        clock.after(3)
    assert seconds(timers) == {"IO": 3}


def test_time_between_sections_is_nobodys(clock):
    timers = Sections(clock=clock)
    clock.after(1)
    with timers.section("IO"):
        clock.after(2)
    clock.after(4)
    with timers.section("Compute"):
        clock.after(8)
    assert seconds(timers) == {"IO": 2, "Compute": 8}


def test_a_section_comes_back_and_adds_up(clock):
    timers = Sections(clock=clock)
    for _ in range(3):
        with timers.section("Copy"):
            clock.after(2)
        clock.after(1)
    assert spans(timers, "Copy") == [(0, 2), (3, 5), (6, 8)]


def test_an_inner_section_takes_the_time_over_until_it_ends(clock):
    timers = Sections(clock=clock)
    with timers.section("Compute"):
        clock.after(1)
        with timers.section("IO"):
            clock.after(2)
        clock.after(4)
    assert seconds(timers) == {"IO": 2, "Compute": 5}
    assert timers.overlap == 0


def test_a_section_that_fails_is_counted_and_left(clock):
    timers = Sections(clock=clock)

    def failing():
        with timers.section("IO"):
            clock.after(2)
            raise OSError

    with timers.section("Compute"):
        with pytest.raises(OSError):
            failing()
        clock.after(4)
    assert seconds(timers) == {"IO": 2, "Compute": 4}


def test_without_a_gpu_kernels_are_timed_like_everything_else(clock):
    timers = Sections(clock=clock)
    with timers.section("GPU"):
        clock.after(5)
    assert seconds(timers) == {"GPU": 5}
    assert timers.overlap == 0


def test_the_simulators_kernels_are_the_simulators_time(clock):
    timers = Sections(gpulab.device("sim"), clock=clock)
    with timers.section("GPU"):
        clock.after(5)
    (row,) = (row for row in timers.report() if row.spans)
    assert (row.name, row.asynchronous, row.provenance.kind) == ("GPU", False, "simulator wall time")


def test_a_gpu_runs_beside_the_host(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("GPU"):
        clock.after(1)  # putting it into the queue
        gpu.launch(10)
    with timers.section("Compute"):
        clock.after(4)
    timers.wait()
    assert seconds(timers) == {"GPU": 11, "Driver": 1, "Compute": 4}
    assert spans(timers, "GPU") == [(0, 11)]
    assert timers.overlap == 5  # Driver and Compute


def test_waiting_for_the_gpu_is_no_sections_time(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("Compute"):
        with timers.section("GPU"):
            gpu.launch(10)
        timers.wait()
        clock.after(2)
    assert seconds(timers) == {"GPU": 10, "Compute": 2}
    assert timers.overlap == 0


def test_kernels_that_wait_in_the_queue_are_not_timed_while_they_wait(clock, gpu):
    timers = Sections(gpu, clock=clock)
    for length in (3, 4):
        with timers.section("GPU"):
            gpu.launch(length)
    assert spans(timers, "GPU") == [(0, 3), (3, 7)]


def test_a_copy_that_nobody_waits_for_is_a_section_of_its_own(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("Copy_Async"):
        gpu.launch(2)
    with timers.section("GPU"):
        gpu.launch(5)
    with timers.section("IO"):
        clock.after(3)
    assert seconds(timers) == {"IO": 3, "GPU": 5, "Copy_Async": 2}
    assert timers.overlap == 3


def test_the_clocks_of_host_and_gpu_begin_together(clock, gpu):
    gpu.waits = False
    gpu.launch(50)  # before the timers were made
    timers = Sections(gpu, clock=clock)
    with timers.section("GPU"):
        gpu.launch(1)
    assert spans(timers, "GPU") == [(0, 1)]


def test_the_report_has_every_section_in_parboils_order():
    rows = Sections().report()
    assert [row.name for row in rows] == ["IO", "GPU", "Copy", "Driver", "Copy_Async", "Compute"]
    assert [row.name for row in rows] == list(MEANINGS)


def test_an_unknown_section_is_told_what_there_is():
    with pytest.raises(UsageError, match=r"`Kernel`.*IO, GPU, Copy"), Sections().section("Kernel"):
        pass


def test_the_module_is_there_after_importing_gpulab():
    assert gpulab.timing.Sections is Sections
