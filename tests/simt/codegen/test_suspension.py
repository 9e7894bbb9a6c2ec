"""Registers that a warp saves at barriers: those that have changed since they were saved."""

from __future__ import annotations

import numpy as np

from tests.simt.programs import simulator

N = 64


def run(body: str, n: int) -> np.ndarray:
    """Return what two warps write to `out`."""
    device = simulator()
    out = device.zeros(N, np.int32)
    source = f"""extern "C" __global__ void k(int* out, int n) {{
        __shared__ int s[{N}];
        const int t = threadIdx.x;
        int a = 3 * t + 1, b = t ^ 21, sum = 0;
        {body}
        out[t] = sum + 5 * a + 7 * b;
    }}"""
    device.compile(source)(1, N, (out, n))
    return device.asnumpy(out)


def test_values_that_change_in_an_outer_loop_only() -> None:
    out = run(
        """for (int i = 0; i < n; ++i) {
            a = a * 5 + i;
            if (t % 3 == i % 3) b += a;
            for (int j = 0; j < n; ++j) {
                s[t] = a + j; __syncthreads();
                sum += s[(t + 1) % 64] * b; __syncthreads();
            }
            sum ^= b;
        }""",
        4,
    )
    t = np.arange(N, dtype=np.int32)
    a, b, total = 3 * t + 1, t ^ 21, np.zeros(N, np.int32)
    for i in range(4):
        a = a * 5 + i
        b = np.where(t % 3 == i % 3, b + a, b)
        for j in range(4):
            total = total + np.roll(a + j, -1) * b
        total = total ^ b
    np.testing.assert_array_equal(out, total + 5 * a + 7 * b)


def test_values_that_some_lanes_change_between_barriers() -> None:
    out = run(
        """for (int i = 0; i < n; ++i) {
            s[t] = a; __syncthreads();
            if (t & 1) { b += s[t ^ 1]; if (t & 2) a += i; } else { sum += s[t ^ 3]; }
            __syncthreads();
            if (i == 2) a -= 1;
        }""",
        5,
    )
    t = np.arange(N, dtype=np.int32)
    a, b, total = 3 * t + 1, t ^ 21, np.zeros(N, np.int32)
    for i in range(5):
        s = a
        b = np.where(t & 1, b + s[t ^ 1], b)
        total = np.where(t & 1, total, total + s[t ^ 3])
        a = np.where((t & 3) == 3, a + i, a)
        a = a - (i == 2)
    np.testing.assert_array_equal(out, total + 5 * a + 7 * b)


def test_result_of_a_barrier_with_a_vote() -> None:
    out = run(
        """int votes = 0;
        for (int i = 0; i < n; ++i) {
            votes += __syncthreads_count(t % (i + 2) == 0);
            __syncthreads();
            sum += votes;
        }""",
        6,
    )
    t = np.arange(N, dtype=np.int32)
    votes = np.cumsum([np.count_nonzero(t % (i + 2) == 0) for i in range(6)])
    np.testing.assert_array_equal(out, votes.sum() + 5 * (3 * t + 1) + 7 * (t ^ 21))
