"""Moves, packing, and conversions between types."""

from __future__ import annotations

from gpulab.simt.elementwise import const, elementwise, refuse, signed, type_of, wants_rows, widen
from gpulab.simt.floating import clamp, directed, flush, rounding_of
from gpulab.simt.llvm import BITS, Value, suffix
from gpulab.simt.ptx import Imm, Instruction, Operand, Reg, Vec
from gpulab.simt.values import Values, handles


@handles("mov")
def move(low: Values, item: Instruction) -> None:
    target, source = item.operands
    if isinstance(source, Vec):
        return _pack(low, item, target, source)
    if isinstance(target, Vec):
        return _unpack(low, item, target, source)
    ty = type_of(item) if item.parts[-1] != "pred" else "i1"
    if isinstance(target, Reg) and target.name in low.flat.registers:
        ty = low.register_type(target.name) if not isinstance(source, Imm) else ty
    low.assign(target, low.operand(source, ty), item.predicate)


def _pack(low: Values, item: Instruction, target: Operand, source: Vec) -> None:
    """`mov.b64 %rd, {lo, hi}`."""
    ty = type_of(item)
    step = BITS[ty] // len(source.parts)
    values = [low.operand(p, f"i{step}") for p in source.parts]
    b = low.b

    def make(t: str, result: str, names: list[str]) -> str:
        found = ""
        for number, name in enumerate(names):
            wide = b.value(f"zext {t} {name} to {result}")
            if number:
                wide = b.value(f"shl {result} {wide}, {const(result, number * step)}")
                wide = b.value(f"or {result} {found}, {wide}")
            found = wide
        return found

    low.assign(target, elementwise(low, f"i{BITS[ty]}", values, make), item.predicate)


def _unpack(low: Values, item: Instruction, target: Vec, source: Operand) -> None:
    ty = f"i{BITS[type_of(item)]}"
    step = BITS[ty] // len(target.parts)
    value = low.operand(source, ty)
    if value.kind == "rows":
        value = Value(ty, "lanes", (low.lanes(value),))
    for number, part in enumerate(target.parts):

        def make(t: str, result: str, names: list[str], number: int = number) -> str:
            moved = names[0]
            if number:
                moved = low.b.value(f"lshr {t} {moved}, {const(t, number * step)}")
            return low.b.value(f"trunc {t} {moved} to {result}")

        low.assign(part, elementwise(low, f"i{step}", [value], make), item.predicate)


ROUND_TO_INTEGER = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


@handles("cvt")
def convert(low: Values, item: Instruction) -> None:
    refuse(item, "rna", "rs", "relu", "satfinite")
    mode = rounding_of(item)
    to, source = item.parts[-2], item.parts[-1]
    from_type, to_type = type_of(item, source), type_of(item, to)
    value = low.operand(item.operands[1], from_type)
    b = low.b
    if "ftz" in item.parts and from_type == "float":
        value = elementwise(low, "float", [value], lambda t, _, n: flush(low, t, n[0]))
    from_float, to_float = from_type in ("float", "double"), to_type in ("float", "double")
    rounding = next((p for p in item.parts if p in ROUND_TO_INTEGER), None)
    if not from_float and not to_float:
        made = _integer_convert(low, item, value, source, to, to_type)
    elif from_float and not to_float:

        def make(t: str, result: str, names: list[str]) -> str:
            name = ROUND_TO_INTEGER[rounding or "rzi"]
            rounded = b.call(f"{name}.{suffix(t)}", t, (t, names[0]))
            kind = "fptosi" if signed(to) else "fptoui"
            return b.call(f"llvm.{kind}.sat.{suffix(result)}.{suffix(t)}", result, (t, rounded))

        made = elementwise(low, to_type, [value], make)
    elif not from_float or BITS[from_type] != BITS[to_type]:
        if from_float:
            action = "fptrunc" if BITS[from_type] > BITS[to_type] else "fpext"
        else:
            action = "sitofp" if signed(source) else "uitofp"

        def change(t: str, result: str, names: list[str]) -> str:
            if mode is not None and action != "fpext":
                return directed(low, action, mode, result, [(t, names[0])])
            return b.value(f"{action} {t} {names[0]} to {result}")

        made = elementwise(low, to_type, [value], change)
    elif rounding is not None:
        name = ROUND_TO_INTEGER[rounding]
        made = elementwise(low, to_type, [value], lambda t, _, n: b.call(f"{name}.{suffix(t)}", t, (t, n[0])))
    else:
        made = value
    target = item.operands[0]
    if not to_float:
        made = _filled(low, made, to, target)
    elif "ftz" in item.parts and to_type == "float":
        made = elementwise(low, "float", [made], lambda t, _, n: flush(low, t, n[0]))
    if to_float and "sat" in item.parts:
        made = clamp(low, made)
    low.assign(target, made, item.predicate)


def _integer_convert(
    low: Values, item: Instruction, value: Value, source: str, to: str, to_type: str
) -> Value:
    have, want = BITS[value.ty], BITS[to_type]
    if "sat" in item.parts:
        return _saturated(low, value, source, to, to_type)
    if want > have:
        return widen(low, item, value, to_type, signed(source))
    if value.kind == "rows" and (not wants_rows(low, item) or want < 32):
        value = Value(value.ty, "lanes", (low.lanes(value),))
    if want < have:
        return low.each(value, to_type, lambda t, r, o: f"trunc {t} {r} to {o}")
    return value


def _saturated(low: Values, value: Value, source: str, to: str, to_type: str) -> Value:
    """Clamp to the range of the target, compared in 128 bits so that every source value fits."""
    bits = BITS[to_type]
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed(to) else (0, (1 << bits) - 1)
    extend = "sext" if signed(source) else "zext"
    b = low.b

    def make(t: str, result: str, names: list[str]) -> str:
        wide = t.replace(value.ty, "i128")
        full = b.value(f"{extend} {t} {names[0]} to {wide}")
        full = b.call(f"llvm.smax.{suffix(wide)}", wide, (wide, full), (wide, const(wide, least)))
        full = b.call(f"llvm.smin.{suffix(wide)}", wide, (wide, full), (wide, const(wide, most)))
        return b.value(f"trunc {wide} {full} to {result}")

    return elementwise(low, to_type, [value], make)


def _filled(low: Values, value: Value, to: str, target: Operand) -> Value:
    """A narrow result fills its wider register, with the sign for signed types."""
    if not isinstance(target, Reg) or target.name not in low.flat.registers:
        return value
    want = low.register_type(target.name)
    if want in ("float", "double") or BITS[want] <= BITS[value.ty]:
        return value
    extend = "sext" if signed(to) else "zext"
    if value.kind == "rows":
        value = Value(value.ty, "lanes", (low.lanes(value),))
    return low.each(value, want, lambda t, r, o: f"{extend} {t} {r} to {o}")
