"""Narrow floating point formats: exact widening, and narrowing with all rounding modes.

A format has a sign, an exponent and a fraction like IEEE 754, in fewer bits than a `float`. Rounding works
on the bits of a `float` or `double`, so that f16, bf16, tf32, e4m3 and e5m2 share the code for all modes,
subnormal results, saturation and the canonical NaN.
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass

from gpulab.simt.codegen.ir import Builder, float_literal, like, suffix
from gpulab.simt.instructions.arithmetic.elementwise import const

__all__ = ["BF16", "E4M3", "E5M2", "F16", "TF32", "Format", "narrow", "round_to_odd", "widen"]


@dataclass(frozen=True)
class Format:
    """A narrow format.

    Attributes
    ----------
    exponent, fraction : int
        Number of bits.
    nan, largest, infinity : int
        Bit patterns of the canonical NaN, the largest number and infinity, without the sign.
    """

    exponent: int
    fraction: int
    nan: int
    largest: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction


F16 = Format(5, 10, 0x7FFF, 0x7BFF)
BF16 = Format(8, 7, 0x7FFF, 0x7F7F)
TF32 = Format(8, 10, 0x3FFFF, 0x3FBFF)
E4M3 = Format(4, 3, 0x7F, 0x7E)  # no infinity: its bit patterns are numbers up to 448
E5M2 = Format(5, 2, 0x7F, 0x7B)


@functools.cache
def host_rounds_f16() -> bool:
    """Return True if the host has instructions that convert between f16 and float."""
    import llvmlite.binding as llvm

    if platform.machine().lower() in ("aarch64", "arm64"):
        return True
    return bool(llvm.get_host_cpu_features().get("f16c", False))


def narrow(
    b: Builder, t: str, x: str, form: Format, mode: str = "rn", saturates: bool = False, relu: bool = False
) -> str:
    """Round floats or doubles to a format; return integers of its width, rounded up to whole bytes.

    NaN becomes the canonical NaN.

    Parameters
    ----------
    t : str
        Type of `x`.
    mode : str
        Rounding mode: rn, rna (ties away from zero), rz, rm or rp.
    saturates : bool
        Replace larger numbers and infinity by the largest number.
    relu : bool
        Replace negative numbers by 0.
    """
    wide = "double" in t
    if form is F16 and mode == "rn" and not wide and not saturates and host_rounds_f16():
        return _narrowed_by_host(b, t, x, relu)
    bits, fraction, bias = (64, 52, 1023) if wide else (32, 23, 127)
    it, flag = like(t, f"i{bits}"), like(t, "i1")
    infinity = ((1 << bits - 1 - fraction) - 1) << fraction

    def c(number: int) -> str:
        return const(it, number)

    raw = b.value(f"bitcast {t} {x} to {it}")
    sign = b.value(f"lshr {it} {raw}, {c(bits - 1)}")
    magnitude = b.value(f"and {it} {raw}, {c((1 << bits - 1) - 1)}")
    exponent = b.value(f"lshr {it} {magnitude}, {c(fraction)}")
    normal = b.value(f"icmp ne {it} {exponent}, {c(0)}")
    hidden = b.value(f"select {flag} {normal}, {it} {c(1 << fraction)}, {it} {c(0)}")
    digits = b.value(f"or {it} {b.value(f'and {it} {magnitude}, {c((1 << fraction) - 1)}')}, {hidden}")
    exponent = b.call(f"llvm.umax.{suffix(it)}", it, (it, exponent), (it, c(1)))

    # Cut off the digits below the last place of the result; a subnormal result has fewer digits.
    smallest = bias - form.bias + 1
    steps = b.value(f"sub {it} {exponent}, {c(smallest)}")
    underflow = b.call(f"llvm.smin.{suffix(it)}", it, (it, steps), (it, c(0)))
    cut = b.value(f"sub {it} {c(fraction - form.fraction)}, {underflow}")
    cut = b.call(f"llvm.umin.{suffix(it)}", it, (it, cut), (it, c(fraction + 2)))
    quotient = b.value(f"lshr {it} {digits}, {cut}")
    remainder = b.value(f"sub {it} {digits}, {b.value(f'shl {it} {quotient}, {cut}')}")
    up = _rounds_up(b, it, flag, mode, sign, quotient, remainder, cut)
    if up:
        quotient = b.value(f"add {it} {quotient}, {b.value(f'zext {flag} {up} to {it}')}")
    overflow = b.call(f"llvm.smax.{suffix(it)}", it, (it, steps), (it, c(0)))
    result = b.value(f"add {it} {quotient}, {b.value(f'shl {it} {overflow}, {c(form.fraction)}')}")

    # The result is too large, or the operand is infinite.
    too_large = b.value(f"icmp ugt {it} {result}, {c(form.largest)}")
    if saturates:
        result = b.value(f"select {flag} {too_large}, {it} {c(form.largest)}, {it} {result}")
    else:
        limit = _limit(b, it, flag, form, mode, sign)
        result = b.value(f"select {flag} {too_large}, {it} {limit}, {it} {result}")
        infinite = b.value(f"icmp eq {it} {magnitude}, {c(infinity)}")
        result = b.value(f"select {flag} {infinite}, {it} {c(form.infinity)}, {it} {result}")

    result = b.value(f"or {it} {result}, {b.value(f'shl {it} {sign}, {c(form.bits - 1)}')}")
    if relu:
        result = b.value(
            f"select {flag} {b.value(f'icmp ne {it} {sign}, {c(0)}')}, {it} {c(0)}, {it} {result}"
        )
    not_a_number = b.value(f"icmp ugt {it} {magnitude}, {c(infinity)}")
    result = b.value(f"select {flag} {not_a_number}, {it} {c(form.nan)}, {it} {result}")
    width = -(-form.bits // 8) * 8 if form.bits <= 16 else 32
    if width == bits:
        return result
    return b.value(f"trunc {it} {result} to {like(t, f'i{width}')}")


def _narrowed_by_host(b: Builder, t: str, x: str, relu: bool) -> str:
    """Round floats to f16 by the instruction of the host."""
    half, short = like(t, "half"), like(t, "i16")
    result = b.value(f"bitcast {half} {b.value(f'fptrunc {t} {x} to {half}')} to {short}")
    unordered = b.value(f"fcmp uno {t} {x}, {x}")
    result = b.value(f"select {like(t, 'i1')} {unordered}, {short} {const(short, F16.nan)}, {short} {result}")
    return _without_negatives(b, short, result, 16) if relu else result


def _limit(b: Builder, it: str, flag: str, form: Format, mode: str, sign: str) -> str:
    """Return the magnitude that replaces a number which is too large: infinity or the largest number."""
    if mode not in ("rm", "rp"):
        return const(it, form.largest if mode == "rz" else form.infinity)
    negative = b.value(f"icmp ne {it} {sign}, {const(it, 0)}")
    low, high = (form.infinity, form.largest) if mode == "rm" else (form.largest, form.infinity)
    return b.value(f"select {flag} {negative}, {it} {const(it, low)}, {it} {const(it, high)}")


def _rounds_up(
    b: Builder, it: str, flag: str, mode: str, sign: str, quotient: str, remainder: str, cut: str
) -> str:
    if mode == "rz":
        return ""
    if mode in ("rm", "rp"):
        inexact = b.value(f"icmp ne {it} {remainder}, {const(it, 0)}")
        wanted = b.value(f"icmp {'ne' if mode == 'rm' else 'eq'} {it} {sign}, {const(it, 0)}")
        return b.value(f"and {flag} {inexact}, {wanted}")
    half = b.value(f"shl {it} {const(it, 1)}, {b.value(f'sub {it} {cut}, {const(it, 1)}')}")
    if mode == "rna":
        return b.value(f"icmp uge {it} {remainder}, {half}")
    odd = b.value(f"and {it} {quotient}, {const(it, 1)}")
    return b.value(f"icmp ugt {it} {b.value(f'add {it} {remainder}, {odd}')}, {half}")


def _without_negatives(b: Builder, t: str, x: str, bits: int) -> str:
    """Replace values with a set sign bit by 0."""
    spread = b.value(f"ashr {t} {x}, {const(t, bits - 1)}")
    return b.value(f"and {t} {x}, {b.value(f'xor {t} {spread}, {const(t, -1)}')}")


def widen(b: Builder, t: str, x: str, form: Format) -> str:
    """Convert numbers of a format, given as integers, to floats exactly."""
    it, ft, flag = like(t, "i32"), like(t, "float"), like(t, "i1")
    if form is F16 and host_rounds_f16():
        half = like(t, "half")
        return b.value(f"fpext {half} {b.value(f'bitcast {t} {x} to {half}')} to {ft}")

    full = b.value(f"zext {t} {x} to {it}")
    if form is BF16:
        return b.value(f"bitcast {it} {b.value(f'shl {it} {full}, {const(it, 16)}')} to {ft}")

    magnitude = b.value(f"and {it} {full}, {const(it, (1 << form.bits - 1) - 1)}")
    sign = b.value(f"lshr {it} {full}, {const(it, form.bits - 1)}")
    sign = b.value(f"shl {it} {sign}, {const(it, 31)}")
    # With the fraction shifted to its place, the float is too small by a power of two.
    placed = b.value(f"shl {it} {magnitude}, {const(it, 23 - form.fraction)}")
    small = b.value(f"bitcast {it} {placed} to {ft}")
    scale = const(ft, float_literal((127 + 127 - form.bias) << 23, "float"))
    result = b.value(f"bitcast {ft} {b.value(f'fmul {ft} {small}, {scale}')} to {it}")

    special = form.nan if form is E4M3 else form.infinity
    beyond = b.value(f"icmp uge {it} {magnitude}, {const(it, special)}")
    infinite = b.value(f"or {it} {placed}, {const(it, 0x7F800000)}")
    result = b.value(f"select {flag} {beyond}, {it} {infinite}, {it} {result}")
    return b.value(f"bitcast {it} {b.value(f'or {it} {result}, {sign}')} to {ft}")


def round_to_odd(b: Builder, t: str, rounded: str, error: str) -> str:
    """Turn a sum that was rounded to nearest into one rounded to odd, given its exact rounding error.

    Rounding the result again, to a format with at least two digits fewer, gives the same number as one
    rounding of the exact sum (Boldo and Melquiond, 2008).
    """
    inner = "double" if "double" in t else "float"
    it, flag = like(t, "i64" if inner == "double" else "i32"), like(t, "i1")
    zero = const(t, "0.0")
    raw = b.value(f"bitcast {t} {rounded} to {it}")
    inexact = b.value(f"fcmp one {t} {error}, {zero}")
    last = b.value(f"and {it} {raw}, {const(it, 1)}")
    even = b.value(f"icmp eq {it} {last}, {const(it, 0)}")
    moves = b.value(f"and {flag} {inexact}, {even}")
    error_up = b.value(f"fcmp ogt {t} {error}, {zero}")
    positive = b.value(f"icmp sge {it} {raw}, {const(it, 0)}")
    outwards = b.value(f"icmp eq {flag} {error_up}, {positive}")
    step = b.value(f"select {flag} {outwards}, {it} {const(it, 1)}, {it} {const(it, -1)}")
    step = b.value(f"select {flag} {moves}, {it} {step}, {it} {const(it, 0)}")
    return b.value(f"bitcast {it} {b.value(f'add {it} {raw}, {step}')} to {t}")
