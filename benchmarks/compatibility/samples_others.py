"""Launches of NVIDIA/cuda-samples, `4_CUDA_Libraries` and `6_Performance`, without textures."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    Packed,
    blocks,
    integers,
    new,
    normal,
    suite,
    uniform,
)
from benchmarks.compatibility.samples_concepts import near_bytes

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/")
LIBRARIES, PERFORMANCE = "4_CUDA_Libraries/", "6_Performance/"
GRAPHS = LIBRARIES + "conjugateGradientCudaGraphs/conjugateGradientCudaGraphs.cu"


@declare(GRAPHS, "initVectors")
def init_vectors(scale: int) -> Launch:
    n = 1000 * scale
    return Launch(2, 256, [new(n), new(n), n], {0: np.ones(n), 1: np.zeros(n)})


@declare(GRAPHS, "r1_div_x")
def quotient(_scale: int) -> Launch:
    x, y = normal(1), normal(1, seed=1)
    return Launch(1, 1, [x, y, new(1)], {2: x / y})


@declare(GRAPHS, "a_minus")
def negative(_scale: int) -> Launch:
    x = normal(1)
    return Launch(1, 1, [x, new(1)], {1: -x})


@declare(LIBRARIES + "conjugateGradientMultiBlockCG/conjugateGradientMultiBlockCG.cu", "gpuConjugateGradient")
@declare(
    LIBRARIES + "conjugateGradientMultiDeviceCG/conjugateGradientMultiDeviceCG.cu",
    "multiGpuConjugateGradient",
    devices=1,
)
def conjugate_gradient(scale: int, devices: int = 0) -> Launch:
    n = 300 * scale
    diagonal, off = 4 + uniform(n), uniform(n - 1, seed=1)
    matrix = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    rows, columns = np.nonzero(matrix)
    start = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    values = matrix[rows, columns].astype(np.float32)
    solution = np.linalg.solve(matrix, np.ones(n))
    state = [np.zeros(n, np.float32), new(n), new(n), np.ones(n, np.float32), np.zeros(1)]
    args = [start, columns.astype(np.int32), values, *state, values.size, n, 1e-5]
    memory: list[Any] = []
    if devices:
        args.append(Packed(lambda addresses: struct.pack("=QII", addresses[0], 1, 0)))
        memory.append(np.zeros(8, np.uint8))
    check = lambda x: np.allclose(x, solution, atol=1e-5)  # noqa: E731
    expected = {3: check, 4: None, 5: None, 6: None, 7: None}
    return Launch(4, 128, args, expected, 128 // 32 * 8 + 8, cooperative=True, memory=memory)


@declare(LIBRARIES + "cudaNvSci/imageKernels.cu", "rgbToGrayscaleKernel")
def grayscale(scale: int) -> Launch:
    x = integers(30 * scale, 40, 4, high=256, dtype=np.uint8)
    expected = np.zeros(x.shape)
    expected[..., :3] = (x[..., 0] * 0.3 + x[..., 1] * 0.59 + x[..., 2] * 0.11)[..., None]
    return Launch(2, 256, [x.view(np.uint32), 40, 30 * scale], {0: near_bytes(expected)})


@declare(LIBRARIES + "lineOfSight/lineOfSight.cu", "computeVisibilities_kernel")
def visibilities(scale: int) -> Launch:
    x = normal(1000 * scale)
    highest = np.maximum.accumulate(x)
    args = [x, highest, x.size, new(x.size, dtype=np.uint8)]
    return Launch(blocks(x.size, 256), 256, args, {3: (highest <= x).astype(np.uint8)})


OCEAN = LIBRARIES + "oceanFFT/oceanFFT_kernel.cu"


@declare(OCEAN, "generateSpectrumKernel")
def spectrum(scale: int) -> Launch:
    size = 32 * scale
    width = size + 4
    h0 = normal(size + 1, width, 2)
    z = h0.view(np.complex64)[..., 0].astype(np.complex128)
    y, x = np.indices((size, size))
    k = np.hypot(x - size / 2, y - size / 2) * (2 * np.pi / 100)
    phase = np.exp(1j * np.sqrt(9.81 * k) * 0.5)
    result = z[y, x] * phase + np.conj(z[size - y, size - x]) * np.conj(phase)
    expected = np.stack([result.real, result.imag], 2)
    args = [h0, new(size, size, 2), width, size, size, 0.5, 100.0]
    return Launch((size // 8, size // 8), (8, 8), args, {1: expected}, rtol=1e-4)


@declare(OCEAN, "updateHeightmapKernel", "updateHeightmapKernel_y")
def height_map(scale: int, kernel: str) -> Launch:
    size = 32 * scale
    x = normal(size, size, 2)
    sign = 1 - 2 * (np.indices((size, size)).sum(0) % 2)
    args = [new(size, size), x, size]
    return Launch((size // 8, size // 8), (8, 8), args, {0: x[..., int(kernel.endswith("y"))] * sign})


@declare(OCEAN, "calculateSlopeKernel")
def slope(scale: int) -> Launch:
    height, width = 24 * scale, 32 * scale
    h = normal(height, width)
    expected = np.zeros((height, width, 2))
    expected[1:-1, 1:-1, 0] = h[1:-1, 2:] - h[1:-1, :-2]
    expected[1:-1, 1:-1, 1] = h[2:, 1:-1] - h[:-2, 1:-1]
    args = [h, new(height, width, 2), width, height]
    return Launch((width // 8, height // 8), (8, 8), args, {1: expected})


@declare(LIBRARIES + "simpleCUFFT/simpleCUFFT.cu", "ComplexPointwiseMulAndScale")
@declare(LIBRARIES + "simpleCUFFT_MGPU/simpleCUFFT_MGPU.cu", "ComplexPointwiseMulAndScale")
def complex_product(scale: int) -> Launch:
    a, b = normal(1000 * scale, 2), normal(1000 * scale, 2, seed=1)
    product = a.view(np.complex64).ravel() * b.view(np.complex64).ravel().astype(np.complex128) * 0.5
    return Launch(2, 256, [a, b, len(a), 0.5], {0: product.view(np.float64)})


@declare(LIBRARIES + "simpleCUFFT_2d_MGPU/simpleCUFFT_2d_MGPU.cu", "solvePoisson")
def poisson(scale: int) -> Launch:
    n = 32 * scale
    ft, k = normal(n, n, 2), np.arange(n, dtype=np.float32)
    squares = k[None, :] ** 2 + k[:, None] ** 2
    squares[0, 0] = 1
    args = [ft, new(n, n, 2), k, n, 0, 1]
    return Launch((n // 8, n // 8), (8, 8), args, {1: -ft / squares[..., None]})


# 6_Performance ---------------------------------------------------------------------------------


@declare(PERFORMANCE + "LargeKernelParameter/LargeKernelParameter.cu", "kernelDefault")
def default_parameters(_scale: int) -> Launch:
    x, rest = integers(1024), integers(8000 - 1024, seed=1)
    expected = np.array([x.sum() + rest.sum()], np.int32)
    return Launch(
        1, 1, [x.tobytes(), new(1, dtype=np.int32)], {1: expected}, variables={"excess_params": rest}
    )


@declare(PERFORMANCE + "LargeKernelParameter/LargeKernelParameter.cu", "kernelLargeParam")
def large_parameters(_scale: int) -> Launch:
    x = integers(8000)
    return Launch(1, 1, [x.tobytes(), new(1, dtype=np.int32)], {1: np.array([x.sum()], np.int32)})


@declare(PERFORMANCE + "UnifiedMemoryPerf/commonKernels.cu", "spinWhileLessThanOne")
def spin(_scale: int) -> Launch:
    return Launch(1, 1, [np.ones(1, np.uint32)], {})


@declare(PERFORMANCE + "UnifiedMemoryPerf/matrixMultiplyPerf.cu", "matrixMultiplyKernel")
def product(scale: int) -> Launch:
    n = 64 * scale
    a, b = normal(n, n), normal(n, n, seed=1)
    args = [new(n, n), a, b, n]
    return Launch((n // 32, n // 32), (32, 32), args, {0: a.astype(np.float64) @ b})


@declare(PERFORMANCE + "alignedTypes/alignedTypes.cu", "testKernel")
def copy_elements(scale: int) -> list[Launch]:
    result = []
    for name, dtype, parts in (
        ("uint8", np.uint8, 1),
        ("uint16", np.uint16, 1),
        ("RGBA8_misaligned", np.uint8, 4),
        ("LA32_misaligned", np.uint32, 2),
        ("RGB32_misaligned", np.uint32, 3),
        ("RGBA32_misaligned", np.uint32, 4),
        ("RGBA8", np.uint8, 4),
        ("I32", np.uint32, 1),
        ("LA32", np.uint32, 2),
        ("RGB32", np.uint32, 4),
        ("RGBA32", np.uint32, 4),
        ("RGBA32_2", np.uint32, 8),
    ):
        x = integers(3000 * scale, parts, high=200, dtype=dtype)
        padding = np.broadcast_to((np.arange(parts) == 3) & (name == "RGB32"), x.shape)
        args = [new(*x.shape, dtype=dtype), x, len(x)]
        expected = {0: np.ma.array(x, mask=padding)}
        result.append(Launch(4, 256, args, expected, instance=f"testKernel<{name}>"))
    return result


SCALING = PERFORMANCE + "cudaGraphsPerfScaling/cudaGraphPerfScaling.cu"


@declare(SCALING, "empty", "preUploadAnnotation", "postUploadAnnotation")
def empty(_scale: int) -> Launch:
    return Launch(2, 64, [], {})


@declare(SCALING, "delay")
def delay(scale: int) -> Launch:
    return Launch(1, 1, [1000 * scale], {})


@declare(SCALING, "waitWithTimeout")
def wait(_scale: int) -> list[Launch]:
    result = []
    for latch in (0, 1):
        args = [1000, np.zeros(1, bool), np.zeros(1, np.int64), np.array([latch], np.int32)]
        elapsed = lambda time, latch=latch: bool(time[0] >= (0 if latch else 1000))  # noqa: E731
        result.append(Launch(1, 1, args, {1: np.array([not latch]), 2: elapsed}))
    return result


def _tiles(x: Array) -> Array:
    return x.reshape(x.shape[0] // 32, 32, x.shape[1] // 32, 32)


@declare(
    PERFORMANCE + "transpose/transpose.cu",
    *("copy", "copySharedMem", "transposeNaive", "transposeCoalesced", "transposeNoBankConflicts"),
    *("transposeDiagonal", "transposeFineGrained", "transposeCoarseGrained"),
)
def transpose(scale: int, kernel: str) -> Launch:
    n = 96 * scale
    x = normal(n, n)
    if kernel.startswith("copy"):
        expected = x
    elif kernel == "transposeFineGrained":
        expected = _tiles(x).transpose(0, 3, 2, 1).reshape(n, n)
    elif kernel == "transposeCoarseGrained":
        expected = _tiles(x).transpose(2, 1, 0, 3).reshape(n, n)
    else:
        expected = np.ascontiguousarray(x.T)
    return Launch((n // 32, n // 32), (32, 16), [new(n, n), x, n, n], {0: expected})
