"""Launches of NVIDIA/cuda-samples with textures and surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    Surface,
    Texture,
    blocks,
    integers,
    masked,
    new,
    normal,
    refused,
    suite,
    uniform,
)
from benchmarks.compatibility.samples_concepts import box, dct, near_bytes
from benchmarks.compatibility.texels import LINEAR_ERROR, fetch

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/")
COLORS: dict[str, Any] = {"channels": 4, "read": "normalized"}
SMOOTH: dict[str, Any] = {"filter": "linear", "normalized": True}


def pixels(height: int, width: int) -> tuple[Array, Array, Array]:
    """Return the rows and the columns of an image as arrays that can be broadcast, and random pixels."""
    y, x = np.indices((height, width), sparse=True)
    return y, x, uniform(height, width)


def colors(height: int, width: int) -> Array:
    return integers(height, width, 4, high=256, dtype=np.uint8)


def tiles(image: Array, width: int, height: int) -> tuple[int, int]:
    """Return the grid of blocks of a width and height for an image."""
    return blocks(image.shape[1], width), blocks(image.shape[0], height)


# Introduction ----------------------------------------------------------------------------------

declare("0_Introduction/simpleCubemapTexture/simpleCubemapTexture.cu", "transformKernel")(refused)


@declare("0_Introduction/simpleLayeredTexture/simpleLayeredTexture.cu", "transformKernel")
def layered(scale: int) -> Launch:
    layers = normal(5, 48 * scale, 64 * scale)
    expected = masked(*layers.shape)
    expected[3] = 3 - layers[3]
    texture = Texture(layers, {**SMOOTH, "address": "wrap", "layered": True})
    args = [new(*layers.shape), layers.shape[2], layers.shape[1], 3, texture]
    return Launch(tiles(layers[0], 8, 8), (8, 8), args, {0: expected})


@declare(
    "0_Introduction/simplePitchLinearTexture/simplePitchLinearTexture.cu", "shiftPitchLinear", memory="linear"
)
@declare("0_Introduction/simplePitchLinearTexture/simplePitchLinearTexture.cu", "shiftArray", memory="array")
def shifted(scale: int, memory: str) -> Launch:
    x = normal(64 * scale, 128 * scale)
    texture = Texture(x, {"normalized": True, "address": "wrap", "memory": memory})
    args = [new(*x.shape), x.shape[1], x.shape[1], x.shape[0], 6, 10, texture]
    return Launch(tiles(x, 16, 16), (16, 16), args, {0: np.roll(x, (-10, -6), (0, 1))})


@declare("0_Introduction/simpleSurfaceWrite/simpleSurfaceWrite.cu", "surfaceWriteKernel")
def write_surface(scale: int) -> Launch:
    x = normal(64 * scale, 128 * scale)
    args = [x, x.shape[1], x.shape[0], Surface(np.zeros_like(x))]
    return Launch(tiles(x, 8, 8), (8, 8), args, {3: x})


@declare("0_Introduction/simpleSurfaceWrite/simpleSurfaceWrite.cu", "transformKernel")
@declare("0_Introduction/simpleTexture/simpleTexture.cu", "transformKernel")
@declare("0_Introduction/simpleTextureDrv/simpleTexture_kernel.cu", "transformKernel")
def rotated(scale: int) -> Launch:
    y, x, image = pixels(64 * scale, 64 * scale)
    u, v = x / image.shape[1] - 0.5, y / image.shape[0] - 0.5
    angle = 0.5
    turned = u * np.cos(angle) - v * np.sin(angle) + 0.5, v * np.cos(angle) + u * np.sin(angle) + 0.5
    expected = fetch(image, *turned, normalized=True, linear=True, address="wrap")
    texture = Texture(image, {**SMOOTH, "address": "wrap"})
    args = [new(*image.shape), image.shape[1], image.shape[0], angle, texture]
    return Launch(tiles(image, 8, 8), (8, 8), args, {0: expected}, rtol=LINEAR_ERROR)


@declare("0_Introduction/simpleTexture3D/simpleTexture3D_kernel.cu", "d_render")
def slice_of_volume(scale: int) -> Launch:
    volume = integers(16, 16, 16, high=256, dtype=np.uint8)
    y, x, image = pixels(50 * scale, 60 * scale)
    u, v = x / image.shape[1], y / image.shape[0]
    expected = fetch(volume, u, v, np.float64(0.4), normalized=True, linear=True, address="wrap")
    texture = Texture(volume, {**SMOOTH, "address": "wrap", "read": "normalized"})
    args = [new(*image.shape, dtype=np.uint32), image.shape[1], image.shape[0], 0.4, texture]
    near = lambda got: bool((np.abs(got.astype(float) - expected) <= 3).all())  # noqa: E731
    return Launch(tiles(image, 16, 16), (16, 16), args, {0: near})


# Filters ---------------------------------------------------------------------------------------

BOX = "2_Concepts_and_Techniques/boxFilter/boxFilter_kernel.cu"


@declare(BOX, "d_boxfilter_x_tex", axis=1)
@declare(BOX, "d_boxfilter_y_tex", axis=0)
def box_filter(scale: int, axis: int) -> Launch:
    x = uniform(64 * scale, 128 * scale)
    args = [new(*x.shape), x.shape[1], x.shape[0], 5, Texture(x)]
    return Launch(x.shape[1 - axis] // 64, 64, args, {0: box(x, 5, axis)}, rtol=1e-4)


@declare(BOX, "d_boxfilter_rgba_x")
def box_filter_colors(scale: int) -> Launch:
    x = colors(64 * scale, 128 * scale)
    args = [new(*x.shape[:2], dtype=np.uint32), x.shape[1], x.shape[0], 5, Texture(x, COLORS)]
    return Launch(x.shape[0] // 64, 64, args, {0: near_bytes(box(x, 5, 1))})


CONVOLUTION = "2_Concepts_and_Techniques/convolutionTexture/convolutionTexture.cu"


@declare(CONVOLUTION, "convolutionRowsKernel", axis=1)
@declare(CONVOLUTION, "convolutionColumnsKernel", axis=0)
def convolution(scale: int, axis: int) -> Launch:
    x, weights = normal(60 * scale, 100 * scale), normal(17)
    padded = np.pad(x.astype(np.float64), [(8, 8) if n == axis else (0, 0) for n in range(2)], "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 17, axis)
    args = [new(*x.shape), x.shape[1], x.shape[0], Texture(x)]
    variables = {"c_Kernel": weights}
    return Launch(tiles(x, 16, 12), (16, 12), args, {0: windows @ weights[::-1]}, variables=variables)


@declare("2_Concepts_and_Techniques/dct8x8/dct8x8_kernel1.cuh", "CUDAkernel1DCT", "CUDAkernel1IDCT")
def cosine_transform(scale: int, kernel: str) -> Launch:
    x = normal(32 * scale, 64 * scale)
    args = [new(*x.shape), x.shape[1], 0, 0, Texture(x)]
    return Launch(tiles(x, 8, 8), (8, 8), args, {0: dct(x, "IDCT" in kernel)})


@declare("2_Concepts_and_Techniques/FunctionPointers/FunctionPointers_kernels.cu", "SobelCopyImage")
@declare("5_Domain_Specific/SobelFilter/SobelFilter_kernels.cu", "SobelCopyImage")
def brighter(scale: int) -> Launch:
    x = integers(40 * scale, 100 * scale, high=256, dtype=np.uint8)
    args = [new(*x.shape, dtype=np.uint8), x.shape[1], x.shape[1], x.shape[0], 1.5, Texture(x)]
    return Launch(len(x), 384, args, {0: np.minimum(x * 1.5, 255).astype(np.uint8)})


@declare("3_CUDA_Features/bindlessTexture/bindlessTexture_kernel.cu", "d_mipmap")
def mipmap(scale: int) -> Launch:
    x = colors(64 * scale, 128 * scale)
    height, width = x.shape[0] // 2, x.shape[1] // 2
    v, u = np.indices((height + 1, width + 1), sparse=True)
    corners = fetch(x, u / width, v / height, normalized=True, linear=True)
    mean = (corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]) / 4
    output = Surface(np.zeros((height, width, 4), np.uint8), {"channels": 4})
    args = [output, Texture(x, {**SMOOTH, **COLORS}), width, height]
    return Launch(tiles(mean, 16, 16), (16, 16), args, {0: near_bytes(mean, 2.01)})


@declare("5_Domain_Specific/bilateralFilter/bilateral_kernel.cu", "d_bilateral_filter")
def bilateral(scale: int) -> Launch:
    height, width, radius, e = 30 * scale, 40 * scale, 3, 0.4
    x, gauss = colors(height, width), np.exp(-((np.arange(64) - radius) ** 2) / 8).astype(np.float32)
    padded = np.pad(x / 255, [(radius, radius), (radius, radius), (0, 0)], "edge")
    total, weights = np.zeros(x.shape), np.zeros((height, width, 1))
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            near = padded[i : i + height, j : j + width]
            distance = ((near - x / 255)[..., :3] ** 2).sum(-1, keepdims=True)
            weight = gauss[i] * gauss[j] * np.exp(-distance / (2 * e * e))
            total, weights = total + weight * near, weights + weight
    args = [new(height, width, dtype=np.uint32), width, height, e, radius, Texture(x, COLORS)]
    expected = {0: near_bytes(total / weights * 255)}
    return Launch(tiles(x, 16, 16), (16, 16), args, expected, variables={"cGaussian": gauss})


# Cubic interpolation ---------------------------------------------------------------------------


def _b_spline(a: Array) -> list[Array]:
    last = a**3 / 6
    return [(1 - a) ** 3 / 6, 2 / 3 - a**2 + a**3 / 2, 1 / 6 + a / 2 + a**2 / 2 - a**3 / 2, last]


def _catmull_rom(a: Array) -> list[Array]:
    return [
        a * (-0.5 + a * (1 - 0.5 * a)),
        1 + a * a * (-2.5 + 1.5 * a),
        a * (0.5 + a * (2 - 1.5 * a)),
        a * a * (-0.5 + 0.5 * a),
    ]


WEIGHTS = {"d_renderBicubic": _b_spline, "d_renderFastBicubic": _b_spline, "d_renderCatRom": _catmull_rom}
BICUBIC = "5_Domain_Specific/bicubicTexture/bicubicTexture_kernel.cuh"


@declare(BICUBIC, "d_render", "d_renderBicubic", "d_renderFastBicubic", "d_renderCatRom")
def bicubic(scale: int, kernel: str) -> Launch:
    height, width = 50 * scale, 60 * scale
    smooth = np.add.outer(np.sin(np.arange(64) / 4), np.cos(np.arange(64) / 5))
    image = (128 + 60 * smooth).astype(np.uint8)
    y, x = np.indices((height, width), sparse=True)
    zoom, middle = 0.3125, 32
    u, v = (x - middle) * zoom + middle + 0.03125, (y - middle) * zoom + middle + 0.0625
    if kernel == "d_render":
        expected = fetch(image, u, v, linear=True)
    else:
        left, top = np.floor(u - 0.5), np.floor(v - 0.5)
        across, down = WEIGHTS[kernel](u - 0.5 - left), WEIGHTS[kernel](v - 0.5 - top)
        expected = np.zeros((height, width))
        for i in range(4):
            for j in range(4):
                expected += down[i] * across[j] * fetch(image, left + j - 1, top + i - 1)
    rgb = np.repeat(expected[..., None], 4, -1)
    rgb[..., 3] = 0
    linear = kernel in ("d_render", "d_renderFastBicubic")
    texture = Texture(image, {"filter": "linear" if linear else "point", "read": "normalized"})
    args = [
        new(height, width, 4, dtype=np.uint8),
        width,
        height,
        0.03125,
        0.0625,
        zoom,
        middle,
        middle,
        texture,
    ]
    return Launch(tiles(expected, 16, 16), (16, 16), args, {0: near_bytes(rgb, 2.01)})
