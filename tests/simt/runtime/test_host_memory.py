"""Memory of the simulated devices: the shared limit, and pages that are committed on the first write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.devices.simulator import simulated_device
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.errors import LaunchError
from gpulab.model.profile import profile_variant
from gpulab.simt.runtime import host_memory
from gpulab.simt.runtime.host_memory import Contents, MemoryBudget, filled, host_bytes

MIB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="pages are shared on Linux only")


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> MemoryBudget:
    """A budget of 8 MiB for the devices that a test opens."""
    lowered = MemoryBudget(8 * MIB)
    monkeypatch.setattr(simulated_device, "host_budget", lambda: lowered)
    return lowered


def test_full_memory_raises_with_the_limit(budget: MemoryBudget) -> None:
    device = SimulatedDevice("h200")
    kept = device.zeros(6 * MIB, np.uint8)
    with pytest.raises(LaunchError, match=r"take 6,291,456 bytes of 8,388,608 bytes, 75 %"):
        device.zeros(3 * MIB, np.uint8)
    assert kept.nbytes == budget.used


def test_devices_share_the_limit(budget: MemoryBudget) -> None:
    first, second = SimulatedDevice("h200"), SimulatedDevice("gtx280")
    kept = first.zeros(6 * MIB, np.uint8)
    with pytest.raises(LaunchError, match="all simulated devices"):
        second.zeros(3 * MIB, np.uint8)
    del kept
    assert second.zeros(3 * MIB, np.uint8).nbytes == budget.used


def test_arrays_in_a_reference_cycle_are_freed_under_pressure(budget: MemoryBudget) -> None:
    device = SimulatedDevice("h200")
    cycle: dict[str, object] = {"array": device.zeros(6 * MIB, np.uint8)}
    cycle["itself"] = cycle
    del cycle
    device.zeros(6 * MIB, np.uint8)
    assert budget.used <= 6 * MIB


def test_failed_allocation_takes_nothing_from_the_limit(
    budget: MemoryBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gpulab.simt.runtime.allocation.filled", fail)
    with pytest.raises(LaunchError, match="host has no memory"):
        SimulatedDevice("h200").zeros(4)
    assert budget.used == 0


def test_profiles_of_a_problem_keep_no_arrays(budget: MemoryBudget) -> None:
    source = """%%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx) Anext[i] = fac * A0[i];
}"""
    config = require_kernel_cell(parse_cell(source)).config
    device = SimulatedDevice("h200")
    kernel = device.compile(source.split("\n", 1)[1], defines=config.defines)
    shape = (128, 128, 48)  # two arrays of 3 MiB
    profiles = [profile_variant(kernel, config, device=device, shape=shape) for _ in range(3)]
    assert profiles[0].counters.global_load_requests > 0
    assert len(profiles) == 3


GROWTH = """
import re
from pathlib import Path
from gpulab.simt.runtime.host_memory import filled

def resident_kib():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text(encoding="ascii"))[1])

filled(32 << 20, "{contents}")  # creates the shared pages
before = resident_kib()
array = filled(256 << 20, "{contents}")
print(resident_kib() - before >> 10)
array[: 64 << 20] = 1
print(resident_kib() - before >> 10)
"""


@linux
@pytest.mark.parametrize("contents", ["poison", "zeros"])
def test_large_array_takes_pages_when_they_are_written(contents: Contents) -> None:
    # In a process of its own, because a heap that has grown serves an array from pages that it holds.
    code = GROWTH.format(contents=contents)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    allocated, written = map(int, result.stdout.split())  # MiB
    assert allocated < 16
    assert 56 < written < 96


@pytest.mark.parametrize("size", [5, 16 * MIB, 20 * MIB + 123])
def test_every_byte_is_poison_until_it_is_written(size: int) -> None:
    array = filled(size, "poison")
    assert (array == host_memory.POISON).all()
    array[size // 2] = 7
    assert np.flatnonzero(array != host_memory.POISON).tolist() == [size // 2]
    assert (filled(size, "poison") == host_memory.POISON).all()  # the shared pages are unchanged


def test_zeroed_array_holds_zeros() -> None:
    assert not filled(1000, "zeros").any()


def test_limit_of_a_container_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("123456789\n", encoding="ascii")
    monkeypatch.setattr(host_memory, "_CGROUP_LIMITS", (str(limit), str(tmp_path / "missing")))
    assert host_bytes() == 123456789


def test_container_without_a_limit_has_the_memory_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("max\n", encoding="ascii")
    monkeypatch.setattr(host_memory, "_CGROUP_LIMITS", (str(limit),))
    assert host_bytes() > 1 << 28
