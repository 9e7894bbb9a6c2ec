"""Launches of NVIDIA/cuda-samples, `0_Introduction`."""

from __future__ import annotations

import re
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Expected,
    Launch,
    blocks,
    integers,
    new,
    normal,
    suite,
    uniform,
)

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/0_Introduction/")
SORTED, SAMPLE = 256, 128  # elements of the sorted segments, and between their samples, in mergeSort


@declare("asyncAPI/asyncAPI.cu", "increment_kernel")
@declare("cudaOpenMP/cudaOpenMP.cu", "kernelAddConstant")
def add_constant(scale: int) -> Launch:
    x = integers(1024 * scale)
    return Launch(x.size // 256, 256, [x, 26], {0: x + 26})


@declare("clock/clock.cu", "timedReduction")
@declare("clock_nvrtc/clock_kernel.cu", "timedReduction")
def timed_reduction(scale: int) -> Launch:
    x = normal(512)
    grid = 8 * scale
    args = [x, new(grid), new(2 * grid, dtype=np.int64)]
    expected: dict[int, Expected] = {
        1: np.full(grid, x.min()),
        2: lambda timer: bool((timer[grid:] >= timer[:grid]).all()),
    }
    return Launch(grid, 256, args, expected, 512 * 4)


@declare(
    "fp16ScalarProduct/fp16ScalarProduct.cu", "scalarProductKernel_intrinsics", "scalarProductKernel_native"
)
def scalar_product(scale: int) -> Launch:
    grid, size = 4 * scale, 2000 * scale
    a, b = (integers(size, 2, high=2, seed=seed, dtype=np.float16) for seed in (0, 1))
    first = np.arange(128)[:, None] + 128
    products = np.append((a * b).sum(1), np.zeros(2 * 128 * grid))
    used = [np.minimum(first + block + np.arange(0, size, 128 * grid), size) for block in range(grid)]
    return Launch(grid, 128, [a, b, new(grid), size], {2: np.array([products[each].sum() for each in used])})


@declare("matrixMul/matrixMul.cu", "MatrixMulCUDA", tiles=(16, 32))
@declare("matrixMul_nvrtc/matrixMul_kernel.cu", "matrixMulCUDA_block16", tiles=(16,))
@declare("matrixMul_nvrtc/matrixMul_kernel.cu", "matrixMulCUDA_block32", tiles=(32,))
@declare("matrixMulDrv/matrixMul_kernel.cu", "matrixMul_bs8_64bit", tiles=(8,))
@declare("matrixMulDrv/matrixMul_kernel.cu", "matrixMul_bs16_64bit", tiles=(16,))
@declare("matrixMulDrv/matrixMul_kernel.cu", "matrixMul_bs32_64bit", tiles=(32,))
def matrix_product(scale: int, kernel: str, tiles: tuple[int, ...]) -> list[Launch]:
    rows, columns, depth = 64 * scale, 96 * scale, 128 * scale
    a, b = normal(rows, depth), normal(depth, columns)
    expected = a.astype(np.float64) @ b
    return [
        Launch(
            (columns // tile, rows // tile),
            (tile, tile),
            [new(rows, columns), a, b, depth, columns],
            {0: expected},
            instance=f"{kernel}<{tile}>" if kernel == "MatrixMulCUDA" else "",
        )
        for tile in tiles
    ]


# mergeSort -------------------------------------------------------------------------------------


def _segments(scale: int, length: int, descending: bool = False) -> tuple[Array, Array, Array, Array]:
    """Return keys in sorted segments and their values; and both in sorted segments of the double length."""
    order = np.argsort(uniform(1024 * scale), kind="stable").astype(np.uint32)
    keys, values = 3 * order, integers(order.size, high=1 << 30, dtype=np.uint32)

    def sort(size: int) -> tuple[Array, Array]:
        parts = keys.reshape(-1, size)
        index = np.argsort(parts, 1)[:, :: -1 if descending else 1]
        return np.take_along_axis(parts, index, 1).ravel(), np.take_along_axis(
            values.reshape(-1, size), index, 1
        ).ravel()

    return (*sort(length), *sort(2 * length))


def _ranks(keys: Array, descending: bool = False) -> tuple[Array, Array]:
    """Return where the samples of each pair of segments belong in its first and in its second segment."""
    signed = keys.astype(np.int64) * (-1 if descending else 1)
    places = np.arange(0, SORTED, SAMPLE)
    ranks_a, ranks_b = [], []
    for a, b in signed.reshape(-1, 2, SORTED):
        ranks_a += [places, np.searchsorted(a, b[places], "right")]
        ranks_b += [np.searchsorted(b, a[places], "left"), places]
    return np.concatenate(ranks_a).astype(np.uint32), np.concatenate(ranks_b).astype(np.uint32)


def _limits(ranks: Array) -> Array:
    return np.sort(ranks.reshape(-1, 2 * SORTED // SAMPLE), 1).ravel()


@declare("mergeSort/bitonic.cu", "bitonicSortSharedKernel")
@declare("mergeSort/mergeSort.cu", "mergeSortSharedKernel")
def sort_in_shared(scale: int, kernel: str) -> list[Launch]:
    order = integers(1024 * scale, high=1 << 30, dtype=np.uint32)
    keys, values = np.argsort(order).astype(np.uint32), order
    result = []
    for direction in (1, 0):
        size = 1024 if kernel.startswith("bitonic") else 512
        index = np.argsort(keys.reshape(-1, size), 1)[:, :: 1 if direction else -1]
        expected = {
            n: np.take_along_axis(x.reshape(-1, size), index, 1) for n, x in enumerate((keys, values))
        }
        args = [new(keys.size, dtype=np.uint32), new(keys.size, dtype=np.uint32), keys, values, size]
        if kernel.startswith("bitonic"):
            result.append(Launch(scale, 512, [*args, direction], expected))
        else:
            result.append(Launch(scale, 512, args, expected, instance=f"{kernel}<{direction}U>"))
    return result


@declare("mergeSort/mergeSort.cu", "generateSampleRanksKernel")
def sample_ranks(scale: int, kernel: str) -> list[Launch]:
    result = []
    for direction in (1, 0):
        keys, *_ = _segments(scale, SORTED, not direction)
        ranks = _ranks(keys, not direction)
        threads = keys.size // (2 * SAMPLE)
        outputs = [new(ranks[0].size, dtype=np.uint32) for _ in range(2)]
        args = [*outputs, keys, SORTED, keys.size, threads]
        instance = f"{kernel}<{direction}U>"
        result.append(Launch(blocks(threads, 256), 256, args, dict(enumerate(ranks)), instance=instance))
    return result


@declare("mergeSort/mergeSort.cu", "mergeRanksAndIndicesKernel")
def merge_ranks(scale: int) -> Launch:
    keys, *_ = _segments(scale, SORTED)
    ranks = _ranks(keys)[0]
    threads = keys.size // (2 * SAMPLE)
    args = [new(ranks.size, dtype=np.uint32), ranks, SORTED, keys.size, threads]
    return Launch(blocks(threads, 256), 256, args, {0: _limits(ranks)})


@declare("mergeSort/bitonic.cu", "bitonicMergeElementaryIntervalsKernel")
@declare("mergeSort/mergeSort.cu", "mergeElementaryIntervalsKernel")
def merge_intervals(scale: int, kernel: str) -> list[Launch]:
    result = []
    for direction in (1, 0):
        keys, values, merged, moved = _segments(scale, SORTED, not direction)
        limits = [_limits(ranks) for ranks in _ranks(keys, not direction)]
        outputs = [new(keys.size, dtype=np.uint32) for _ in range(2)]
        args = [*outputs, keys, values, *limits, SORTED, keys.size]
        expected = {0: merged, 1: moved}
        instance = f"{kernel}<{direction}U>"
        result.append(Launch(keys.size // SAMPLE, SAMPLE, args, expected, instance=instance))
    return result


# Synchronization, atomics, votes, output -------------------------------------------------------


@declare("simpleAWBarrier/simpleAWBarrier.cu", "normVecByDotProductAWBarrier")
def norm_by_dot_product(scale: int) -> Launch:
    a, b = uniform(2000 * scale), uniform(2000 * scale, seed=1)
    padded = np.zeros(2048 * scale)
    padded[: a.size] = a * b
    parts = padded.reshape(-1, 4, 128).sum((0, 2))
    norm = sqrt(parts.sum())
    args = [a, b, new(4, dtype=np.float64), a.size]
    expected = {0: a / norm, 1: b / norm, 2: np.array([norm, *parts[1:]])}
    return Launch(4, 128, args, expected, 128 // 32 * 8, cooperative=True)


@declare("simpleAssert/simpleAssert.cu", "testKernel")
@declare("simpleAssert_nvrtc/simpleAssert_kernel.cu", "testKernel")
def assertion(_scale: int) -> list[Launch]:
    return [Launch(2, 32, [60], {}, assertion=True), Launch(2, 32, [64], {})]


def _increments(count: int, limit: int) -> int:
    """Return 0 after `count` calls of atomicInc with a limit."""
    return count % (limit + 1)


@declare("simpleAtomicIntrinsics/simpleAtomicIntrinsics_kernel.cuh", "testKernel")
@declare("simpleAtomicIntrinsics_nvrtc/simpleAtomicIntrinsics_kernel.cuh", "testKernel")
@declare("systemWideAtomics/systemWideAtomics.cu", "atomicKernel", rounds=50)
def atomics(scale: int, rounds: int = 1) -> Launch:
    threads = 512 * scale
    calls = threads * rounds
    start = np.zeros(11 if rounds == 1 else 10, np.int32)
    start[[-3, -1]] = 0xFF
    # The elements of atomicExch and atomicCAS depend on the order of the threads.
    fixed = {
        **({0: 10 * calls, 1: -10 * calls} if rounds == 1 else {0: 10 * calls}),
        start.size - 8: threads - 1,
        start.size - 7: 0,
        start.size - 6: _increments(calls, 17),
        start.size - 5: -calls % 138,
        start.size - 3: 1,
        start.size - 2: -1,
        start.size - 1: 0xFF,
    }

    def check(values: Array) -> bool:
        others = values[[start.size - 9, start.size - 4]]
        return all(values[n] == value for n, value in fixed.items()) and bool(
            ((others >= 0) & (others < threads)).all()
        )

    return Launch(threads // 128, 128, [start], {0: check})


@declare("simpleAttributes/simpleAttributes.cu", "kernCacheSegmentTest")
def cache_segment(scale: int) -> Launch:
    # Threads race for the elements, all of which are 0 and stay 0 in any order.
    data, trash = np.zeros(256, np.int32), np.zeros(4096 * scale, np.int32)
    reason = (
        "threads read `hit` while others increase it by atomicAdd; the number of rounds depends on the order"
    )
    return Launch(
        (2, 2), (8, 8), [data, data.size, trash, trash.size, 300], {0: data, 2: trash}, true_alarms=reason
    )


@declare("simpleCUDA2GL/simpleCUDA2GL.cu", "cudaProcess")
def checkerboard(scale: int) -> Launch:
    width, height = 128, 64 * scale
    y, x = np.indices((height, width)) & 0x20
    expected = ((x > 0) * 100 << 16 | (y > 0) * 100).astype(np.uint32)
    return Launch(
        (width // 16, height // 16), (16, 16), [new(*expected.shape, dtype=np.uint32), width], {0: expected}
    )


@declare("simpleCallback/simpleCallback.cu", "incKernel")
def increment(scale: int) -> Launch:
    x = integers(1000 * scale)
    return Launch(blocks(x.size, 256), 256, [x, x.size], {0: x + 1})


@declare("simpleMultiCopy/simpleMultiCopy.cu", "incKernel")
def increment_copies(scale: int) -> Launch:
    x = integers(1000 * scale)
    return Launch(blocks(x.size, 256), 256, [new(x.size, dtype=np.int32), x, x.size, 5], {0: x + 1})


@declare("simpleCooperativeGroups/simpleCooperativeGroups.cu", "cgkernel")
def group_sums(_scale: int) -> Launch:
    def printed(text: str) -> bool:
        sums = re.findall(r"is (\d+) \(expected (\d+)\)", text)
        return sorted(sums) == sorted([("2016", "2016"), *[("120", "120")] * 4])

    return Launch(1, 64, [], {}, 64 * 4, printed=printed)


@declare("simplePrintf/simplePrintf.cu", "testKernel")
def printf(_scale: int) -> Launch:
    def printed(text: str) -> bool:
        found = [tuple(map(int, re.findall(r"\d+", line))) for line in text.splitlines()]
        return sorted(found) == [(block, thread, 10) for block in range(4) for thread in range(8)]

    return Launch((2, 2), (2, 2, 2), [10], {}, printed=printed)


@declare("simpleHyperQ/simpleHyperQ.cu", "kernel_A", "kernel_B")
def wait(scale: int) -> Launch:
    return Launch(
        1, 1, [new(1, dtype=np.int64), 1000 * scale], {0: lambda clock: bool(clock[0] >= 1000 * scale)}
    )


@declare("simpleHyperQ/simpleHyperQ.cu", "sum")
def sum_of_clocks(scale: int) -> Launch:
    x = integers(200 * scale, dtype=np.int64)
    return Launch(1, 32, [x, x.size], {0: np.append(x.sum(), x[1:])})


@declare("simpleVoteIntrinsics/simpleVote_kernel.cuh", "VoteAnyKernel1", "VoteAllKernel2")
def vote(_scale: int, kernel: str) -> Launch:
    x = np.zeros((4, 32), np.uint32)
    x[1, 3] = 1
    x[2] = 1
    x[3, ::2] = 1
    result = x.any(1) if "Any" in kernel else x.all(1)
    return Launch(1, 128, [x, new(128, dtype=np.uint32), 128], {1: np.repeat(result, 32).astype(np.uint32)})


@declare("simpleVoteIntrinsics/simpleVote_kernel.cuh", "VoteAnyKernel3")
def vote_bools(_scale: int) -> Launch:
    thread = np.arange(96)
    expected = np.stack([thread >= 32, thread >= 48, thread >= 64], 1)
    return Launch(1, 96, [np.zeros((96, 3), bool), 32], {0: expected})


# Elements --------------------------------------------------------------------------------------


@declare("simpleIPC/simpleIPC.cu", "simpleKernel")
def fill(scale: int) -> Launch:
    n = 5000 * scale
    return Launch(4, 256, [new(n, dtype=np.int8), n, 7], {0: np.full(n, 7, np.int8)})


@declare("simpleMPI/simpleMPI.cu", "simpleMPIKernel")
def square_roots(scale: int) -> Launch:
    x = uniform(1024 * scale)
    return Launch(x.size // 256, 256, [x, new(x.size)], {1: np.sqrt(x, dtype=np.float64)})


@declare("simpleMultiGPU/simpleMultiGPU.cu", "reduceKernel")
def partial_sums(scale: int) -> Launch:
    x = normal(9 * 1024 * scale)
    return Launch(4, 256, [new(1024), x, x.size], {0: x.reshape(-1, 1024).sum(0, np.float64)})


@declare("simpleOccupancy/simpleOccupancy.cu", "square")
def squares(scale: int) -> Launch:
    x = integers(1000 * scale)
    return Launch(blocks(x.size, 256), 256, [x, x.size], {0: x * x})


@declare("simpleP2P/simpleP2P.cu", "SimpleKernel")
def doubled(scale: int) -> Launch:
    x = normal(1024 * scale)
    return Launch(x.size // 256, 256, [x, new(x.size)], {1: 2 * x})


@declare("simpleStreams/simpleStreams.cu", "init_array")
def add_repeatedly(scale: int) -> Launch:
    x = integers(1024 * scale)
    return Launch(x.size // 256, 256, [x, np.array([3], np.int32), 5], {0: x + 15})


@declare("simpleTemplates/simpleTemplates.cu", "testKernel", types={"float": np.float32, "int": np.int32})
@declare("template/template.cu", "testKernel", types={"": np.float32})
def times_threads(_scale: int, types: dict[str, Any]) -> list[Launch]:
    result = []
    for name, dtype in types.items():
        x = integers(32, dtype=dtype)
        instance = name and f"testKernel<{name}>"
        result.append(Launch(1, 32, [x, new(32, dtype=dtype)], {1: 32 * x}, 32 * 4, instance=instance))
    return result


VECTOR_ADD = (
    ("vectorAdd/vectorAdd.cu", "vectorAdd"),
    ("vectorAdd_nvrtc/vectorAdd_kernel.cu", "vectorAdd"),
    ("vectorAddDrv/vectorAdd_kernel.cu", "VecAdd_kernel"),
    ("vectorAddMMAP/vectorAdd_kernel.cu", "VecAdd_kernel"),
    ("simpleDrvRuntime/vectorAdd_kernel.cu", "VecAdd_kernel"),
    ("simpleZeroCopy/simpleZeroCopy.cu", "vectorAddGPU"),
    ("../2_Concepts_and_Techniques/streamOrderedAllocation/streamOrderedAllocation.cu", "vectorAddGPU"),
)


def vector_add(scale: int) -> Launch:
    x, y = normal(5000 * scale), normal(5000 * scale, seed=1)
    return Launch(blocks(x.size, 256), 256, [x, y, new(x.size), x.size], {2: x + y})


for _file, _kernel in VECTOR_ADD:
    declare(_file, _kernel)(vector_add)
