"""Launches of NVIDIA/cuda-samples, `3_CUDA_Features`."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Expected,
    Launch,
    Packed,
    blocks,
    integers,
    new,
    normal,
    refused,
    suite,
    uniform,
)
from benchmarks.compatibility.llm_c import bf16

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/3_CUDA_Features/")


@declare("StreamPriorities/StreamPriorities.cu", "memcpy_kernel")
def copy(scale: int) -> Launch:
    x = integers(5000 * scale)
    return Launch(4, 256, [new(x.size, dtype=np.int32), x, x.nbytes], {0: x})


# Tensor cores ----------------------------------------------------------------------------------

# Element type, and M, N, K and CHUNK_K of each sample; the tiles of a block have 8 x 8 tiles of C.
GEMMS: dict[str, tuple[Any, int, int, int, int]] = {
    "bf16": (bf16, 16, 16, 16, 8),
    "cuda": (lambda x: x.astype(np.float16), 16, 16, 16, 4),
    "dmma": (lambda x: x.astype(np.float64), 8, 8, 4, 16),
    "imma": (lambda x: x.astype(np.uint8), 16, 16, 16, 8),
    "tf32": (lambda x: x.astype(np.float32), 16, 16, 8, 8),
}


def _gemm_inputs(sample: str, m: int, n: int, k: int) -> tuple[Array, Array, Array, float, float]:
    """Return A, the transposed B and C of small integers, which all types represent, and alpha and beta."""
    a, b, c = (integers(*shape, high=4, seed=seed) for seed, shape in enumerate(((m, k), (n, k), (m, n))))
    dtype = {"dmma": np.float64, "imma": np.int32}.get(sample, np.float32)
    return a, b, c.astype(dtype), *((1, 1) if sample == "imma" else (1.1, 1.2))


@declare(
    "bf16TensorCoreGemm/bf16TensorCoreGemm.cu",
    "compute_bf16gemm",
    "compute_bf16gemm_async_copy",
    sample="bf16",
)
@declare("cudaTensorCoreGemm/cudaTensorCoreGemm.cu", "compute_gemm", sample="cuda")
@declare(
    "dmmaTensorCoreGemm/dmmaTensorCoreGemm.cu",
    "compute_dgemm",
    "compute_dgemm_async_copy",
    "compute_dgemm_cg_async_copy",
    sample="dmma",
)
@declare("immaTensorCoreGemm/immaTensorCoreGemm.cu", "compute_gemm_imma", sample="imma")
@declare(
    "tf32TensorCoreGemm/tf32TensorCoreGemm.cu",
    "compute_tf32gemm",
    "compute_tf32gemm_async_copy",
    sample="tf32",
)
def tensor_gemm(scale: int, sample: str) -> Launch:
    convert, m, n, k, chunk = GEMMS[sample]
    tiles, depth = 8 * scale, 2 * chunk
    a, b, c, alpha, beta = _gemm_inputs(sample, m * tiles, n * tiles, k * depth)
    expected = alpha * (a @ b.T) + beta * c
    elements = convert(a), convert(b)
    shared = max(elements[0].itemsize * 8 * m * (chunk * k + 32) * 2, m * 8 * n * 8 * c.itemsize)
    sizes = {"M_TILES": tiles, "N_TILES": tiles, "K_TILES": depth}
    args = [*elements, c, new(*c.shape, dtype=c.dtype), alpha, beta]
    return Launch(scale * scale, 256, args, {3: expected.astype(c.dtype)}, shared, sizes=sizes)


@declare("bf16TensorCoreGemm/bf16TensorCoreGemm.cu", "simple_wmma_bf16gemm", sample="bf16")
@declare("cudaTensorCoreGemm/cudaTensorCoreGemm.cu", "simple_wmma_gemm", sample="cuda")
@declare("dmmaTensorCoreGemm/dmmaTensorCoreGemm.cu", "simple_wmma_gemm", sample="dmma")
@declare("immaTensorCoreGemm/immaTensorCoreGemm.cu", "simple_wmma_gemm_imma", sample="imma")
@declare("tf32TensorCoreGemm/tf32TensorCoreGemm.cu", "simple_wmma_tf32gemm", sample="tf32")
def simple_gemm(scale: int, sample: str) -> Launch:
    convert, m, n, _, _ = GEMMS[sample]
    size = 64 * scale
    a, b, c, alpha, beta = _gemm_inputs(sample, size, size, size)
    if sample == "bf16":  # the kernel exchanges the indices of the tiles of B
        tiles = b.reshape(size // 16, 16, size // 16, 16).transpose(2, 1, 0, 3)
        b = tiles.reshape(size, size)
    used = (
        b.reshape(size // 16, 16, size // 16, 16).transpose(2, 1, 0, 3).reshape(size, size)
        if sample == "bf16"
        else b
    )
    expected = alpha * (a @ b.T) + beta * c
    args = [convert(a), convert(used), c, new(*c.shape, dtype=c.dtype), size, size, size, alpha, beta]
    grid = blocks(size, m * 2), blocks(size, n * 4)
    return Launch(grid, (64, 4), args, {3: expected.astype(c.dtype)})


# Asynchronous copies ---------------------------------------------------------------------------

COPIES = "globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu"


@declare(
    COPIES,
    "MatrixMulAsyncCopySingleStage",
    "MatrixMulAsyncCopyMultiStage",
    "MatrixMulAsyncCopyMultiStageSharedState",
    "MatrixMulNaive",
)
def product_in_tiles(scale: int, kernel: str) -> Launch:
    n = 64 * scale
    a, b = normal(n, n), normal(n, n, seed=1)
    block = (16, 20) if kernel.endswith("SharedState") else (16, 16)
    args = [new(n, n), a, b, n, n]
    return Launch((n // 16, n // 16), block, args, {0: a.astype(np.float64) @ b}, instance=f"{kernel}<16>")


@declare(
    COPIES,
    "MatrixMulAsyncCopyMultiStageLargeChunk",
    "MatrixMulAsyncCopyLargeChunk",
    "MatrixMulAsyncCopyLargeChunkAWBarrier",
    "MatrixMulNaiveLargeChunk",
)
def product_in_chunks(scale: int, kernel: str) -> Launch:
    # These kernels take the tiles of B from the places of the tiles of A.
    n = 64 * scale
    a, b = normal(n, n), normal(n, n, seed=1)
    rows = a.reshape(-1, 16, n // 16, 16).astype(np.float64).transpose(0, 2, 1, 3)
    tiles = (rows @ b.reshape(-1, 16, n // 16, 16).transpose(0, 2, 1, 3)).sum(1)
    expected = np.tile(tiles.reshape(n, 16), (1, n // 16))
    args = [new(n, n), a, b, n, n]
    return Launch((n // 16, n // 16), (16, 16), args, {0: expected}, instance=f"{kernel}<16>")


# Dynamic parallelism and conditional nodes of graphs -------------------------------------------

declare("cdpAdvancedQuicksort/cdpAdvancedQuicksort.cu", "qsort_warp")(refused)
declare("cdpBezierTessellation/BezierLineCDP.cu", "computeBezierLinesCDP", "freeVertexMem")(refused)
declare("cdpQuadtree/cdpQuadtree.cu", "build_quadtree_kernel", instance="build_quadtree_kernel<128>")(refused)
declare("cdpSimplePrint/cdpSimplePrint.cu", "cdp_kernel")(refused)
declare("cdpSimpleQuicksort/cdpSimpleQuicksort.cu", "cdp_simple_quicksort")(refused)
declare(
    "graphConditionalNodes/graphConditionalNodes.cu",
    "ifGraphKernelA",
    "doWhileLoopKernel",
    "capturedWhileKernel",
    "switchGraphKernelA",
)(refused)


@declare("cdpAdvancedQuicksort/cdpBitonicSort.cu", "bitonicsort")
def bitonic_sort(_scale: int) -> Launch:
    x = integers(1000, high=1 << 30, dtype=np.uint32)
    expected = x.copy()
    expected[24:] = np.sort(x[24:])
    output = np.zeros_like(x)
    expected[:24] = 0
    return Launch(1, 1024, [x, output, 24, 976], {1: expected})


@declare("cdpAdvancedQuicksort/cdpBitonicSort.cu", "big_bitonicsort")
def big_bitonic_sort(scale: int) -> Launch:
    x = integers(3000 * scale, high=1 << 30, dtype=np.uint32)
    args = [x, new(x.size, dtype=np.uint32), new(4096 * scale, dtype=np.uint32), 0, x.size]
    return Launch(1, 1024, args, {0: np.sort(x), 1: np.sort(x), 2: None})


@declare("cdpBezierTessellation/BezierLineCDP.cu", "computeBezierLinePositions")
def bezier_positions(scale: int) -> Launch:
    lines, points = 4, 50 * scale
    corners = normal(lines, 3, 2)
    u = np.linspace(0, 1, points)[:, None]
    expected = (1 - u) ** 2 * corners[2, 0] + 2 * u * (1 - u) * corners[2, 1] + u**2 * corners[2, 2]

    def pack(addresses: list[int]) -> Array:
        table = np.zeros(
            lines, [("corners", np.float32, (3, 2)), ("positions", np.uint64), ("count", np.int64)]
        )
        table["corners"], table["positions"], table["count"] = corners, addresses[0], points
        return table.view(np.uint8)

    return Launch(blocks(points, 32), 32, [2, Packed(pack), points], {3: expected}, memory=[new(points, 2)])


GRAPH_TEXTS = {
    "ifGraphKernelC": "true", "ifGraphKernelD": "false", "doWhileEmptyKernel": "doWhileEmptyKernel",
    "capturedWhileEmptyKernel": "capturedWhileEmptyKernel", "switchGraphKernelC": "KernelC",
    "switchGraphKernelD": "KernelD", "switchGraphKernelE": "KernelE", "switchGraphKernelF": "KernelF",
}  # fmt: skip


@declare("graphConditionalNodes/graphConditionalNodes.cu", *GRAPH_TEXTS)
def print_line(_scale: int, kernel: str) -> Launch:
    return Launch(1, 1, [], {}, printed=lambda text: GRAPH_TEXTS[kernel] in text and text.count("\n") == 1)


# Others ----------------------------------------------------------------------------------------


@declare("binaryPartitionCG/binaryPartitionCG.cu", "oddEvenCountAndSumCG")
def odds_and_evens(scale: int) -> Launch:
    x = integers(4096 * scale)
    odd = x % 2 == 1
    expected = {1: np.array([odd.sum()], np.int32), 2: np.array([x[odd].sum(), x[~odd].sum()], np.int32)}
    return Launch(4, 256, [x, np.zeros(1, np.int32), np.zeros(2, np.int32), x.size], expected)


@declare("cudaCompressibleMemory/saxpy.cu", "saxpy")
def saxpy(scale: int) -> Launch:
    x, y = normal(1000 * scale, 4), normal(1000 * scale, 4, seed=1)
    return Launch(2, 256, [2.5, x, y, new(*x.shape), len(x)], {3: 2.5 * x + y})


@declare("cudaCompressibleMemory/saxpy.cu", "init")
def fill_vectors(scale: int) -> Launch:
    n = 1000 * scale
    expected = np.full((n, 4), 1.5, np.float32)
    return Launch(2, 256, [new(n, 4), new(n, 4), 1.5, n], {0: expected, 1: expected})


@declare("graphMemoryFootprint/graphMemoryFootprint.cu", "clockBlock")
def wait(scale: int) -> Launch:
    return Launch(1, 1, [1000 * scale], {})


@declare("graphMemoryNodes/graphMemoryNodes.cu", "squareArray", "negateArray")
def map_array(scale: int, kernel: str) -> Launch:
    x = normal(1000 * scale)
    expected = x * x if kernel == "squareArray" else -x
    return Launch(blocks(x.size, 256), 256, [x, new(x.size), x.size], {1: expected})


@declare("graphMemoryNodes/graphMemoryNodes.cu", "validateGPU")
def validate(scale: int) -> list[Launch]:
    x = normal(1000 * scale)
    result = []
    for is_wrong in (False, True):
        reference = x + 1 if is_wrong else x
        pack = Packed(lambda a: struct.pack("=QQQi4xQQ", 0, 0, a[0], x.size, x.nbytes, 4))
        args = [x, pack, np.zeros(1, bool)]
        result.append(Launch(blocks(x.size, 256), 256, args, {2: np.array([is_wrong])}, memory=[reference]))
    return result


@declare("jacobiCudaGraphs/jacobi.cu", "JacobiMethod")
def jacobi(_scale: int) -> Launch:
    n = 512
    a = uniform(n, n) + n * np.eye(n, dtype=np.float32)
    b, x = uniform(n, dtype=np.float64), uniform(n, dtype=np.float64, seed=1)
    step = (b - a.astype(np.float64) @ x) / np.diag(a)
    args = [a, b, 0.01, x, new(n, dtype=np.float64), np.zeros(1)]
    expected = {4: x + step, 5: np.array([np.abs(step).sum()])}
    return Launch(n // 8, 256, args, expected, rtol=1e-10)


@declare("jacobiCudaGraphs/jacobi.cu", "finalError")
def error_sum(_scale: int) -> Launch:
    x = uniform(512, dtype=np.float64)
    return Launch(
        3, 128, [x, np.zeros(1)], {1: np.array([np.abs(x - 1).sum()])}, (128 // 32 + 1) * 8, rtol=1e-10
    )


@declare("memMapIPCDrv/memMapIpc_kernel.cu", "memMapIpc_kernel")
def fill(scale: int) -> Launch:
    n = 5000 * scale
    return Launch(4, 256, [new(n, dtype=np.int8), n, 7], {0: np.full(n, 7, np.int8)})


@declare("newdelete/newdelete.cu", "vectorCreate")
def create(_scale: int) -> Launch:
    return Launch(1, 1, [np.zeros(1, np.uint64), 100], {0: lambda pointer: bool(pointer[0] != 0)})


FILLED = """
__device__ int pushed[64];
__global__ void setup(Container<int> **container) { *container = new Vector<int>(64, pushed); }
"""
POPPED = """
__global__ void setup(Container<int> **container) {
    *container = new Vector<int>(64);
    for (int i = 0; i < 64; i++) (*container)->push(3 * i);
}
"""
DELETED = """
__device__ int deleted;
struct Observed : Vector<int> {
    __device__ Observed(int size) : Vector<int>(size) {}
    __device__ virtual ~Observed() { deleted++; }
};
__global__ void setup(Container<int> **container) { *container = new Observed(64); }
"""


@declare("newdelete/newdelete.cu", "containerFill", setup=FILLED)
@declare("newdelete/newdelete.cu", "containerConsume", setup=POPPED)
@declare("newdelete/newdelete.cu", "containerDelete", setup=DELETED)
def shared_container(_scale: int, kernel: str, setup: str) -> Launch:
    container = np.zeros(1, np.uint64)
    exists = lambda pointer: bool(pointer[0] != 0)  # noqa: E731
    if kernel == "containerDelete":
        after = {"deleted": np.ones(1, np.int32)}
        return Launch(
            1, 1, [container], {0: exists}, setup=setup, setup_args=[container], expect_variables=after
        )
    if kernel == "containerFill":
        blocks_once = lambda got: bool((np.sort(got) == np.arange(64)).all())  # noqa: E731
        filled: dict[str, Expected] = {"pushed": blocks_once}
        return Launch(
            64, 32, [container], {0: exists}, setup=setup, setup_args=[container], expect_variables=filled
        )
    reason = "`pop` reads `m_top` plainly while other threads change it by atomicAdd"
    taken = np.sort(np.append(3 * np.arange(64), np.full(64, -1)))
    expected = {0: exists, 1: lambda got: bool((np.sort(got) == taken).all())}
    args = [container, new(128, dtype=np.int32)]
    return Launch(4, 32, args, expected, setup=setup, setup_args=[container], true_alarms=reason)


@declare("newdelete/newdelete.cu", "placementNew", "complexVector")
def push_and_pop(_scale: int) -> Launch:
    expected = np.sort(np.append(np.arange(128), np.full(128, -1)))
    reason = "`pop` reads `m_top` plainly while other threads change it by atomicAdd"
    args = [new(256, dtype=np.int32)]
    return Launch(1, 256, args, {0: lambda got: bool((np.sort(got) == expected).all())}, true_alarms=reason)


@declare("ptxjit/ptxjit_kernel.cu", "myKernel")
def thread_numbers(scale: int) -> Launch:
    n = 1024 * scale
    return Launch(n // 256, 256, [new(n, dtype=np.int32)], {0: np.arange(n, dtype=np.int32)})


@declare("simpleCudaGraphs/simpleCudaGraphs.cu", "reduce")
def reduce(scale: int) -> Launch:
    x = uniform(10_000 * scale)
    expected = np.bincount(np.arange(x.size) // 512 % 4, x, 4)
    return Launch(4, 512, [x, new(4, dtype=np.float64), x.size, 4], {1: expected}, rtol=1e-10)


@declare("simpleCudaGraphs/simpleCudaGraphs.cu", "reduceFinal")
def reduce_final(scale: int) -> Launch:
    x = uniform(1000 * scale, dtype=np.float64)
    return Launch(1, 512, [x, new(1, dtype=np.float64), x.size], {1: x.sum(keepdims=True)}, rtol=1e-10)


AGGREGATED = "warpAggregatedAtomicsCG/warpAggregatedAtomicsCG.cu"


@declare(AGGREGATED, "filter_arr")
def filter_positive(scale: int) -> Launch:
    x = integers(3000 * scale, low=-50, high=50)
    kept = np.sort(x[x > 0])
    check = lambda got: bool((np.sort(got[: kept.size]) == kept).all())  # noqa: E731
    args = [np.zeros(x.size, np.int32), np.zeros(1, np.int32), x, x.size]
    return Launch(4, 256, args, {0: check, 1: np.array([kept.size], np.int32)})


@declare(AGGREGATED, "mapToBuckets")
def buckets(scale: int) -> Launch:
    n, count = 3000 * scale, 8
    x = integers(n, high=count)
    sizes = np.bincount(x, minlength=count)
    start = (np.cumsum(sizes) - sizes).astype(np.int32)
    order = np.argsort(x, kind="stable")

    def check(got: Array) -> bool:
        parts = zip(np.split(got, start[1:]), np.split(order, start[1:]), strict=True)
        return all((np.sort(mine) == np.sort(theirs)).all() for mine, theirs in parts)

    args = [x, new(n, dtype=np.int32), start, n, count]
    return Launch(4, 256, args, {1: check, 2: (start + sizes).astype(np.int32)})


@declare(AGGREGATED, "calculateMaxInEachBuckets")
def maxima(scale: int) -> Launch:
    n, count = 3000 * scale, 8
    x, values = integers(n, high=count), integers(n, high=1 << 30)
    expected = np.array([values[x == bucket].max() for bucket in range(count)], np.int32)
    return Launch(4, 256, [x, values, np.zeros(count, np.int32), n, count], {2: expected})
