"""Launches of NVIDIA/cuda-samples, `2_Concepts_and_Techniques`."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import cos, pi, sqrt
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    New,
    Part,
    blocks,
    integers,
    new,
    normal,
    suite,
    uniform,
)

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/2_Concepts_and_Techniques/")
TYPES: dict[str, Any] = {"int": np.int32, "float": np.float32, "double": np.float64}

EGL_STREAM = "EGLStream_CUDA_CrossGPU/kernel.cu"


@declare(EGL_STREAM, "writeDataToBuffer")
def write_value(scale: int) -> Launch:
    n = 2048 * scale
    return Launch(n // 1024, 1024, [new(n, dtype=np.int8), 7], {0: np.full(n, 7, np.int8)})


@declare(EGL_STREAM, "testKernelConsumer", "testKernelProducer")
def find_error(scale: int) -> list[Launch]:
    right = np.full(2048 * scale, 7, np.int8)
    wrong = right.copy()
    wrong[[1500, 1600]] = 5

    def printed(text: str) -> bool:
        return re.findall(r"-?\d+", text)[:3] in (["5", "7", "1500"], ["5", "7", "1600"])

    grid = right.size // 1024
    reason = "a thread that finds an error reads `errorFound` while another one that finds an error writes it"
    return [
        Launch(
            grid,
            1024,
            [right, 8, 7, 9, 1],
            {},
            printed=lambda text: not text,
            expect_variables={"numErrors": 0},
        ),
        Launch(grid, 1024, [wrong, 8, 7, 9, 1], {}, printed=printed, true_alarms=reason),
    ]


@declare(EGL_STREAM, "getNumErrors")
@declare(
    "../8_Platform_Specific/Tegra/EGLSync_CUDAEvent_Interop/EGLSync_CUDAEvent_Interop.cu", "getNumErrors"
)
def count_errors(_scale: int) -> Launch:
    return Launch(1, 1, [new(1, dtype=np.int32)], {0: np.array([3], np.int32)}, variables={"numErrors": 3})


# Monte Carlo -----------------------------------------------------------------------------------


@declare("MC_EstimatePiP/src/piestimator.cu", "computeValue")
@declare("MC_EstimatePiQ/src/piestimator.cu", "computeValue")
def points_inside(scale: int) -> list[Launch]:
    n, result = 5000 * scale, []
    for name in ("float", "double"):
        points = uniform(2, n, dtype=TYPES[name])
        inside = (points**2).sum(0) < 1
        expected = np.bincount(np.arange(n) // 128 % 8, inside, 8).astype(np.uint32)
        args = [new(8, dtype=np.uint32), points, n]
        result.append(Launch(8, 128, args, {0: expected}, 128 * 4, instance=f"computeValue<{name}>"))
    return result


FIELDS = ("spot", "strike", "r", "sigma", "tenor", "dt", "golden", "value")


@declare("MC_SingleAsianOptionP/src/pricingengine.cu", "computeValue")
def asian_option(scale: int) -> list[Launch]:
    n, steps, result = 3000 * scale, 20, []
    for name in ("float", "double"):
        real = TYPES[name]
        paths = uniform(steps, n, low=0.5, high=1.5, dtype=real)
        option = np.zeros(1, [(field, real) for field in FIELDS] + TAIL[name])
        option["spot"], option["strike"], option["type"] = 40, 38, 0
        payoff = np.maximum(0, paths.sum(0, np.float64) * 40 / steps - 38)
        expected = np.bincount(np.arange(n) // 128 % 8, payoff, 8)
        args = [new(8, dtype=real), paths, option.view(np.uint8), n, steps]
        result.append(Launch(8, 128, args, {0: expected}, 128 * 8, instance=f"computeValue<{name}>"))
    return result


TAIL: dict[str, list[Any]] = {
    "float": [("type", np.int32)],
    "double": [("type", np.int32), ("padding", np.int32)],
}


# Images ----------------------------------------------------------------------------------------


def box(x: Array, radius: int, axis: int) -> Array:
    width = [(radius, radius) if n == axis else (0, 0) for n in range(x.ndim)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, width, "edge"), 2 * radius + 1, axis)
    return np.asarray(windows.mean(-1, dtype=np.float64))


@declare("boxFilter/boxFilter_kernel.cu", "d_boxfilter_x_global", axis=1)
@declare("boxFilter/boxFilter_kernel.cu", "d_boxfilter_y_global", axis=0)
def box_filter(scale: int, axis: int) -> Launch:
    height, width = 128 * scale, 64 * scale
    x = uniform(height, width)
    lines = (height, width)[1 - axis]
    args = [x, new(height, width), width, height, 5]
    return Launch(lines // 64, 64, args, {1: box(x, 5, axis)}, rtol=1e-4)


@declare("boxFilter/boxFilter_kernel.cu", "d_boxfilter_rgba_y")
def box_filter_rgba(scale: int) -> Launch:
    height, width = 64 * scale, 128 * scale
    x = integers(height, width, 4, high=256, dtype=np.uint8)
    expected = box(x, 5, 0)
    args = [x.view(np.uint32), new(height, width, dtype=np.uint32), width, height, 5]
    return Launch(width // 64, 64, args, {1: near_bytes(expected)})


def near_bytes(expected: Array, distance: float = 1.01) -> Callable[[Array], bool]:
    """Return a check that bytes are near the expected values, since kernels truncate them."""
    return lambda got: bool(
        np.abs(got.view(np.uint8).astype(float).ravel() - expected.ravel()).max() <= distance
    )


@declare("convolutionSeparable/convolutionSeparable.cu", "convolutionRowsKernel", axis=1)
@declare("convolutionSeparable/convolutionSeparable.cu", "convolutionColumnsKernel", axis=0)
def convolution(scale: int, axis: int) -> Launch:
    height, width = 128 * scale, 256 * scale
    x, weights = normal(height, width), normal(17)
    padded = np.pad(x, [(8, 8) if n == axis else (0, 0) for n in range(2)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 17, axis)
    expected = (windows * weights[::-1].astype(np.float64)).sum(-1)
    grid, block = ((width // 128, height // 4), (16, 4)) if axis else ((width // 16, height // 64), (16, 8))
    args = [new(height, width), x, width, height, width]
    return Launch(grid, block, args, {0: expected}, variables={"c_Kernel": weights})


def _dct_matrix() -> Array:
    rows = [
        [cos((2 * x + 1) * u * pi / 16) * (0.5 if u else sqrt(0.125)) for x in range(8)] for u in range(8)
    ]
    return np.array(rows)


def _in_tiles(x: Array, function: Callable[[Array], Array]) -> Array:
    """Return an image in which a function has replaced each 8 x 8 tile."""
    height, width = x.shape
    tiles = x.reshape(height // 8, 8, width // 8, 8).transpose(0, 2, 1, 3)
    return function(tiles).transpose(0, 2, 1, 3).reshape(height, width)


def dct(x: Array, inverse: bool = False) -> Array:
    matrix = _dct_matrix().T if inverse else _dct_matrix()
    return _in_tiles(x.astype(np.float64), lambda tiles: matrix @ tiles @ matrix.T)


@declare("dct8x8/dct8x8_kernel2.cuh", "CUDAkernel2DCT", "CUDAkernel2IDCT")
def dct_float(scale: int, kernel: str) -> Launch:
    x = normal(32 * scale, 64 * scale)
    grid = x.shape[1] // 32, x.shape[0] // 16
    return Launch(grid, (8, 4, 2), [new(*x.shape), x, x.shape[1]], {0: dct(x, "IDCT" in kernel)})


@declare("dct8x8/dct8x8_kernel_short.cuh", "CUDAkernelShortDCT", "CUDAkernelShortIDCT")
def dct_short(scale: int, kernel: str) -> Launch:
    x = integers(64 * scale, 64 * scale, low=-128, high=128, dtype=np.int16)
    expected = dct(x, "IDCT" in kernel)
    grid = x.shape[1] // 32, x.shape[0] // 32
    # The kernel computes with 13 to 16 bits after the point, in two passes.
    return Launch(grid, (8, 4, 4), [x, x.shape[1]], {0: lambda got: bool(np.abs(got - expected).max() < 2.5)})


@declare("dct8x8/dct8x8_kernel_quantization.cuh", "CUDAkernelQuantizationFloat", dtype=np.float32)
@declare("dct8x8/dct8x8_kernel_quantization.cuh", "CUDAkernelQuantizationShort", dtype=np.int16)
def quantization(scale: int, dtype: Any) -> Launch:
    x = (500 * normal(32 * scale, 32 * scale)).astype(dtype)
    table = integers(8, 8, low=10, high=90, dtype=np.int16)
    if dtype is np.int16:
        x = x * 1
        whole = _in_tiles(
            x.astype(np.int64), lambda t: np.sign(t) * ((np.abs(t) + (table >> 1)) // table) * table
        )
        expected = whole.astype(np.int16)
    else:
        expected = _in_tiles(x, lambda tiles: np.rint(tiles / table) * table)
    return Launch(
        (x.shape[1] // 8, x.shape[0] // 8),
        (8, 8),
        [x, x.shape[1]],
        {0: expected},
        variables={"Q": table.ravel()},
    )


# Eigenvalues -----------------------------------------------------------------------------------


def _tridiagonal(n: int) -> tuple[Array, Array, Array, float, float]:
    """Return diagonal, off-diagonal behind a 0, eigenvalues of a matrix, and their bounds."""
    diagonal, off = uniform(n) + 4 * np.arange(n, dtype=np.float32), uniform(n, seed=1)
    off[0] = 0
    matrix = np.diag(diagonal.astype(np.float64)) + np.diag(off[1:], 1) + np.diag(off[1:], -1)
    values = np.linalg.eigvalsh(matrix)
    return diagonal, np.append(off, np.float32(0)), values, float(values[0] - 1), float(values[-1] + 1)


def _sorted_near(expected: Array, tolerance: float = 2e-3) -> Callable[[Array], bool]:
    return lambda got: bool(np.abs(np.sort(got[: expected.size]) - expected).max() < tolerance)


@declare("eigenvalues/bisect_kernel_small.cuh", "bisectKernel")
def bisect_small(_scale: int) -> Launch:
    n = 64
    diagonal, off, values, low, high = _tridiagonal(n)
    outputs = [new(n), new(n), new(n, dtype=np.uint32), new(n, dtype=np.uint32)]
    args = [diagonal, Part(off, 1), n, *outputs, low, high, 0, n, 1e-5]
    expected = {3: _sorted_near(values), 5: lambda got: bool((np.sort(got) == np.arange(n)).all())}
    return Launch(1, 512, args, expected, true_alarms=ALL_CONVERGED)


ALL_CONVERGED = (
    "all threads set `all_threads_converged` to 1 at the beginning of a round, without a barrier after the "
    "reads at the end of the one before; the values are equal in both orders"
)


@declare("eigenvalues/bisect_kernel_large.cuh", "bisectKernelLarge")
def bisect_large(_scale: int) -> Launch:
    n = 100
    diagonal, off, values, low, high = _tridiagonal(n)
    numbers = [new(1, dtype=np.uint32), new(1, dtype=np.uint32)]
    one = [new(n), new(n), new(n, dtype=np.uint32)]
    several = [new(512), new(512), *(new(512, dtype=np.uint32) for _ in range(4))]
    args = [diagonal, Part(off, 1), n, low, high, 0, n, 1e-5, *numbers, *one, *several]
    expected = {
        8: np.array([n], np.uint32),
        9: None,
        10: _sorted_near(values),
        11: _sorted_near(values),
        12: None,
    }
    return Launch(1, 256, args, {**expected, **dict.fromkeys(range(13, 19))})


@declare("eigenvalues/bisect_kernel_large_onei.cuh", "bisectKernelLarge_OneIntervals")
def bisect_one(_scale: int) -> Launch:
    n = 100
    diagonal, off, values, low, high = _tridiagonal(n)
    bounds = np.concatenate([[low], (values[1:] + values[:-1]) / 2, [high]]).astype(np.float32)
    args = [
        diagonal,
        Part(off, 1),
        n,
        n,
        bounds[:-1].copy(),
        bounds[1:].copy(),
        np.arange(1, n + 1, dtype=np.uint32),
        1e-3,
    ]
    return Launch(1, 256, args, {4: _sorted_near(values)})


@declare("eigenvalues/bisect_kernel_large_multi.cuh", "bisectKernelLarge_MultIntervals")
def bisect_several(_scale: int) -> Launch:
    n, parts = 96, 4
    diagonal, off, values, low, high = _tridiagonal(n)
    counts = np.arange(0, n + 1, n // parts).astype(np.uint32)
    bounds = np.array([low, *((values[c] + values[c - 1]) / 2 for c in counts[1:-1]), high], np.float32)
    intervals = [bounds[:-1].copy(), bounds[1:].copy(), counts[:-1].copy(), counts[1:].copy()]
    table = [np.array([0, parts], np.uint32), np.array([0, n], np.uint32)]
    args = [diagonal, Part(off, 1), n, *table, *intervals, new(n), new(n, dtype=np.uint32), 1e-5]
    return Launch(1, 256, args, {9: _sorted_near(values), 10: lambda got: set(got) == set(range(1, n + 1))})


# Histograms, scans, reductions -----------------------------------------------------------------


@declare("histogram/histogram256.cu", "histogram256Kernel", words=1, threads=192, bins=256)
@declare("histogram/histogram64.cu", "histogram64Kernel", words=4, threads=64, bins=64)
def histogram(scale: int, words: int, threads: int, bins: int) -> Launch:
    grid, n = 4, 3000 * scale
    data = integers(n, words, high=1 << 32, dtype=np.uint32)
    block = np.arange(n) // threads % grid
    values = data.view(np.uint8).reshape(n, -1) // (256 // bins)
    expected = np.bincount((block[:, None] * bins + values).ravel(), minlength=grid * bins).astype(np.uint32)
    return Launch(grid, threads, [new(grid * bins, dtype=np.uint32), data, n], {0: expected})


@declare("histogram/histogram256.cu", "mergeHistogram256Kernel", bins=256)
@declare("histogram/histogram64.cu", "mergeHistogram64Kernel", bins=64)
def merge_histogram(scale: int, bins: int) -> Launch:
    parts = integers(300 * scale, bins, dtype=np.uint32)
    expected = parts.sum(0, np.uint32)
    return Launch(bins, 256, [new(bins, dtype=np.uint32), parts, len(parts)], {0: expected})


@declare(("inlinePTX/inlinePTX.cu", "inlinePTX_nvrtc/inlinePTX_kernel.cu"), "sequence_gpu")
def lane_numbers(scale: int) -> Launch:
    n = 1000 * scale
    return Launch(blocks(n, 256), 256, [new(n, dtype=np.int32), n], {0: np.arange(n, dtype=np.int32) % 32})


def _values(name: str, n: int) -> Array:
    return integers(n, high=1000) if name == "int" else uniform(n, dtype=TYPES[name])


def _reductions(
    kernel: str, arguments: str, chunk: int, grid: int = 0, threads: int = 256, n: int = 8192
) -> list[Launch]:
    """Return a launch for each type: a block sums chunks of the array."""
    result = []
    for name, dtype in TYPES.items():
        x = _values(name, n)
        parts = grid or n // chunk
        sums = np.bincount(np.arange(n) // chunk % parts, x, parts)
        args = [x, new(parts, dtype=dtype), n]
        instance = f"{kernel}<{name}{arguments}>"
        expected = {1: sums.astype(dtype)}
        shared = threads * np.dtype(dtype).itemsize
        result.append(Launch(parts, threads, args, expected, shared, instance=instance))
    return result


# The blocks that the host code names, with 32 or more threads: in smaller ones, and in those of reduce7 with
# fewer than 32 warps, lanes shuffle values of lanes that do not exist, which are undefined.
BLOCKS = (512, 256, 128, 64, 32)


@declare("reduction/reduction_kernel.cu", "reduce0", "reduce1", "reduce2", "reduce3")
def reduce(scale: int, kernel: str) -> list[Launch]:
    return _reductions(kernel, "", 256 if kernel < "reduce3" else 512, n=8192 * scale)


@declare("reduction/reduction_kernel.cu", "reduce4", "reduce5")
def reduce_unrolled(scale: int, kernel: str) -> list[Launch]:
    launches = [_reductions(kernel, f", {size}", 2 * size, 0, size, n=4096 * scale) for size in BLOCKS]
    return [each for row in launches for each in row]


@declare("reduction/reduction_kernel.cu", "reduce6", sizes=BLOCKS)
@declare("reduction/reduction_kernel.cu", "reduce7", sizes=(1024,))
def reduce_in_loop(scale: int, kernel: str, sizes: tuple[int, ...]) -> list[Launch]:
    launches = []
    for size in sizes:
        launches += _reductions(kernel, f", {size}, true", 2 * size, 4, size, n=8192 * scale)
        launches += _reductions(kernel, f", {size}, false", size, 4, size, n=8000 * scale)
    return launches


@declare("reduction/reduction_kernel.cu", "cg_reduce")
def reduce_groups(scale: int, kernel: str) -> list[Launch]:
    return _reductions(kernel, "", 256, 4, n=8000 * scale)


@declare("reduction/reduction_kernel.cu", "multi_warp_cg_reduce")
def reduce_tiles(scale: int, kernel: str) -> list[Launch]:
    sizes = (1024, *BLOCKS[:-1])
    launches = [
        _reductions(kernel, f", {size}, {size // 2}", 2 * size, 4, size, n=8192 * scale) for size in sizes
    ]
    return [each for row in launches for each in row]


@declare("threadFenceReduction/threadFenceReduction_kernel.cuh", "reduceMultiPass", "reduceSinglePass")
def reduce_blocks(scale: int, kernel: str) -> list[Launch]:
    result = []
    for size in BLOCKS:
        for n, flag in ((8192 * scale, "true"), (8000 * scale, "false")):
            x = uniform(n)
            sums = np.bincount(np.arange(n) // (2 * size) % 4, x, 4)
            if kernel == "reduceSinglePass":
                sums[0] = sums.sum()
            instance = f"{kernel}<{size}, {flag}>"
            result.append(Launch(4, size, [x, new(4), n], {1: sums}, size * 4, instance=instance))
    return result


@declare("reductionMultiBlockCG/reductionMultiBlockCG.cu", "reduceSinglePassMultiBlockCG")
def reduce_grid(scale: int) -> Launch:
    x = uniform(8000 * scale)
    sums = np.bincount(np.arange(x.size) // 256 % 4, x, 4)
    sums[0] = sums.sum()
    return Launch(4, 256, [x, new(4), x.size], {1: sums}, 256 * 8, cooperative=True)


@declare("scalarProd/scalarProd_kernel.cuh", "scalarProdGPU")
def scalar_products(scale: int) -> Launch:
    a, b = normal(10, 3000 * scale), normal(10, 3000 * scale, seed=1)
    return Launch(4, 256, [new(10), a, b, *a.shape], {0: (a.astype(np.float64) * b).sum(1)})


def _exclusive(x: Array) -> Array:
    return np.cumsum(x, -1, x.dtype) - x


@declare("scan/scan.cu", "scanExclusiveShared")
def scan_in_blocks(scale: int) -> list[Launch]:
    x = integers(4096 * scale, dtype=np.uint32)
    return [
        Launch(
            x.size // 1024, 256, [new(x.size, dtype=np.uint32), x, size], {0: _exclusive(x.reshape(-1, size))}
        )
        for size in (1024, 256)
    ]


@declare("scan/scan.cu", "scanExclusiveShared2")
def scan_of_sums(scale: int) -> Launch:
    count, length = 48 * scale, 16
    x = integers(count, 1024, dtype=np.uint32)
    scanned = _exclusive(x)
    expected = _exclusive(x.sum(1, np.uint32).reshape(-1, length))
    return Launch(
        blocks(count, 256), 256, [new(count, dtype=np.uint32), scanned, x, count, length], {0: expected}
    )


@declare("scan/scan.cu", "uniformUpdate")
def add_to_blocks(scale: int) -> Launch:
    x, y = integers(4 * scale, 1024, dtype=np.uint32), integers(4 * scale, dtype=np.uint32)
    return Launch(len(x), 256, [x, y], {0: x + y[:, None]})


@declare("shfl_scan/shfl_scan.cu", "shfl_scan_test")
def scan_by_shuffles(scale: int) -> Launch:
    x = integers(8 * scale, 256)
    expected = x.cumsum(1, np.int32)
    args = [x, 32, new(len(x), dtype=np.int32)]
    return Launch(len(x), 256, args, {0: expected, 2: expected[:, -1].copy()}, 8 * 4)


@declare("shfl_scan/shfl_scan.cu", "uniform_add")
def add_sums(scale: int) -> Launch:
    x, y = integers(8 * scale, 256), integers(8 * scale)
    return Launch(len(x), 256, [x, y, x.size], {0: x + y[:, None]})


@declare("shfl_scan/shfl_integral_image.cuh", "shfl_intimage_rows")
def integral_rows(scale: int) -> Launch:
    x = integers(4 * scale, 1920, high=256, dtype=np.uint8)
    expected = x.cumsum(1, np.uint32)
    return Launch(len(x), 120, [x, new(*x.shape, dtype=np.uint32)], {1: expected})


@declare("shfl_scan/shfl_integral_image.cuh", "shfl_vertical_shfl")
def integral_columns(scale: int) -> Launch:
    x = integers(1080, 64 * scale, dtype=np.uint32)
    expected = x.cumsum(0, np.uint32)
    return Launch(x.shape[1] // 32, (32, 8), [x, x.shape[1], 1080], {0: expected})


# Graphs ----------------------------------------------------------------------------------------

SEGMENTS = "segmentationTreeThrust/kernels.cuh"


@declare(SEGMENTS, "addScalar")
def add_scalar(scale: int) -> Launch:
    x = integers(1000 * scale, low=10, dtype=np.uint32)
    return Launch(blocks(x.size, 256), 256, [x, -1, x.size], {0: x - 1})


@declare(SEGMENTS, "markSegments")
def mark(scale: int) -> Launch:
    offsets = np.cumsum(integers(300 * scale, low=1, high=9)).astype(np.uint32)
    flags = np.zeros(offsets[-1] + 1, np.uint32)
    expected = flags.copy()
    expected[offsets] = 1
    return Launch(blocks(offsets.size, 256), 256, [offsets, flags, offsets.size], {1: expected})


@declare(SEGMENTS, "getVerticesMapping")
def mapping(scale: int) -> Launch:
    order = np.argsort(uniform(1000 * scale)).astype(np.uint32)
    numbers = integers(order.size, dtype=np.uint32)
    expected = np.empty_like(numbers)
    expected[order] = numbers
    args = [order, numbers, new(order.size, dtype=np.uint32), order.size]
    return Launch(blocks(order.size, 256), 256, args, {2: expected})


@declare(SEGMENTS, "getSuccessors")
def successors(scale: int) -> Launch:
    ends = np.cumsum(integers(300 * scale, low=1, high=9)).astype(np.uint32)
    offsets = np.append(np.uint32(0), ends[:-1])
    edges = integers(int(ends[-1]), dtype=np.uint32)
    args = [offsets, edges, new(ends.size, dtype=np.uint32), ends.size, edges.size]
    return Launch(blocks(ends.size, 256), 256, args, {2: edges[ends - 1]})


@declare(SEGMENTS, "removeCycles")
def remove_cycles(scale: int) -> Launch:
    n = 1000 * scale
    following = np.minimum(np.arange(n) + 1, n - 1).astype(np.uint32)
    following[n - 1] = n - 2
    following[[10, 20]] = [20, 10]
    expected = following.copy()
    expected[[10, n - 2]] = [10, n - 2]
    reason = (
        "a thread of a cycle reads a successor that the other one replaces; both orders give the same values"
    )
    return Launch(blocks(n, 256), 256, [following, n], {0: expected}, true_alarms=reason)


@declare(SEGMENTS, "getRepresentatives")
def representatives(scale: int) -> Launch:
    n = 1000 * scale
    following = (np.arange(n) // 2).astype(np.uint32)
    args = [following, new(n, dtype=np.uint32), n]
    return Launch(blocks(n, 256), 256, args, {1: np.zeros(n, np.uint32)})


def _edges(scale: int) -> tuple[Array, Array, Array, Array]:
    """Return the start and the end of edges, their weights, and the numbers of groups of vertices."""
    n = 1000 * scale
    start, end = (integers(n, high=200, seed=seed, dtype=np.uint32) for seed in (0, 1))
    return start, end, uniform(n), integers(200, high=20, dtype=np.uint32)


@declare(SEGMENTS, "invalidateLoops")
def invalidate_loops(scale: int) -> Launch:
    start, end, _, groups = _edges(scale)
    expected = np.where(groups[start] == groups[end], np.uint32(0xFFFFFFFF), end)
    return Launch(blocks(end.size, 256), 256, [start, groups, end, end.size], {2: expected})


@declare(SEGMENTS, "calculateEdgesInfo")
def edges_info(scale: int) -> Launch:
    start, end, weights, groups = _edges(scale)
    end[::3] = 0xFFFFFFFF
    valid = end < 0xFFFFFFFF
    moved = np.where(valid, groups[start], groups[start] + 20).astype(np.uint32)
    kept = np.where(valid, np.arange(end.size), 0xFFFFFFFF).astype(np.uint32)
    outputs = [new(end.size, dtype=np.uint32), new(end.size, dtype=np.uint32)]
    args = [start, groups, end, weights, *outputs, end.size, 20]
    return Launch(blocks(end.size, 256), 256, args, {4: moved, 5: kept})


@declare(SEGMENTS, "makeNewEdges")
def new_edges(scale: int) -> Launch:
    _, end, weights, groups = _edges(scale)
    kept = np.flatnonzero(end % 3).astype(np.uint32)
    outputs = [new(kept.size, dtype=np.uint32), new(kept.size)]
    args = [kept, groups, end, weights, *outputs, kept.size]
    return Launch(blocks(kept.size, 256), 256, args, {4: groups[end[kept]], 5: weights[kept]})


# Sorting networks ------------------------------------------------------------------------------


def _pairs(scale: int) -> tuple[Array, Array]:
    keys = np.argsort(uniform(4096 * scale)).astype(np.uint32)
    return keys, integers(keys.size, high=1 << 30, dtype=np.uint32)


def _compare(keys: Array, values: Array, first: Array, second: Array, ascending: Array | int) -> None:
    """Exchange the pairs at two sets of places that are in the wrong order, in place."""
    swap = (keys[first] > keys[second]) == np.asarray(ascending, bool)
    a, b = first[swap], second[swap]
    for array in (keys, values):
        array[a], array[b] = array[b].copy(), array[a].copy()


@declare("sortingNetworks/bitonicSort.cu", "bitonicSortShared")
@declare("sortingNetworks/oddEvenMergeSort.cu", "oddEvenMergeSortShared")
def sort_segments(scale: int) -> list[Launch]:
    keys, values = _pairs(scale)
    result = []
    for size, ascending in ((1024, 1), (256, 0)):
        order = np.argsort(keys.reshape(-1, size), 1)[:, :: 1 if ascending else -1]
        expected = {
            n: np.take_along_axis(x.reshape(-1, size), order, 1) for n, x in enumerate((keys, values))
        }
        args = [
            new(keys.size, dtype=np.uint32),
            new(keys.size, dtype=np.uint32),
            keys,
            values,
            size,
            ascending,
        ]
        result.append(Launch(keys.size // 1024, 512, args, expected))
    return result


@declare("sortingNetworks/bitonicSort.cu", "bitonicSortShared1")
def sort_alternately(scale: int) -> Launch:
    keys, values = _pairs(scale)
    order = np.argsort(keys.reshape(-1, 1024), 1)
    order[::2] = order[::2, ::-1]
    expected = {n: np.take_along_axis(x.reshape(-1, 1024), order, 1) for n, x in enumerate((keys, values))}
    args = [new(keys.size, dtype=np.uint32), new(keys.size, dtype=np.uint32), keys, values]
    return Launch(keys.size // 1024, 512, args, expected)


@declare("sortingNetworks/bitonicSort.cu", "bitonicMergeGlobal", "bitonicMergeShared")
def bitonic_merge(scale: int, kernel: str) -> Launch:
    keys, values = _pairs(scale)
    size, length = 2048, keys.size
    merged = [keys.copy(), values.copy()]
    thread = np.arange(length // 2)
    direction = 1 ^ (((thread & (length // 2 - 1)) & (size // 2)) != 0)
    strides = [1024] if kernel.endswith("Global") else [512 >> n for n in range(10)]
    for stride in strides:
        place = 2 * thread - (thread & (stride - 1))
        _compare(merged[0], merged[1], place, place + stride, direction)
    outputs = [new(length, dtype=np.uint32), new(length, dtype=np.uint32)]
    args = [*outputs, keys, values, length, size, *(strides if len(strides) == 1 else []), 1]
    block = 256 if len(strides) == 1 else 512
    return Launch(length // 2 // block, block, args, dict(enumerate(merged)))


@declare("sortingNetworks/oddEvenMergeSort.cu", "oddEvenMergeGlobal")
def odd_even_merge(scale: int) -> list[Launch]:
    result = []
    for size, stride in ((2048, 1024), (2048, 256)):
        keys, values = _pairs(scale)
        merged = [keys.copy(), values.copy()]
        thread = np.arange(keys.size // 2)
        place = 2 * thread - (thread & (stride - 1))
        if stride < size // 2:
            place = place[(thread & (size // 2 - 1)) >= stride] - stride
        _compare(merged[0], merged[1], place, place + stride, 1)
        args = [keys, values, keys, values, keys.size, size, stride, 1]
        result.append(Launch(thread.size // 256, 256, args, dict(enumerate(merged))))
    return result


# Particles -------------------------------------------------------------------------------------

PARTICLES = "particles/particles_kernel_impl.cuh"
CELLS, CELL_SIZE, RADIUS = 8, 0.25, 0.0625
PARAMETERS: dict[str, Any] = {
    "colliderPos": (0.3, -0.2, 0.1), "colliderRadius": 0.2, "gravity": (0, -1, 0), "globalDamping": 1,
    "particleRadius": RADIUS, "gridSize": (CELLS,) * 3, "numCells": CELLS**3, "worldOrigin": (-1,) * 3,
    "cellSize": (CELL_SIZE,) * 3, "numBodies": 0, "maxParticlesPerCell": 0, "spring": 0.5, "damping": 0.02,
    "shear": 0.1, "attraction": 0.01, "boundaryDamping": -0.5,
}  # fmt: skip
UNSIGNED = ("gridSize", "numCells", "numBodies", "maxParticlesPerCell")


def _parameters() -> Array:
    return np.concatenate(
        [
            np.atleast_1d(np.array(value, np.uint32 if name in UNSIGNED else np.float32)).view(np.uint8)
            for name, value in PARAMETERS.items()
        ]
    )


def _particles(scale: int) -> tuple[Array, Array, Array]:
    """Return positions and velocities of particles, with a fourth element, and the numbers of their cells."""
    positions = uniform(600 * scale, 4, low=-0.9, high=0.9)
    cell = np.floor((positions[:, :3] + 1) / CELL_SIZE).astype(np.uint32)
    return positions, normal(600 * scale, 4), (cell * [1, CELLS, CELLS**2]).sum(1).astype(np.uint32)


@declare(PARTICLES, "calcHashD")
def particle_cells(scale: int) -> Launch:
    positions, _, cells = _particles(scale)
    n = cells.size
    args = [new(n, dtype=np.uint32), new(n, dtype=np.uint32), positions, n]
    expected = {0: cells, 1: np.arange(n, dtype=np.uint32)}
    return Launch(blocks(n, 256), 256, args, expected, variables={"cudaParams": _parameters()})


def _sorted_particles(scale: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return the order of the particles by cell, positions, velocities, and the limits of the cells."""
    positions, velocities, cells = _particles(scale)
    order = np.argsort(cells, kind="stable").astype(np.uint32)
    counts = np.bincount(cells, minlength=CELLS**3)
    end = np.where(counts, np.cumsum(counts), 0).astype(np.uint32)
    start = np.where(counts, np.cumsum(counts) - counts, 0xFFFFFFFF).astype(np.uint32)
    return order, positions[order], velocities[order], start, end


@declare(PARTICLES, "reorderDataAndFindCellStartD")
def reorder_particles(scale: int) -> Launch:
    positions, velocities, cells = _particles(scale)
    order, *moved, start, end = _sorted_particles(scale)
    n = order.size
    tables = [np.full(CELLS**3, 0xFFFFFFFF, np.uint32), np.zeros(CELLS**3, np.uint32)]
    args = [*tables, new(n, 4), new(n, 4), cells[order], order, positions, velocities, n]
    return Launch(blocks(n, 256), 256, args, {0: start, 1: end, 2: moved[0], 3: moved[1]}, 257 * 4)


@declare(PARTICLES, "collideD")
def collide(scale: int) -> Launch:
    order, positions, velocities, start, end = _sorted_particles(scale)
    n = order.size
    p, v = positions[:, :3].astype(np.float64), velocities[:, :3].astype(np.float64)
    force = np.zeros((n, 3))
    for i in range(n):
        others = np.delete(np.arange(n), i)
        force[i] = _force(p[i], v[i], p[others], v[others], RADIUS, PARAMETERS["attraction"])
        collider = np.array([PARAMETERS["colliderPos"]])
        force[i] += _force(p[i], v[i], collider, np.zeros((1, 3)), PARAMETERS["colliderRadius"], 0.0)
    expected = np.zeros((n, 4))
    expected[order, :3] = v + force
    args = [new(n, 4), positions, velocities, order, start, end, n]
    return Launch(
        blocks(n, 256), 256, args, {0: expected}, rtol=1e-4, variables={"cudaParams": _parameters()}
    )


def _force(p: Array, v: Array, others: Array, their_v: Array, radius: float, attraction: float) -> Array:
    relative = others - p
    distance = np.linalg.norm(relative, axis=1, keepdims=True)
    unit = relative / distance
    dv = their_v - v
    tangential = dv - (dv * unit).sum(1, keepdims=True) * unit
    force = (
        -PARAMETERS["spring"] * (RADIUS + radius - distance) * unit
        + PARAMETERS["damping"] * dv
        + PARAMETERS["shear"] * tangential
        + attraction * relative
    )
    return np.asarray(np.where(distance < RADIUS + radius, force, 0).sum(0))


# Others ----------------------------------------------------------------------------------------


@declare("interval/cuda_interval.h", "test_interval_newton")
def interval_newton(_scale: int) -> list[Launch]:
    """Roots of (x - 1)^2 - a x in [0.01, 4]; a thread's intervals are short, and some may have no root."""
    all_threads, threads = 1024 * 64, 64
    a = np.arange(threads, dtype=np.float64)[:, None] / all_threads
    half = 1 + a / 2
    roots = np.concatenate([half - np.sqrt(half**2 - 1), half + np.sqrt(half**2 - 1)], 1)

    def check(buffer: Array) -> bool:
        intervals = buffer.reshape(-1, all_threads, 2)[:, 32:threads].transpose(1, 0, 2)
        used = intervals[..., 1] > 0
        around = (intervals[:, None, :, 0] <= roots[32:, :, None]) & (
            intervals[:, None, :, 1] >= roots[32:, :, None]
        )
        short = intervals[..., 1] - intervals[..., 0] < 1e-4
        return bool((around & used[:, None]).any(2).all() and short[used].all())

    start = np.array([0.01, 4.0]).tobytes()
    args = [np.zeros((128, all_threads, 2)), np.zeros(threads, np.int32), start]
    expected = {0: check, 1: lambda counts: bool((counts >= 1).all())}
    return [
        Launch(1, 64, [*args, choice], expected, instance="test_interval_newton<double>")
        for choice in range(3)
    ]


@declare("streamOrderedAllocationIPC/streamOrderedAllocationIPC.cu", "simpleKernel")
def fill(scale: int) -> Launch:
    n = 5000 * scale
    return Launch(4, 256, [new(n, dtype=np.int8), n, 7], {0: np.full(n, 7, np.int8)})


@declare("streamOrderedAllocationP2P/streamOrderedAllocationP2P.cu", "copyP2PAndScale")
def doubled(scale: int) -> Launch:
    x = integers(1000 * scale)
    return Launch(blocks(x.size, 256), 256, [x, New(x.shape, np.int32), x.size], {1: 2 * x})


@declare("threadMigration/threadMigration_kernel.cu", "kernelFunction")
def count_down(_scale: int) -> Launch:
    return Launch(1, 32, [new(32, dtype=np.int32)], {0: np.arange(32, 0, -1, dtype=np.int32)})
