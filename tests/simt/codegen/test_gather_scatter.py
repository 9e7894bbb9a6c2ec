"""Gathers and scatters, with the processor's instructions and without them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import gpulab
from gpulab.simt.codegen import jit, native

SOURCE = """
extern "C" __global__ void permute(const TYPE* from, TYPE* to, const int* order, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % STEP < BELOW && i < n) to[order[i]] = from[order[n - 1 - i]];
}
"""
N = 83  # the last warp is not full


def permuted(
    ctype: str, dtype: type[np.generic], order: npt.NDArray[np.int32], below: int
) -> npt.NDArray[np.generic]:
    device = gpulab.device("sim")
    kernel = device.compile(SOURCE, defines={"TYPE": ctype, "STEP": 3, "BELOW": below})
    start, end = device.asarray(np.arange(1, N + 1).astype(dtype)), device.zeros(N, dtype)
    kernel(3, 32, (start, end, device.asarray(order), np.int32(N)))
    return device.asnumpy(end)


@pytest.mark.parametrize("scattered", [True, False], ids=["instructions", "function"])
@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [("unsigned char", np.uint8), ("short", np.int16), ("float", np.float32), ("double", np.float64)],
)
@pytest.mark.parametrize("below", [2, 3], ids=["some lanes", "all lanes"])
def test_gather_and_scatter_with_and_without_processor_instructions(
    ctype: str, dtype: type[np.generic], below: int, scattered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "has_gather", lambda: scattered)
    monkeypatch.setattr(native, "kernel_cache", lambda: None)  # it may hold the code of the other case
    order = np.random.default_rng(5).permutation(N).astype(np.int32)
    expected = np.zeros(N, dtype)
    moved = np.arange(N) % 3 < below
    expected[order[moved]] = (order[N - 1 - np.arange(N)] + 1).astype(dtype)[moved]
    np.testing.assert_array_equal(permuted(ctype, dtype, order, below), expected)


def test_highest_lane_wins_if_lanes_store_to_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    for scattered in (True, False):
        monkeypatch.setattr(jit, "has_gather", lambda scattered=scattered: scattered)
        device = gpulab.device("sim")
        kernel = device.compile(
            'extern "C" __global__ void k(int* to, const int* at) { to[at[threadIdx.x]] = threadIdx.x; }'
        )
        to = device.zeros(4, np.int32)
        kernel(1, 32, (to, device.asarray(np.arange(32, dtype=np.int32) % 4)))
        assert device.asnumpy(to).tolist() == [28, 29, 30, 31]
