"""Stores of the active lanes of a row, with the processor's masked stores and without them."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.simt.codegen import jit, native

SOURCE = """
extern "C" __global__ void fill(TYPE* to, int n)
{
    int i = threadIdx.x + WIDTH * threadIdx.y + blockDim.x * blockDim.y * blockIdx.x;
    if (CONDITION) to[i] = VALUE;
}
"""
N = 3 * 256 - 11  # the last row is not full
TYPES = {
    "unsigned char": (np.uint8, 1, "i + 1"),
    "short": (np.int16, 1, "i + 1"),
    "float": (np.float32, 1, "i + 1"),
    "double": (np.float64, 1, "i + 1"),
    "uchar2": (np.uint8, 2, "make_uchar2(2 * i + 1, 2 * i + 2)"),
    "float2": (np.float32, 2, "make_float2(2 * i + 1, 2 * i + 2)"),
    "int4": (np.int32, 4, "make_int4(4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 4)"),
    "double2": (np.float64, 2, "make_double2(2 * i + 1, 2 * i + 2)"),
}
CONDITIONS = {
    "all but the end": ("i < n", lambda i: i < N),
    "without the borders of a row": (
        "i < n && threadIdx.x > 0 && threadIdx.x < WIDTH - 1",
        lambda i: (i < N) & (i % 32 > 0) & (i % 32 < 31),
    ),
    "scattered lanes": ("i < n && i % 5 < 2", lambda i: (i < N) & (i % 5 < 2)),
    "some rows": ("i < n && i / 32 % 3 == 1", lambda i: (i < N) & (i // 32 % 3 == 1)),
}


@pytest.mark.parametrize("masked", [True, False], ids=["masked stores", "function"])
@pytest.mark.parametrize("ctype", TYPES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_only_active_lanes_are_stored(
    ctype: str, condition: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "has_gather", lambda: masked)
    monkeypatch.setattr(native, "kernel_cache", lambda: None)  # it may hold the code of the other case
    dtype, count, value = TYPES[ctype]
    text, holds = CONDITIONS[condition]
    device = gpulab.device("sim")
    defines = {"TYPE": ctype, "WIDTH": 32, "CONDITION": text, "VALUE": value}
    kernel = device.compile(SOURCE, defines=defines)
    to = device.zeros(3 * 256 * count, dtype)
    kernel(3, (32, 8), (to, np.int32(N)))
    i = np.arange(3 * 256)
    expected = np.where(np.repeat(holds(i), count), np.arange(1, len(i) * count + 1), 0).astype(dtype)
    np.testing.assert_array_equal(device.asnumpy(to), expected)


@pytest.mark.parametrize("masked", [True, False], ids=["masked stores", "function"])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_rows_that_are_shorter_than_a_warp(width: int, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "has_gather", lambda: masked)
    monkeypatch.setattr(native, "kernel_cache", lambda: None)
    device = gpulab.device("sim")
    source = """
    extern "C" __global__ void fill(int* to, int n, int pitch)
    {
        if (threadIdx.x >= n || threadIdx.y % 3 == 1) return;
        to[threadIdx.x + pitch * threadIdx.y] = threadIdx.x + 100 * threadIdx.y;
    }"""
    kernel = device.compile(source)
    rows, pitch, n = 128 // width, width + 3, width - width // 3
    to = device.asarray(np.full(rows * pitch, -1, np.int32))
    kernel(1, (width, rows), (to, np.int32(n), np.int32(pitch)))
    y, x = np.mgrid[:rows, :pitch]
    expected = np.where((x < n) & (y % 3 != 1), x + 100 * y, -1)
    np.testing.assert_array_equal(device.asnumpy(to).reshape(rows, pitch), expected)
