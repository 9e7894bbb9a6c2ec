"""IEEE 754 arithmetic of the interpreter: exact results on Python numbers, rounded once.

Values are Python floats that hold a float32 or a float64. Sums, products and quotients of float32
rounded to nearest are computed in float64 and rounded again, which gives the same bits
(53 >= 2 * 24 + 2; Figueroa, "When is double rounding innocuous?", 1995). Everything else uses fractions.
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
    "fused_multiply_add",
    "round_to_integer",
    "square_root",
    "to_float32",
    "to_int",
]

PRECISION = {"f32": 24, "f64": 53}
SMALLEST_EXPONENT = {"f32": -149, "f64": -1074}  # exponent of the smallest subnormal
LARGEST_FINITE = {"f32": Fraction((2**24 - 1) * 2**104), "f64": Fraction((2**53 - 1) * 2**971)}
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


def to_float32(value: float) -> float:
    """Round a float64 to the nearest float32."""
    try:
        return float(_NARROW.unpack(_NARROW.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def round_fraction(exact: Fraction, ty: str, mode: str = "rn") -> float:
    """Round a non-zero fraction to a float in mode rn, rz, rm (down) or rp (up)."""
    sign = -1 if exact < 0 else 1
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - PRECISION[ty] + 1, SMALLEST_EXPONENT[ty])
    steps, rest = divmod(size, Fraction(2) ** unit)
    rest /= Fraction(2) ** unit
    if mode == "rn":
        steps += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2)
    elif mode != "rz" and rest and (mode == "rp") == (sign > 0):
        steps += 1
    size = steps * Fraction(2) ** unit
    if size > LARGEST_FINITE[ty]:
        outwards = mode == "rn" or (mode != "rz" and (mode == "rp") == (sign > 0))
        return sign * (math.inf if outwards else float(LARGEST_FINITE[ty]))
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
    "div": lambda a, b: _quotient(a, b),  # noqa: PLW0108  (defined below)
}


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def binary(op: str, a: float, b: float, ty: str, mode: str = "rn") -> float:
    """Return `a op b` for add, sub, mul and div."""
    nearest = _NEAREST[op](a, b)
    if mode == "rn":
        return to_float32(nearest) if ty == "f32" else nearest
    if not (math.isfinite(a) and math.isfinite(b)) or (op == "div" and b == 0):
        return nearest
    exact = _EXACT[op](Fraction(a), Fraction(b))
    if exact:
        return round_fraction(exact, ty, mode)
    if op in ("add", "sub") and (a or b) and mode == "rm":
        return -0.0  # x - x, rounded down
    if op in ("add", "sub") and mode == "rm" and not (a or b):
        other = b if op == "add" else -b
        return math.copysign(0.0, min(math.copysign(1, a), math.copysign(1, other)))
    return nearest


def fused_multiply_add(a: float, b: float, c: float, ty: str, mode: str = "rn") -> float:
    """Return `a * b + c`, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    exact = product + Fraction(c)
    if exact:
        return round_fraction(exact, ty, mode)
    if product or c:
        return -0.0 if mode == "rm" else 0.0
    signs = math.copysign(1, a) * math.copysign(1, b), math.copysign(1, c)
    if signs[0] == signs[1]:
        return math.copysign(0.0, signs[0])
    return -0.0 if mode == "rm" else 0.0


def square_root(a: float, ty: str) -> float:
    """Return the square root, rounded to nearest."""
    if a < 0:
        return math.nan
    return to_float32(math.sqrt(a)) if ty == "f32" else math.sqrt(a)


def round_to_integer(a: float, mode: str) -> float:
    """Round to an integer in mode rni, rzi, rmi or rpi; the result stays a float."""
    if not math.isfinite(a) or a == 0:
        return a
    integer = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](a)
    return math.copysign(float(integer), a)


def from_int(value: int, ty: str, mode: str = "rn") -> float:
    return round_fraction(Fraction(value), ty, mode) if value else 0.0


def to_int(a: float, bits: int, is_signed: bool, mode: str, source: str) -> int:
    """Convert a float to an integer, clamped to its range; NaN as in the notes on `cvt` in the manual."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if a != a:
        return 0 if bits <= 32 and source != "f64" else 1 << bits - 1
    if math.isinf(a):
        return most if a > 0 else least
    return min(max(int(round_to_integer(a, mode)), least), most)
