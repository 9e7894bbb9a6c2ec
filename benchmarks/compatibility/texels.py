"""The result of a texture fetch, in NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import Array

__all__ = ["LINEAR_ERROR", "fetch"]

LINEAR_ERROR = 1 / 200  # a linear filter rounds the position between texels to a multiple of 1/256


def fetch(
    texels: Array,
    *coordinates: Any,
    normalized: bool = False,
    linear: bool = False,
    address: str = "clamp",
) -> Array:
    """Return the texels at coordinates x, y, … of a texture, whose last axes are rows and columns.

    The channels of texels, if they have several, are a last axis of the texels.
    """
    axes = len(coordinates)
    sizes = texels.shape[:axes][::-1]
    places = [
        np.asarray(each, np.float64) * (size if normalized else 1)
        for each, size in zip(coordinates, sizes, strict=True)
    ]
    places = list(np.broadcast_arrays(*places))
    if not linear:
        return _texel(texels, [np.floor(each).astype(int) for each in places], address)
    first = [np.floor(each - 0.5).astype(int) for each in places]
    total: Any = 0
    for step in product((0, 1), repeat=axes):
        weight: Any = 1
        for each, corner, side in zip(places, first, step, strict=True):
            fraction = each - 0.5 - corner
            weight = weight * (fraction if side else 1 - fraction)
        values = _texel(texels, [corner + side for corner, side in zip(first, step, strict=True)], address)
        total = total + values * (weight[..., None] if texels.ndim > axes else weight)
    return np.asarray(total)


def _texel(texels: Array, index: list[Array], address: str) -> Array:
    """Return texels by their index, x first."""
    sizes = texels.shape[: len(index)][::-1]
    inside = np.all([(each >= 0) & (each < size) for each, size in zip(index, sizes, strict=True)], 0)
    if address == "wrap":
        index = [each % size for each, size in zip(index, sizes, strict=True)]
    index = [each.clip(0, size - 1) for each, size in zip(index, sizes, strict=True)]
    values = texels[tuple(index[::-1])]
    if address == "border":
        values = np.where(inside[..., None] if texels.ndim > len(index) else inside, values, 0)
    return values
