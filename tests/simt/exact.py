"""IEEE 754 arithmetic in every format and rounding mode, by exact rational arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = [
    "BF16",
    "E4M3",
    "E5M2",
    "F16",
    "F32",
    "F64",
    "TF32",
    "Format",
    "fused",
    "product",
    "quotient",
    "total",
]

INF, NAN = "inf", "nan"
Number = Fraction | str  # a value, or "inf" or "nan"


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    `special_largest` and `nan` are the bits of the largest number and of NaN in a format without infinities.
    """

    exponent: int
    fraction: int
    special_largest: int | None = None
    nan: int = 0

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << self.exponent + self.fraction

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def largest(self) -> int:
        return self.infinity - 1 if self.special_largest is None else self.special_largest

    @property
    def quiet(self) -> int:
        """Bits of the canonical NaN of PTX."""
        return self.nan or self.sign_bit - 1

    def decode(self, bits: int) -> tuple[bool, Number]:
        """Return the sign, True for negative, and the magnitude."""
        negative, magnitude = bool(bits & self.sign_bit), bits & (self.sign_bit - 1)
        if self.special_largest is None and magnitude >= self.infinity:
            return negative, INF if magnitude == self.infinity else NAN
        if magnitude > self.largest:
            return negative, NAN
        exponent, fraction = magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1)
        if exponent:
            fraction += 1 << self.fraction
        power = max(exponent, 1) - self.bias - self.fraction
        return negative, Fraction(fraction << power) if power > 0 else Fraction(fraction, 1 << -power)

    def encode(self, negative: bool, value: Number, mode: str = "rn", saturates: bool = False) -> int:
        """Round a signed magnitude. An overflow gives infinity, or the largest number with `saturates`."""
        if value == NAN:
            return self.quiet
        sign = self.sign_bit if negative else 0
        if value == INF:
            return sign | (self.largest if saturates else self.infinity)
        assert isinstance(value, Fraction)
        if not value:
            return sign
        top, bottom = value.numerator, value.denominator
        exponent = top.bit_length() - bottom.bit_length()
        if top << max(-exponent, 0) < bottom << max(exponent, 0):
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        power = self.fraction - exponent
        bottom <<= max(-power, 0)
        whole, rest = divmod(top << max(power, 0), bottom)
        if mode == "rn":
            whole += 2 * rest > bottom or (2 * rest == bottom and whole & 1)
        elif mode == "rna":
            whole += 2 * rest >= bottom
        elif mode == ("rm" if negative else "rp"):
            whole += rest > 0
        bits = ((exponent + self.bias - 1) << self.fraction) + whole
        if bits > self.largest:
            towards_zero = mode == "rz" or mode == ("rp" if negative else "rm")
            bits = self.largest if saturates or towards_zero else self.infinity
        return sign | bits

    def flushed(self, bits: int) -> int:
        """Flush a subnormal number to a zero of its sign, as `.ftz` does."""
        return bits & self.sign_bit if not bits & self.infinity else bits

    def clamped(self, bits: int) -> int:
        """Clamp a number to [0, 1], and NaN to 0, as `.sat` does."""
        negative, value = self.decode(bits)
        return 0 if value == NAN or negative else min(bits, self.bias << self.fraction)


F16, F32, F64 = Format(5, 10), Format(8, 23), Format(11, 52)
BF16, TF32 = Format(8, 7), Format(8, 10)
E4M3, E5M2 = Format(4, 3, 0x7E, 0x7F), Format(5, 2, None, 0x7F)


def _signed(decoded: tuple[bool, Number]) -> Fraction:
    negative, value = decoded
    assert isinstance(value, Fraction)
    return -value if negative else value


def _exact(value: Fraction, zero_negative: bool) -> tuple[bool, Number]:
    return (value < 0 if value else zero_negative), abs(value)


def _product(x: tuple[bool, Number], y: tuple[bool, Number]) -> tuple[bool, Number]:
    negative = x[0] != y[0]
    if NAN in (x[1], y[1]) or (INF in (x[1], y[1]) and 0 in (x[1], y[1])):
        return negative, NAN
    if INF in (x[1], y[1]):
        return negative, INF
    return _exact(_signed(x) * _signed(y), negative)


def _total(x: tuple[bool, Number], y: tuple[bool, Number], mode: str) -> tuple[bool, Number]:
    if NAN in (x[1], y[1]) or (x[1] == y[1] == INF and x[0] != y[0]):
        return False, NAN
    if INF in (x[1], y[1]):
        return (x if x[1] == INF else y)[0], INF
    both_negative = x[0] and y[0] and x[1] == 0 and y[1] == 0
    one_negative = (x[0] or y[0]) and mode == "rm"
    return _exact(_signed(x) + _signed(y), both_negative or one_negative)


def total(form: Format, a: int, b: int, mode: str = "rn") -> int:
    return form.encode(*_total(form.decode(a), form.decode(b), mode), mode)


def product(form: Format, a: int, b: int, mode: str = "rn") -> int:
    return form.encode(*_product(form.decode(a), form.decode(b)), mode)


def fused(form: Format, a: int, b: int, c: int, mode: str = "rn") -> int:
    inner = _product(form.decode(a), form.decode(b))
    return form.encode(*_total(inner, form.decode(c), mode), mode)


def quotient(form: Format, a: int, b: int, mode: str = "rn") -> int:
    x, y = form.decode(a), form.decode(b)
    negative = x[0] != y[0]
    if NAN in (x[1], y[1]) or x[1] == y[1] == INF or (x[1] == 0 and y[1] == 0):
        return form.encode(negative, NAN)
    if x[1] == INF or y[1] == 0:
        return form.encode(negative, INF, "rn")
    if y[1] == INF:
        return form.encode(negative, Fraction(0))
    return form.encode(*_exact(_signed(x) / _signed(y), negative), mode)
