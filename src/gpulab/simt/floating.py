"""Floating point arithmetic, and the functions of the special function units."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.simt.elementwise import const, elementwise, refuse, type_of
from gpulab.simt.llvm import Value, float_literal, suffix
from gpulab.simt.ptx import Instruction
from gpulab.simt.values import Values, handles


def clamp(low: Values, value: Value) -> Value:
    """`.sat`: to [0, 1], NaN to 0."""
    ty = value.ty
    one = float_literal(0x3F800000 if ty == "float" else 0x3FF << 52, ty)

    def make(t: str, _: str, names: list[str]) -> str:
        zero = const(t, float_literal(0, ty))
        raised = low.b.call(f"llvm.maximumnum.{suffix(t)}", t, (t, names[0]), (t, zero))
        return low.b.call(f"llvm.minimumnum.{suffix(t)}", t, (t, raised), (t, const(t, one)))

    return elementwise(low, ty, [value], make)


ROUNDING = {"rz": 0, "rp": 2, "rm": 3}  # LLVM's codes for set.rounding; 1 is to nearest


def rounding_of(item: Instruction) -> str | None:
    """`rz`, `rp` or `rm`; None for the rounding to nearest that every instruction has by default."""
    return next((p for p in item.parts if p in ROUNDING), None)


def directed(low: Values, name: str, mode: str, result: str, arguments: list[tuple[str, str]]) -> str:
    """An operation under a rounding mode of its own, in a function where the mode is set and reset."""
    types = [t for t, _ in arguments]
    overload = suffix(result) + ("" if types[0] == result else f".{suffix(types[0])}")
    function = f"{name}_{mode}.{overload}"
    if function not in low.b.functions:
        formal = ", ".join(f"{t} %x{n}" for n, t in enumerate(types))
        constrained = f"llvm.experimental.constrained.{name}.{overload}"
        low.b.declare(constrained, result, [*types, "metadata", "metadata"])
        low.b.declare("llvm.set.rounding", "void", ["i32"])
        low.b.functions[function] = f"""
define internal {result} @{function}({formal}) noinline strictfp #1 {{
  call void @llvm.set.rounding(i32 {ROUNDING[mode]}) strictfp
  %r = call {result} @{constrained}({formal}, metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp
  call void @llvm.set.rounding(i32 1) strictfp
  ret {result} %r
}}"""
    given = ", ".join(f"{t} {v}" for t, v in arguments)
    return low.b.value(f"call {result} @{function}({given})")


def operation(low: Values, name: str, mode: str | None, t: str, names: list[str]) -> str:
    """`fadd`, `fsub`, `fmul`, `fdiv`, `fma` or `sqrt`, rounded as asked."""
    if mode is not None:
        return directed(low, name, mode, t, [(t, n) for n in names])
    if name in ("fma", "sqrt"):
        return low.b.call(f"llvm.{name}.{suffix(t)}", t, *((t, n) for n in names))
    return low.b.value(f"{name} {t} {names[0]}, {names[1]}")


def flush(low: Values, t: str, name: str) -> str:
    """`.ftz`: a subnormal number becomes a zero of its sign."""
    b = low.b
    flag = t.replace("float", "i1")
    small = b.call(f"llvm.is.fpclass.{suffix(t)}", flag, (t, name), ("i32", str(TESTS["subnormal"])))
    zero = b.call(f"llvm.copysign.{suffix(t)}", t, (t, const(t, float_literal(0, "float"))), (t, name))
    return b.value(f"select {flag} {small}, {t} {zero}, {t} {name}")


def float_arithmetic(low: Values, item: Instruction, make: Callable[[str, list[str]], str]) -> None:
    """An instruction on floats: `.ftz` on what goes in and comes out, `.sat` on the result."""
    refuse(item, "relu", "oob")
    ty = type_of(item)
    values = [low.operand(o, ty) for o in item.operands[1:]]
    flushes = "ftz" in item.parts and ty == "float"

    def full(t: str, _: str, names: list[str]) -> str:
        if not flushes:
            return make(t, names)
        return flush(low, t, make(t, [flush(low, t, n) for n in names]))

    made = elementwise(low, ty, values, full)
    low.assign(item.operands[0], clamp(low, made) if "sat" in item.parts else made, item.predicate)


def float_binary(low: Values, item: Instruction) -> None:
    """Sum, difference, product or quotient."""
    mode = rounding_of(item)
    float_arithmetic(low, item, lambda t, n: operation(low, f"f{item.op}", mode, t, n))


@handles("fma")
def fused(low: Values, item: Instruction) -> None:
    mode = rounding_of(item)
    float_arithmetic(low, item, lambda t, n: operation(low, "fma", mode, t, n))


@handles("sqrt")
def square_root(low: Values, item: Instruction) -> None:
    mode = rounding_of(item)
    float_arithmetic(low, item, lambda t, n: operation(low, "sqrt", mode, t, n))


@handles("rcp", "rsqrt")
def reciprocal(low: Values, item: Instruction) -> None:
    mode, ty = rounding_of(item), type_of(item)
    one = float_literal(0x3F800000 if ty == "float" else 0x3FF << 52, ty)

    def make(t: str, names: list[str]) -> str:
        value = operation(low, "sqrt", None, t, names) if item.op == "rsqrt" else names[0]
        return operation(low, "fdiv", mode, t, [const(t, one), value])

    float_arithmetic(low, item, make)


APPROXIMATE = {
    "sin": "llvm.sin",
    "cos": "llvm.cos",
    "ex2": "llvm.exp2",
    "lg2": "llvm.log2",
    "tanh": "llvm.tanh",
}


@handles(*APPROXIMATE)
def transcendental(low: Values, item: Instruction) -> None:
    """At least as exact as the special function unit, whose errors the PTX manual bounds."""
    name = APPROXIMATE[item.op]
    float_arithmetic(low, item, lambda t, n: low.b.call(f"{name}.{suffix(t)}", t, (t, n[0])))


@handles("copysign")
def copy_sign(low: Values, item: Instruction) -> None:
    ty = type_of(item)
    sign, magnitude = (low.operand(o, ty) for o in item.operands[1:3])

    def make(t: str, _: str, names: list[str]) -> str:
        return low.b.call(f"llvm.copysign.{suffix(t)}", t, (t, names[0]), (t, names[1]))

    low.assign(item.operands[0], elementwise(low, ty, [magnitude, sign], make), item.predicate)


TESTS = {
    "finite": 0x1F8,
    "infinite": 0x204,
    "number": 0x3FC,
    "notanumber": 0x3,
    "normal": 0x108,
    "subnormal": 0x90,
}


@handles("testp")
def test_property(low: Values, item: Instruction) -> None:
    ty = type_of(item)

    def make(t: str, flag: str, names: list[str]) -> str:
        name = f"llvm.is.fpclass.{suffix(t)}"
        return low.b.call(name, flag, (t, names[0]), ("i32", str(TESTS[item.parts[1]])))

    low.assign(
        item.operands[0], elementwise(low, "i1", [low.operand(item.operands[1], ty)], make), item.predicate
    )
