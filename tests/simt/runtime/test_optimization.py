"""Code that is replaced by optimised code, before a launch and while one runs."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.cache import DiskCache
from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedKernel
from gpulab.simt.codegen import native
from gpulab.simt.codegen.native import NativeKernel

# Each block runs for many rounds, so that its warps are between two barriers when the code is replaced.
SOURCE = """__global__ void rounds(int count, float* x)
{
    __shared__ float s[96];
    int t = threadIdx.x, i = blockIdx.x * 96 + t;
    float own = x[i];
    for (int k = 0; k < count; k++) {
        s[t] = own;
        __syncthreads();
        own = 0.5f * own + s[(t + k) % 96] * (t & 1 ? 0.25f : 0.125f);
        __syncthreads();
    }
    x[i] = own;
}"""
BLOCKS = 8
ROUNDS = {"values": 100_000, "counters": 20_000, "racecheck": 10_000}  # some 0.1 s each


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SimulatedDevice:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    return device


def kernel(device: SimulatedDevice) -> SimulatedKernel:
    compiled = device.compile(SOURCE)
    assert isinstance(compiled, SimulatedKernel)
    return SimulatedKernel(compiled.module, compiled.name, False)  # without code of other tests


def run(kernel: SimulatedKernel, tier: str) -> tuple[np.ndarray[Any, Any], object]:
    """Launch in a tier; return the values and what the tier recorded."""
    device = kernel.device
    x = device.asarray(np.linspace(0, 1, BLOCKS * 96, dtype=np.float32))
    recorded: object = None
    count = ROUNDS[tier]
    if tier == "racecheck":
        recorded = len(gpulab.sanitize(kernel, (BLOCKS,), (96,), (count, x)))
    elif tier == "counters":
        recorded = gpulab.counters(kernel, (BLOCKS,), (96,), (count, x)).metrics
    else:
        kernel((BLOCKS,), (96,), (count, x))
    return device.asnumpy(x), recorded


def codes(kernel: SimulatedKernel) -> list[NativeKernel]:
    return list(kernel._native.values())


@pytest.mark.parametrize("tier", ["values", "counters", "racecheck"])
@pytest.mark.parametrize("seconds", [0.0, 1e-9], ids=["before", "during"])
def test_replaced_code_computes_and_records_the_same(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, tier: str, seconds: float
) -> None:
    monkeypatch.setattr(native, "OPTIMIZATION_S", 1e9)
    plain = kernel(device)
    values, recorded = run(plain, tier)
    assert [len(code.code) for code in codes(plain)] == [1]

    monkeypatch.setattr(native, "OPTIMIZATION_S", seconds)
    replaced = kernel(device)
    values_after, recorded_after = run(replaced, tier)
    assert [len(code.code) for code in codes(replaced)] == [2]
    assert np.array_equal(values, values_after)
    assert recorded == recorded_after


def test_short_launches_are_optimised_once_they_have_spent_enough(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "OPTIMIZATION_S", 1e9)
    often = kernel(device)
    run(often, "values")
    (code,) = codes(often)
    assert len(code.code) == 1
    code.patience_s = code.spent_s
    run(often, "values")
    assert len(code.code) == 2
    scheduler = ctypes.cast(code.run, ctypes.c_void_p).value
    assert scheduler == code.code[1].address("run_blocks")


def test_optimised_code_of_the_cache_is_used_at_once(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: DiskCache(tmp_path, 1 << 28))
    monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)
    run(kernel(device), "values")
    monkeypatch.setattr(native, "OPTIMIZATION_S", 1e9)
    later = kernel(device)
    run(later, "values")
    (code,) = codes(later)
    assert (len(code.code), code.patience_s) == (1, float("inf"))
