"""Numbers of matrix products as doubles: widening, exponents as powers of two, rounding towards zero."""

from __future__ import annotations

from gpulab.simt.codegen.ir import Builder, float_literal, vector
from gpulab.simt.instructions.arithmetic.formats import BF16, F16, Format, widen

__all__ = ["as_double", "exponent_power", "maximum", "power_literal", "smallest_exponent", "towards_zero"]

EXPONENT_BITS = 0x7FF0_0000_0000_0000  # mask of the exponent of a double
FORMATS = {"f16": F16, "bf16": BF16}


def as_double(b: Builder, ty: str, elements: str, count: int) -> str:
    """Convert elements to doubles exactly; f16, bf16, tf32 and the f64 of A and B are given as their bits."""
    doubles, floats = vector("double", count), vector("float", count)
    if ty == "f64":
        return b.value(f"bitcast {vector('i64', count)} {elements} to {doubles}")
    if ty == "tf32":
        t = vector("i32", count)
        kept = b.value(f"and {t} {elements}, splat (i32 {-(1 << 13)})")
        elements = b.value(f"bitcast {t} {kept} to {floats}")
    elif ty in FORMATS:
        elements = widen(b, vector("i16", count), elements, FORMATS[ty])
    return b.value(f"fpext {floats} {elements} to {doubles}")


def smallest_exponent(ty: str) -> int:
    """Return the exponent of the subnormal numbers of a type."""
    form: Format | None = FORMATS.get(ty)
    return 1 - form.bias if form else -126


def exponent_power(b: Builder, number: str, smallest: int, count: int) -> str:
    """Return 2 to the exponents of doubles, at least 2^smallest; 0 for a zero, and infinity for NaN."""
    t, it, flags = vector("double", count), vector("i64", count), vector("i1", count)
    bits = b.value(f"bitcast {t} {number} to {it}")
    power = b.value(f"bitcast {it} {b.value(f'and {it} {bits}, splat (i64 {EXPONENT_BITS})')} to {t}")
    power = maximum(b, power, power_literal(smallest), count)
    zero = b.value(f"fcmp oeq {t} {number}, zeroinitializer")
    return b.value(f"select {flags} {zero}, {t} zeroinitializer, {t} {power}")


def power_literal(exponent: int) -> str:
    """Return a vector of a power of two."""
    return f"splat (double {float_literal(1023 + exponent << 52, 'double')})"


def maximum(b: Builder, x: str, y: str, count: int = 8) -> str:
    """Return the larger of two vectors of doubles; y if x is NaN."""
    t = vector("double", count)
    return b.value(f"select {vector('i1', count)} {b.value(f'fcmp ogt {t} {x}, {y}')}, {t} {x}, {t} {y}")


def towards_zero(b: Builder, number: str) -> str:
    """Round doubles to floats towards zero; from 2^128 on they become infinite, and NaN the canonical one."""
    t, ft, it, flags = (vector(ty, 8) for ty in ("double", "float", "i32", "i1"))
    rounded = b.value(f"fptrunc {t} {number} to {ft}")
    back = b.value(f"fpext {ft} {rounded} to {t}")
    size, rounded_size = (b.call("llvm.fabs.v8f64", t, (t, x)) for x in (number, back))
    up = b.value(f"fcmp ogt {t} {rounded_size}, {size}")
    representable = b.value(f"fcmp olt {t} {size}, {power_literal(128)}")
    up = b.value(f"and {flags} {up}, {representable}")
    bits = b.value(f"bitcast {ft} {rounded} to {it}")
    bits = b.value(f"add {it} {bits}, {b.value(f'sext {flags} {up} to {it}')}")
    unordered = b.value(f"fcmp uno {t} {number}, zeroinitializer")
    bits = b.value(f"select {flags} {unordered}, {it} splat (i32 {0x7FFFFFFF}), {it} {bits}")
    return b.value(f"bitcast {it} {bits} to {ft}")
