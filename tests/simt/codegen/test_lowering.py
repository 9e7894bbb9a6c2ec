"""The start of a kernel: registers that are read before they are written."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab

SUM = """__global__ void total(const TYPE* x, TYPE* out, int n)
{
    TYPE sum;
    for (int k = 0; k < n; ++k)
        sum += x[INDEX];
    out[threadIdx.x] = sum;
}"""


@pytest.mark.parametrize("index", ["k", "k + threadIdx.x"], ids=["uniform", "varying"])
@pytest.mark.parametrize(("dtype", "unset"), [("float32", np.nan), ("float64", np.nan), ("int32", -1)])
def test_register_without_a_value_has_the_bytes_of_unwritten_memory(
    dtype: str, unset: float, index: str
) -> None:
    device = gpulab.device("sim")
    c_type = {"float32": "float", "float64": "double", "int32": "int"}[dtype]
    kernel = device.compile(SUM, defines={"TYPE": c_type, "INDEX": index})
    x, out = device.zeros(128, dtype), device.zeros(64, dtype)
    kernel(1, 64, (x, out, 5))
    np.testing.assert_array_equal(device.asnumpy(out), np.full(64, unset, dtype))
