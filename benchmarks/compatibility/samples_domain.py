"""Launches of NVIDIA/cuda-samples, `5_Domain_Specific`, without textures and random generators."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    blocks,
    integers,
    masked,
    new,
    normal,
    suite,
    uniform,
)
from benchmarks.compatibility.samples_concepts import near_bytes

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/5_Domain_Specific/")
TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}

# Options ---------------------------------------------------------------------------------------


def _normal_distribution(d: Array) -> Array:
    """Return the approximation of the cumulative normal distribution by Abramowitz and Stegun, 26.2.17."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    a = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    tail = np.exp(-0.5 * d * d) / sqrt(2 * np.pi) * sum(a[n] * k ** (n + 1) for n in range(5))
    return np.where(d > 0, 1 - tail, tail)


@declare("BlackScholes/BlackScholes_kernel.cuh", "BlackScholesGPU")
@declare("BlackScholes_nvrtc/BlackScholes_kernel.cuh", "BlackScholesGPU")
def black_scholes(scale: int) -> Launch:
    n = 2000 * scale
    price, strike, years = (
        uniform(n, low=5, high=30),
        uniform(n, low=1, high=100),
        uniform(n, low=0.25, high=10),
    )
    s, x, t = (each.astype(np.float64) for each in (price, strike, years))
    d1 = (np.log(s / x) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)
    discounted = x * np.exp(-0.02 * t)
    call = s * _normal_distribution(d1) - discounted * _normal_distribution(d2)
    put = discounted * (1 - _normal_distribution(d2)) - s * (1 - _normal_distribution(d1))
    args = [new(n), new(n), price, strike, years, 0.02, 0.3, n]
    return Launch(blocks(n // 2, 128), 128, args, {0: call, 1: put}, rtol=1e-4)


@declare("binomialOptions/binomialOptions_kernel.cu", "binomialOptionsKernel")
@declare("binomialOptions_nvrtc/binomialOptions_kernel.cu", "binomialOptionsKernel")
def binomial_options(scale: int) -> Launch:
    count, steps = 4 * scale, 2048
    table = np.zeros((1024, 5), np.float32)
    s, x, years = (
        uniform(count, low=5, high=30),
        uniform(count, low=1, high=30),
        uniform(count, low=0.25, high=2),
    )
    dt = years / steps
    v = 0.1 * np.sqrt(dt)
    up, down, rate = np.exp(v), np.exp(-v), np.exp(0.06 * dt)
    probability = (rate - down) / (up - down)
    table[:count] = np.stack([s, x, v, probability / rate, (1 - probability) / rate], 1)
    s, x, v, pu, pd = table[:count].T.astype(np.float64)[:, :, None]
    call = np.maximum(s * np.exp(v * (2.0 * np.arange(steps + 1) - steps)) - x, 0)
    for _ in range(steps):
        call = pu * call[:, 1:] + pd * call[:, :-1]
    check = lambda values: np.allclose(values.view(np.float32)[:count], call[:, 0], 1e-3, 1e-3)  # noqa: E731
    constants = {"d_OptionData": table.view(np.uint8).ravel()}
    return Launch(count, 128, [], {}, variables=constants, expect_variables={"d_CallValue": check})


# Grids -----------------------------------------------------------------------------------------


@declare("FDTD3d/inc/FDTD3dGPUKernel.cuh", "FiniteDifferencesKernel")
def finite_differences(scale: int) -> Launch:
    nz, ny, nx = 8, 32 * scale, 64 * scale
    x, weights = normal(nz + 8, ny + 8, nx + 8), uniform(5)
    inside = x.astype(np.float64)
    expected = masked(*x.shape)
    middle = weights[0] * inside[4:-4, 4:-4, 4:-4]
    for n in range(1, 5):
        for axis in range(3):
            for shift in (-n, n):
                middle = middle + weights[n] * np.roll(inside, shift, axis)[4:-4, 4:-4, 4:-4]
    expected[4:-4, 4:-4, 4:-4] = middle
    args = [new(*x.shape), x, nx, ny, nz]
    return Launch((nx // 32, ny // 16), (32, 16), args, {0: expected}, variables={"stencil": weights})


@declare("HSOpticalFlow/addKernel.cuh", "AddKernel")
def add(scale: int) -> Launch:
    x, y = normal(1000 * scale), normal(1000 * scale, seed=1)
    return Launch(blocks(x.size, 256), 256, [x, y, x.size, new(x.size)], {3: x + y})


@declare("HSOpticalFlow/solverKernel.cuh", "JacobiIteration")
def flow_iteration(scale: int) -> Launch:
    h, w = 48 * scale, 64 * scale
    du, dv, ix, iy, iz = (normal(h, w, seed=seed) for seed in range(5))

    def mean(a: Array) -> Array:
        p = np.pad(a.astype(np.float64), 1, "edge")
        return (p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]) / 4

    fraction = (ix * mean(du) + iy * mean(dv) + iz) / (ix * ix + iy * iy + 0.2)
    args = [du, dv, ix, iy, iz, w, h, w, 0.2, new(h, w), new(h, w)]
    expected = {9: mean(du) - ix * fraction, 10: mean(dv) - iy * fraction}
    return Launch((w // 32, h // 6), (32, 6), args, expected, instance="JacobiIteration<32, 6>")


def _escape_times(size: int, limit: int, julia: bool) -> Array:
    """Return after how many steps a point of a square leaves the circle, or 0 if it does not."""
    step = 3 / size
    y, x = np.indices((size, size)) * step
    points = (x - 2.0) + 1j * (y - 1.5)
    z, c = (points, np.full_like(points, -0.7 + 0.3j)) if julia else (np.zeros_like(points), points)
    times = np.zeros((size, size), int)
    for n in range(1, limit):
        times = np.where((times == 0) & (np.abs(z) ** 2 > 4), n, times)
        z = np.where(times == 0, z * z + c, z)
    return times


@declare("Mandelbrot/Mandelbrot_cuda.cu", "Mandelbrot0", "Mandelbrot1", types=("float", "double"))
@declare("Mandelbrot/Mandelbrot_cuda.cu", "MandelbrotDS0", "MandelbrotDS1", types=("",))
def mandelbrot(scale: int, kernel: str, types: tuple[str, ...]) -> list[Launch]:
    size, limit, result = 64 * scale, 40, []
    for name in types:
        for julia in (False, True):
            color = _escape_times(size, limit, julia)[..., None] * [3, 5, 7, 0] & 0xFF
            image = color.astype(np.uint8)
            again = kernel.endswith("1")  # replaces the pixels of an image that differ from their neighbours
            noise = integers(size, size, high=2**24, dtype=np.uint32)
            places = [-2.0, 0.0, -1.5, 0.0] if kernel.startswith("MandelbrotDS") else [-2.0, -1.5]
            tiles = size // 16
            args = [
                noise if again else new(size, size, dtype=np.uint32),
                *(size, size, limit, *places, -0.7, 0.3, 3 / size, bytes((3, 5, 7, 0))),
                *(0, 0, tiles, tiles * tiles, julia),
            ]
            instance = name and f"{kernel}<{name}>"
            reason = "threads read the pixels next to theirs, which other threads replace" if again else ""
            launch = Launch(4, (16, 16), args, {0: _nearly_all(image)}, instance=instance, true_alarms=reason)
            result.append(launch)
    return result


def _nearly_all(image: Array) -> Callable[[Array], bool]:
    """Return a check that at most 1 % of the pixels differ: rounding can change when a point escapes."""
    return lambda got: bool((got.view(np.uint8).reshape(image.shape) != image).any(-1).mean() < 0.01)


FLUIDS = ("fluidsGL/fluidsGL_kernels.cu", "../8_Platform_Specific/Tegra/fluidsGLES/fluidsGLES_kernels.cu")


@declare(FLUIDS, "addForces_k")
def add_forces(scale: int) -> Launch:
    size, radius = 64 * scale, 4
    v = normal(size, size, 2)
    offset = np.arange(-radius, radius + 1)
    weight = 1 / (1 + offset[None, :] ** 4 + offset[:, None] ** 4)
    expected = v.astype(np.float64)
    expected[10 : 10 + 9, 20 : 20 + 9] += weight[..., None] * [0.3, -0.4]
    args = [v, size, size, 20, 10, 0.3, -0.4, radius, size * 8]
    return Launch(1, (9, 9), args, {0: expected})


@declare(FLUIDS, "diffuseProject_k")
def diffuse(scale: int) -> Launch:
    width, height = 64 * scale, 32 * scale
    vx, vy = normal(height, width, 2), normal(height, width, 2, seed=1)
    x, y = np.arange(width)[None, :, None], np.arange(height)[:, None, None]
    y = np.where(y > height // 2, y - height, y)
    k = np.maximum(x * x + y * y, 1e-30).astype(np.float64)
    damping = 1 / (1 + 0.0025 * 0.09 * k)
    a, b = vx * damping, vy * damping
    projected = np.where(k > 0.5, (x * a + y * b) / k, 0)
    args = [vx, vy, width, height, 0.09, 0.0025, 8]
    expected = {0: a - projected * x, 1: b - projected * y}
    return Launch((width // 64, height // 32), (64, 4), args, expected)


@declare(FLUIDS, "updateVelocity_k")
def update_velocity(scale: int) -> Launch:
    width, height, padded = 64 * scale, 32 * scale, 66 * scale
    vx, vy = normal(height, padded), normal(height, padded, seed=1)
    expected = np.stack([vx, vy], 2)[:, :width] / (width * height)
    args = [new(height, width, 2), vx, vy, width, padded, height, 8, width * 8]
    return Launch((width // 64, height // 32), (64, 4), args, {0: expected})


@declare(FLUIDS, "advectParticles_k")
def advect_particles(scale: int) -> Launch:
    width, height = 64 * scale, 32 * scale
    particles, v = uniform(height, width, 2), normal(height, width, 2)
    place = (particles * np.array([width, height], np.float32)).astype(int)
    moved = particles + 0.09 * v[place[..., 1], place[..., 0]].astype(np.float64)
    expected = (moved - np.trunc(moved) + 1) % 1
    args = [particles, v, width, height, 0.09, 8, width * 8]
    return Launch((width // 64, height // 32), (64, 4), args, {0: expected})


BODIES = ("nbody/bodysystemcuda.cu", "../8_Platform_Specific/Tegra/nbody_opengles/bodysystemcuda.cu")


@declare(BODIES, "integrateBodies")
def bodies(scale: int) -> list[Launch]:
    n, result = 256 * scale, []
    for name, dtype in TYPES.items():
        place, velocity = normal(n, 4, dtype=dtype), normal(n, 4, dtype=dtype, seed=1)
        place[:, 3] = uniform(n)
        p = place[:, :3].astype(np.float64)
        distance = p[None] - p[:, None]
        inverse = ((distance**2).sum(2) + 0.01) ** -1.5 * place[:, 3]
        moved = velocity.astype(np.float64)
        moved[:, :3] = (moved[:, :3] + (distance * inverse[..., None]).sum(1) * 0.016) * 0.99
        new_place = place.astype(np.float64)
        new_place[:, :3] += moved[:, :3] * 0.016
        softening = {"softeningSquared": 0.01, "softeningSquared_fp64": 0.01}
        args = [new(n, 4, dtype=dtype), place, velocity, 0, n, 0.016, 0.99, n // 128]
        result.append(
            Launch(
                n // 128,
                128,
                args,
                {0: new_place, 2: moved},
                128 * 4 * place.itemsize,
                instance=f"integrateBodies<{name}>",
                variables=softening,
                rtol=1e-4,
            )
        )
    return result


# Transforms ------------------------------------------------------------------------------------


@declare("convolutionFFT2D/convolutionFFT2D.cuh", "modulateAndNormalize_kernel")
def modulate_complex(scale: int) -> Launch:
    a, b = normal(1000 * scale, 2), normal(1000 * scale, 2, seed=1)
    product = a.view(np.complex64).ravel() * b.view(np.complex64).ravel().astype(np.complex128) * 0.25
    args = [b, a, len(a), 0.25]
    return Launch(blocks(len(a), 256), 256, args, {0: product.view(np.float64)})


@declare("dwtHaar1D/dwtHaar1D_kernel.cuh", "initValue")
def fill(scale: int) -> Launch:
    n = 1024 * scale
    return Launch(n // 256, 256, [new(n), 1.5], {0: np.full(n, 1.5)})


@declare("dwtHaar1D/dwtHaar1D_kernel.cuh", "dwtHaar1D")
def haar(scale: int) -> Launch:
    threads, grid, levels = 64, 4 * scale, 7
    x = normal(2 * threads * grid)
    expected = masked(x.size)
    approximation = x.astype(np.float64)
    for _ in range(levels):
        pairs = approximation.reshape(-1, 2)
        approximation = pairs.sum(1) / sqrt(2)
        expected[len(pairs) : 2 * len(pairs)] = (pairs[:, 0] - pairs[:, 1]) / sqrt(2)
    args = [x, new(x.size), new(grid), levels, threads * grid, threads]
    return Launch(grid, threads, args, {1: expected, 2: approximation}, 4 * (2 * threads + threads // 8))


@declare("fastWalshTransform/fastWalshTransform_kernel.cuh", "fwtBatch1Kernel")
def walsh(scale: int) -> list[Launch]:
    result = []
    for log in (8, 9):
        n = 1 << log
        x = normal(4 * scale, n)
        expected = x.astype(np.float64)
        for bit in range(log):
            a, b = np.moveaxis(expected.reshape(-1, n >> (bit + 1), 2, 1 << bit), 2, 0)
            expected = np.stack([a + b, a - b], 2).reshape(-1, n)
        result.append(Launch(len(x), n // 4, [new(*x.shape), x, log], {0: expected}, 4 * n))
    return result


@declare("fastWalshTransform/fastWalshTransform_kernel.cuh", "fwtBatch2Kernel")
def walsh_step(scale: int) -> Launch:
    n, stride = 2048, 512
    x = normal(3 * scale, n)
    a, b, c, d = np.moveaxis(x.reshape(-1, n // (4 * stride), 4, stride), 2, 0)
    parts = [(a + c) + (b + d), (a + c) - (b + d), (a - c) + (b - d), (a - c) - (b - d)]
    expected = np.stack(parts, 2).reshape(x.shape)
    return Launch((n // 4 // 256, len(x)), 256, [new(*x.shape), x, stride], {0: expected})


@declare("fastWalshTransform/fastWalshTransform_kernel.cuh", "modulateKernel")
def modulate(scale: int) -> Launch:
    a, b = normal(1000 * scale), normal(1000 * scale, seed=1)
    return Launch(2, 256, [a, b, a.size], {0: a * b / a.size})


@declare("marchingCubes/marchingCubes_kernel.cu", "compactVoxels")
def compact(scale: int) -> Launch:
    used = integers(1024 * scale, high=2, dtype=np.uint32)
    places = (np.cumsum(used) - used).astype(np.uint32)
    expected = np.flatnonzero(used).astype(np.uint32)
    args = [new(expected.size, dtype=np.uint32), used, places, used.size]
    return Launch((4, used.size // 1024), 256, args, {0: expected})


# Copies, and random numbers from tables --------------------------------------------------------


@declare("p2pBandwidthLatencyTest/p2pBandwidthLatencyTest.cu", "delay")
def delay(scale: int) -> list[Launch]:
    return [Launch(1, 1, [np.array([flag], np.int32), 1000 * scale], {}) for flag in (1, 0)]


@declare("p2pBandwidthLatencyTest/p2pBandwidthLatencyTest.cu", "copyp2p")
def copy_vectors(scale: int) -> Launch:
    x = integers(1000 * scale, 4)
    return Launch(2, 128, [new(*x.shape, dtype=np.int32), x, len(x)], {0: x})


@declare("SobolQRNG/sobol_gpu.cu", "sobolGPU_kernel")
def sobol(scale: int) -> Launch:
    dimensions, n = 3, 3000 * scale
    directions = integers(dimensions, 32, high=1 << 32, dtype=np.uint32)
    index = np.arange(n)
    gray = index ^ (index >> 1)
    bits = (gray[:, None] >> np.arange(32)) & 1
    values = np.bitwise_xor.reduce(np.where(bits, directions[:, None], np.uint32(0)), 2)
    args = [n, dimensions, directions, new(dimensions, n)]
    return Launch((8, dimensions), 64, args, {3: values * 2.0**-32})


QUASI = (
    "quasirandomGenerator/quasirandomGenerator_kernel.cu",
    "quasirandomGenerator_nvrtc/quasirandomGenerator_kernel.cu",
)


@declare(QUASI, "quasirandomGeneratorKernel")
def quasirandom(scale: int) -> Launch:
    n, seed = 2000 * scale, 12345
    table = integers(3, 31, high=1 << 31, dtype=np.uint32)
    bits = ((np.arange(n) + seed)[:, None] >> np.arange(31)) & 1
    values = np.bitwise_xor.reduce(np.where(bits, table[:, None], np.uint32(0)), 2)
    args = [new(3, n), seed, n]
    expected = {0: (values + 1.0) / 0x80000001}
    return Launch(4, (128, 3), args, expected, variables={"c_Table": table})


def _inverse_normal(x: Array) -> Array:
    """Return the quantiles of the normal distribution by Moro's algorithm (1995), for 32-bit fractions."""
    upper = x >= 0x80000000
    p = (np.where(upper, 0xFFFFFFFF - x, x) + 0.5) / 0xFFFFFFFF
    a = (2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637)
    b = (1.0, -8.4735109309, 23.08336743743, -21.06224101826, 3.13082909833)
    c = (
        *(0.337475482272615, 0.976169019091719, 0.160797971491821, 2.76438810333863e-2),
        *(3.8405729373609e-3, 3.951896511919e-4, 3.21767881768e-5, 2.888167364e-7, 3.960315187e-7),
    )
    z = p - 0.5
    middle = z * np.polynomial.polynomial.polyval(z * z, a) / np.polynomial.polynomial.polyval(z * z, b)
    tail = -np.polynomial.polynomial.polyval(np.log(-np.log(p)), c)
    result = np.where(z > -0.42, middle, tail)
    return np.where(upper, -result, result)


@declare(QUASI[0], "inverseCNDKernel", with_input=True)
@declare(QUASI[1], "inverseCNDKernel", with_input=False)
def inverse_normal(scale: int, with_input: bool) -> list[Launch]:
    n = 2000 * scale
    regular = (np.arange(1, n + 1) * (0xFFFFFFFF // (n + 1))).astype(np.uint32)
    if not with_input:
        return [Launch(4, 128, [new(n), n], {0: _inverse_normal(regular.astype(np.int64))}, rtol=1e-4)]
    x = integers(n, high=1 << 32, dtype=np.uint32)
    return [
        Launch(4, 128, [new(n), given, n], {0: _inverse_normal(values.astype(np.int64))}, rtol=1e-4)
        for given, values in ((x, x), (None, regular))
    ]


# Images ----------------------------------------------------------------------------------------


@declare("NV12toBGRandResize/nv12_to_bgr_planar.cu", "nv12ToBGRplanarBatchKernel")
def yuv_to_bgr(scale: int) -> Launch:
    batch, height, width = 2, 32 * scale, 64 * scale
    image = integers(batch, height * 3 // 2, width, high=256, dtype=np.uint8)
    luma = 1.1644 * image[:, :height]
    chroma = image[:, height:].reshape(batch, height // 2, width // 2, 2).repeat(2, 1).repeat(2, 2) - 128.0
    u, v = chroma[..., 0], chroma[..., 1]
    planes = [luma + 2.0172 * u, luma - 0.3918 * u - 0.8130 * v, luma + 1.5960 * v]
    args = [image, width, new(batch, 3, height, width), width * 4, width, height, batch]
    return Launch((width // 32, height // 16), (8, 8), args, {2: np.stack(planes, 1).clip(0, 255)})


@declare("NV12toBGRandResize/utils.cu", "floatToChar")
def to_bytes(scale: int) -> Launch:
    x = uniform(2, 3, 30 * scale, 40, high=255)
    expected = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).astype(np.uint8)
    args = [x, new(*expected.shape, dtype=np.uint8), 30 * scale, 40, 2]
    return Launch(blocks(1200 * scale, 256), 256, args, {1: expected})


GAUSSIAN = "recursiveGaussian/recursiveGaussian_kernel.cuh"


@declare(GAUSSIAN, "d_transpose")
def transpose(scale: int) -> Launch:
    x = integers(40 * scale, 70 * scale, dtype=np.uint32)
    height, width = x.shape
    args = [new(width, height, dtype=np.uint32), x, width, height]
    return Launch((blocks(width, 16), blocks(height, 16)), (16, 16), args, {0: np.ascontiguousarray(x.T)})


def _pixels(x: Array) -> Array:
    """Return colors as bytes, which truncate them."""
    return np.asarray(np.trunc(x.clip(0, 1) * 255) / 255)


@declare(GAUSSIAN, "d_simpleRecursive_rgba")
def exponential_average(scale: int) -> Launch:
    x = integers(32 * scale, 64 * scale, 4, high=256, dtype=np.uint8)
    c = x / 255.0
    result, previous = np.zeros_like(c), c[0]
    for y in range(len(c)):
        previous = c[y] + 0.6 * (previous - c[y])
        result[y] = _pixels(previous)
    previous = c[-1]
    for y in reversed(range(len(c))):
        previous = c[y] + 0.6 * (previous - c[y])
        result[y] = (result[y] + previous) / 2
    args = [x.view(np.uint32), new(*x.shape[:2], dtype=np.uint32), x.shape[1], x.shape[0], 0.6]
    return Launch(blocks(x.shape[1], 64), 64, args, {1: near_bytes(result * 255, 1.6)})


@declare(GAUSSIAN, "d_recursiveGaussian_rgba")
def recursive_gaussian(scale: int) -> Launch:
    x = integers(32 * scale, 64 * scale, 4, high=256, dtype=np.uint8)
    c = x / 255.0
    alpha = 1.695 / 4
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - e * e)
    a0, a1, a2, a3 = k, k * (alpha - 1) * e, k * (alpha + 1) * e, -k * e * e
    b1, b2 = -2 * e, e * e
    left, right = (a0 + a1) / (1 + b1 + b2), (a2 + a3) / (1 + b1 + b2)
    result, xp, yp, yb = np.zeros_like(c), c[0], left * c[0], left * c[0]
    for y in range(len(c)):
        yc = a0 * c[y] + a1 * xp - b1 * yp - b2 * yb
        result[y], xp, yb, yp = _pixels(yc), c[y], yp, yc
    xn, xa, yn, ya = c[-1], c[-1], right * c[-1], right * c[-1]
    for y in reversed(range(len(c))):
        yc = a2 * xn + a3 * xa - b1 * yn - b2 * ya
        result[y], xa, xn, ya, yn = (result[y] + yc).clip(0, 1), xn, c[y], yn, yc
    numbers = [a0, a1, a2, a3, b1, b2, left, right]
    args = [x.view(np.uint32), new(*x.shape[:2], dtype=np.uint32), x.shape[1], x.shape[0], *numbers]
    return Launch(blocks(x.shape[1], 64), 64, args, {1: near_bytes(result * 255, 1.6)})


@declare("simpleD3D11/sinewave_cuda.cu", "sinewave_gen_kernel")
@declare("simpleD3D12/sinewave_cuda.cu", "sinewave_gen_kernel")
def sine_waves(scale: int) -> Launch:
    height, width, time = 30 * scale, 40 * scale, 0.7
    y, x = np.indices((height, width), sparse=True)
    u, v = np.broadcast_arrays(2 * x / width - 1, 2 * y / height - 1)
    one, zero = np.ones(u.shape), np.zeros(u.shape)
    w = np.sin(4 * u + time) * np.cos(4 * v + time) / 2
    expected = np.stack([u, w, v, one, zero, zero, zero], -1)
    # DirectX, which is not part of the repository, defines these types.
    defines = {"XMFLOAT3": "float3", "XMFLOAT4": "struct { float x, y, z, w; }"}
    args = [new(height, width, 7), width, height, time]
    return Launch((blocks(width, 8), blocks(height, 8)), (8, 8), args, {0: expected}, defines=defines)


@declare("simpleD3D11Texture/texture_2d.cu", "cuda_kernel_texture_2d")
def colors_2d(scale: int) -> Launch:
    height, width, time = 30 * scale, 40 * scale, 0.7
    image = uniform(height, width, 4)
    y, x = np.indices((height, width)).astype(np.float64)
    value_x = 0.5 + 0.5 * np.cos(time + 10 * (2 * x / width - 1))
    value_y = 0.5 + 0.5 * np.cos(time + 10 * (2 * y / height - 1))
    expected = np.ones((height, width, 4))
    expected[..., 0] = 0.5 * image[..., 0] + 0.5 * value_x**3
    expected[..., 1] = 0.5 * image[..., 1] + 0.5 * value_y**3
    expected[..., 2] = 0.5 + 0.5 * np.cos(time)
    args = [image.view(np.uint8), width, height, width * 16, time]
    grid = blocks(width, 16), blocks(height, 16)
    check = lambda got: np.allclose(got.view(np.float32).reshape(expected.shape), expected, atol=1e-5)  # noqa: E731
    return Launch(grid, (16, 16), args, {0: check})


@declare("simpleD3D11Texture/texture_3d.cu", "cuda_kernel_texture_3d")
def colors_3d(scale: int) -> Launch:
    depth, height, width, time = 4, 30 * scale, 40 * scale, 0.7
    z, y, x = np.indices((depth, height, width)).astype(np.float64)
    angle = time + (x * x + y * y + z * z) * 0.0001 * 3.14
    expected = np.zeros((depth, height, width, 4))
    expected[..., 0], expected[..., 1], expected[..., 3] = (
        127.5 + 127.5 * np.cos(angle),
        127.5 + 127.5 * np.sin(angle),
        255,
    )
    args = [
        new(depth, height, width * 4, dtype=np.uint8),
        width,
        height,
        depth,
        width * 4,
        width * 4 * height,
        time,
    ]
    return Launch((blocks(width, 16), blocks(height, 16)), (16, 16), args, {0: near_bytes(expected)})


@declare("simpleD3D11Texture/texture_cube.cu", "cuda_kernel_texture_cube")
def colors_of_a_cube(scale: int) -> list[Launch]:
    height, width, time, result = 30 * scale, 40 * scale, 0.7, []
    y, x = np.indices((height, width)).astype(np.float64)
    radius = np.sqrt((2 * x / width - 1) ** 2 + (2 * y / height - 1) ** 2)
    value = 255 * (0.6 + 0.4 * np.cos(2 * np.pi * radius + time))
    for face in range(6):
        expected = np.zeros((height, width, 4))
        expected[..., 3] = 255
        expected[..., : 3 if face % 2 == 0 else 0] = value[..., None]
        expected[..., face // 2] = value if face % 2 else 0
        args = [new(height, width * 4, dtype=np.int8), width, height, width * 4, face, time]
        result.append(
            Launch((blocks(width, 16), blocks(height, 16)), (16, 16), args, {0: near_bytes(expected)})
        )
    return result


@declare("simpleGL/simpleGL.cu", "simple_vbo_kernel")
@declare("../8_Platform_Specific/Tegra/simpleGLES/simpleGLES.cu", "simple_vbo_kernel")
@declare("../8_Platform_Specific/Tegra/simpleGLES_EGLOutput/simpleGLES_EGLOutput.cu", "simple_vbo_kernel")
def wave_of_vertices(scale: int) -> Launch:
    height, width = 32 * scale, 64 * scale
    u, w, v = _wave(height, width, 0.7)
    expected = np.stack([u, w, v, np.ones_like(u)], 2)
    args = [new(height, width, 4), width, height, 0.7]
    return Launch((width // 8, height // 8), (8, 8), args, {0: expected})


@declare("simpleVulkan/SineWaveSimulation.cu", "sinewave")
def wave_of_heights(scale: int) -> Launch:
    height, width = 32 * scale, 64 * scale
    return Launch(4, 256, [new(height, width), width, height, 0.7], {0: _wave(height, width, 0.7)[1]})


def _wave(height: int, width: int, time: float) -> tuple[Array, Array, Array]:
    y, x = np.indices((height, width)).astype(np.float64)
    u, v = 2 * x / width - 1, 2 * y / height - 1
    return u, 0.5 * np.sin(4 * u + time) * np.cos(4 * v + time), v
