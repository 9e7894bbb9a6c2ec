"""Matrix products as tensor cores compute them, by integer arithmetic on the bits of the operands.

`LAYOUTS` are the fragments of `mma` as the PTX manual states them (PTX ISA, "Matrix Fragments for mma"): row
and column of element i of the lane at position t in group g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.simt.exact import BF16, F16, F32, TF32, Format

__all__ = ["LAYOUTS", "STORAGE", "Layout", "Place", "Types", "matrix_product", "random_matrix"]

Array = npt.NDArray[Any]
Place = Callable[[int, int, int], tuple[int, int]]
Types = tuple[str, str, str, str]  # of D, A, B and C
FORMATS = {"f16": F16, "bf16": BF16, "tf32": TF32, "f32": F32}
STORAGE = {  # dtype of a matrix, by PTX type
    "f16": "u2", "bf16": "u2", "tf32": "u4", "f32": "u4", "f64": "f8", "s8": "i1", "u8": "u1", "s32": "i4",
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The fragments of a shape: places of the elements of A, B and C, and their numbers in one lane."""

    a: Place
    b: Place
    c: Place
    counts: tuple[int, int, int]


def _c(i: int, g: int, t: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


LAYOUTS = {
    ("m16n8k8", "f16"): Layout(
        lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)),
        lambda i, g, t: (t * 2 + i, g),
        _c,
        (4, 2, 4),
    ),
    ("m16n8k16", "f16"): Layout(
        lambda i, g, t: (g if i in (0, 1, 4, 5) else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
        lambda i, g, t: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
        _c,
        (8, 4, 4),
    ),
    ("m16n8k4", "tf32"): Layout(
        lambda i, g, t: (g if i == 0 else g + 8, t), lambda i, g, t: (t, g), _c, (2, 1, 4)
    ),
    ("m16n8k8", "tf32"): Layout(
        lambda i, g, t: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda i, g, t: (t if i == 0 else t + 4, g),
        _c,
        (4, 2, 4),
    ),
    ("m8n8k16", "s8"): Layout(
        lambda i, g, t: (g, t * 4 + i),
        lambda i, g, t: (t * 4 + i, g),
        lambda i, g, t: (g, t * 2 + i),
        (4, 4, 2),
    ),
    ("m16n8k16", "s8"): Layout(
        lambda i, g, t: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        lambda i, g, t: (t * 4 + i, g),
        _c,
        (8, 4, 4),
    ),
    ("m16n8k32", "s8"): Layout(
        lambda i, g, t: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
        lambda i, g, t: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
        _c,
        (16, 8, 4),
    ),
    ("m8n8k4", "f64"): Layout(
        lambda i, g, t: (g, t), lambda i, g, t: (t, g), lambda i, g, t: (g, t * 2 + i), (1, 1, 2)
    ),
    ("m16n8k4", "f64"): Layout(
        lambda i, g, t: (g if i == 0 else g + 8, t), lambda i, g, t: (t, g), _c, (2, 1, 4)
    ),
    ("m16n8k8", "f64"): Layout(
        lambda i, g, t: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda i, g, t: (t + 4 * i, g),
        _c,
        (4, 2, 4),
    ),
    ("m16n8k16", "f64"): Layout(
        lambda i, g, t: (g if i % 2 == 0 else g + 8, t + i // 2 * 4),
        lambda i, g, t: (t + 4 * i, g),
        _c,
        (8, 4, 4),
    ),
}


def random_matrix(random: np.random.Generator, ty: str, shape: tuple[int, int], kind: str) -> Array:
    """Return a matrix, of f16, bf16, tf32 and f32 as their bits.

    `kind` is "normal" (normally distributed numbers), "wide" (all finite numbers equally likely), "tiny"
    (subnormal numbers and zeros), or "special" (small numbers, and some of the format's special ones).
    """
    storage = np.dtype(STORAGE[ty])
    if storage.kind in "iu" and ty not in FORMATS:
        limits = np.iinfo(storage)
        return random.integers(limits.min, limits.max, shape, dtype=storage, endpoint=True)
    if ty == "f64":
        values = random.standard_normal(shape)
        if kind == "wide":
            values *= 2.0 ** random.integers(-400, 400, shape)
        if kind == "special":
            values[random.random(shape) < 0.05] = random.choice([np.inf, -np.inf, np.nan, -0.0, 5e-324])
        return values

    form = FORMATS[ty]
    low = 13 if ty == "tf32" else 0  # ignored bits
    count = 1 << 1 + form.exponent + form.fraction
    if kind == "normal":
        bits = _rounded(form, random.standard_normal(shape))
    elif kind == "tiny":
        bits = random.integers(0, 1 << form.fraction, shape) | form.sign_bit * random.integers(0, 2, shape)
    elif kind == "wide":
        bits = random.integers(0, count, shape)
        bits = np.where(bits & form.infinity == form.infinity, bits & form.sign_bit, bits)
    else:
        bits = _rounded(form, random.standard_normal(shape))
        specials = [form.infinity, form.infinity | form.sign_bit, form.infinity + 1, form.sign_bit, 0, 1,
                    form.largest, form.largest | form.sign_bit]  # fmt: skip
        bits = np.where(random.random(shape) < 0.06, random.choice(specials, shape), bits)
    bits = bits.astype(np.int64) << low
    if low:
        bits |= random.integers(0, 1 << low, shape)
    return bits.astype(storage)


def _rounded(form: Format, values: Array) -> Array:
    bits = [form.encode(bool(v < 0), abs(Fraction(float(v)))) for v in values.reshape(-1)]
    return np.array(bits, np.int64).reshape(values.shape)


def matrix_product(
    a: Array,
    b: Array,
    c: Array,
    types: Types,
    architecture: int = 90,
    *,
    saturates: bool = False,
    wmma: bool = False,
) -> Array:
    """Return A B + C."""
    d_type, a_type, _, c_type = types
    if d_type == "s32":
        exact = c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
        limits = np.iinfo(np.int32)
        return exact.clip(limits.min, limits.max).astype("i4") if saturates else exact.astype("i4")
    if d_type == "f64":
        return _chain(a, b, c)

    fraction, operand_bytes = (25, 32) if architecture >= 90 else (24, 16)
    step = operand_bytes * 8 // {"tf32": 32}.get(a_type, 16)
    if wmma and a_type == "tf32":  # machine code multiplies four columns of A at a time
        step = 4
    ty = "f16" if c_type == d_type == "f16" else "f32"  # machine code converts the other type
    rows, columns = [[_decoded(a_type, x) for x in row] for row in a.tolist()], b.T.tolist()
    columns = [[_decoded(a_type, x) for x in column] for column in columns]
    result = np.zeros(c.shape, STORAGE[d_type])
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            total = _converted(int(c[i, j]), c_type, ty)
            for first in range(0, len(row), step):
                part = slice(first, first + step)
                total = _sum(_decoded(ty, total), row[part], column[part], fraction, ty)
            result[i, j] = _converted(total, ty, d_type)
    return result


Number = tuple[int, int] | float  # significand and exponent of its last place; infinity or NaN as a float


@dataclass(frozen=True)
class _Operand:
    value: Number
    exponent: int  # of the format: that of the leading digit, if the number is normal


def _decoded(ty: str, bits: int) -> _Operand:
    form = FORMATS[ty]
    bits >>= 13 if ty == "tf32" else 0
    sign = -1 if bits & form.sign_bit else 1
    field, fraction = bits >> form.fraction & ((1 << form.exponent) - 1), bits & ((1 << form.fraction) - 1)
    if field == (1 << form.exponent) - 1:
        return _Operand(float("nan") if fraction else sign * float("inf"), 0)
    exponent = max(field, 1) - form.bias
    significand = fraction + ((1 << form.fraction) if field else 0)
    return _Operand((sign * significand, exponent - form.fraction), exponent)


def _converted(bits: int, source: str, target: str) -> int:
    """Return a number in another format, rounded to nearest."""
    return FORMATS[target].encode(*FORMATS[source].decode(bits)) if source != target else bits


def _sum(c: _Operand, row: list[_Operand], column: list[_Operand], fraction: int, d_type: str) -> int:
    """Return the bits of the truncated sum of products and `c`."""
    form = FORMATS[d_type]
    if any(isinstance(x.value, float) for x in (c, *row, *column)):
        plain = _as_float(c) + sum(_as_float(x) * _as_float(y) for x, y in zip(row, column, strict=True))
        if not np.isfinite(plain):
            return form.encode(plain < 0, "nan" if np.isnan(plain) else "inf")

    terms = [(c.value, c.exponent)]
    for x, y in zip(row, column, strict=True):
        assert isinstance(x.value, tuple)
        assert isinstance(y.value, tuple)
        terms.append(((x.value[0] * y.value[0], x.value[1] + y.value[1]), x.exponent + y.exponent))
    finite = [(value, exponent) for value, exponent in terms if isinstance(value, tuple) and value[0]]
    last = max([-126, *(exponent for _, exponent in finite)]) - fraction
    total = 0
    for (significand, place), _ in finite:
        shift = place - last
        size = abs(significand) << shift if shift >= 0 else abs(significand) >> -shift
        total += size if significand > 0 else -size
    exact = abs(Fraction(total) * Fraction(2) ** last)
    if d_type == "f32":
        return form.encode(total < 0, "inf" if exact >= 1 << 128 else exact, "rz")
    rounded = form.encode(total < 0, exact)
    return 0 if rounded == form.sign_bit else rounded  # as an H200 does


def _as_float(x: _Operand) -> float:
    return float(x.value) if isinstance(x.value, float) else x.value[0] * 2.0 ** x.value[1]


def _chain(a: Array, b: Array, c: Array) -> Array:
    """Return A B + C as a chain of fused multiply-adds in the order of k."""
    result = c.copy()
    for i, j in np.ndindex(c.shape):
        for k in range(a.shape[1]):
            result[i, j] = _fused(float(a[i, k]), float(b[k, j]), float(result[i, j]))
    return result


def _fused(x: float, y: float, z: float) -> float:
    if not np.isfinite([x, y, z]).all() or 0.0 in (x, y):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
