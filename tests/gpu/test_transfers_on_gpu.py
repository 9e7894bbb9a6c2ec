"""Tests of copies on a GPU, and of sections that overlap with the host."""

from __future__ import annotations

import numpy as np

import gpulab
from gpulab.devices.base import Device
from gpulab.problems import problem
from gpulab.profiling.transfers import time_copies, time_copy

SPIN = """extern "C" __global__ void spin(long long cycles, int* out) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
    out[0] = 1;
}"""


def test_copies_are_measured_in_both_directions(gpu: Device) -> None:
    for to_device in (True, False):
        for pinned in (True, False):
            copy = time_copy(gpu, 2**24, to_device=to_device, pinned=pinned)
            assert copy.timing.provenance.kind == "measured"
            assert copy.gb_s > 0.1


def test_copies_of_a_problem_are_measured(gpu: Device) -> None:
    assert time_copies(gpu, problem("matmul"), (1024, 1024, 1024)).provenance.kind == "measured"


def test_transfer_table_shows_measured_times(gpu: Device) -> None:
    assert "measured" in gpulab.transfer_table((2**16, 2**24), device=gpu).text


def test_kernel_overlaps_the_hosts_sections(gpu: Device) -> None:
    kernel, out = gpu.compile(SPIN), gpu.zeros(1, np.int32)
    kernel(1, 1, (1, out))
    timers = gpulab.timing.Sections(gpu)
    with timers.section("GPU"):
        kernel(1, 1, (200_000_000, out))
    with timers.section("Compute"):
        sum(range(100_000))
    timers.wait()
    times = {row.name: row.seconds for row in timers.report()}
    assert times["GPU"] > times["Driver"] > 0
    assert timers.overlap > 0
