"""Launches of siboehm/SGEMM_CUDA: versions of C = alpha A B + beta C in single precision."""

from __future__ import annotations

import numpy as np

from benchmarks.compatibility.launches import Launch, blocks, new, normal, suite

__all__: list[str] = []

declare = suite("SGEMM_CUDA", "src/kernels/")
WARPTILING = (128, 128, 16, 64, 64, 4, 8, 4, 128)
DOUBLE_BUFFERING = (128, 256, 16, 128, 32, 1, 8, 8, 256)


def _sgemm(scale: int, instance: str, tile: tuple[int, int], threads: int | tuple[int, int]) -> Launch:
    """Return the launch of a kernel of which a block computes a tile of C: rows and columns."""
    rows, columns, depth = tile[0] * (1 + scale), tile[1] * (1 + scale), 64 * scale
    a, b, c = normal(rows, depth, seed=1), normal(depth, columns, seed=2), normal(rows, columns, seed=3)
    grid = blocks(columns, tile[1]), blocks(rows, tile[0])
    expected = 0.5 * (a.astype(np.float64) @ b) + 3.0 * c
    return Launch(grid, threads, [rows, columns, depth, 0.5, a, b, 3.0, c], {7: expected}, instance=instance)


@declare("1_naive.cuh", "sgemm_naive")
def naive(scale: int) -> Launch:
    return _sgemm(scale, "", (32, 32), (32, 32))


@declare("2_kernel_global_mem_coalesce.cuh", "sgemm_global_mem_coalesce")
@declare("3_kernel_shared_mem_blocking.cuh", "sgemm_shared_mem_block")
def block_of_1024(scale: int, kernel: str) -> Launch:
    return _sgemm(scale, f"{kernel}<32>", (32, 32), 1024)


@declare("4_kernel_1D_blocktiling.cuh", "sgemm1DBlocktiling")
def column_per_thread(scale: int) -> Launch:
    return _sgemm(scale, "sgemm1DBlocktiling<64, 64, 8, 8>", (64, 64), 512)


@declare("5_kernel_2D_blocktiling.cuh", "sgemm2DBlocktiling")
@declare("6_kernel_vectorize.cuh", "sgemmVectorize")
@declare("7_kernel_resolve_bank_conflicts.cuh", "sgemmResolveBankConflicts")
@declare("8_kernel_bank_extra_col.cuh", "sgemmResolveBankExtraCol")
def tile_per_thread(scale: int, kernel: str) -> list[Launch]:
    # With tiles of 64, which the host code uses for matrices below 128, the 64 threads of a vectorized kernel
    # load 256 of the 512 elements of each tile: the result is undefined.
    tiles = (128, 64) if kernel == "sgemm2DBlocktiling" else (128,)
    return [_sgemm(scale, f"{kernel}<{n}, {n}, 8, 8, 8>", (n, n), n * n // 64) for n in tiles]


@declare("9_kernel_autotuned.cuh", "sgemmAutotuned")
def autotuned(scale: int) -> Launch:
    return _sgemm(scale, "sgemmAutotuned<128, 128, 16, 8, 8>", (128, 128), 256)


@declare("10_kernel_warptiling.cuh", "sgemmWarptiling", parameters=WARPTILING)
@declare("11_kernel_double_buffering.cuh", "sgemmDoubleBuffering", parameters=DOUBLE_BUFFERING)
@declare("12_kernel_double_buffering.cuh", "runSgemmDoubleBuffering2", parameters=WARPTILING)
def tile_per_warp(scale: int, kernel: str, parameters: tuple[int, ...]) -> Launch:
    instance = f"{kernel}<{', '.join(map(str, parameters))}>"
    return _sgemm(scale, instance, (parameters[0], parameters[1]), parameters[-1])


@suite("SGEMM_CUDA")("simplest_kernel.cu", "kernel")
def simplest(_scale: int) -> Launch:
    rows, columns = np.indices((4, 4), dtype=np.uint32)
    arrays = [new(16, dtype=np.uint32), new(16, dtype=np.uint32)]
    return Launch(1, 16, [*arrays, 4], {0: rows, 1: columns})
