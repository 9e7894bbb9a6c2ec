"""Workers of a launch: how many start with it, and that the others follow if it takes long."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from gpulab.simt.runtime import launch
from tests.simt.programs import simulator

COUNT = """extern "C" __global__ void k(int* out, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += i % (threadIdx.x + 3);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}"""


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_a_launch_that_takes_longer_than_the_last_one(late: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate of the last launch lets one worker start; all blocks run, whenever the others start."""
    monkeypatch.setattr(launch, "LATE_S", late)
    device = simulator()
    kernel, out = device.compile(COUNT), device.zeros(64 * 32, np.int32)
    native = kernel.record(None, 64, 32, (out, 1))
    assert native.block_s < inf
    native.block_s = 0.0
    kernel(64, 32, (out, 2000))
    expected = [sum(i % (t + 3) for i in range(2000)) for t in range(32)]
    np.testing.assert_array_equal(device.asnumpy(out).reshape(64, 32), np.tile(expected, (64, 1)))
