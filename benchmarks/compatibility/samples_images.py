"""Launches of NVIDIA/cuda-samples with textures on images, flows and spectra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    Texture,
    blocks,
    integers,
    masked,
    new,
    normal,
    suite,
    uniform,
)
from benchmarks.compatibility.samples_concepts import near_bytes
from benchmarks.compatibility.samples_textures import COLORS, SMOOTH, colors, tiles
from benchmarks.compatibility.texels import LINEAR_ERROR, fetch

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/")

# Denoising -------------------------------------------------------------------------------------

DENOISING = "2_Concepts_and_Techniques/imageDenoising/imageDenoising_"
AREA = 49


def _shifted(x: Array, dy: int, dx: int) -> Array:
    """Return the pixels at an offset; those outside the image are the ones at its edge."""
    rows, columns = np.arange(x.shape[0]) + dy, np.arange(x.shape[1]) + dx
    return _at(x, rows, columns)


def _offsets(last: int = 3) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(-3, last + 1) for j in range(-3, last + 1))


def _distance(a: Array, b: Array) -> Array:
    return np.asarray(((a - b)[..., :3] ** 2).sum(-1))


def _neighbour_weights(x: Array, noise: float, _diagonal: bool) -> Iterator[tuple[int, int, Array]]:
    for i, j in _offsets():
        weight = np.exp(-(_distance(x, _shifted(x, i, j)) * noise + (i * i + j * j) / AREA))
        yield i, j, weight


def _patch_weights(x: Array, noise: float, _diagonal: bool) -> Iterator[tuple[int, int, Array]]:
    for i, j in _offsets():
        total = sum(_distance(_shifted(x, i + n, j + m), _shifted(x, n, m)) for n, m in _offsets())
        yield i, j, np.exp(-(total * noise + (i * i + j * j) / AREA))


def _block_weights(x: Array, noise: float, diagonal: bool) -> Iterator[tuple[int, int, Array]]:
    """Each block of 8 x 8 threads computes the weights of the offsets of its pixel (3, 3)."""
    total = np.zeros(x.shape[:2])
    for n, m in _offsets(4 if diagonal else 3):
        near = _shifted(x, n, m)
        rows, columns = (np.arange(size) // 8 * 8 + 3 for size in x.shape[:2])
        total += _distance(near, _at(x, rows + n, columns + m))
    y, x_ = np.indices(x.shape[:2]) % 8 - 3
    weights = np.exp(-(total * noise + (y * y + x_ * x_) / AREA))
    for i, j in _offsets(4):
        rows, columns = (
            np.arange(size) // 8 * 8 + 3 + step for size, step in zip(x.shape, (i, j), strict=False)
        )
        yield i, j, weights[rows][:, columns]


def _at(x: Array, rows: Array, columns: Array) -> Array:
    return np.asarray(x[rows.clip(0, x.shape[0] - 1)][:, columns.clip(0, x.shape[1] - 1)])


@declare(f"{DENOISING}copy_kernel.cuh", "Copy")
def copied(scale: int) -> Launch:
    x = colors(40 * scale, 48 * scale)
    expected = x.copy()
    expected[..., 3] = 0
    args = [new(*x.shape[:2], dtype=np.uint32), x.shape[1], x.shape[0], Texture(x, COLORS)]
    return Launch(tiles(x, 8, 8), (8, 8), args, {0: near_bytes(expected)})


@declare(
    f"{DENOISING}knn_kernel.cuh", "KNN", "KNNdiag", weights=_neighbour_weights, limits=(0.02, 0.79), noise=9.8
)
@declare(f"{DENOISING}nlm_kernel.cuh", "NLM", "NLMdiag", weights=_patch_weights, limits=(0.1, 0.1), noise=0.1)
@declare(
    f"{DENOISING}nlm2_kernel.cuh", "NLM2", "NLM2diag", weights=_block_weights, limits=(0.1, 0.1), noise=0.1
)
def denoised(
    scale: int,
    kernel: str,
    weights: Callable[[Array, float, bool], Iterator[tuple[int, int, Array]]],
    limits: tuple[float, float],
    noise: float,
) -> Launch:
    x, diagonal, share = colors(40 * scale, 48 * scale), kernel.endswith("diag"), 0.2
    x[:20] //= 4  # a part with less noise
    rgb = x / 255
    color, total, count = np.zeros_like(rgb), np.zeros(x.shape[:2]), np.zeros(x.shape[:2])
    for i, j, weight in weights(rgb, noise, diagonal):
        color += _shifted(rgb, i, j) * weight[..., None]
        total += weight
        count += (weight > limits[0]) / AREA
    many = count > limits[1]
    if diagonal:
        expected = np.stack([many, np.zeros_like(many), ~many], -1).astype(float)
    else:
        mean, kept = color / total[..., None], np.where(many, share, 1 - share)[..., None]
        expected = (mean + (rgb - mean) * kept)[..., :3]
    expected = 255 * np.concatenate([expected, np.zeros((*x.shape[:2], 1))], -1)
    args = [new(*x.shape[:2], dtype=np.uint32), x.shape[1], x.shape[0], noise, share, Texture(x, COLORS)]
    return Launch(tiles(x, 8, 8), (8, 8), args, {0: near_bytes(expected)})


# Edges and disparities -------------------------------------------------------------------------


# The host code of the sample stores the addresses of device functions in a table.
FILTERS = "__global__ void setup() { blockFunction_table[0] = ComputeSobel; }"


@declare("5_Domain_Specific/SobelFilter/SobelFilter_kernels.cu", "SobelTex", "SobelShared")
@declare(
    "2_Concepts_and_Techniques/FunctionPointers/FunctionPointers_kernels.cu",
    "SobelTex",
    "SobelShared",
    setup=FILTERS,
)
def edges(scale: int, kernel: str, setup: str = "") -> Launch:
    x, factor = integers(42 * scale, 100 * scale, high=256, dtype=np.uint8), 0.375
    near = {(i, j): _shifted(x.astype(int), i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    across = sum(near[i, 1] * (2 - abs(i)) - near[i, -1] * (2 - abs(i)) for i in (-1, 0, 1))
    down = sum(near[-1, j] * (2 - abs(j)) - near[1, j] * (2 - abs(j)) for j in (-1, 0, 1))
    expected = np.minimum(factor * (np.abs(across) + np.abs(down)), 255).astype(np.uint8)
    (h, w), output = x.shape, new(*x.shape, dtype=np.uint8)
    functions = [0, 0] if setup else []  # the first function of the table; a null pointer to one for pixels
    if kernel == "SobelTex":
        args = [output, w, w, h, factor, *functions, Texture(x)]
        return Launch(h, 384, args, {0: expected}, setup=setup)
    args = [output, w, 16, 128, w, h, factor, *functions, Texture(x)]
    grid = blocks(w, 64), blocks(h, 4)
    alarms = "each thread stores the same address in `blockFunction`, which others read without a barrier"
    return Launch(
        grid, (16, 4), args, {0: expected}, 128 * 6, setup=setup, true_alarms=alarms if setup else ""
    )


@declare("5_Domain_Specific/stereoDisparity/stereoDisparity_kernel.cuh", "stereoDisparityKernel")
def disparity(scale: int) -> Launch:
    height, width, radius = 32 * scale, 64 * scale, 8
    right = colors(height, width)
    left = np.roll(right, 5, 1) // 2 + colors(height + 1, width)[1:] // 2
    y, x = np.arange(-radius, height + radius), np.arange(-radius, width + radius)
    best, expected = np.full((height, width), 9999999), np.zeros((height, width), np.uint32)
    for d in range(-16, 1):
        difference = np.abs(_at(left.astype(int), y, x) - _at(right.astype(int), y, x + d)).sum(-1)
        sums = np.lib.stride_tricks.sliding_window_view(difference, (17, 17)).sum((-1, -2))
        expected[sums < best] = (d + 8) % 2**32
        best = np.minimum(best, sums)
    images = [each.view(np.uint32)[..., 0] for each in (left, right)]
    output = new(height, width, dtype=np.uint32)
    args = [*images, output, width, height, -16, 0, *map(Texture, images)]
    return Launch((width // 32, height // 8), (32, 8), args, {2: expected})


# Flows -----------------------------------------------------------------------------------------

FLOW = "5_Domain_Specific/HSOpticalFlow/"
MIRROR: dict[str, Any] = {**SMOOTH, "address": "mirror"}


@declare(f"{FLOW}derivativesKernel.cuh", "ComputeDerivativesKernel")
def derivatives(scale: int) -> Launch:
    images = [normal(32 * scale, 64 * scale, seed=seed) for seed in range(2)]
    h, w = images[0].shape
    p = np.pad(sum(image.astype(np.float64) for image in images) / 2, 2, "symmetric")
    across = (p[2:-2, :-4] - 8 * p[2:-2, 1:-3] + 8 * p[2:-2, 3:-1] - p[2:-2, 4:]) / 12
    down = (p[:-4, 2:-2] - 8 * p[1:-3, 2:-2] + 8 * p[3:-1, 2:-2] - p[4:, 2:-2]) / 12
    args = [w, h, w, *(new(h, w) for _ in range(3)), *(Texture(image, MIRROR) for image in images)]
    expected = {3: across, 4: down, 5: images[1] - images[0]}
    return Launch(tiles(p, 32, 6), (32, 6), args, expected, rtol=LINEAR_ERROR)


@declare(f"{FLOW}downscaleKernel.cuh", "DownscaleKernel")
def downscale(scale: int) -> Launch:
    h, w = 30 * scale, 40 * scale
    image = normal(2 * h, 2 * w)
    expected = image.reshape(h, 2, w, 2).mean((1, 3), np.float64)
    args = [w, h, w, new(h, w), Texture(image, MIRROR)]
    return Launch(tiles(expected, 32, 8), (32, 8), args, {3: expected}, rtol=LINEAR_ERROR)


@declare(f"{FLOW}upscaleKernel.cuh", "UpscaleKernel")
def upscale(scale: int) -> Launch:
    h, w = 60 * scale, 80 * scale
    image = normal(h // 2, w // 2)
    y, x = np.indices((h, w), sparse=True)
    expected = 2 * fetch(image, (x + 0.5) / w, (y + 0.5) / h, normalized=True, linear=True)
    args = [w, h, w, 2.0, new(h, w), Texture(image, MIRROR)]
    return Launch(tiles(expected, 32, 8), (32, 8), args, {4: expected}, rtol=LINEAR_ERROR)


@declare(f"{FLOW}warpingKernel.cuh", "WarpingKernel")
def warped(scale: int) -> Launch:
    h, w = 30 * scale, 40 * scale
    image, (u, v) = normal(h, w), uniform(2, h, w, low=-0.45, high=0.45)
    y, x = np.indices((h, w), sparse=True)
    expected = fetch(image, x + u + 0.5, y + v + 0.5, linear=True)
    args = [w, h, w, u, v, new(h, w), Texture(image, MIRROR)]
    return Launch(tiles(expected, 32, 6), (32, 6), args, {5: expected}, rtol=2 * LINEAR_ERROR)


@declare("5_Domain_Specific/fluidsGL/fluidsGL_kernels.cu", "advectVelocity_k")
@declare("8_Platform_Specific/Tegra/fluidsGLES/fluidsGLES_kernels.cu", "advectVelocity_k")
def advected(scale: int) -> Launch:
    size, pitch, dt = 128 * scale, 130 * scale, 0.02
    y, x = np.indices((size, size))
    field = np.stack([np.sin(x / 20 + y / 30), np.cos(x / 25 - y / 20)], -1).astype(np.float32)
    here = fetch(field, x, y, linear=True)
    place = x + 0.5 - dt * size * here[..., 0], y + 0.5 - dt * size * here[..., 1]
    there = fetch(field, *place, linear=True)
    expected = masked(2, size, pitch)
    expected[:, :, :size] = there.transpose(2, 0, 1)
    texture = Texture(field, {"filter": "linear", "channels": 2})
    outputs = [new(size, pitch), new(size, pitch)]
    args = [np.zeros(2, np.float32), *outputs, size, pitch, size, dt, 16, texture]
    return Launch(
        (size // 64, size // 64), (64, 4), args, {1: expected[0], 2: expected[1]}, rtol=LINEAR_ERROR
    )


# Spectra ---------------------------------------------------------------------------------------

SPECTRA = "5_Domain_Specific/convolutionFFT2D/convolutionFFT2D.cuh"
LINEAR_MEMORY: dict[str, Any] = {"memory": "linear"}


@declare(SPECTRA, "padKernel_kernel")
def padded_kernel(scale: int) -> Launch:
    size, kernel, at = (32 * scale, 64 * scale), (7, 6), (3, 4)
    x = normal(*kernel)
    expected = np.zeros(size, np.float32)
    expected[:7, :6] = x
    args = [np.zeros(size, np.float32), x, *size, *kernel, *at, Texture(x.ravel(), LINEAR_MEMORY)]
    return Launch((1, 1), (32, 8), args, {0: np.roll(expected, (-3, -4), (0, 1))})


@declare(SPECTRA, "padDataClampToBorder_kernel")
def padded_data(scale: int) -> Launch:
    size, data, kernel, at = (32 * scale, 64 * scale), (20 * scale, 50 * scale), (7, 6), (3, 4)
    x = normal(*data)
    y_index, x_index = (
        np.where(np.arange(all_) < some, np.arange(all_), np.where(np.arange(all_) < some + k, some - 1, 0))
        for all_, some, k in zip(size, data, at, strict=True)
    )
    args = [new(*size), x, *size, *data, *kernel, *at, Texture(x.ravel(), LINEAR_MEMORY)]
    return Launch(tiles(np.empty(size), 32, 8), (32, 8), args, {0: x[y_index][:, x_index]})


def _packed(x: Array) -> Array:
    """Return the spectrum of complex numbers whose parts are the even and the odd columns."""
    return np.fft.fft2(x[:, ::2] + 1j * x[:, 1::2])


def _parts(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def _complex_texture(x: Array) -> Texture:
    return Texture(x.reshape(-1, 2), {**LINEAR_MEMORY, "channels": 2})


@declare(SPECTRA, "spPostprocess2D_kernel")
def unpacked_spectrum(scale: int) -> Launch:
    rows, columns, padding = 16, 32 * scale, 16
    x = normal(rows, 2 * columns, dtype=np.float64)
    source = _parts(_packed(x))
    expected = masked(rows, columns + padding, 2)
    expected[:, : columns + 1] = _parts(np.fft.rfft2(x))
    expected[rows // 2 + 1 :, 0] = expected[1 : rows // 2, columns] = np.ma.masked  # conjugates of others
    count = rows * columns // 2
    args = [new(*expected.shape), source, rows, columns, count, padding, -np.pi / columns]
    return Launch(blocks(count, 256), 256, [*args, _complex_texture(source)], {0: expected}, rtol=1e-4)


@declare(SPECTRA, "spPreprocess2D_kernel")
def packed_spectrum(scale: int) -> Launch:
    rows, columns, padding = 16, 32 * scale, 16
    x = normal(rows, 2 * columns, dtype=np.float64)
    source = np.zeros((rows, columns + padding, 2), np.float32)
    source[:, : columns + 1] = _parts(np.fft.rfft2(x))
    count = rows * columns // 2
    args = [new(rows, columns, 2), source, rows, columns, count, padding, -np.pi / columns]
    expected = {0: 2 * _parts(_packed(x))}
    return Launch(blocks(count, 256), 256, [*args, _complex_texture(source)], expected, rtol=1e-4)


@declare(SPECTRA, "spProcess2D_kernel")
def multiplied_spectra(scale: int) -> Launch:
    rows, columns = 16, 32 * scale
    a, b = (normal(rows, 2 * columns, seed=seed, dtype=np.float64) for seed in range(2))
    convolved = np.fft.irfft2(np.fft.rfft2(a) * np.fft.rfft2(b))
    sources = [_parts(_packed(each)) for each in (a, b)]
    count, factor = rows // 2 * columns, 0.5 / (rows * columns)
    args = [new(rows, columns, 2), *sources, rows, columns, count, -np.pi / columns, factor]
    args += [_complex_texture(each) for each in sources]
    expected = {0: 2 * factor * _parts(_packed(convolved))}
    return Launch(blocks(count, 256), 256, args, expected, rtol=1e-4)


# Compression -----------------------------------------------------------------------------------


def _clusters(codes: tuple[int, ...], sizes: Iterable[tuple[int, ...]]) -> Array:
    """Return, for each tuple of cluster sizes, the codes of 16 sorted colors, two bits each."""
    words = [np.repeat(codes, each) << np.arange(0, 32, 2) for each in sizes]
    return np.asarray(np.bitwise_or.reduce(words, 1))


def _sizes(count: int) -> list[tuple[int, ...]]:
    """Return all ways to split 16 sorted colors into so many clusters, of which some may be empty."""
    return [each for each in product(range(17), repeat=count) if sum(each) == 16]


def _colors_of(compressed: Array) -> Array:
    """Return the colors of DXT1 blocks that mix two colors in thirds, from 0 to 255."""
    ends = compressed[:, :1] >> np.array([0, 16]) & 0xFFFF
    ends = 255 * np.stack([ends >> 11, ends >> 5 & 63, ends & 31], -1) / np.array([31, 63, 31])
    mixed = (2 * ends + ends[:, ::-1]) / 3
    codes = compressed[:, 1:] >> np.arange(0, 32, 2) & 3
    return np.asarray(np.take_along_axis(np.concatenate([ends, mixed], 1), codes[..., None], 1))


@declare("5_Domain_Specific/dxtc/dxtc.cu", "compress")
def compress(scale: int) -> Launch:
    """Compress blocks whose colors are those of a palette, so that an exact code exists for each."""
    count = 16 * scale
    ends = integers(count, 2, 3, high=32) * np.array([2048, 64, 1])
    ends[..., 0] = 30 * 2048, 3 * 2048
    code = integers(count, 16, high=4).astype(np.int64) << np.arange(0, 32, 2)
    ends = ends.sum(-1).astype(np.int64)
    blocks_ = np.stack([ends[:, 0] | ends[:, 1] << 16, np.bitwise_or.reduce(code, -1)], -1)
    image = np.rint(_colors_of(blocks_))
    three = _clusters((0, 2, 1), _sizes(3))
    four = _clusters((0, 2, 3, 1), [each for each in _sizes(4) if each[2]])
    permutations = np.concatenate([three, three[:7], four, four[:16]]).astype(np.uint32)
    pixels = (image.astype(np.uint32) << np.array([0, 8, 16], np.uint32)).sum(-1, dtype=np.uint32)

    alarms = "lanes replace their sums while other lanes read them (`sums[idx] += sums[idx ^ 8]`)"

    def near(got: Array) -> bool:
        in_thirds = got[:, 0] & 0xFFFF > got[:, 0] >> 16
        return bool(in_thirds.all() and (np.abs(_colors_of(got.astype(np.int64)) - image) < 1).all())

    return Launch(
        count, 64, [permutations, pixels, new(count, 2, dtype=np.uint32), 0], {2: near}, true_alarms=alarms
    )
