"""IEEE arithmetic on Python numbers, exact first and rounded once: what the interpreter computes floats with.

Values are Python floats that hold a float32 or a float64. Sums, products and quotients of float32
rounded to nearest are made in float64 and rounded again, which gives the same bits (53 >= 2 * 24 + 2;
Figueroa, "When is double rounding innocuous?", 1995); everything else goes through fractions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

__all__ = [
    "binary",
    "bits_of_float",
    "float_of_bits",
    "from_int",
    "fused",
    "narrowed",
    "root",
    "to_int",
    "whole",
]

PRECISION = {"f32": 24, "f64": 53}
LEAST = {"f32": -149, "f64": -1074}  # exponent of the smallest subnormal
LARGEST = {"f32": Fraction((2**24 - 1) * 2**104), "f64": Fraction((2**53 - 1) * 2**971)}
_WIDE = struct.Struct("<d")
_NARROW = struct.Struct("<f")
_LONG = struct.Struct("<Q")
_WORD = struct.Struct("<I")


def float_of_bits(bits: int, ty: str) -> float:
    if ty == "f32":
        return float(_NARROW.unpack(_WORD.pack(bits))[0])
    return float(_WIDE.unpack(_LONG.pack(bits))[0])


def bits_of_float(value: float, ty: str) -> int:
    if ty == "f32":
        return int(_WORD.unpack(_NARROW.pack(value))[0])
    return int(_LONG.unpack(_WIDE.pack(value))[0])


def narrowed(value: float) -> float:
    """A float64 rounded to the nearest float32."""
    try:
        return float(_NARROW.unpack(_NARROW.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def rounded(exact: Fraction, ty: str, mode: str = "rn") -> float:
    """A number that is not 0, as the float next to it: rn, rz, rm (down) or rp (up)."""
    sign = -1 if exact < 0 else 1
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - PRECISION[ty] + 1, LEAST[ty])
    steps, rest = divmod(size, Fraction(2) ** unit)
    rest /= Fraction(2) ** unit
    if mode == "rn":
        steps += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2)
    elif mode != "rz" and rest and (mode == "rp") == (sign > 0):
        steps += 1
    size = steps * Fraction(2) ** unit
    if size > LARGEST[ty]:
        outwards = mode == "rn" or (mode != "rz" and (mode == "rp") == (sign > 0))
        return sign * (math.inf if outwards else float(LARGEST[ty]))
    return math.copysign(float(size), sign)


_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
_NEAREST: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: _quotient(a, b),  # noqa: PLW0108  (it is defined below)
}


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def binary(op: str, a: float, b: float, ty: str, mode: str = "rn") -> float:
    """`a op b` for add, sub, mul and div."""
    nearest = _NEAREST[op](a, b)
    if mode == "rn":
        return narrowed(nearest) if ty == "f32" else nearest
    if not (math.isfinite(a) and math.isfinite(b)) or (op == "div" and b == 0):
        return nearest
    exact = _EXACT[op](Fraction(a), Fraction(b))
    if exact:
        return rounded(exact, ty, mode)
    if op in ("add", "sub") and (a or b) and mode == "rm":
        return -0.0  # x - x, rounded down
    if op in ("add", "sub") and mode == "rm" and not (a or b):
        other = b if op == "add" else -b
        return math.copysign(0.0, min(math.copysign(1, a), math.copysign(1, other)))
    return nearest


def fused(a: float, b: float, c: float, ty: str, mode: str = "rn") -> float:
    """`a * b + c`, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    exact = product + Fraction(c)
    if exact:
        return rounded(exact, ty, mode)
    if product or c:
        return -0.0 if mode == "rm" else 0.0
    signs = math.copysign(1, a) * math.copysign(1, b), math.copysign(1, c)
    if signs[0] == signs[1]:
        return math.copysign(0.0, signs[0])
    return -0.0 if mode == "rm" else 0.0


def root(a: float, ty: str) -> float:
    """The square root, to nearest."""
    if a < 0:
        return math.nan
    return narrowed(math.sqrt(a)) if ty == "f32" else math.sqrt(a)


def whole(a: float, mode: str) -> float:
    """Rounded to a whole number: rni, rzi, rmi or rpi."""
    if not math.isfinite(a) or a == 0:
        return a
    found = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](a)
    return math.copysign(float(found), a)


def from_int(value: int, ty: str, mode: str = "rn") -> float:
    return rounded(Fraction(value), ty, mode) if value else 0.0


def to_int(a: float, bits: int, is_signed: bool, mode: str, source: str) -> int:
    """A float as an integer, clamped; NaN as the manual's notes on `cvt` say."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if a != a:
        return 0 if bits <= 32 and source != "f64" else 1 << bits - 1
    if math.isinf(a):
        return most if a > 0 else least
    return min(max(int(whole(a, mode)), least), most)
