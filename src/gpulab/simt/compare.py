"""Comparison and selection."""

from __future__ import annotations

from gpulab.simt.elementwise import const, elementwise, is_float, signed, spread, type_of
from gpulab.simt.llvm import Value, float_literal, vector
from gpulab.simt.ptx import Instruction, Operand
from gpulab.simt.values import Values, handles, parts_of

ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno",
           "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}  # fmt: skip
UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def comparison(low: Values, item: Instruction, operands: tuple[Operand, ...]) -> Value:
    name, ty = item.parts[1], type_of(item)
    values = [low.operand(o, ty) for o in operands]
    if is_float(item):
        text = f"fcmp {ORDERED[name]}"
    elif name in ("eq", "ne"):
        text = f"icmp {name}"
    else:
        text = f"icmp {UNSIGNED.get(name) or ('s' if signed(item.parts[-1]) else 'u') + name}"
    return elementwise(low, "i1", values, lambda t, _, n: low.b.value(f"{text} {t} {n[0]}, {n[1]}"))


def combined(low: Values, item: Instruction, flag: Value) -> tuple[Value, Value]:
    """The comparison and its opposite, each joined with a predicate where `.and`, `.or`, `.xor` ask for it."""
    b = low.b
    opposite = elementwise(low, "i1", [flag], lambda t, _, n: b.value(f"xor {t} {n[0]}, {const(t, 'true')}"))
    joint = next((p for p in item.parts[2:-1] if p in ("and", "or", "xor")), None)
    if joint is None:
        return flag, opposite
    other = low.operand(item.operands[3], "i1")

    def join(value: Value) -> Value:
        return elementwise(low, "i1", [value, other], lambda t, _, n: b.value(f"{joint} {t} {n[0]}, {n[1]}"))

    return join(flag), join(opposite)


@handles("setp")
def set_predicate(low: Values, item: Instruction) -> None:
    targets = parts_of(item.operands[0])
    results = combined(low, item, comparison(low, item, item.operands[1:3]))
    for target, value in zip(targets, results, strict=False):
        low.assign(target, value, item.predicate)


@handles("set")
def set_value(low: Values, item: Instruction) -> None:
    flag, _ = combined(low, item, comparison(low, item, item.operands[1:3]))
    to = item.parts[-2]
    if to == "f32":
        made = elementwise(low, "float", [flag], lambda t, r, n: low.b.value(f"uitofp {t} {n[0]} to {r}"))
    else:
        made = elementwise(low, "i32", [flag], lambda t, r, n: low.b.value(f"sext {t} {n[0]} to {r}"))
    low.assign(item.operands[0], made, item.predicate)


@handles("selp")
def select(low: Values, item: Instruction) -> None:
    ty = type_of(item)
    yes, no = (low.operand(o, ty) for o in item.operands[1:3])
    choice = low.operand(item.operands[3], "i1")
    b = low.b
    if choice.kind == "uniform":
        count = max(len(yes.refs), len(no.refs))
        same = yes.kind == no.kind and yes.stride == no.stride
        if same and yes.kind != "lanes":
            pairs = zip(spread(yes, count), spread(no, count), strict=True)
            refs = tuple(b.value(f"select i1 {choice.ref}, {ty} {x}, {ty} {y}") for x, y in pairs)
            low.assign(item.operands[0], Value(ty, yes.kind, refs, yes.stride), item.predicate)
            return
        x, y = low.lanes(yes), low.lanes(no)
        made = b.value(f"select i1 {choice.ref}, {vector(ty)} {x}, {vector(ty)} {y}")
    else:
        x, y = low.lanes(yes), low.lanes(no)
        made = b.value(f"select {vector('i1')} {choice.ref}, {vector(ty)} {x}, {vector(ty)} {y}")
    low.assign(item.operands[0], Value(ty, "lanes", (made,)), item.predicate)


@handles("slct")
def select_by_sign(low: Values, item: Instruction) -> None:
    ty, by = type_of(item, item.parts[-2]), type_of(item)
    yes, no = (low.operand(o, ty) for o in item.operands[1:3])
    sign = low.operand(item.operands[3], by)
    b = low.b
    zero = float_literal(0, by) if by == "float" else "0"
    text = "fcmp oge" if by == "float" else "icmp sge"
    flag = elementwise(low, "i1", [sign], lambda t, _, n: b.value(f"{text} {t} {n[0]}, {const(t, zero)}"))
    made = b.value(
        f"select {vector('i1')} {low.lanes(flag)}, {vector(ty)} {low.lanes(yes)}, {vector(ty)} {low.lanes(no)}"
    )
    low.assign(item.operands[0], Value(ty, "lanes", (made,)), item.predicate)
