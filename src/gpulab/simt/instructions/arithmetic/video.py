"""Video instructions on whole registers (PTX manual, section 9.7.18).

Only forms for which GPUs and the manual agree are implemented. Operands that are a byte or half-word of a
register (`%r1.b2`), saturation to unsigned sums, and `vmad` are not supported.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles, refuses
from gpulab.simt.codegen.ir import Builder, suffix
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise
from gpulab.simt.ptx.syntax import Instruction

TYPE = ".u32|s32"
TESTS = ".eq|ne|lt|le|gt|ge"
Make = Callable[[str, str], str]

refuses("scaled multiply-add of bytes", "vmad")


def _limits(bits: int, is_signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def _clamped(b: Builder, t: str, name: str, bits: int, is_signed: bool) -> str:
    least, most = _limits(bits, is_signed)
    name = b.call(f"llvm.smax.{suffix(t)}", t, (t, name), (t, const(t, least)))
    return b.call(f"llvm.smin.{suffix(t)}", t, (t, name), (t, const(t, most)))


def _primary(b: Builder, t: str, name: str, item: Instruction, x: str, y: str) -> str:
    """Emit the operation on operands that are wide enough not to overflow."""
    if name in ("vadd", "vsub"):
        return b.value(f"{name[1:]} {t} {x}, {y}")
    if name in ("vmin", "vmax"):
        return b.call(f"llvm.s{name[1:]}.{suffix(t)}", t, (t, x), (t, y))
    if name == "vabsdiff":
        return b.call(f"llvm.abs.{suffix(t)}", t, (t, b.value(f"sub {t} {x}, {y}")), ("i1", "false"))
    if name == "vavrg":  # rounded up if the sum is not negative
        total = b.value(f"add {t} {x}, {y}")
        up = b.value(f"icmp sge {t} {total}, {const(t, 0)}")
        flag = b.value(f"zext {t.replace('i64', 'i1').replace('i32', 'i1')} {up} to {t}")
        return b.value(f"ashr {t} {b.value(f'add {t} {total}, {flag}')}, {const(t, 1)}")
    test = next(p for p in item.parts if p in ("eq", "ne", "lt", "le", "gt", "ge"))
    flag = b.value(f"icmp {test if test in ('eq', 'ne') else 's' + test} {t} {x}, {y}")
    return b.value(f"zext {t.replace('i64', 'i1').replace('i32', 'i1')} {flag} to {t}")


def _types(item: Instruction) -> list[str]:
    """Return the types of the result and the operands; the result of a comparison is unsigned."""
    result = [p for p in item.parts[1:] if p in ("u32", "s32")]
    return result if len(result) == 3 else ["u32", *result]


@handles(f"vadd|vsub|vabsdiff|vmin|vmax {TYPE}{TYPE}{TYPE}", f"vset {TYPE}{TYPE} {TESTS}{{.add}}")
@handles(f"vadd|vsub|vabsdiff .s32{TYPE}{TYPE} .sat{{.add|min|max}}")
@handles(
    f"vmin|vmax {TYPE}{TYPE}{TYPE} .sat{{.add|min|max}}", f"vshl|vshr .u32{TYPE}.u32 .clamp|wrap{{.add}}"
)
def scalar(cg: CodegenContext, item: Instruction) -> None:
    """Compute in 64 bits, saturate for `.sat`, then combine the result with a third operand."""
    b = cg.b
    kinds = _types(item)
    second = item.parts[-1] if item.parts[-1] in ("add", "min", "max") else None
    values = [cg.operand(o, "i32") for o in item.operands[1:]]
    if len(values) != (3 if second else 2):
        raise UnsupportedInstruction(item.text, item.line, "parts of registers")

    def make(t: str, _: str, names: list[str]) -> str:
        wide = t.replace("i32", "i64")
        signs = [*kinds[1:], kinds[0]]
        full = [
            b.value(f"{'sext' if kind == 's32' else 'zext'} {t} {name} to {wide}")
            for name, kind in zip(names, signs, strict=False)
        ]
        if item.op in ("vshl", "vshr"):
            result = _shifted(b, wide, item, full[0], full[1])
        else:
            result = _primary(b, wide, item.op, item, full[0], full[1])
        if "sat" in item.parts:
            result = _clamped(b, wide, result, 32, kinds[0] == "s32")
        if second == "add":
            result = b.value(f"add {wide} {result}, {full[2]}")
        elif second:
            result = b.call(f"llvm.s{second}.{suffix(wide)}", wide, (wide, result), (wide, full[2]))
        return b.value(f"trunc {wide} {result} to {t}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)


def _shifted(b: Builder, t: str, item: Instruction, x: str, amount: str) -> str:
    if "clamp" in item.parts:
        amount = b.call(f"llvm.umin.{suffix(t)}", t, (t, amount), (t, const(t, 32)))
    else:
        amount = b.value(f"and {t} {amount}, {const(t, 31)}")
    return b.value(f"{'shl' if item.op == 'vshl' else 'ashr'} {t} {x}, {amount}")


LISTS = "|".join(
    f"v{name}{count}" for count in (2, 4) for name in ("add", "sub", "avrg", "absdiff", "min", "max")
)


@handles(f"{LISTS} {TYPE}{TYPE}{TYPE} {{.sat}}", f"{LISTS} {TYPE}{TYPE}{TYPE}.add")
@handles(f"vset2|vset4 {TYPE}{TYPE} {TESTS}{{.add}}")
def packed(cg: CodegenContext, item: Instruction) -> None:
    """Compute on two half-words or four bytes; with `.add`, add their sum to a third operand."""
    b = cg.b
    name, count = item.op[:-1], int(item.op[-1])
    bits = 32 // count
    kinds = _types(item)
    values = [cg.operand(o, "i32") for o in item.operands[1:]]
    if len(values) != 3:
        raise UnsupportedInstruction(item.text, item.line, "it takes three operands")

    def part(t: str, value: str, place: int, kind: str) -> str:
        raised = b.value(f"shl {t} {value}, {const(t, 32 - bits * (place + 1))}")
        return b.value(f"{'ashr' if kind == 's32' else 'lshr'} {t} {raised}, {const(t, 32 - bits)}")

    def make(t: str, _: str, names: list[str]) -> str:
        result = names[2] if "add" in item.parts else const(t, 0)
        for place in range(count):
            x, y = (part(t, names[i], place, kinds[1 + i]) for i in (0, 1))
            value = _primary(b, t, name, item, x, y)
            if "sat" in item.parts:
                value = _clamped(b, t, value, bits, kinds[0] == "s32")
            if "add" in item.parts:
                result = b.value(f"add {t} {result}, {value}")
                continue
            value = b.value(f"and {t} {value}, {const(t, (1 << bits) - 1)}")
            result = b.value(f"or {t} {result}, {b.value(f'shl {t} {value}, {const(t, bits * place)}')}")
        return result

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)
