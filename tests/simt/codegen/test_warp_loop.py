"""Warps of a block that one call of the warp function runs one after the other."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gpulab.errors import LaunchWarning
from tests.simt.programs import simulator


def run(body: str, threads: int, blocks: int = 1) -> np.ndarray:
    """Return what each thread of a kernel adds up in `sum`; `t` is its number in the block."""
    device = simulator()
    out = device.zeros(threads * blocks, np.int32)
    source = f"""extern "C" __global__ void k(int* out, int n) {{
        __shared__ int s[1024];
        const int t = threadIdx.x, threads = blockDim.x;
        int sum = 0;
        {body}
        out[blockIdx.x * blockDim.x + t] = sum;
    }}"""
    device.compile(source)(blocks, threads, (out, 5))
    return device.asnumpy(out)


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
def test_barriers_in_a_loop(threads: int) -> None:
    body = """for (int i = 0; i < n; ++i) {
        s[t] = t * (i + 1); __syncthreads();
        sum += s[(t + 33) % threads]; __syncthreads();
    }"""
    expected = sum((np.arange(threads) + 33) % threads * (i + 1) for i in range(5))
    np.testing.assert_array_equal(run(body, threads, 3), np.tile(expected, 3))


def test_warps_that_end_before_others_arrive() -> None:
    """The last warp loops more often, without barriers, and the first one ends at once after the barrier."""
    body = """s[t] = t; __syncthreads();
        int rounds = t / 32 == 0 ? 0 : t / 32 == 3 ? 100 : 7;
        for (int i = 0; i < rounds; ++i) sum += s[(t + i) % threads];"""
    t = np.arange(128)
    rounds = np.select([t < 32, t >= 96], [0, 100], 7)
    expected = [sum((k + i) % 128 for i in range(r)) for k, r in zip(t, rounds, strict=True)]
    np.testing.assert_array_equal(run(body, 128), expected)


def test_warps_that_wait_at_different_barriers_of_the_code() -> None:
    body = """s[t] = t + 1; __syncthreads();
        for (int i = 0; i < n; ++i) {
            if (t / 32 % 2) { __syncthreads(); sum += s[t - 32]; }
            else { __syncthreads(); sum += 2 * s[t + 32]; }
            __syncthreads();
            s[t] += 1;
            __syncthreads();
        }"""
    t = np.arange(128)
    expected = [
        sum((k - 32 if k // 32 % 2 else k + 32) + 1 + i for i in range(5)) * (1 if k // 32 % 2 else 2)
        for k in t
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LaunchWarning)
        np.testing.assert_array_equal(run(body, 128), expected)


def test_votes_between_barriers() -> None:
    body = """for (int i = 0; i < n; ++i) {
        s[t] = i; __syncthreads();
        sum += __syncthreads_count(t % 3 == i % 3);
        __syncthreads();
    }"""
    counts = sum(np.count_nonzero(np.arange(96) % 3 == i % 3) for i in range(5))
    np.testing.assert_array_equal(run(body, 96), np.full(96, counts))
