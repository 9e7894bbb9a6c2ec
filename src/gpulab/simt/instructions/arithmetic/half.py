"""Arithmetic on f16 and bf16, single or packed (PTX manual, sections 9.7.4 and 9.7.7).

Operations are computed in a wider format and then rounded. For sums and products, a float has so many
digits that the double rounding is harmless; a fused multiply-add is rounded to odd in between.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Builder, Value, suffix
from gpulab.simt.instructions.arithmetic import approximate
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise, elementwise_two
from gpulab.simt.instructions.arithmetic.floating import clamp, order
from gpulab.simt.instructions.arithmetic.formats import BF16, F16, Format, narrow, round_to_odd, widen
from gpulab.simt.ptx.syntax import Instruction, Operand

__all__ = ["HALF", "compare_halves", "format_of", "in_pairs", "is_half"]

HALF = ".f16|f16x2|bf16|bf16x2"
F = ".f16|f16x2"
B = ".bf16|bf16x2"


def is_half(name: str) -> bool:
    return name in ("f16", "f16x2", "bf16", "bf16x2")


def format_of(name: str) -> Format:
    return BF16 if name.startswith("bf16") else F16


def in_pairs(t: str) -> str:
    """Return the type of the same width as `t` with 16-bit in place of 32-bit elements."""
    if not t.startswith("<"):
        return "<2 x i16>"
    return f"<{2 * int(t[1:].partition(' ')[0])} x i16>"


def operands(cg: CodegenContext, item: Instruction, sources: tuple[Operand, ...]) -> list[Value]:
    ty = "i32" if item.parts[-1].endswith("x2") else "i16"
    return [cg.operand(o, ty) for o in sources]


def half_arithmetic(cg: CodegenContext, item: Instruction, make: Callable[[str, list[str]], str]) -> None:
    """Emit `make` on vectors of 16-bit integers; packed operands have two elements for each lane."""
    values = operands(cg, item, item.operands[1:])
    b = cg.b

    def full(t: str, _: str, names: list[str]) -> str:
        pairs = "i32" in t
        st = in_pairs(t) if pairs else t
        if pairs:
            names = [b.value(f"bitcast {t} {n} to {st}") for n in names]
        if "ftz" in item.parts:
            names = [flush(b, st, n, format_of(item.parts[-1])) for n in names]
        result = make(st, names)
        if "ftz" in item.parts:
            result = flush(b, st, result, format_of(item.parts[-1]))
        return b.value(f"bitcast {st} {result} to {t}") if pairs else result

    cg.assign(item.operands[0], elementwise(cg, values[0].ty, values, full), item.predicate)


def flush(b: Builder, t: str, name: str, form: Format) -> str:
    """Replace subnormal numbers by a zero of the same sign."""
    magnitude = b.value(f"and {t} {name}, {const(t, 0x7FFF)}")
    small = b.value(f"icmp ult {t} {magnitude}, {const(t, 1 << form.fraction)}")
    sign = b.value(f"and {t} {name}, {const(t, -(1 << 15))}")
    return b.value(f"select {t.replace('i16', 'i1')} {small}, {t} {sign}, {t} {name}")


def rounded(b: Builder, item: Instruction, ft: str, value: str) -> str:
    """Round a result to the instruction's format, with `.sat` and `.relu`."""
    if "sat" in item.parts:
        value = clamp(b, ft, value)
    return narrow(b, ft, value, format_of(item.parts[-1]), relu="relu" in item.parts)


@handles(f"add|sub|mul{{.rn}}{{.ftz}}{{.sat}} {F}", f"add|sub|mul{{.rn}} {B}")
def binary(cg: CodegenContext, item: Instruction) -> None:
    b, form = cg.b, format_of(item.parts[-1])

    def make(t: str, names: list[str]) -> str:
        ft = t.replace("i16", "float")
        x, y = (widen(b, t, n, form) for n in names)
        return rounded(b, item, ft, b.value(f"f{item.op} {ft} {x}, {y}"))

    half_arithmetic(cg, item, make)


@handles(f"fma.rn{{.ftz}}{{.sat}} {F}", f"fma.rn{{.ftz}}{{.relu}} {F}", f"fma.rn{{.relu}} {B}")
def fused(cg: CodegenContext, item: Instruction) -> None:
    """Compute a fused multiply-add: exact product, sum with its exact error (two-sum), rounded to odd.

    It is a function, because products of matrices contain thousands of them.
    """
    form = format_of(item.parts[-1])
    modifiers = "".join(part for part in ("sat", "relu") if part in item.parts)

    def make(t: str, names: list[str]) -> str:
        kind = "bf16" if form is BF16 else "f16"
        arguments = [(t, name) for name in names]
        return cg.b.define(f"fma_{kind}{modifiers}_{suffix(t)}", t, arguments, lambda b, x: compute(b, t, x))

    def compute(b: Builder, t: str, names: list[str]) -> str:
        ft = t.replace("i16", "float")
        values = [widen(b, t, n, form) for n in names]
        if form is BF16:  # products of bf16 exceed the range of a float
            wide = t.replace("i16", "double")
            values = [b.value(f"fpext {ft} {v} to {wide}") for v in values]
            ft = wide
        x = b.value(f"fmul {ft} {values[0]}, {values[1]}")
        y = values[2]
        total = b.value(f"fadd {ft} {x}, {y}")
        part = b.value(f"fsub {ft} {total}, {x}")
        first = b.value(f"fsub {ft} {x}, {b.value(f'fsub {ft} {total}, {part}')}")
        error = b.value(f"fadd {ft} {first}, {b.value(f'fsub {ft} {y}, {part}')}")
        return rounded(b, item, ft, round_to_odd(b, ft, total, error))

    half_arithmetic(cg, item, make)


@handles(f"neg|abs{{.ftz}} {F}", f"neg|abs {B}")
def sign(cg: CodegenContext, item: Instruction) -> None:
    def make(t: str, names: list[str]) -> str:
        if item.op == "neg":
            return cg.b.value(f"xor {t} {names[0]}, {const(t, -(1 << 15))}")
        return cg.b.value(f"and {t} {names[0]}, {const(t, 0x7FFF)}")

    half_arithmetic(cg, item, make)


@handles(f"min|max{{.ftz}}{{.NaN}} {F}", f"min|max{{.NaN}} {B}")
@handles(f"min|max{{.ftz}}{{.NaN}}.xorsign.abs {F}", f"min|max{{.NaN}}.xorsign.abs {B}")
def extremum(cg: CodegenContext, item: Instruction) -> None:
    b, form = cg.b, format_of(item.parts[-1])

    def make(t: str, names: list[str]) -> str:
        ft = t.replace("i16", "float")
        values = [widen(b, t, n, form) for n in names]
        return narrow(b, ft, order(b, item.op, ft, values, item), form)

    half_arithmetic(cg, item, make)


@handles("ex2.approx .f16|f16x2", "ex2.approx.ftz .bf16|bf16x2", f"tanh.approx {HALF}")
def transcendental(cg: CodegenContext, item: Instruction) -> None:
    b, form = cg.b, format_of(item.parts[-1])

    def make(t: str, names: list[str]) -> str:
        ft = t.replace("i16", "float")
        value = approximate.FUNCTIONS[item.op](b, ft, widen(b, t, names[0], form))
        return narrow(b, ft, value, form)

    half_arithmetic(cg, item, make)


def compare_halves(cg: CodegenContext, item: Instruction, condition: str) -> tuple[Value, ...]:
    """Return one flag for each comparison; for packed operands, that of the lower half first."""
    b, form = cg.b, format_of(item.parts[-1])
    values = operands(cg, item, item.operands[1:3])

    def flag(t: str, names: list[str]) -> str:
        ft = t.replace("i16", "float")
        if "ftz" in item.parts:
            names = [flush(b, t, n, form) for n in names]
        x, y = (widen(b, t, n, form) for n in names)
        return b.value(f"fcmp {condition} {ft} {x}, {y}")

    if values[0].ty == "i16":
        return (elementwise(cg, "i1", values, lambda t, _, n: flag(t, n)),)

    def both(t: str, names: list[str]) -> tuple[str, str]:
        st = t.replace("i32", "i16")
        lower = [b.value(f"trunc {t} {n} to {st}") for n in names]
        raised = [b.value(f"lshr {t} {n}, {const(t, 16)}") for n in names]
        upper = [b.value(f"trunc {t} {n} to {st}") for n in raised]
        return flag(st, lower), flag(st, upper)

    return elementwise_two(cg, ("i1", "i1"), values, both)


def ones(form: Format) -> int:
    """Return the bit pattern of 1.0 in a format."""
    return form.bias << form.fraction
