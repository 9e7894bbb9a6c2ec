"""Floating point arithmetic, and the functions of the special function units."""

from __future__ import annotations

from gpulab.simt.elementwise import const, elementwise, intrinsic, refuse, type_of
from gpulab.simt.llvm import float_literal, suffix
from gpulab.simt.ptx import Instruction, Reg
from gpulab.simt.values import Values, handles


def saturate(low: Values, item: Instruction) -> None:
    """`.sat`: to [0, 1], NaN to 0."""
    target = item.operands[0]
    if "sat" not in item.parts or not isinstance(target, Reg):
        return
    ty = type_of(item)
    zero, one = (
        const(ty, float_literal(0, ty)),
        float_literal(0x3F800000 if ty == "float" else 0x3FF << 52, ty),
    )

    def make(t: str, _: str, names: list[str]) -> str:
        lower = const(t, zero)
        raised = low.b.call(f"llvm.maximumnum.{suffix(t)}", t, (t, names[0]), (t, lower))
        return low.b.call(f"llvm.minimumnum.{suffix(t)}", t, (t, raised), (t, const(t, one)))

    low.assign(target, elementwise(low, ty, [low.operand(target, ty)], make), item.predicate)


@handles("fma")
def fused(low: Values, item: Instruction) -> None:
    refuse(item, "rm", "rp", "rz", "relu", "oob")
    intrinsic(low, item, "llvm.fma")
    saturate(low, item)


@handles("sqrt")
def square_root(low: Values, item: Instruction) -> None:
    refuse(item, "rm", "rp", "rz")
    intrinsic(low, item, "llvm.sqrt")


@handles("rcp", "rsqrt")
def reciprocal(low: Values, item: Instruction) -> None:
    refuse(item, "rm", "rp", "rz")
    ty = type_of(item)
    one = float_literal(0x3F800000 if ty == "float" else 0x3FF << 52, ty)

    def make(t: str, _: str, names: list[str]) -> str:
        value = names[0]
        if item.op == "rsqrt":
            value = low.b.call(f"llvm.sqrt.{suffix(t)}", t, (t, value))
        return low.b.value(f"fdiv {t} {const(t, one)}, {value}")

    low.assign(
        item.operands[0], elementwise(low, ty, [low.operand(item.operands[1], ty)], make), item.predicate
    )


APPROXIMATE = {
    "sin": "llvm.sin",
    "cos": "llvm.cos",
    "ex2": "llvm.exp2",
    "lg2": "llvm.log2",
    "tanh": "llvm.tanh",
}


@handles(*APPROXIMATE)
def transcendental(low: Values, item: Instruction) -> None:
    intrinsic(low, item, APPROXIMATE[item.op])


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
