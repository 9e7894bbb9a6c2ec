"""Tests of the instruction budget, which ends a kernel that does not terminate."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.cell import KernelCell, parse_cell
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.verification.check import compile_cell
from gpulab.verification.verify import verify

ONE_THREAD = """\
%%cuda matmul.Ks --block 32 1 --tile 1 1
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y) return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < p; k++) sum += b[i + n * k] * c[k + p * j];
            a[i + n * j] = sum;
        }
}"""
ENDLESS = 'extern "C" __global__ void k(volatile int* a) { while (*a == 0); }'


def simulator() -> SimulatedDevice:
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    return device


def test_budget_of_the_values_suffices_for_one_thread_that_does_all_the_work() -> None:
    cell = parse_cell(ONE_THREAD)
    assert isinstance(cell, KernelCell)
    assert verify(compile_cell(cell, simulator()), cell.config).correct


@pytest.mark.parametrize(("device_budget", "argument"), [(1 << 24, 1 << 22), (1 << 22, 1 << 24)])
def test_smaller_of_two_budgets_applies(
    device_budget: int, argument: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = simulator()
    monkeypatch.setattr(device, "budget", device_budget)
    kernel = device.compile(ENDLESS)
    (finding,) = gpulab.sanitize(kernel, 1, 32, (device.zeros(1, np.int32),), budget=argument)
    assert finding.kind == "never_ends"
    assert f"{1 << 22:,}" in finding.message
