"""Launches of the CUDA kernels of PolyBench-ACC, with the blocks and grids of its host code.

The sizes are macros of its headers. `scale` is the size: extents of matrices and grids are multiples of it.
The values of the arrays are random; no launch depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.compatibility.launches import Launch, blocks, uniform

__all__ = ["POLYBENCH"]

Function = Callable[[int], Launch]
POLYBENCH: dict[tuple[str, str], Function] = {}  # by file in `CUDA/` and kernel

ALGEBRA, SOLVERS = "linear-algebra/kernels/", "linear-algebra/solvers/"
TILE, ROW = (32, 8), (256, 1)  # blocks of the repository for two and for one dimension


def declare(file: str, *kernels: str) -> Callable[[Callable[..., Launch]], Callable[..., Launch]]:
    def decorate(function: Callable[..., Launch]) -> Callable[..., Launch]:
        for kernel in kernels:
            several = len(kernels) > 1
            POLYBENCH[file, kernel] = partial(_called, function, kernel) if several else function
        return function

    return decorate


def _called(function: Callable[..., Launch], kernel: str, scale: int) -> Launch:
    return function(scale, kernel)


def over(width: int, height: int = 1, block: tuple[int, int] = TILE) -> tuple[int, int]:
    """Return the grid of blocks that covers an area."""
    return blocks(width, block[0]), blocks(height, block[1]) if height > 1 else 1


def launch(
    grid: tuple[int, int], block: tuple[int, int], args: Sequence[Any], written: Sequence[int], **sizes: int
) -> Launch:
    """Return a launch; `written` are the indices of arguments that the kernel changes."""
    return Launch(grid, block, args, dict.fromkeys(written), sizes=sizes)


# Products of matrices --------------------------------------------------------------------------


@declare(ALGEBRA + "gemm/gemm.cu", "gemm_kernel")
def gemm(scale: int) -> Launch:
    n = 512 * scale
    args = [n, n, n, 1.5, 0.5, *(uniform(n, n, seed=seed) for seed in range(3))]
    return launch(over(n, n), TILE, args, [7], NI=n, NJ=n, NK=n)


@declare(ALGEBRA + "2mm/2mm.cu", "mm2_kernel1", "mm2_kernel2")
def two_products(scale: int, kernel: str) -> Launch:
    n = 512 * scale
    args = [n, n, n, n, 1.5, 0.5, *(uniform(n, n, seed=seed) for seed in range(3))]
    return launch(over(n, n), TILE, args, [6 if kernel.endswith("1") else 8], NI=n, NJ=n, NK=n, NL=n)


@declare(ALGEBRA + "3mm/3mm.cu", "mm3_kernel1", "mm3_kernel2", "mm3_kernel3")
def three_products(scale: int, _kernel: str) -> Launch:
    n = 512 * scale
    args = [n, n, n, n, n, *(uniform(n, n, seed=seed) for seed in range(3))]
    return launch(over(n, n), TILE, args, [7], NI=n, NJ=n, NK=n, NL=n, NM=n)


@declare(ALGEBRA + "syrk/syrk.cu", "syrk_kernel")
def rank_update(scale: int) -> Launch:
    n = 512 * scale
    return launch(over(n, n), TILE, [n, n, 1.5, 0.5, uniform(n, n), uniform(n, n, seed=1)], [5], NI=n, NJ=n)


@declare(ALGEBRA + "syr2k/syr2k.cu", "syr2k_kernel")
def double_rank_update(scale: int) -> Launch:
    n = 512 * scale
    args = [n, n, 1.5, 0.5, *(uniform(n, n, seed=seed) for seed in range(3))]
    return launch(over(n, n), TILE, args, [6], NI=n, NJ=n)


@declare(ALGEBRA + "doitgen/doitgen.cu", "doitgen_kernel1", "doitgen_kernel2")
def multi_resolution(scale: int, kernel: str) -> Launch:
    n = 256 * scale
    first = kernel.endswith("1")
    args = [2, n, n, uniform(2, n, n), uniform(2, n, n, seed=1), uniform(n, n, seed=2), 1]
    return launch(over(n, n), TILE, args, [3 if first else 4], NR=2, NQ=n, NP=n)


# Products with vectors -------------------------------------------------------------------------


def _shape(scale: int) -> tuple[int, int]:
    """Return the extents of a matrix: a square, or for scale 0 many columns."""
    return (4096 * scale, 4096 * scale) if scale else (512, 65536)


@declare(ALGEBRA + "atax/atax.cu", "atax_kernel1", "atax_kernel2")
def atax(scale: int, kernel: str) -> Launch:
    rows, columns = _shape(scale)
    first = kernel.endswith("1")
    given, result = (columns, rows) if first else (rows, columns)
    vectors = [uniform(given), uniform(result)] if first else [uniform(result), uniform(given)]
    args = [rows, columns, uniform(rows, columns), *vectors]
    return launch(over(result), TILE, args, [4 if first else 3], NX=rows, NY=columns)


@declare(ALGEBRA + "bicg/bicg.cu", "bicg_kernel1", "bicg_kernel2")
def bicg(scale: int, kernel: str) -> Launch:
    rows, columns = _shape(scale)
    given, result = (rows, columns) if kernel.endswith("1") else (columns, rows)
    args = [rows, columns, uniform(rows, columns), uniform(given), uniform(result)]
    return launch(over(result, block=ROW), ROW, args, [4], NX=rows, NY=columns)


@declare(ALGEBRA + "mvt/mvt.cu", "mvt_kernel1", "mvt_kernel2")
def mvt(scale: int, _kernel: str) -> Launch:
    n = 4096 * scale
    return launch(over(n), TILE, [n, uniform(n, n), uniform(n), uniform(n, seed=1)], [2], N=n)


@declare(ALGEBRA + "gesummv/gesummv.cu", "gesummv_kernel")
def gesummv(scale: int) -> Launch:
    n = 4096 * scale
    matrices = [uniform(n, n), uniform(n, n, seed=1)]
    args = [n, 1.5, 0.5, *matrices, uniform(n), uniform(n, seed=1), uniform(n, seed=2)]
    return launch(over(n, block=ROW), ROW, args, [5, 7], N=n)


@declare(ALGEBRA + "gemver/gemver.cu", "gemver_kernel1", "gemver_kernel2", "gemver_kernel3")
def gemver(scale: int, kernel: str) -> Launch:
    n = 4096 * scale
    vectors = [uniform(n, seed=seed) for seed in range(4)]
    given = [n, 1.5, 0.5, uniform(n, n)]
    if kernel.endswith("1"):
        return launch(over(n, n), TILE, [*given, *vectors], [3], N=n)
    count = 3 if kernel.endswith("2") else 2
    written = 4 if kernel.endswith("2") else 5
    return launch(over(n, block=ROW), ROW, [*given, *vectors[:count]], [written], N=n)


# Solvers and statistics ------------------------------------------------------------------------


@declare(SOLVERS + "gramschmidt/gramschmidt.cu", *(f"gramschmidt_kernel{n}" for n in (1, 2, 3)))
def gramschmidt(scale: int, kernel: str) -> Launch:
    n = 1024 * scale
    args = [n, n, *(uniform(n, n, low=1, high=2, seed=seed) for seed in range(3)), 5]
    grid = (1, 1) if kernel.endswith("1") else over(n, block=ROW)
    written = {"1": [3], "2": [4], "3": [2, 3]}[kernel[-1]]
    return launch(grid, ROW, args, written, NI=n, NJ=n)


@declare(SOLVERS + "lu/lu.cu", "lu_kernel2")
def lu(scale: int) -> Launch:
    n = 1024 * scale
    return launch(over(n, n), TILE, [n, uniform(n, n, low=1, high=2), 7], [1], N=n)


def _means(folder: str, kernel: str) -> None:
    @declare(f"datamining/{folder}/{folder}.cu", kernel)
    def statistics(scale: int) -> Launch:
        m, n = (8192 * scale, 2048) if "reduce" in kernel else (2048 * scale, 2048)
        data, mean = uniform(n, m), uniform(m)
        if kernel == "reduce_kernel":
            deviation = [uniform(m, low=1, high=2)] if folder == "correlation" else []
            args = [m, n, mean, *deviation, data]
            return launch(over(m, n), TILE, args, [len(args) - 1], M=m, N=n)
        args = [m, n, mean, *([uniform(m)] if kernel == "std_kernel" else []), data]
        return launch(over(m, block=ROW), ROW, args, [len(args) - 2], M=m, N=n)


for _folder in ("correlation", "covariance"):
    _means(_folder, "mean_kernel")
    _means(_folder, "reduce_kernel")
_means("correlation", "std_kernel")


@declare("datamining/correlation/correlation.cu", "corr_kernel")
@declare("datamining/covariance/covariance.cu", "covar_kernel")
def products_of_columns(scale: int) -> Launch:
    m, n = 512 * scale, 32
    return launch(over(m, block=ROW), ROW, [m, n, uniform(m, m), uniform(n, m)], [2], M=m, N=n)


# Grids -----------------------------------------------------------------------------------------


@declare("stencils/adi/adi.cu", "adi_kernel1", "adi_kernel3")
def adi(scale: int, kernel: str) -> Launch:
    n = 1024 * scale
    args = [n, *(uniform(n, n, low=2, high=3, seed=seed) for seed in range(3))]
    return launch(over(n, block=ROW), ROW, args, [2, 3] if kernel.endswith("1") else [3], N=n)


@declare("stencils/jacobi-2d-imper/jacobi2D.cu", "runJacobiCUDA_kernel1", "runJacobiCUDA_kernel2")
def jacobi_2d(scale: int, kernel: str) -> Launch:
    n = 1024 * scale
    args = [n, uniform(n, n), uniform(n, n, seed=1)]
    return launch(over(n, n), TILE, args, [2 if kernel.endswith("1") else 1], N=n)


@declare("stencils/jacobi-1d-imper/jacobi1D.cu", "runJacobiCUDA_kernel1", "runJacobiCUDA_kernel2")
def jacobi_1d(scale: int, kernel: str) -> Launch:
    n = 4096 * 1024 * scale
    args = [n, uniform(n), uniform(n, seed=1)]
    return launch(over(n, block=ROW), ROW, args, [2 if kernel.endswith("1") else 1], N=n)


@declare("stencils/fdtd-2d/fdtd2d.cu", *(f"fdtd_step{n}_kernel" for n in (1, 2, 3)))
def fdtd(scale: int, kernel: str) -> Launch:
    n = 2048 * scale
    fields = [uniform(n, n, seed=seed) for seed in range(3)]
    first = [uniform(500)] if "1" in kernel else []
    args = [n, n, *first, *fields, 3]
    written = {"1": 4, "2": 2, "3": 4}[kernel[9]]
    return launch(over(n, n), TILE, args, [written], NX=n, NY=n)


@declare("stencils/convolution-2d/2DConvolution.cu", "convolution2D_kernel")
def convolution_2d(scale: int) -> Launch:
    n = 2048 * scale
    return launch(over(n, n), TILE, [n, n, uniform(n, n), uniform(n, n, seed=1)], [3], NI=n, NJ=n)


@declare("stencils/convolution-3d/3DConvolution.cu", "convolution3D_kernel")
def convolution_3d(scale: int) -> Launch:
    n = 1024 * scale
    arrays = [uniform(3, n, n), uniform(3, n, n, seed=1)]
    return launch(over(n, n), TILE, [3, n, n, *arrays, 1], [4], NI=3, NJ=n, NK=n)
