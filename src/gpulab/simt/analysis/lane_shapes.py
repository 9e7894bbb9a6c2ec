"""Shapes of values across the lanes of a warp, and the arithmetic that preserves them.

=========  ========================================  =============================
kind       value in a lane                           representation
=========  ========================================  =============================
uniform    the same in all lanes                     one scalar
affine     ``base + stride * (lane % width)``        one scalar per row of lanes
varying    any                                       a vector of 32
=========  ========================================  =============================
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "UNIFORM",
    "VARYING",
    "LaneShape",
    "add",
    "affine",
    "as_operand",
    "join",
    "low_zeros",
    "multiply",
    "or_as_add",
    "scale",
    "widens_exactly",
]

ALL_ZEROS = 31  # `LaneShape.zeros` of the value 0


@dataclass(frozen=True)
class LaneShape:
    """The shape of a value.

    Attributes
    ----------
    kind : str
        "uniform", "affine" or "varying".
    stride : int
        Difference between neighbouring lanes of a row.
    constant : int or None
        The value of a uniform constant.
    zeros : int
        Number of low bits known to be 0 in a uniform value and in the base of every row.
    common : bool
        All rows of an affine value have the same base, as `threadIdx.x` has in a block that is 16 wide.
    """

    kind: str
    stride: int = 0
    constant: int | None = None
    zeros: int = 0
    common: bool = False

    @property
    def rows_agree(self) -> bool:
        """All rows of a warp have the same values."""
        return self.kind == "uniform" or self.common


UNIFORM = LaneShape("uniform")
VARYING = LaneShape("varying")


def affine(stride: int, zeros: int = 0, common: bool = False) -> LaneShape:
    """Return the shape of an affine value."""
    return LaneShape("affine", stride, None, zeros, common)


def low_zeros(value: int) -> int:
    """Return the number of low bits of a value that are 0."""
    return ALL_ZEROS if value == 0 else (value & -value).bit_length() - 1


def widens_exactly(shape: LaneShape) -> bool:
    """Return True if a 32-bit value may be extended row by row: the lanes of a row are close together."""
    return shape.kind == "uniform" or abs(shape.stride) < 1 << 20


def as_operand(shape: LaneShape, ty: str) -> LaneShape:
    """Return a constant as an instruction on type `ty` reads it: PTX writes -1 for an unsigned 4294967295."""
    if shape.constant is None:
        return shape
    bits = int(ty[1:])
    value = shape.constant & ((1 << bits) - 1)
    if ty[0] == "s" and value >> (bits - 1):
        value -= 1 << bits
    return LaneShape(shape.kind, 0, value, shape.zeros)


def join(a: LaneShape, b: LaneShape) -> LaneShape:
    """Return the shape of a value that has one shape or the other."""
    if a == b:
        return a
    if "varying" in (a.kind, b.kind):
        return VARYING
    zeros = min(a.zeros, b.zeros)
    if a.kind == b.kind == "uniform":
        return LaneShape("uniform", 0, None, zeros)
    if a.stride != b.stride:
        return VARYING
    return affine(a.stride, zeros, a.rows_agree and b.rows_agree)


# The functions below return None if the result has none of the scalar shapes.


def add(a: LaneShape, b: LaneShape) -> LaneShape | None:
    """Return the shape of `a + b`."""
    if "varying" in (a.kind, b.kind):
        return None
    zeros = min(a.zeros, b.zeros)
    if a.kind == b.kind == "uniform":
        if a.constant is None or b.constant is None:
            return LaneShape("uniform", 0, None, zeros)
        constant = a.constant + b.constant
        return LaneShape("uniform", 0, constant, low_zeros(constant))
    return affine(a.stride + b.stride, zeros, a.rows_agree and b.rows_agree)


def scale(a: LaneShape, factor: int) -> LaneShape | None:
    """Return the shape of `a * factor`."""
    if a.kind == "varying":
        return None
    zeros = min(ALL_ZEROS, a.zeros + low_zeros(abs(factor)))
    if a.kind == "uniform":
        constant = None if a.constant is None else a.constant * factor
        return LaneShape("uniform", 0, constant, zeros)
    return affine(a.stride * factor, zeros, a.common)


def multiply(a: LaneShape, b: LaneShape) -> LaneShape | None:
    """Return the shape of `a * b`."""
    if b.kind == "uniform" and b.constant is not None:
        return scale(a, b.constant)
    if a.kind == "uniform" and a.constant is not None:
        return scale(b, a.constant)
    if "varying" in (a.kind, b.kind):
        return None
    zeros = min(ALL_ZEROS, a.zeros + b.zeros)
    if a.kind == b.kind == "uniform":
        return LaneShape("uniform", 0, None, zeros)
    if a.stride == b.stride == 0:
        return affine(0, zeros, a.rows_agree and b.rows_agree)
    return None


def or_as_add(a: LaneShape, b: LaneShape) -> LaneShape | None:
    """Return the shape of `a | b`, which is `a + b` if b is a constant below the known zeros of a."""
    if b.constant is None:
        a, b = b, a
    if b.constant is None or a.kind != "affine" or b.kind != "uniform":
        return None
    stride_zeros = low_zeros(abs(a.stride)) if a.stride else ALL_ZEROS
    free = min(a.zeros, stride_zeros)
    return affine(a.stride, 0, a.common) if 0 <= b.constant < (1 << free) else None
