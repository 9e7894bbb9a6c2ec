"""Reads and writes of scattered places are the same by the processor's instructions and without them."""

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
    if (i % STEP < MOST && i < n) to[order[i]] = from[order[n - 1 - i]];
}
"""
N = 83  # the last warp is not full


def permuted(
    ctype: str, dtype: type[np.generic], order: npt.NDArray[np.int32], most: int
) -> npt.NDArray[np.generic]:
    device = gpulab.device("sim")
    kernel = device.compile(SOURCE, defines={"TYPE": ctype, "STEP": 3, "MOST": most})
    start, end = device.asarray(np.arange(1, N + 1).astype(dtype)), device.zeros(N, dtype)
    kernel(3, 32, (start, end, device.asarray(order), np.int32(N)))
    return device.asnumpy(end)


@pytest.mark.parametrize("scattered", [True, False], ids=["instructions", "function"])
@pytest.mark.parametrize(
    ("ctype", "dtype"),
    [("unsigned char", np.uint8), ("short", np.int16), ("float", np.float32), ("double", np.float64)],
)
@pytest.mark.parametrize("most", [2, 3], ids=["some lanes", "all lanes"])
def test_both_ways_move_the_same(
    ctype: str, dtype: type[np.generic], most: int, scattered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "has_gather", lambda: scattered)
    monkeypatch.setattr(native, "kernel_cache", lambda: None)  # what was made the other way is not taken
    order = np.random.default_rng(5).permutation(N).astype(np.int32)
    expected = np.zeros(N, dtype)
    moved = np.arange(N) % 3 < most
    expected[order[moved]] = (order[N - 1 - np.arange(N)] + 1).astype(dtype)[moved]
    np.testing.assert_array_equal(permuted(ctype, dtype, order, most), expected)


def test_where_lanes_write_one_place_the_last_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
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
