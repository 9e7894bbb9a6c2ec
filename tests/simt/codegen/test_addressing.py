"""Addresses whose intermediate results lie outside their array."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.errors import MemoryFault
from tests.simt.programs import simulator

N = 32


def run(body: str, n: int = 3) -> np.ndarray:
    """Return what one warp writes to `out`, with 100, 101, … in shared memory."""
    device = simulator()
    out = device.zeros(N, np.float32)
    source = f"""extern "C" __global__ void k(float* out, int n) {{
        __shared__ float s[{N}];
        const int i = threadIdx.x;
        s[i] = 100 + i;
        __syncthreads();
        {body}
    }}"""
    device.compile(source)(1, N, (out, n))
    return device.asnumpy(out)


def test_row_that_starts_below_a_shared_array() -> None:
    out = run("if (i >= n) out[i] = s[i - n];")
    np.testing.assert_array_equal(out, np.where(np.arange(N) >= 3, 97 + np.arange(N), 0))


def test_descending_row_that_leaves_a_shared_array() -> None:
    out = run("if (i <= n) out[i] = s[n - i];")
    np.testing.assert_array_equal(out, np.where(np.arange(N) <= 3, 103 - np.arange(N), 0))


def test_shared_pointer_below_the_array_with_a_valid_offset() -> None:
    out = run("const float* p = s + (i - n - 8); out[i] = i >= n ? p[8] : p[n + 8];")
    np.testing.assert_array_equal(out, 100 + np.where(np.arange(N) >= 3, np.arange(N) - 3, np.arange(N)))


@pytest.mark.parametrize(("index", "byte"), [("i - n", -12), ("n - i - 4", -4), ("-n", -12)])
def test_read_below_shared_memory_has_a_negative_offset(index: str, byte: int) -> None:
    with pytest.raises(MemoryFault) as error:
        run(f"out[i] = s[{index}];")
    (finding,) = error.value.findings
    assert isinstance(finding, gpulab.Finding)
    assert (finding.kind, finding.thread) == ("out_of_bounds_read", (0, 0, 0))
    assert f"byte {byte}," in finding.message
