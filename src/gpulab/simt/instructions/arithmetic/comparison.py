"""Comparison and selection (PTX manual, sections 9.7.6 and 9.7.7)."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, Value, float_literal, vector
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise, signed, spread, type_of
from gpulab.simt.instructions.arithmetic.floating import flush
from gpulab.simt.instructions.arithmetic.half import compare_halves, format_of, is_half, ones
from gpulab.simt.ptx.syntax import Instruction, vector_elements

ORDERED = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
}  # fmt: skip
UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
JOINTS = "{.and|or|xor}"
FLOAT_TESTS = "." + "|".join(ORDERED)
INTEGER_TESTS = ".eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
INTEGERS = ".u16|u32|u64|s16|s32|s64"
BITSIZES = ".b16|b32|b64"
ANY = ".b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"


def comparisons(cg: CodegenContext, item: Instruction) -> tuple[Value, ...]:
    """Return the results of the comparison: two for packed halves, otherwise one."""
    name, source = item.parts[1], item.parts[-1]
    if is_half(source):
        return compare_halves(cg, item, ORDERED[name])
    ty = type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:3]]
    if source in ("f32", "f64"):
        text = f"fcmp {ORDERED[name]}"
    elif name in ("eq", "ne"):
        text = f"icmp {name}"
    else:
        text = f"icmp {UNSIGNED.get(name) or ('s' if signed(source) else 'u') + name}"

    def make(t: str, _: str, names: list[str]) -> str:
        if "ftz" in item.parts:
            names = [flush(cg.b, t, n) for n in names]
        return cg.b.value(f"{text} {t} {names[0]}, {names[1]}")

    return (elementwise(cg, "i1", values, make),)


def negated(cg: CodegenContext, flag: Value) -> Value:
    return elementwise(cg, "i1", [flag], lambda t, _, n: cg.b.value(f"xor {t} {n[0]}, {const(t, 'true')}"))


def joined(cg: CodegenContext, item: Instruction, flag: Value) -> Value:
    """Combine a comparison with a predicate for `.and`, `.or` and `.xor`."""
    joint = next((p for p in item.parts[2:-1] if p in ("and", "or", "xor")), None)
    if joint is None:
        return flag
    other = cg.operand(item.operands[3], "i1")
    return elementwise(cg, "i1", [flag, other], lambda t, _, n: cg.b.value(f"{joint} {t} {n[0]}, {n[1]}"))


@handles(f"setp.eq|ne{JOINTS} {BITSIZES}", f"setp{INTEGER_TESTS}{JOINTS} {INTEGERS}")
@handles(f"setp{FLOAT_TESTS}{JOINTS}{{.ftz}} .f32|f16|f16x2", f"setp{FLOAT_TESTS}{JOINTS} .f64|bf16|bf16x2")
def set_predicate(cg: CodegenContext, item: Instruction) -> None:
    """Compare and set a predicate; a second one is its negation, or the result for the upper halves."""
    flags = comparisons(cg, item)
    pair = flags if len(flags) == 2 else (flags[0], negated(cg, flags[0]))
    results = [joined(cg, item, flag) for flag in pair]
    for target, value in zip(vector_elements(item.operands[0]), results, strict=False):
        cg.assign(target, value, item.predicate)


@handles(f"set.eq|ne{JOINTS} .u32|s32|f32|f16|bf16 {BITSIZES}")
@handles(f"set{INTEGER_TESTS}{JOINTS} .u32|s32|f32|f16|bf16 {INTEGERS}")
@handles(f"set{FLOAT_TESTS}{JOINTS}{{.ftz}} .u32|s32|f32|f16|bf16 .f32")
@handles(f"set{FLOAT_TESTS}{JOINTS} .u32|s32|f32|f16|bf16 .f64")
@handles(f"set{FLOAT_TESTS}{JOINTS}{{.ftz}} .u16|s16|u32|s32|f16 .f16")
@handles(f"set{FLOAT_TESTS}{JOINTS} .u16|s16|u32|s32|bf16 .bf16")
@handles(f"set{FLOAT_TESTS}{JOINTS}{{.ftz}} .u32|s32|f16x2 .f16x2")
@handles(f"set{FLOAT_TESTS}{JOINTS} .u32|s32|bf16x2 .bf16x2")
def set_value(cg: CodegenContext, item: Instruction) -> None:
    """Compare and set a register: to all ones or 1.0 for true, to 0 for false."""
    to, b = item.parts[-2], cg.b
    flags = [joined(cg, item, flag) for flag in comparisons(cg, item)]
    if to == "f32":
        result = elementwise(cg, "float", flags, lambda t, r, n: b.value(f"uitofp {t} {n[0]} to {r}"))
        cg.assign(item.operands[0], result, item.predicate)
        return
    width = 16 if len(flags) == 2 or is_half(to) else int(to[1:])
    one_value = ones(format_of(to)) if is_half(to) else -1
    ty = f"i{width * len(flags)}"

    def make(t: str, out: str, names: list[str]) -> str:
        small = out.replace(ty, f"i{width}")
        parts = [
            b.value(f"select {t} {n}, {small} {const(small, one_value)}, {small} {const(small, 0)}")
            for n in names
        ]
        if len(parts) == 1:
            return parts[0]
        lower, upper = (b.value(f"zext {small} {n} to {out}") for n in parts)
        return b.value(f"or {out} {lower}, {b.value(f'shl {out} {upper}, {const(out, 16)}')}")

    cg.assign(item.operands[0], elementwise(cg, ty, flags, make), item.predicate)


@handles(f"selp {ANY}")
def select(cg: CodegenContext, item: Instruction) -> None:
    cg.instrumentation.on_selection(cg, item)
    ty = type_of(item)
    yes, no = (cg.operand(o, ty) for o in item.operands[1:3])
    choice = cg.operand(item.operands[3], "i1")
    b = cg.b
    if choice.kind == "uniform":
        count = max(len(yes.refs), len(no.refs))
        same = yes.kind == no.kind and yes.stride == no.stride
        if same and yes.kind != "varying":
            pairs = zip(spread(yes, count), spread(no, count), strict=True)
            refs = tuple(b.value(f"select i1 {choice.ref}, {ty} {x}, {ty} {y}") for x, y in pairs)
            cg.assign(item.operands[0], Value(ty, yes.kind, refs, yes.stride), item.predicate)
            return
        x, y = cg.to_vector(yes), cg.to_vector(no)
        result = b.value(f"select i1 {choice.ref}, {vector(ty)} {x}, {vector(ty)} {y}")
    else:
        x, y = cg.to_vector(yes), cg.to_vector(no)
        result = b.value(f"select {vector('i1')} {choice.ref}, {vector(ty)} {x}, {vector(ty)} {y}")
    cg.assign(item.operands[0], Value(ty, "varying", (result,)), item.predicate)


@handles(f"slct {ANY} .s32", f"slct{{.ftz}} {ANY} .f32")
def select_by_sign(cg: CodegenContext, item: Instruction) -> None:
    """Select the first operand if the third is not negative; -0 is not negative, NaN counts as negative."""
    if len(item.operands) != 4:
        raise UnsupportedInstruction(item.text, item.line, "it takes three operands")
    ty, by = f"i{BITS[type_of(item, item.parts[-2])]}", type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:3]]
    b = cg.b
    zero = float_literal(0, by) if by == "float" else "0"
    text = "fcmp oge" if by == "float" else "icmp sge"

    def test(t: str, _: str, names: list[str]) -> str:
        name = flush(b, t, names[0]) if "ftz" in item.parts else names[0]
        return b.value(f"{text} {t} {name}, {const(t, zero)}")

    flag = elementwise(cg, "i1", [cg.operand(item.operands[3], by)], test)

    def choose(t: str, out: str, names: list[str]) -> str:
        return b.value(f"select {t} {names[0]}, {out} {names[1]}, {out} {names[2]}")

    cg.assign(item.operands[0], elementwise(cg, ty, [flag, *values], choose), item.predicate)
