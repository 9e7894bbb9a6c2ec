"""Kernels in CUDA C that use tensor cores: through <mma.h>, and through inline PTX."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from tests.simt.tensor_reference import matrix_product, random_matrix

WMMA = """
#include <mma.h>
using namespace nvcuda;

__global__ void product(float* c, const half* a, const half* b, int n)
{
    __shared__ half tile[16 * 24];
    int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32)
            tile[i % 16 + i / 16 * 24] = a[(row + i / 16) * n + k + i % 16];
        __syncwarp();
        wmma::load_matrix_sync(fa, tile, 24);
        wmma::load_matrix_sync(fb, b + column * n + k, n);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncwarp();
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = 2.0f * fc.x[i];
    wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}
"""

INLINE = """
#include <cuda_bf16.h>

__global__ void product(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b)
{
    __shared__ __align__(16) __nv_bfloat16 s[16 * 16], t[16 * 8];
    for (int i = threadIdx.x; i < 256; i += 32) s[i] = a[i];
    for (int i = threadIdx.x; i < 128; i += 32) t[i] = b[i];
    __syncwarp();
    int lane = threadIdx.x;
    unsigned x[4], y[2];
    unsigned from_a = __cvta_generic_to_shared(s + lane % 16 * 16 + lane / 16 * 8);
    unsigned from_b = __cvta_generic_to_shared(t + lane % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from_a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1]) : "r"(from_b));
    float d[4] = {1, 2, 3, 4};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}
"""


def test_tiled_product_with_wmma() -> None:
    dev, n = gpulab.device("sim:h200"), 32
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, (n, n)).astype(np.float16) for _ in range(2))
    kernel = dev.compile(WMMA)
    c = dev.empty((n, n))
    arguments = (c, dev.asarray(a), dev.asarray(b.T), n)

    kernel((2, 2), 32, arguments)

    assert np.array_equal(dev.asnumpy(c), 2 * (a.astype(np.float32) @ b.astype(np.float32)))
    assert not gpulab.sanitize(kernel, (2, 2), 32, arguments)


@pytest.mark.parametrize("missing", ["", "__syncwarp();\n        wmma::load"])
def test_product_without_synchronization_has_a_race(missing: str) -> None:
    """Rows of a matrix in shared memory are loaded by other lanes than those that store them."""
    dev = gpulab.device("sim:h200")
    text = WMMA.replace(missing, missing.replace("__syncwarp();", "")) if missing else WMMA
    findings = gpulab.sanitize(
        dev.compile(text),
        1,
        32,
        (dev.empty((32, 32)), dev.zeros((32, 32), "f2"), dev.zeros((32, 32), "f2"), 32),
    )
    assert bool(findings) == bool(missing)
    assert {f.tool for f in findings} <= {"racecheck"}


def test_product_of_uninitialized_elements_is_reported() -> None:
    dev = gpulab.device("sim:h200")
    kernel = dev.compile(WMMA.replace("i < 256", "i < 240"))
    findings = gpulab.sanitize(
        kernel, 1, 32, (dev.empty((16, 16)), dev.zeros((16, 16), "f2"), dev.zeros((16, 16), "f2"), 16)
    )
    line = WMMA[: WMMA.index("load_matrix_sync(fa")].count("\n") + 1
    assert {(f.tool, f.line) for f in findings} == {("initcheck", line)}


def test_the_lane_that_addresses_an_uninitialized_row_is_reported() -> None:
    dev = gpulab.device("sim:h200")
    kernel = dev.compile(INLINE.replace("i < 256", "i < 16 * 13"))
    arrays = (dev.empty((16, 8)), dev.zeros((16, 16), np.uint16), dev.zeros((16, 8), np.uint16))
    (finding,) = gpulab.sanitize(kernel, 1, 32, arrays)
    assert (finding.tool, finding.thread) == ("initcheck", (13, 0, 0))


def test_fragments_loaded_with_ldmatrix_and_multiplied_with_inline_ptx() -> None:
    dev = gpulab.device("sim:h200")
    random = np.random.default_rng(2)
    a = random_matrix(random, "bf16", (16, 16), "normal")
    b = random_matrix(random, "bf16", (16, 8), "normal")
    c = np.array([[1, 2], [3, 4]], np.float32).repeat(8, 0)
    kernel = dev.compile(INLINE)
    result = dev.empty((16, 8))

    kernel(1, 32, (result, dev.asarray(a), dev.asarray(b)))

    expected = matrix_product(a, b, np.tile(c, (1, 4)).view(np.uint32), ("f32", "bf16", "bf16", "f32"))
    assert np.array_equal(dev.asnumpy(result).view(np.uint32), expected)


WAITING = """
#include <mma.h>
using namespace nvcuda;

__global__ void k(float* c, const half* a, volatile int* flag)
{
    if (threadIdx.x == 0)
        while (*flag == 0) { }
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c + threadIdx.x / 32 * 256, fc, 16, wmma::mem_row_major);
    __threadfence();
    if (threadIdx.x == 63)
        *flag = 1;
}
"""


def test_lanes_that_wait_for_a_flag_join_their_warp_at_a_product() -> None:
    dev = gpulab.device("sim:h200")
    a = np.eye(16, dtype=np.float16)
    c = dev.empty((2, 16, 16))
    dev.compile(WAITING)(1, 64, (c, dev.asarray(a), dev.zeros(1, np.int32)))
    assert (dev.asnumpy(c) == a).all()


STORES = """
#include <mma.h>
using namespace nvcuda;

__global__ void k(float* c)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f + threadIdx.x / 32);
    wmma::store_matrix_sync(c + threadIdx.x / 32 * DISTANCE, fc, 16, wmma::mem_row_major);
}
"""


@pytest.mark.parametrize(("distance", "tools"), [(256, set()), (240, {"racecheck"})])
def test_fragments_of_two_warps_in_the_same_elements_are_a_race(distance: int, tools: set[str]) -> None:
    dev = gpulab.device("sim:h200")
    kernel = dev.compile(STORES, defines={"DISTANCE": distance})
    findings = gpulab.sanitize(kernel, 1, 64, (dev.empty(512),))
    assert {finding.tool for finding in findings} == tools


def test_a_fragment_past_the_end_of_an_array_is_a_fault() -> None:
    dev = gpulab.device("sim:h200")
    kernel = dev.compile(STORES, defines={"DISTANCE": 264})
    with pytest.raises(gpulab.MemoryFault, match=r"c\[512\]"):
        kernel(1, 64, (dev.empty(512),))
