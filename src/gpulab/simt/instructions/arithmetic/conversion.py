"""Conversions between types: `cvt` (PTX manual, section 9.7.9.21)."""

from __future__ import annotations

from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Builder, Value, like, suffix
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise, is_scalarized, signed, widen
from gpulab.simt.instructions.arithmetic.floating import clamp, directed, flush, rounding_of
from gpulab.simt.instructions.arithmetic.formats import E4M3, E5M2, TF32, narrow
from gpulab.simt.instructions.arithmetic.formats import widen as to_float
from gpulab.simt.instructions.arithmetic.half import format_of, in_pairs, is_half
from gpulab.simt.ptx.syntax import Instruction, Operand, Reg

INTEGERS = ".u8|u16|u32|u64|s8|s16|s32|s64"
FLOATS = ".f16|bf16|f32|f64"
IRND = "{.rni|rzi|rmi|rpi}"
FRND = "{.rn|rz|rm|rp}"
ROUND_TO_INTEGER = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}
SMALL = {"e4m3x2": E4M3, "e5m2x2": E5M2}
SMALL_PAIRS = ".e4m3x2|e5m2x2"


@handles(f"cvt{{.sat}} {INTEGERS} {INTEGERS}")
def convert_integers(cg: CodegenContext, item: Instruction) -> None:
    to, source = item.parts[-2:]
    value = cg.operand(item.operands[1], REGISTER_TYPES[source])
    have, want = BITS[value.ty], BITS[REGISTER_TYPES[to]]
    if "sat" in item.parts:
        result = _saturated(cg, value, source, to)
    elif want > have:
        result = widen(cg, item, value, REGISTER_TYPES[to], signed(source))
    else:
        if value.kind == "affine" and (not is_scalarized(cg, item) or want < 32):
            value = Value(value.ty, "varying", (cg.to_vector(value),))
        result = value
        if want < have:
            result = cg.convert(value, REGISTER_TYPES[to], lambda t, r, o: f"trunc {t} {r} to {o}")
    cg.assign(item.operands[0], _filled(cg, result, to, item.operands[0]), item.predicate)


def _saturated(cg: CodegenContext, value: Value, source: str, to: str) -> Value:
    """Clamp to the range of the target; the comparison is in the source type."""
    b, have, bits = cg.b, BITS[value.ty], BITS[REGISTER_TYPES[to]]
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed(to) else (0, (1 << bits) - 1)
    width = 64 if max(have, bits) < 64 else 128
    extend = "sext" if signed(source) else "zext"

    def make(t: str, out: str, names: list[str]) -> str:
        wide = like(t, f"i{width}")
        full = b.value(f"{extend} {t} {names[0]} to {wide}")
        full = b.call(f"llvm.smax.{suffix(wide)}", wide, (wide, full), (wide, const(wide, least)))
        full = b.call(f"llvm.smin.{suffix(wide)}", wide, (wide, full), (wide, const(wide, most)))
        return b.value(f"trunc {wide} {full} to {out}")

    return elementwise(cg, REGISTER_TYPES[to], [value], make)


def _filled(cg: CodegenContext, value: Value, to: str, target: Operand) -> Value:
    """Extend a narrow result to the width of its register, by the sign for signed types."""
    if not isinstance(target, Reg) or target.name not in cg.flat.registers:
        return value
    want = cg.register_type(target.name)
    if want in ("float", "double") or BITS[want] <= BITS[value.ty]:
        return value
    extend = "sext" if signed(to) else "zext"
    if value.kind == "affine":
        value = Value(value.ty, "varying", (cg.to_vector(value),))
    return cg.convert(value, want, lambda t, r, o: f"{extend} {t} {r} to {o}")


# -- floats to integers -------------------------------------------------------------------------


def as_float(b: Builder, t: str, name: str, source: str) -> tuple[str, str]:
    """Convert a value of a floating point type to float or double exactly; return (type, name)."""
    if is_half(source):
        return like(t, "float"), to_float(b, t, name, format_of(source))
    return t, name


@handles(f"cvt.rni|rzi|rmi|rpi{{.ftz}}{{.sat}} {INTEGERS} {FLOATS}")
def convert_to_integer(cg: CodegenContext, item: Instruction) -> None:
    """Round, then clamp to the target's range; NaN gives 0, or only the top bit for 64-bit types."""
    to, source = item.parts[-2:]
    b, bits = cg.b, BITS[REGISTER_TYPES[to]]
    wide = source == "f64" or bits == 64
    rounding = next(p for p in item.parts if p in ROUND_TO_INTEGER)

    def make(t: str, out: str, names: list[str]) -> str:
        ft, value = as_float(b, t, names[0], source)
        if "ftz" in item.parts and source == "f32":
            value = flush(b, ft, value)
        value = b.call(f"{ROUND_TO_INTEGER[rounding]}.{suffix(ft)}", ft, (ft, value))
        # There is no saturating conversion to vectors of bytes, so the conversion goes through 32 bits.
        middle = like(out, f"i{max(bits, 32)}")
        kind = "fptosi" if signed(to) else "fptoui"
        result = b.call(f"llvm.{kind}.sat.{suffix(middle)}.{suffix(ft)}", middle, (ft, value))
        if bits < 32:
            result = _clamped(b, middle, result, bits, signed(to))
            result = b.value(f"trunc {middle} {result} to {out}")
        if not wide:
            return result
        unordered = b.value(f"fcmp uno {ft} {value}, {value}")
        top = const(out, -(1 << bits - 1))
        return b.value(f"select {like(out, 'i1')} {unordered}, {out} {top}, {out} {result}")

    value = cg.operand(item.operands[1], REGISTER_TYPES[source])
    result = elementwise(cg, REGISTER_TYPES[to], [value], make)
    cg.assign(item.operands[0], _filled(cg, result, to, item.operands[0]), item.predicate)


def _clamped(b: Builder, t: str, name: str, bits: int, is_signed: bool) -> str:
    if not is_signed:
        return b.call(f"llvm.umin.{suffix(t)}", t, (t, name), (t, const(t, (1 << bits) - 1)))
    name = b.call(f"llvm.smin.{suffix(t)}", t, (t, name), (t, const(t, (1 << bits - 1) - 1)))
    return b.call(f"llvm.smax.{suffix(t)}", t, (t, name), (t, const(t, -(1 << bits - 1))))


# -- integers to floats -------------------------------------------------------------------------


@handles(f"cvt.rn|rz|rm|rp{{.ftz}}{{.sat}} {FLOATS} {INTEGERS}")
def convert_from_integer(cg: CodegenContext, item: Instruction) -> None:
    to, source = item.parts[-2:]
    b, mode = cg.b, rounding_of(item)
    is_signed = signed(source)

    def make(t: str, out: str, names: list[str]) -> str:
        if not is_half(to):
            if mode is not None:
                result = _directed_float(b, t, names[0], out, mode, is_signed)
            else:
                result = b.value(f"{'sitofp' if is_signed else 'uitofp'} {t} {names[0]} to {out}")
            return clamp(b, out, result) if "sat" in item.parts else result
        dt, value = _as_double(b, t, names[0], BITS[REGISTER_TYPES[source]], is_signed)
        if "sat" in item.parts:
            value = clamp(b, dt, value)
        return narrow(b, dt, value, format_of(to), mode or "rn")

    value = cg.operand(item.operands[1], REGISTER_TYPES[source])
    result = elementwise(cg, REGISTER_TYPES[to], [value], make)
    cg.assign(item.operands[0], _filled(cg, result, to, item.operands[0]), item.predicate)


def _directed_float(b: Builder, t: str, name: str, out: str, mode: str, is_signed: bool) -> str:
    """Convert integers to floats with a directed rounding mode.

    Unsigned integers are converted as signed ones, because the host's unsigned conversion rounds twice.
    """
    if is_signed:
        return directed(b, "sitofp", mode, out, [(t, name)])
    wide, flag = like(t, "i64"), like(t, "i1")
    if "i64" not in t:
        name = b.value(f"zext {t} {name} to {wide}")
        return directed(b, "sitofp", mode, out, [(wide, name)])
    # Above 2^63, convert half of the number with the lost bit as a sticky bit, and double the result.
    large = b.value(f"icmp slt {t} {name}, {const(t, 0)}")
    half = b.value(f"lshr {t} {name}, {const(t, 1)}")
    half = b.value(f"or {t} {half}, {b.value(f'and {t} {name}, {const(t, 1)}')}")
    result = directed(
        b, "sitofp", mode, out, [(t, b.value(f"select {flag} {large}, {t} {half}, {t} {name}"))]
    )
    doubled = b.value(f"fadd {out} {result}, {result}")
    return b.value(f"select {flag} {large}, {out} {doubled}, {out} {result}")


def _as_double(b: Builder, t: str, name: str, bits: int, is_signed: bool) -> tuple[str, str]:
    """Convert an integer to a double that rounds to shorter formats as the integer would.

    The lowest 11 of 64 bits do not fit. They are combined into a sticky bit, so that the double has the
    leading 53 digits of the integer and the right rounding direction.
    """
    dt = like(t, "double")
    action = "sitofp" if is_signed else "uitofp"
    if bits < 64:
        return dt, b.value(f"{action} {t} {name} to {dt}")
    lost = b.value(f"and {t} {name}, {const(t, 2047)}")
    some = b.value(f"icmp ne {t} {lost}, {const(t, 0)}")
    high = b.value(f"ashr {t} {name}, {const(t, 63)}") if is_signed else const(t, 0)
    magnitude = b.value(f"xor {t} {name}, {high}")
    large = b.value(f"icmp ugt {t} {magnitude}, {const(t, (1 << 53) - 1)}")
    drawn = b.value(f"or {t} {b.value(f'and {t} {name}, {const(t, -2048)}')}, {const(t, 2048)}")
    both = b.value(f"and {like(t, 'i1')} {some}, {large}")
    fitted = b.value(f"select {like(t, 'i1')} {both}, {t} {drawn}, {t} {name}")
    return dt, b.value(f"{action} {t} {fitted} to {dt}")


# -- floats to floats ---------------------------------------------------------------------------


@handles(f"cvt{FRND}{{.ftz}}{{.sat}} {FLOATS} {FLOATS}", "cvt.rn|rz{.relu}{.satfinite} .f16|bf16 .f32")
@handles(*(f"cvt{IRND}{{.ftz}}{{.sat}} .{ty} .{ty}" for ty in ("f16", "bf16", "f32", "f64")))
def convert_floats(cg: CodegenContext, item: Instruction) -> None:
    to, source = item.parts[-2:]
    b, mode = cg.b, rounding_of(item)
    rounding = next((p for p in item.parts if p in ROUND_TO_INTEGER), None)

    def make(t: str, out: str, names: list[str]) -> str:
        ft, value = as_float(b, t, names[0], source)
        if "ftz" in item.parts and source == "f32":
            value = flush(b, ft, value)
        if rounding is not None:
            value = b.call(f"{ROUND_TO_INTEGER[rounding]}.{suffix(ft)}", ft, (ft, value))
        if "sat" in item.parts:
            value = clamp(b, ft, value)
        if is_half(to):
            form = format_of(to)
            return narrow(b, ft, value, form, mode or "rn", "satfinite" in item.parts, "relu" in item.parts)
        if "double" in ft and to == "f32":
            if mode is not None:
                value = directed(b, "fptrunc", mode, out, [(ft, value)])
            else:
                value = b.value(f"fptrunc {ft} {value} to {out}")
        elif "float" in ft and to == "f64":
            value = b.value(f"fpext {ft} {value} to {out}")
        return flush(b, out, value) if "ftz" in item.parts and to == "f32" else value

    value = cg.operand(item.operands[1], REGISTER_TYPES[source])
    result = elementwise(cg, REGISTER_TYPES[to], [value], make)
    cg.assign(item.operands[0], _filled(cg, result, to, item.operands[0]), item.predicate)


@handles("cvt.rna{.satfinite} .tf32 .f32", "cvt.rn|rz{.satfinite}{.relu} .tf32 .f32")
def convert_to_tf32(cg: CodegenContext, item: Instruction) -> None:
    """Round to 10 bits of fraction in a 32-bit float; rounding ties away is an addition to its bits."""
    b = cg.b
    mode = next(p for p in item.parts if p in ("rna", "rn", "rz"))

    def make(t: str, out: str, names: list[str]) -> str:
        if mode == "rna" and "satfinite" not in item.parts:
            bits = b.value(f"bitcast {t} {names[0]} to {out}")
            raised = b.value(f"add {out} {bits}, {const(out, 1 << 12)}")
            return b.value(f"and {out} {raised}, {const(out, -(1 << 13))}")
        result = narrow(b, t, names[0], TF32, mode, "satfinite" in item.parts, "relu" in item.parts)
        result = b.value(f"shl {out} {result}, {const(out, 13)}")
        unordered = b.value(f"fcmp uno {t} {names[0]}, {names[0]}")
        nan = const(out, 0x7FFFE000)
        return b.value(f"select {like(t, 'i1')} {unordered}, {out} {nan}, {out} {result}")

    value = cg.operand(item.operands[1], "float")
    cg.assign(item.operands[0], elementwise(cg, "i32", [value], make), item.predicate)


# -- pairs --------------------------------------------------------------------------------------


@handles("cvt.rn|rz{.relu}{.satfinite} .f16x2|bf16x2 .f32", f"cvt.rn.satfinite{{.relu}} {SMALL_PAIRS} .f32")
def convert_to_pair(cg: CodegenContext, item: Instruction) -> None:
    """Convert two floats to the upper and the lower half of the result."""
    b, to = cg.b, item.parts[-2]
    form = SMALL.get(to) or format_of(to)
    mode = rounding_of(item) or "rn"
    ty = "i16" if to in SMALL else "i32"

    def make(t: str, out: str, names: list[str]) -> str:
        upper, lower = (
            narrow(b, t, n, form, mode, "satfinite" in item.parts, "relu" in item.parts) for n in names
        )
        part = like(t, f"i{form.bits}")
        high = b.value(f"zext {part} {upper} to {out}")
        high = b.value(f"shl {out} {high}, {const(out, form.bits)}")
        return b.value(f"or {out} {high}, {b.value(f'zext {part} {lower} to {out}')}")

    values = [cg.operand(o, "float") for o in item.operands[1:3]]
    cg.assign(item.operands[0], elementwise(cg, ty, values, make), item.predicate)


@handles(f"cvt.rn.satfinite{{.relu}} {SMALL_PAIRS} .f16x2|bf16x2")
def convert_pair_down(cg: CodegenContext, item: Instruction) -> None:
    b, (to, source) = cg.b, item.parts[-2:]

    def make(t: str, out: str, names: list[str]) -> str:
        st = in_pairs(t)
        parts = to_float(b, st, b.value(f"bitcast {t} {names[0]} to {st}"), format_of(source))
        result = narrow(b, like(st, "float"), parts, SMALL[to], "rn", True, "relu" in item.parts)
        return b.value(f"bitcast {like(st, 'i8')} {result} to {out}")

    value = cg.operand(item.operands[1], "i32")
    cg.assign(item.operands[0], elementwise(cg, "i16", [value], make), item.predicate)


@handles(f"cvt.rn{{.relu}} .f16x2|bf16x2 {SMALL_PAIRS}")
def convert_pair_up(cg: CodegenContext, item: Instruction) -> None:
    b, (to, source) = cg.b, item.parts[-2:]

    def make(t: str, out: str, names: list[str]) -> str:
        st = in_pairs(out)
        bytes_ = b.value(f"bitcast {t} {names[0]} to {like(st, 'i8')}")
        parts = to_float(b, like(st, "i8"), bytes_, SMALL[source])
        result = narrow(b, like(st, "float"), parts, format_of(to), relu="relu" in item.parts)
        return b.value(f"bitcast {st} {result} to {out}")

    value = cg.operand(item.operands[1], "i16")
    cg.assign(item.operands[0], elementwise(cg, "i32", [value], make), item.predicate)


@handles("cvt.pack.sat .u16|s16 .s32", "cvt.pack.sat .u8|s8|u4|s4|u2|s2 .s32 .b32")
def pack(cg: CodegenContext, item: Instruction) -> None:
    """Pack two saturated integers; a third operand is shifted left and added above them."""
    b, to = cg.b, item.parts[3]
    bits = int(to[1:])
    values = [cg.operand(o, "i32") for o in item.operands[1:]]

    def make(t: str, _: str, names: list[str]) -> str:
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed(to) else (0, (1 << bits) - 1)
        parts = []
        for name in names[:2]:
            result = b.call(f"llvm.smax.{suffix(t)}", t, (t, name), (t, const(t, least)))
            result = b.call(f"llvm.smin.{suffix(t)}", t, (t, result), (t, const(t, most)))
            parts.append(b.value(f"and {t} {result}, {const(t, (1 << bits) - 1)}"))
        result = b.value(f"or {t} {parts[1]}, {b.value(f'shl {t} {parts[0]}, {const(t, bits)}')}")
        if len(names) < 3:
            return result
        return b.value(f"or {t} {result}, {b.value(f'shl {t} {names[2]}, {const(t, 2 * bits)}')}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)
