"""Texture fetches in NumPy: the rules of the CUDA C++ Programming Guide, "Texture Fetching".

The guide leaves open how coordinates and weights are rounded. These rules were measured on an H200:

- A normalised coordinate is truncated to a multiple of 2**-21 (2**-22 for more than 8192 texels) before it is
  multiplied by the number of texels.
- The position between two texels is rounded to a multiple of 1/256, ties up.
- The weights of four or eight texels are multiples of 1/256 as well, and their sum is 1.
- Sums of integers that are read as normalised floats are rounded to 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device

__all__ = ["CASES", "TextureCase", "coordinates", "fetch", "reference", "texels"]

Array = npt.NDArray[Any]

SOURCE = """
__global__ void fetch(cudaTextureObject_t texture, const float4* at, RESULT* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FETCH;
}"""
CALLS = {
    "1d": "tex1D<RESULT>(texture, at[i].x)",
    "2d": "tex2D<RESULT>(texture, at[i].x, at[i].y)",
    "3d": "tex3D<RESULT>(texture, at[i].x, at[i].y, at[i].z)",
    "a2d": "tex2DLayered<RESULT>(texture, at[i].x, at[i].y, (int)at[i].z)",
    "linear": "tex1Dfetch<RESULT>(texture, (int)at[i].x)",
}
SPECIAL = (
    np.nan, np.inf, -np.inf, 3e38, 1e10, -1e10, 2.0**31, 2.0**24, -(2.0**24), 0.0, -0.0, 0.5, -0.5, 1.0, 1.5,
    -1.0, 2.0, 3.0, 4.0, 1e-8, -1e-8, 1e-40, -1e-40, 0.99999994, 1 / 512, -1 / 512, 255 / 256,
)  # fmt: skip


@dataclass(frozen=True)
class TextureCase:
    """A texture: its shape without channels, its elements, and the parameters of `Device.texture`."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return "-".join([sizes, self.dtype, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def geometry(self) -> str:
        if self.options.get("layered"):
            return "a2d"
        one = len(self.shape) == 1 and self.options.get("memory") == "linear"
        return "linear" if one else f"{len(self.shape)}d"

    @property
    def floats(self) -> bool:
        return self.dtype[0] == "f" or self.options.get("read") == "normalized"


def _cases() -> list[TextureCase]:
    cases = []
    modes = [("clamp", False), ("border", False), *product(("clamp", "border", "wrap", "mirror"), (True,))]
    for shape, (address, normalized), kind in product(
        ((8,), (7,), (5, 7), (3, 4, 5)), modes, ("point", "linear")
    ):
        options = {"filter": kind, "address": address, "normalized": normalized}
        cases.append(TextureCase(shape, "float32", options))
    for dtype, channels in product(("uint8", "int8", "uint16", "int16"), (1, 4)):
        case = TextureCase((5, 7), dtype, {"channels": channels})
        cases += [
            case,
            replace(case, options=case.options | {"read": "normalized"}),
            replace(case, options=case.options | {"read": "normalized", "filter": "linear"}),
        ]
    for dtype in ("int32", "uint32", "float16", "float32"):
        cases.append(TextureCase((5, 7), dtype, {"channels": 2}))
        cases.append(TextureCase((50,), dtype, {"memory": "linear", "channels": 2}))
    cases += [
        TextureCase((5, 7), "float16", {"filter": "linear"}),
        TextureCase((50,), "uint8", {"memory": "linear", "channels": 4, "read": "normalized"}),
        TextureCase((5, 64), "float32", {"memory": "linear", "filter": "linear"}),
        TextureCase((3, 5, 7), "float32", {"layered": True}),
        TextureCase((3, 5, 7), "float32", {"layered": True, "filter": "linear"}),
        TextureCase((1000,), "float32", {"filter": "linear", "address": "wrap", "normalized": True}),
        TextureCase((16384,), "float32", {"filter": "linear", "normalized": True}),
        TextureCase((5, 7), "float32", {"address": ("wrap", "clamp"), "normalized": True}),
    ]
    return cases


CASES = _cases()


def texels(case: TextureCase, seed: int = 0) -> Array:
    """Return random contents, with an axis of channels if there are several."""
    random = np.random.default_rng(seed)
    channels = case.options.get("channels", 1)
    shape = case.shape + (channels,) * (channels > 1)
    dtype = np.dtype(case.dtype)
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def coordinates(case: TextureCase, count: int = 1000, seed: int = 0) -> Array:
    """Return random coordinates inside and outside a texture, with special values along each axis."""
    random = np.random.default_rng(seed)
    at = np.zeros((count, 4), np.float32)
    for axis, extent in enumerate(case.shape[::-1]):
        x = random.uniform(-1.7 * extent, 2.7 * extent, count)
        x = np.where(random.random(count) < 0.4, np.round(x * 512) / 512, x)
        if case.options.get("normalized"):
            x = np.where(random.random(count) < 0.2, np.round(x), x) / extent
        at[:, axis] = x
        start = axis * len(SPECIAL)
        at[start : start + len(SPECIAL), axis] = SPECIAL
    if case.geometry == "linear":
        at[:, 0] = random.integers(-2 * case.shape[0], 3 * case.shape[0], count)
    if case.geometry == "a2d":
        at[:, 2] = random.integers(-2, case.shape[0] + 2, count)
    return at


def fetch(device: Device, case: TextureCase, contents: Array, at: Array) -> Array:
    """Return four channels at each coordinate, fetched by a kernel."""
    signed = "int4" if np.dtype(case.dtype).kind == "i" else "uint4"
    result = "float4" if case.floats else signed
    call = CALLS[case.geometry].replace("RESULT", result)
    kernel = device.compile(SOURCE.replace("RESULT", result).replace("FETCH", call))
    source = device.asarray(contents) if case.options.get("memory") == "linear" else contents
    texture = device.texture(source, **case.options)
    dtype = {"float4": np.float32, "int4": np.int32, "uint4": np.uint32}[result]
    out = device.empty((len(at), 4), dtype)
    kernel(-(-len(at) // 96), 96, (texture, device.asarray(at), out, len(at)))
    fetched: Array = device.asnumpy(out)
    return fetched


def reference(case: TextureCase, contents: Array, at: Array) -> Array:
    """Return four channels at each coordinate."""
    channels = case.options.get("channels", 1)
    values = contents.reshape((*case.shape, channels))
    normalized, linear = case.options.get("normalized", False), case.options.get("filter") == "linear"
    values = values.astype(np.float64)

    out = np.zeros((len(at), 4))
    if case.geometry == "linear":
        index = at[:, 0].astype(np.int64)
        inside = (index >= 0) & (index < case.shape[0])
        out[inside, :channels] = values[index[inside]]
        return _result(case, out, linear=False)

    layer: tuple[Array, ...] = ()
    extents = case.shape[::-1]
    if case.geometry == "a2d":
        last = case.shape[0] - 1
        number = at[:, 2].astype(np.int64)
        layer = (np.where((number < 0) | (number > last), last, number),)  # layers are unsigned
        extents = extents[:2]
    modes = case.options.get("address", "clamp")
    modes = (modes,) * len(extents) if isinstance(modes, str) else modes
    axes = [
        _axis(at[:, axis], extent, mode, normalized, linear)
        for axis, (extent, mode) in enumerate(zip(extents, modes, strict=True))
    ]
    shares = [weight for _, _, weight in axes] + [np.zeros(len(at), np.int64)] * (3 - len(axes))
    for corner, weight in _weights(*shares).items():
        if any(corner[len(axes) :]):
            continue
        index = [pair[side] for pair, side in zip(axes, corner, strict=False)]
        inside = np.all([i >= 0 for i in index], axis=0) & (weight > 0)
        found = values[(*layer, *index[::-1])]
        out[:, :channels] += np.where(inside[:, None], weight[:, None] * found, 0)
    return _result(case, out / 256, linear)


def _axis(x: Array, extent: int, mode: str, normalized: bool, linear: bool) -> tuple[Array, Array, Array]:
    """Return the two texels next to a coordinate, -1 for the border, and the second one's weight in 1/256."""
    u = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.0), -(2.0**30), 2.0**30)
    u[np.abs(u) < 2.0**-126] = 0
    if normalized:
        steps = 2.0 ** (21 if extent <= 8192 else 22)
        u = np.floor(u * steps) / steps * extent
    if not linear:
        nearest = _addressed(np.floor(u).astype(np.int64), extent, mode)
        return nearest, nearest, np.zeros(len(x), np.int64)
    position = np.floor(u * 256 + 0.5).astype(np.int64) - 128
    first, second = (_addressed((position >> 8) + n, extent, mode) for n in (0, 1))
    at_edge = (first == second) & (mode == "clamp")
    return first, second, np.where(at_edge, 0, position & 255)


def _addressed(index: Array, extent: int, mode: str) -> Array:
    if mode == "clamp":
        return np.clip(index, 0, extent - 1)
    if mode == "border":
        return np.where((index >= 0) & (index < extent), index, -1)
    if mode == "wrap":
        return index % extent
    index = index % (2 * extent)
    return np.where(index < extent, index, 2 * extent - 1 - index)


def _weights(x: Array, y: Array, z: Array) -> dict[tuple[int, int, int], Array]:
    """Return the weight of each corner in 1/256: split along z, then along x, then along y."""
    weights = {}
    for in_z, total in ((0, 256 - z), (1, z)):
        second = (x * total + 128) >> 8
        for in_x, part in ((0, total - second), (1, second)):
            # The larger of the two shares of a tie goes to the texel nearer to the corner (0, 0) or (1, 1).
            near = (part * (y if in_x else 256 - y) + 128) >> 8
            weights[in_x, in_x, in_z] = near
            weights[in_x, 1 - in_x, in_z] = part - near
    return weights


def _result(case: TextureCase, out: Array, linear: bool) -> Array:
    """Convert weighted means of elements to the values that a fetch gives."""
    if case.options.get("read") == "normalized":
        limit = np.iinfo(case.dtype).max
        if not linear:
            return (np.maximum(out, -limit) / limit).astype(np.float32)
        levels = 65535 if case.dtype[0] == "u" else 32767
        unit = 258 + 1 / 128 if case.dtype == "int8" else levels / limit
        return (np.maximum(np.floor(out * unit + 0.5), -levels) / levels).astype(np.float32)
    if case.dtype == "float16" and linear:
        return out.astype(np.float16).astype(np.float32)
    if case.floats:
        return out.astype(np.float32)
    return out.astype(np.int64).astype(np.uint32 if case.dtype[0] == "u" else np.int32)
