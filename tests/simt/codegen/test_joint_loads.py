"""Loads whose addresses are checked together: values at the edges of arrays, and the first fault."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.errors import MemoryFault
from tests.simt.programs import simulator

N = 64
VALUES = np.arange(N, dtype=np.float32) * 3 + 1


def run(body: str, block: tuple[int, int] | int = N, x: np.ndarray = VALUES) -> np.ndarray:
    """Return what a block writes to `out`; `s` is shared memory with the values of `x`."""
    device = simulator()
    out = device.zeros(N, np.float32)
    source = f"""extern "C" __global__ void k(float* out, const float* x, int n) {{
        __shared__ float s[{N}];
        const int t = threadIdx.y * blockDim.x + threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        {body}
    }}"""
    device.compile(source)(1, block, (out, device.asarray(x), 1))
    return device.asnumpy(out)


@pytest.mark.parametrize("array", ["s", "x"])
@pytest.mark.parametrize("block", [N, (16, 4), (8, 8)])
def test_neighbours_whose_rows_leave_the_array(array: str, block: tuple[int, int] | int) -> None:
    out = run(
        f"if (t > 0 && t < {N - 1}) out[t] = {array}[t - 1] + 10 * {array}[t] + 100 * {array}[t + 1];", block
    )
    expected = VALUES[:-2] + 10 * VALUES[1:-1] + 100 * VALUES[2:]
    np.testing.assert_array_equal(out, [0, *expected, 0])


@pytest.mark.parametrize("array", ["s", "x"])
@pytest.mark.parametrize("block", [(16, 4), (8, 8)])
def test_rows_that_read_the_same_elements(array: str, block: tuple[int, int]) -> None:
    out = run(
        f"""if (threadIdx.x < 5 && threadIdx.y % 2) {{
            const float* p = {array} + threadIdx.x;
            out[t] = p[0] + 10 * p[8] + 100 * p[{N - 5}];
        }}""",
        block,
    )
    x, y = np.arange(N) % block[0], np.arange(N) // block[0]
    expected = VALUES[x] + 10 * VALUES[(x + 8) % N] + 100 * VALUES[(x + N - 5) % N]
    np.testing.assert_array_equal(out, np.where((x < 5) & (y % 2 == 1), expected, 0))


def test_one_address_for_all_lanes() -> None:
    out = run("out[t] = x[n] + 10 * x[n + 1] + 100 * s[n + 2] + 1000 * s[n + 62];")
    np.testing.assert_array_equal(out, VALUES[1] + 10 * VALUES[2] + 100 * VALUES[3] + 1000 * VALUES[63])


def test_inactive_lanes_have_no_effect_on_the_copies() -> None:
    out = run("if (t % 3 == 0 && t >= 2) { const float* p = x + t; out[t] = p[-2] + 10 * p[0]; }")
    t = np.arange(N)
    expected = np.where((t % 3 == 0) & (t >= 2), np.roll(VALUES, 2) + 10 * VALUES, 0)
    np.testing.assert_array_equal(out, expected)


def test_each_block_reads_another_array() -> None:
    device = simulator()
    arrays = [device.asarray(VALUES + 100 * n) for n in range(2)]
    out = device.zeros((4, 32), np.float32)
    kernel = device.compile("""extern "C" __global__ void k(float* out, const float* x, const float* y) {
        const float* p = (blockIdx.x % 2 ? x : y) + threadIdx.x;
        out[blockIdx.x * 32 + threadIdx.x] = p[0] + 10 * p[8] + 100 * p[32];
    }""")
    kernel(4, 32, (out, *arrays))
    one, other = (v[:32] + 10 * v[8:40] + 100 * v[32:] for v in (VALUES + 100, VALUES))
    np.testing.assert_array_equal(device.asnumpy(out), [one, other] * 2)


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [("x[t + 60]", "s[t + 90]", 10), ("s[t + 90]", "x[t + 60]", 10), ("s[t + 1]", "x[t + 60]", 11)],
)
def test_the_first_load_outside_its_array_is_the_fault(first: str, second: str, line: int) -> None:
    with pytest.raises(MemoryFault) as error:
        run(
            f"""
        if (t >= 32) return;
        const float a = x[t], b = s[t];
        const float c =
            {first};
        const float d = {second};
        out[t] = a + b + c + d;"""
        )
    (finding,) = error.value.findings
    assert finding.line == line
