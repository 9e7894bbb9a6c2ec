"""Pairs of warps that run at once between two barriers: which code has them, and what it computes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gpulab.errors import LaunchWarning, MemoryFault
from gpulab.simt.codegen import native
from gpulab.simt.codegen.native import Specialization, lower
from tests.simt.programs import simulator

Block = tuple[int, int, int]
# Compilers differ in which loops they unroll without a pragma.
SOURCE = """#define TERMS(count) _Pragma("unroll") for (int j = 0; j < count; ++j)
extern "C" __global__ void k(float* out, const float* x, int n) {{
    __shared__ float s[1024];
    const int tx = threadIdx.x, t = tx + blockDim.x * threadIdx.y, threads = blockDim.x * blockDim.y;
    float sum = 0;
    {body}
    out[blockIdx.x * threads + t] = sum;
}}"""
# Sums of 16 elements: of the thread's own row of 16, and of a column that all warps read.
TILES = """for (int i = 0; i < n; ++i) {
        s[t] = x[t] + i;
        __syncthreads();
        TERMS(16) sum += s[t / 16 * 16 + j] * s[16 * j + tx];
        __syncthreads();
    }"""


@pytest.fixture(autouse=True)
def optimise_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch optimised code only: code that is compiled quickly has no pairs."""
    monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)


def has_pairs(body: str, block: Block, tier: str = "values") -> bool:
    """Return True if the code of a kernel executes two warps at once."""
    kernel = simulator().compile(SOURCE.format(body=body))
    _, code = lower(kernel.module.ptx, kernel.entry, Specialization(block, 4096, tier=tier))
    return "\npair" in code


def run(body: str, block: Block, blocks: int = 1, n: int = 3, size: int = 1024) -> np.ndarray:
    """Return what each thread adds up in `sum`; `x` has the elements 0, 1, 2, and so on."""
    device = simulator()
    out = device.zeros(blocks * block[0] * block[1], np.float32)
    x = device.asarray(np.arange(size, dtype=np.float32))
    device.compile(SOURCE.format(body=body))(blocks, block, (out, x, n))
    return device.asnumpy(out)


def sums(block: Block, iterations: int = 3) -> np.ndarray:
    """Return the results of `TILES`; the terms are small enough for float32 to be exact."""
    t = np.arange(block[0] * block[1])
    total = np.zeros(len(t))
    for i in range(iterations):
        s = np.arange(1024) + i
        total += sum(s[t // 16 * 16 + j] * s[16 * j + t % block[0]] for j in range(16))
    return total


@pytest.mark.parametrize("block", [(16, 16, 1), (32, 8, 1), (256, 1, 1)])
def test_code_that_waits_for_a_sum_has_pairs(block: Block) -> None:
    assert has_pairs(TILES, block)


@pytest.mark.parametrize(
    "body",
    [
        TILES.replace("sum += s", "out[j] = s"),
        TILES.replace("TERMS(16)", "TERMS(n)"),
        TILES.replace("sum +=", "if (t & 1) sum +="),
        TILES.replace("TERMS(16)", "TERMS(4)"),
        "float a[4] = {};" + TILES.replace("sum +=", "a[j % 4] +=") + "sum = a[0] + a[1] + a[2] + a[3];",
    ],
    ids=["stores", "a loop", "diverged lanes", "few terms", "four sums"],
)
def test_other_code_has_no_pairs(body: str) -> None:
    if "a[4]" in body and native.jit.has_gather():
        body = body.replace("4", "8")  # a sum has two vectors instead of four
    assert not has_pairs(body, (16, 16, 1))


def test_a_block_of_one_warp_and_instrumented_code_have_no_pairs() -> None:
    assert not has_pairs(TILES, (16, 2, 1))
    assert not has_pairs(TILES, (16, 16, 1), "counters")


@pytest.mark.parametrize("block", [(16, 16, 1), (16, 18, 1), (32, 8, 1), (32, 9, 1), (256, 1, 1)])
def test_even_and_odd_numbers_of_warps(block: Block) -> None:
    size = block[0] * block[1]
    body = TILES.replace("s[t] = x[t] + i;", f"for (int k = t; k < 1024; k += {size}) s[k] = x[k] + i;")
    body = body.replace("16 * j + tx", "(16 * j + tx) % 1024")
    np.testing.assert_array_equal(run(body, block, blocks=3), np.tile(sums(block), 3))


def test_warps_with_other_addresses_than_expected() -> None:
    """The offset is one of two constants, so that it seems to be the same in all warps."""
    body = """int offset;
        if (t & 32) { offset = 16; asm volatile("" ::: "memory"); } else { offset = 0; }
        for (int k = t; k < 1024; k += threads) s[k] = k;
        __syncthreads();
        TERMS(16) sum += s[offset + 32 * j + tx] * s[t / 16 * 16 + j];
        __syncthreads();"""
    t, s = np.arange(256), np.arange(1024.0)
    expected = sum(s[16 * (t // 32 % 2) + 32 * j + t % 16] * s[t // 16 * 16 + j] for j in range(16))
    np.testing.assert_array_equal(run(body, (16, 16, 1)), expected)


def test_fault_of_the_second_warp() -> None:
    """The last load of the second warp leaves shared memory, and the message names its first thread."""
    body = """for (int i = 0; i < n; ++i) {
            s[t] = t; __syncthreads();
            TERMS(16) sum += s[t + 66 * j] * s[n + j];
            __syncthreads();
        }"""
    assert has_pairs(body, (64, 1, 1))
    with pytest.raises(MemoryFault) as caught:
        run(body, (64, 1, 1))
    assert caught.value.findings[0].thread == (34, 0, 0)


def test_warps_that_wait_at_different_barriers_of_the_code() -> None:
    """The first warp arrives at another barrier than the pair that follows it."""
    dot = "TERMS(16) sum += s[t / 16 * 16 + j] * s[16 * j + tx];"
    body = f"""s[t] = t; __syncthreads();
        if (t < 32) {{ sum = 1; __syncthreads(); {dot} __syncthreads(); }}
        else {{ sum = 2; __syncthreads(); {dot} __syncthreads(); }}
        __syncthreads();"""
    t, s = np.arange(256), np.arange(256.0)
    total = sum(s[t // 16 * 16 + j] * s[16 * j + t % 16] for j in range(16)) + np.where(t < 32, 1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LaunchWarning)
        np.testing.assert_array_equal(run(body, (16, 16, 1)), total)
