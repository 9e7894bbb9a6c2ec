"""Registers that a warp saves at barriers: those that have changed since they were saved."""

from __future__ import annotations

import numpy as np

from gpulab.simt.codegen.native import Specialization, lower
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


def test_values_of_loops_that_follow_each_other() -> None:
    out = run(
        """for (int i = 0; i < n; ++i) {
            s[t] = a; __syncthreads();
            sum += s[(t + i) % 64] * b;
            if (i == 1) { __syncthreads(); sum ^= s[63 - t]; b += 1; }
            __syncthreads();
            a += 2;
        }
        b -= sum;
        for (int i = n; i < 2 * n; ++i) {
            s[t] = b; __syncthreads();
            sum += s[t ^ 1]; __syncthreads();
        }""",
        3,
    )
    t = np.arange(N, dtype=np.int32)
    a, b, total = 3 * t + 1, t ^ 21, np.zeros(N, np.int32)
    for i in range(3):
        total = total + np.roll(a, -i) * b
        if i == 1:
            total = total ^ a[::-1]
            b = b + 1
        a = a + 2
    b = b - total
    for _ in range(3):
        total = total + b[t ^ 1]
    np.testing.assert_array_equal(out, total + 5 * a + 7 * b)


def test_barrier_saves_what_has_changed_since_the_last_barrier_of_its_loop() -> None:
    kernel = simulator().compile(
        """extern "C" __global__ void k(float* out, int n) {
            __shared__ float s[64];
            int t = threadIdx.x;
            float sum = 0;
            #pragma unroll 1
            for (int i = 0; i < n; ++i) {
                s[t] = out[t + 64 * i]; __syncthreads();
                sum += s[63 - t]; __syncthreads();
            }
            out[t] = sum;
        }"""
    )
    lowering, _ = lower(kernel.module.ptx, "k", Specialization((64, 1, 1), 256))
    first, second = lowering.suspend_points
    assert first.saved
    assert second.saved
    assert not set(first.saved) & set(second.saved)
