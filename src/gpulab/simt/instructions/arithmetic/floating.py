"""Floating point arithmetic on f32 and f64 (PTX manual, section 9.7.3)."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Builder, float_literal, suffix
from gpulab.simt.instructions.arithmetic import approximate
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise, type_of
from gpulab.simt.ptx.syntax import Instruction

RND = ".rn|rz|rm|rp"
ROUNDING = {"rz": 0, "rp": 2, "rm": 3}  # codes of llvm.set.rounding; 1 is to nearest


def rounding_of(item: Instruction) -> str | None:
    """Return the rounding mode `rz`, `rp` or `rm`; None for the default, to nearest."""
    return next((p for p in item.parts if p in ROUNDING), None)


def clamp(b: Builder, t: str, name: str) -> str:
    """Apply `.sat`: clamp to [0, 1], NaN to 0."""
    one = float_literal(0x3FF << 52, "double") if "double" in t else float_literal(0x3F800000, "float")
    raised = b.call(f"llvm.maximumnum.{suffix(t)}", t, (t, name), (t, const(t, "0.0")))
    return b.call(f"llvm.minimumnum.{suffix(t)}", t, (t, raised), (t, const(t, one)))


def flush(b: Builder, t: str, name: str) -> str:
    """Apply `.ftz`: replace subnormal floats by a zero of the same sign."""
    it, flag = t.replace("float", "i32"), t.replace("float", "i1")
    bits = b.value(f"bitcast {t} {name} to {it}")
    magnitude = b.value(f"and {it} {bits}, {const(it, 0x7FFFFFFF)}")
    small = b.value(f"icmp ult {it} {magnitude}, {const(it, 0x00800000)}")
    sign = b.value(f"and {it} {bits}, {const(it, -(1 << 31))}")
    return b.value(f"bitcast {it} {b.value(f'select {flag} {small}, {it} {sign}, {it} {bits}')} to {t}")


def directed(b: Builder, name: str, mode: str, result: str, arguments: list[tuple[str, str]]) -> str:
    """Emit an operation with a rounding mode, in a function that sets and resets the mode."""
    types = [t for t, _ in arguments]
    overload = suffix(result) + ("" if types[0] == result else f".{suffix(types[0])}")
    function = f"{name}_{mode}.{overload}"
    if function not in b.functions:
        formal = ", ".join(f"{t} %x{n}" for n, t in enumerate(types))
        constrained = f"llvm.experimental.constrained.{name}.{overload}"
        b.declare(constrained, result, [*types, "metadata", "metadata"])
        b.declare("llvm.set.rounding", "void", ["i32"])
        b.functions[function] = f"""
define internal {result} @{function}({formal}) noinline strictfp #1 {{
  call void @llvm.set.rounding(i32 {ROUNDING[mode]}) strictfp
  %r = call {result} @{constrained}({formal}, metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp
  call void @llvm.set.rounding(i32 1) strictfp
  ret {result} %r
}}"""
    actual = ", ".join(f"{t} {v}" for t, v in arguments)
    return b.value(f"call {result} @{function}({actual})")


def operation(b: Builder, name: str, mode: str | None, t: str, names: list[str]) -> str:
    """Emit `fadd`, `fsub`, `fmul`, `fdiv`, `fma` or `sqrt` with a rounding mode."""
    if mode is not None:
        return directed(b, name, mode, t, [(t, n) for n in names])
    if name in ("fma", "sqrt"):
        return b.call(f"llvm.{name}.{suffix(t)}", t, *((t, n) for n in names))
    return b.value(f"{name} {t} {names[0]}, {names[1]}")


def float_arithmetic(cg: CodegenContext, item: Instruction, make: Callable[[str, list[str]], str]) -> None:
    """Emit an instruction on floats, with `.ftz` on operands and result and `.sat` on the result."""
    ty = type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    flushes = "ftz" in item.parts and ty == "float"

    def full(t: str, _: str, names: list[str]) -> str:
        if flushes:
            names = [flush(cg.b, t, n) for n in names]
        result = make(t, names)
        if flushes:
            result = flush(cg.b, t, result)
        return clamp(cg.b, t, result) if "sat" in item.parts else result

    cg.assign(item.operands[0], elementwise(cg, ty, values, full), item.predicate)


@handles(f"add|sub|mul{{{RND}}}{{.ftz}}{{.sat}} .f32", f"add|sub|mul{{{RND}}} .f64")
def binary(cg: CodegenContext, item: Instruction) -> None:
    mode = rounding_of(item)
    float_arithmetic(cg, item, lambda t, n: operation(cg.b, f"f{item.op}", mode, t, n))


@handles(f"fma{RND}{{.ftz}}{{.sat}} .f32", f"fma{RND} .f64")
@handles(f"mad{{{RND}}}{{.ftz}}{{.sat}} .f32", f"mad{{{RND}}} .f64")
def fused(cg: CodegenContext, item: Instruction) -> None:
    mode = rounding_of(item)
    float_arithmetic(cg, item, lambda t, n: operation(cg.b, "fma", mode, t, n))


@handles(f"div{RND}|full|approx{{.ftz}} .f32", f"div{RND} .f64")
def divide(cg: CodegenContext, item: Instruction) -> None:
    cg.instrumentation.on_division(cg, item)
    mode = rounding_of(item)

    def make(t: str, names: list[str]) -> str:
        if "approx" in item.parts:
            names = [names[0], _infinite_when_huge(cg.b, t, names[1])]
        return operation(cg.b, "fdiv", mode, t, names)

    float_arithmetic(cg, item, make)


def _infinite_when_huge(b: Builder, t: str, name: str) -> str:
    """Replace |b| above 2^126 by infinity: `div.approx` multiplies by 1 / b, which is 0 there."""
    it, flag = t.replace("float", "i32"), t.replace("float", "i1")
    bits = b.value(f"bitcast {t} {name} to {it}")
    above = b.value(
        f"sub {it} {b.value(f'and {it} {bits}, {const(it, 0x7FFFFFFF)}')}, {const(it, 0x7E800001)}"
    )
    huge = b.value(f"icmp ult {it} {above}, {const(it, 0x7F800000 - 0x7E800001)}")
    infinite = b.value(
        f"and {it} {b.value(f'or {it} {bits}, {const(it, 0x7F800000)}')}, {const(it, -(1 << 23))}"
    )
    return b.value(f"bitcast {it} {b.value(f'select {flag} {huge}, {it} {infinite}, {it} {bits}')} to {t}")


@handles(f"sqrt{RND}|approx{{.ftz}} .f32", f"sqrt{RND} .f64")
def square_root(cg: CodegenContext, item: Instruction) -> None:
    cg.instrumentation.on_division(cg, item)
    mode = rounding_of(item)
    float_arithmetic(cg, item, lambda t, n: operation(cg.b, "sqrt", mode, t, n))


@handles(f"rcp{RND}|approx{{.ftz}} .f32", f"rcp{RND} .f64", "rsqrt.approx{.ftz} .f32", "rsqrt.approx .f64")
def reciprocal(cg: CodegenContext, item: Instruction) -> None:
    """Compute 1 / x or 1 / sqrt(x).

    The relative error of `rsqrt` is at most 2^-23 (the manual's limit is 2^-22.9); the others are exact.
    """
    cg.instrumentation.on_division(cg, item)
    mode, ty = rounding_of(item), type_of(item)
    one = float_literal(0x3F800000 if ty == "float" else 0x3FF << 52, ty)

    def make(t: str, names: list[str]) -> str:
        value = operation(cg.b, "sqrt", None, t, names) if item.op == "rsqrt" else names[0]
        return operation(cg.b, "fdiv", mode, t, [const(t, one), value])

    float_arithmetic(cg, item, make)


@handles("rcp|rsqrt.approx.ftz .f64")
def coarse_reciprocal(cg: CodegenContext, item: Instruction) -> None:
    """Compute a reciprocal of the upper 32 bits of a double; subnormal numbers count as 0."""
    b = cg.b
    upper = -(1 << 32)

    def flushed(t: str, it: str, bits: str) -> str:
        flag = it.replace("i64", "i1")
        magnitude = b.value(f"and {it} {bits}, {const(it, (1 << 63) - 1)}")
        small = b.value(f"icmp ult {it} {magnitude}, {const(it, 1 << 52)}")
        sign = b.value(f"and {it} {bits}, {const(it, -(1 << 63))}")
        return b.value(f"bitcast {it} {b.value(f'select {flag} {small}, {it} {sign}, {it} {bits}')} to {t}")

    def make(t: str, _: str, names: list[str]) -> str:
        it, flag = t.replace("double", "i64"), t.replace("double", "i1")
        bits = b.value(f"bitcast {t} {names[0]} to {it}")
        value = flushed(t, it, b.value(f"and {it} {bits}, {const(it, upper)}"))
        if item.op == "rsqrt":
            value = operation(b, "sqrt", None, t, [value])
        result = operation(b, "fdiv", None, t, [const(t, float_literal(0x3FF << 52, "double")), value])
        # Round to 20 bits of fraction.
        rounded_bits = b.value(f"add {it} {b.value(f'bitcast {t} {result} to {it}')}, {const(it, 1 << 31)}")
        result = flushed(t, it, b.value(f"and {it} {rounded_bits}, {const(it, upper)}"))
        unordered = b.value(f"fcmp uno {t} {value}, {value}")
        nan = const(t, float_literal(0x7FFFFFFF_00000000, "double"))
        return b.value(f"select {flag} {unordered}, {t} {nan}, {t} {result}")

    value = cg.operand(item.operands[1], "double")
    cg.assign(item.operands[0], elementwise(cg, "double", [value], make), item.predicate)


@handles("sin|cos|lg2|ex2.approx{.ftz} .f32", "tanh.approx .f32")
def transcendental(cg: CodegenContext, item: Instruction) -> None:
    """Compute a function of the special function units within the manual's error limits."""
    float_arithmetic(cg, item, lambda t, n: approximate.FUNCTIONS[item.op](cg.b, t, n[0]))


# -- sign and order -----------------------------------------------------------------------------


@handles("neg{.ftz} .f32", "neg .f64")
def negate(cg: CodegenContext, item: Instruction) -> None:
    float_arithmetic(cg, item, lambda t, n: cg.b.value(f"fneg {t} {n[0]}"))


@handles("abs{.ftz} .f32", "abs .f64")
def absolute(cg: CodegenContext, item: Instruction) -> None:
    float_arithmetic(cg, item, lambda t, n: cg.b.call(f"llvm.fabs.{suffix(t)}", t, (t, n[0])))


@handles("copysign .f32|f64")
def copy_sign(cg: CodegenContext, item: Instruction) -> None:
    """Combine the sign of the first operand with the magnitude of the second."""
    ty = type_of(item)
    sign, magnitude = (cg.operand(o, ty) for o in item.operands[1:3])

    def make(t: str, _: str, names: list[str]) -> str:
        return cg.b.call(f"llvm.copysign.{suffix(t)}", t, (t, names[0]), (t, names[1]))

    cg.assign(item.operands[0], elementwise(cg, ty, [magnitude, sign], make), item.predicate)


def order(b: Builder, op: str, t: str, names: list[str], item: Instruction) -> str:
    """Return `min` or `max` of two or three floats, with `.NaN`, `.abs` and `.xorsign`; -0 < +0."""
    name = f"llvm.{op}imum" + ("" if "NaN" in item.parts else "num")
    originals = names
    if "abs" in item.parts:
        names = [b.call(f"llvm.fabs.{suffix(t)}", t, (t, n)) for n in names]
    result = names[0]
    for other in names[1:]:
        result = b.call(f"{name}.{suffix(t)}", t, (t, result), (t, other))
    if "xorsign" in item.parts:
        inner = "double" if "double" in t else "float"
        it = t.replace(inner, "i64" if inner == "double" else "i32")
        first, second = (b.value(f"bitcast {t} {n} to {it}") for n in originals)
        sign = b.value(f"bitcast {it} {b.value(f'xor {it} {first}, {second}')} to {t}")
        result = b.call(f"llvm.copysign.{suffix(t)}", t, (t, result), (t, sign))
    return result


@handles("min|max{.ftz}{.NaN}{.xorsign}{.abs} .f32", "min|max .f64")
def extremum(cg: CodegenContext, item: Instruction) -> None:
    operands = len(item.operands) - 1
    if operands > (2 if "xorsign" in item.parts or item.parts[-1] == "f64" else 3) or (
        ("xorsign" in item.parts) > ("abs" in item.parts)
    ):
        raise UnsupportedInstruction(item.text, item.line, "this combination of modifiers")

    def make(t: str, names: list[str]) -> str:
        result = order(cg.b, item.op, t, names, item)
        if "double" in t:
            return result
        unordered = cg.b.value(f"fcmp uno {t} {result}, {result}")
        nan = const(t, float_literal(0x7FFFFFFF, "float"))
        return cg.b.value(f"select {t.replace('float', 'i1')} {unordered}, {t} {nan}, {t} {result}")

    float_arithmetic(cg, item, make)


TESTS = {  # classes of llvm.is.fpclass: NaN 3, infinite 0x204, normal 0x108, subnormal 0x90, zero 0x60
    "finite": 0x1F8,
    "infinite": 0x204,
    "number": 0x3FC,
    "notanumber": 0x3,
    "normal": 0x168,  # zeros count as normal
    "subnormal": 0x90,
}


@handles("testp .finite|infinite|number|notanumber|normal|subnormal.f32|f64")
def test_property(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)

    def make(t: str, flag: str, names: list[str]) -> str:
        name = f"llvm.is.fpclass.{suffix(t)}"
        return cg.b.call(name, flag, (t, names[0]), ("i32", str(TESTS[item.parts[1]])))

    value = cg.operand(item.operands[1], ty)
    cg.assign(item.operands[0], elementwise(cg, "i1", [value], make), item.predicate)
