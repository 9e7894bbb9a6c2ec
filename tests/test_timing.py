"""The section timer, with a replaced clock and a stand-in for an asynchronous GPU."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.timing import MEANINGS, Sections


class Clock:
    """A clock that advances only by `advance`."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


class Gpu:
    """A GPU that runs launches one after the other, concurrently with the host, until `busy_until`."""

    kind, name, measures_time = "cuda", "stand-in GPU", True

    def __init__(self, clock):
        self.clock, self.busy_until, self.waits = clock, clock.now, True

    def launch(self, seconds):
        self.busy_until = max(self.busy_until, self.clock.now) + seconds
        if self.waits:
            self.synchronize()

    def record_event(self):
        return max(self.busy_until, self.clock.now)

    def elapsed_ms(self, start, stop):
        return (stop - start) * 1e3

    def synchronize(self):
        self.clock.now = max(self.busy_until, self.clock.now)

    @contextmanager
    def asynchronous_launches(self):
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
    """Return the seconds of each section that ran."""
    return {row.name: row.seconds for row in timers.report() if row.spans}


def spans(timers, name):
    """Return the start and the end of each span of a section."""
    (row,) = (row for row in timers.report() if row.name == name)
    return [(span.start_s, span.stop_s) for span in row.spans]


def test_section_has_the_time_of_its_block(clock):
    timers = Sections(clock=clock)
    with timers.section("IO"):
        clock.advance(3)
    assert seconds(timers) == {"IO": 3}


def test_time_between_sections_belongs_to_none(clock):
    timers = Sections(clock=clock)
    clock.advance(1)
    with timers.section("IO"):
        clock.advance(2)
    clock.advance(4)
    with timers.section("Compute"):
        clock.advance(8)
    assert seconds(timers) == {"IO": 2, "Compute": 8}


def test_spans_of_a_repeated_section_add_up(clock):
    timers = Sections(clock=clock)
    for _ in range(3):
        with timers.section("Copy"):
            clock.advance(2)
        clock.advance(1)
    assert spans(timers, "Copy") == [(0, 2), (3, 5), (6, 8)]


def test_inner_section_interrupts_the_outer_one(clock):
    timers = Sections(clock=clock)
    with timers.section("Compute"):
        clock.advance(1)
        with timers.section("IO"):
            clock.advance(2)
        clock.advance(4)
    assert seconds(timers) == {"IO": 2, "Compute": 5}
    assert timers.overlap == 0


def test_section_that_raises_is_counted_and_closed(clock):
    timers = Sections(clock=clock)

    def failing():
        with timers.section("IO"):
            clock.advance(2)
            raise OSError

    with timers.section("Compute"):
        with pytest.raises(OSError):
            failing()
        clock.advance(4)
    assert seconds(timers) == {"IO": 2, "Compute": 4}


def test_gpu_section_without_a_device_is_timed_by_the_host(clock):
    timers = Sections(clock=clock)
    with timers.section("GPU"):
        clock.advance(5)
    assert seconds(timers) == {"GPU": 5}
    assert timers.overlap == 0


def test_gpu_section_on_the_simulator_is_simulator_wall_time(clock):
    timers = Sections(gpulab.device("sim"), clock=clock)
    with timers.section("GPU"):
        clock.advance(5)
    (row,) = (row for row in timers.report() if row.spans)
    assert (row.name, row.asynchronous, row.provenance.kind) == ("GPU", False, "simulator wall time")


def test_gpu_section_overlaps_with_the_host(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("GPU"):
        clock.advance(1)  # the host submits the kernel
        gpu.launch(10)
    with timers.section("Compute"):
        clock.advance(4)
    timers.wait()
    assert seconds(timers) == {"GPU": 11, "Driver": 1, "Compute": 4}
    assert spans(timers, "GPU") == [(0, 11)]
    assert timers.overlap == 5  # Driver and Compute


def test_wait_belongs_to_no_section(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("Compute"):
        with timers.section("GPU"):
            gpu.launch(10)
        timers.wait()
        clock.advance(2)
    assert seconds(timers) == {"GPU": 10, "Compute": 2}
    assert timers.overlap == 0


def test_time_in_the_queue_is_not_part_of_a_kernel(clock, gpu):
    timers = Sections(gpu, clock=clock)
    for length in (3, 4):
        with timers.section("GPU"):
            gpu.launch(length)
    assert spans(timers, "GPU") == [(0, 3), (3, 7)]


def test_asynchronous_copy_has_its_own_section(clock, gpu):
    timers = Sections(gpu, clock=clock)
    with timers.section("Copy_Async"):
        gpu.launch(2)
    with timers.section("GPU"):
        gpu.launch(5)
    with timers.section("IO"):
        clock.advance(3)
    assert seconds(timers) == {"IO": 3, "GPU": 5, "Copy_Async": 2}
    assert timers.overlap == 3


def test_clocks_of_host_and_gpu_start_together(clock, gpu):
    gpu.waits = False
    gpu.launch(50)  # before the timers are created
    timers = Sections(gpu, clock=clock)
    with timers.section("GPU"):
        gpu.launch(1)
    assert spans(timers, "GPU") == [(0, 1)]


def test_report_has_every_section_in_parboils_order():
    rows = Sections().report()
    assert [row.name for row in rows] == ["IO", "GPU", "Copy", "Driver", "Copy_Async", "Compute"]
    assert [row.name for row in rows] == list(MEANINGS)


def test_unknown_section_raises_with_the_list_of_sections():
    with pytest.raises(UsageError, match=r"`Kernel`.*IO, GPU, Copy"), Sections().section("Kernel"):
        pass


def test_module_is_available_after_importing_gpulab():
    assert gpulab.timing.Sections is Sections
