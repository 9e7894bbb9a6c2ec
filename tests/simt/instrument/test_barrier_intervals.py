"""Barrier intervals that repeat earlier ones: they are not checked, and the findings are the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpulab
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.simt.codegen import native
from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder
from gpulab.simt.instrument.racecheck.shadow_layout import RECORD_BYTES, RECORDS_BYTES

BLOCKS, THREADS = 3, 64
RECORDS = RECORDS_BYTES // RECORD_BYTES

# Loops of 8 iterations, each with the kinds of its races. BARRIER is replaced by __syncthreads(), and READS
# by reads of eight neighbouring elements, which the race check handles as one group.
LOOPS: dict[str, tuple[str, set[str]]] = {
    "no race": ("s[t] = it; BARRIER sum += s[63 - t]; BARRIER", set()),
    "no barrier before reads": (
        "s[t] = it; if (it != 5) BARRIER sum += s[63 - t]; BARRIER",
        {"write_after_read"},
    ),
    "no barrier after reads": (
        "s[t] = it; BARRIER sum += s[63 - t]; if (it != 5) BARRIER",
        {"read_after_write"},
    ),
    "no barrier after a group of reads": (
        "s[t] = it; BARRIER READS if (it != 5) BARRIER",
        {"write_after_read"},
    ),
    "other elements are read": (
        "s[t] = it; BARRIER sum += s[it == 5 ? 700 + t : 63 - t]; BARRIER",
        {"uninitialized_read"},
    ),
    "two warps write one element": (
        "s[t + (it == 5 && t == 31)] = t + it; BARRIER sum += s[63 - t]; BARRIER",
        {"write_after_write"},
    ),
    "a write after reads": (
        "s[t] = it; BARRIER READS sum += s[t]; if (it == 5 && t == 40) s[5] = 3; BARRIER",
        {"write_after_read"},
    ),
    "a read between writes": (
        "s[t] = it; if (it == 5) sum += s[63 - t]; s[64 + t] = it; BARRIER READS BARRIER",
        {"write_after_read"},
    ),
    "some lanes are inactive": (
        "if (t < 40 + it / 7) s[t] = it; BARRIER if (t < 40 + it / 6) sum += s[t]; BARRIER",
        {"uninitialized_read"},
    ),
    "two buffers": (
        "s[it % 2 * 64 + t] = it; if (it) sum += s[(it - 1) % 2 * 64 + (t ^ 33)]; BARRIER",
        set(),
    ),
    "two buffers, one of them too early": (
        "s[it % 2 * 64 + t] = it; if (it) sum += s[(it + (it == 6) - 1) % 2 * 64 + (t ^ 33)]; BARRIER",
        {"write_after_read"},
    ),
    "a warp barrier in one iteration": (
        "s[t] = it; if (it == 5) { __syncwarp(); sum += s[t ^ 1]; } BARRIER READS BARRIER",
        set(),
    ),
    "a warp barrier is missing in one iteration": (
        "s[t] = it; if (it != 5) __syncwarp(); sum += s[t ^ 1]; BARRIER READS BARRIER",
        {"read_after_write"},
    ),
    "atomic operations in one iteration": (
        "if (it == 5) atomicAdd(&s[3], 1); else s[t] = it; BARRIER READS if (it == 6) s[3] = it; BARRIER",
        {"write_after_read"},
    ),
    "a barrier of some warps": (
        """s[t] = it; BARRIER
        if (it == 5 && t < 32) { asm volatile("bar.sync 1, 32;"); s[40 + t / 8] = t; }
        sum += s[t]; BARRIER""",
        {"write_after_read"},
    ),
    "more accesses than records": (
        f"""s[t] = it; BARRIER
        _Pragma("unroll 1") for (int k = 0; k < {RECORDS}; k++) sum += s[(k + t) % 64];
        if (it == 5 && t == 40) s[5] = 3;
        BARRIER""",
        {"write_after_read"},
    ),
    "a race in global memory": (
        "s[t] = it; BARRIER READS x[it == 5 ? 7 : t] = sum; BARRIER",
        {"write_after_write"},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)


def source_of(loop: str) -> str:
    loop = loop.replace("BARRIER", "__syncthreads();")
    loop = loop.replace("READS", '_Pragma("unroll") for (int k = 0; k < 8; k++) sum += (k + 1) * s[k];')
    return f"""extern "C" __global__ void k(int* x)
{{
    __shared__ int s[1024];
    int t = threadIdx.x, sum = 0;
    _Pragma("unroll 1") for (int it = 0; it < 8; it++) {{ {loop} }}
    x[blockIdx.x * {THREADS} + t] = sum;
}}"""


@pytest.mark.parametrize(("loop", "kinds"), LOOPS.values(), ids=LOOPS)
def test_findings_are_those_of_code_that_checks_every_access(
    monkeypatch: pytest.MonkeyPatch, loop: str, kinds: set[str]
) -> None:
    device = gpulab.device("sim")
    outcomes = []
    for seconds in (1e9, 0.0):  # never optimised, and optimised before the launch
        monkeypatch.setattr(native, "OPTIMIZATION_S", seconds)
        kernel = device.compile(source_of(loop))
        found = gpulab.sanitize(kernel, BLOCKS, THREADS, (device.empty(BLOCKS * THREADS, np.int32),))
        outcomes.append([re.sub("0x[0-9a-f]+", "", f"{finding} {finding.count}") for finding in found])
    assert outcomes[0] == outcomes[1]
    assert {finding.kind for finding in found} == kinds


def last_write(monkeypatch: pytest.MonkeyPatch, loop: str) -> tuple[int, int]:
    """Return the time of the last recorded write of s[0], and the time of the end of the launch."""
    monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    kernel = device.compile(source_of(loop))
    x = device.empty(THREADS, np.int32)
    recorder = RacecheckRecorder(device.memory, 1)
    kernel.record(recorder, (1, 1, 1), (THREADS, 1, 1), [x])
    assert not recorder.hazards()
    assert recorder.state.shared is not None
    return recorder.state.shared.write_times[0], recorder.state.now


@pytest.mark.parametrize("reads", ["sum += s[63 - t];", "READS", "sum += s[t / 16 * 16];"])
def test_repeated_intervals_are_not_recorded_in_the_shadow(
    monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    written, end = last_write(monkeypatch, f"s[t] = it; BARRIER {reads} BARRIER")
    assert end - written > 12  # two intervals in each of the last six iterations


@pytest.mark.parametrize("between", ["__syncwarp();", "__threadfence_block();", "atomicAdd(&s[t], 1);"])
def test_intervals_with_other_synchronization_are_checked(
    monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    written, end = last_write(
        monkeypatch, f"s[t] = it; {between} sum += s[t]; BARRIER sum += s[63 - t]; BARRIER"
    )
    assert end - written < 12
