"""The right answers of lab 0, compared with counters, the occupancy calculator and the timeline's model."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.streams import DeviceOperation, Stream
from gpulab.exercises import kernel_exercises
from gpulab.exercises.lab0_exercises import (
    BLOCKS,
    CASE_BRANCH,
    COPIES,
    OCCUPANCY,
    OVERLAP,
    PEAK,
    SECTORS,
)
from gpulab.exercises.number_exercise import ExerciseTask
from gpulab.profiling.timeline import _ModelClock

KEYS = [f"student {number}" for number in range(8)]
LOADS = """
__global__ void shifted(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x + n]; }
__global__ void shared(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x / n]; }
__global__ void strided(const float* x, float* y, int n) { y[threadIdx.x] = x[n * threadIdx.x]; }
"""


def test_peaks_of_a_catalogue_gpu_are_those_of_its_data_sheet() -> None:
    spec = gpulab.gpu("rtx3090")
    task = ExerciseTask(sms=82, cores_per_sm=128, clock_mhz=1695, memory_mhz=9751, bus_bits=384)
    right = PEAK.right(task)
    assert right["tflops"] == pytest.approx(35.6, rel=0.01)
    assert right["gb_s"] == pytest.approx(spec.dram_gb_s, rel=0.01)


@pytest.mark.parametrize("key", KEYS)
def test_sectors_are_those_that_the_simulator_counts(key: str) -> None:
    task, dev = SECTORS.draw(key), gpulab.device("sim")
    x, y = dev.zeros(32 * 32), dev.zeros(32)
    launches = {"shifted": (task.lanes, task.shift), "shared": (32, task.share), "strided": (32, task.stride)}
    counted = {
        name: gpulab.counters(dev.compile(LOADS, name), 1, lanes, (x, y, n)).sectors_per_load_request
        for name, (lanes, n) in launches.items()
    }
    assert SECTORS.right(task) == counted


@pytest.mark.parametrize("key", KEYS)
def test_best_block_has_the_largest_occupancy_alone(key: str) -> None:
    task = OCCUPANCY.draw(key)
    h200, shared = gpulab.gpu("h200"), 1024 * task.shared_kib
    fractions = {b: gpulab.occupancy(h200, b, task.registers, shared).fraction for b in BLOCKS}
    best = OCCUPANCY.right(task)["best"]
    assert [b for b in BLOCKS if fractions[b] == fractions[best]] == [best]
    assert fractions[best] == max(fractions.values())


@pytest.mark.parametrize("key", KEYS)
def test_occupancy_follows_from_the_table_of_the_lab(key: str) -> None:
    task = OCCUPANCY.draw(key)
    limits = 65536 // (task.registers * task.threads), 228 // (task.shared_kib + 1), 2048 // task.threads
    assert OCCUPANCY.right(task)["blocks"] == min(limits)


@pytest.mark.parametrize("key", KEYS)
def test_pipeline_takes_the_time_of_the_modelled_schedule(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = OVERLAP.draw(key)
    durations = {"copy to device": task.in_ms, "kernel": task.kernel_ms, "copy to host": task.out_ms}
    clock = _ModelClock(gpulab.device("sim"))
    monkeypatch.setattr(clock, "_duration_ms", lambda operation: durations[operation.kind])
    streams: list[Stream] = [gpulab.device("sim").stream() for _ in range(2)]
    for part in range(task.parts):
        for kind in durations:
            with clock.observe(DeviceOperation(kind, "", streams[part % 2], pinned=True)):
                pass
    assert OVERLAP.right(task)["two_streams_ms"] == max(span.stop_ms for span in clock.spans())


@pytest.mark.parametrize("key", KEYS)
def test_bus_takes_longer_than_the_memory_of_the_device(key: str) -> None:
    right = COPIES.right(COPIES.draw(key))
    assert right["bus_us"] > right["kernel_us"] > 0


def test_case_has_one_right_option_for_each_choice() -> None:
    right = CASE_BRANCH.right(CASE_BRANCH.draw(""))
    for quantity in CASE_BRANCH.quantities:
        assert not quantity.options or right[quantity.name] in quantity.options


def test_sum_in_floats_is_not_taken_for_a_forgotten_start() -> None:
    for seed in range(200):
        case = next(kernel_exercises()["total"].cases(np.random.default_rng(seed)))
        x, _, start = case.args
        assert int(np.float32(x[0])) + start[0] != case.expected[2][0] - start[0]


def test_sums_of_cases_are_exact() -> None:
    for case in kernel_exercises()["total"].cases(np.random.default_rng(0)):
        x, n, start = case.args
        assert case.expected[2][0] == start[0] + int(x[:n].sum())
