"""Integer arithmetic (PTX manual, sections 9.7.1 and 9.7.2)."""

from __future__ import annotations

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, Value, suffix, vector
from gpulab.simt.instructions.arithmetic.elementwise import (
    const,
    elementwise,
    elementwise_two,
    intrinsic,
    lane_product,
    product,
    shifted_right,
    signed,
    simple,
    total,
    type_of,
    widen,
)
from gpulab.simt.ptx.syntax import Instruction, Operand, vector_elements

INT = ".u16|u32|u64|s16|s32|s64"
WIDE = ".u32|s32|u64|s64"
SATURATING = {"add": "llvm.sadd.sat", "sub": "llvm.ssub.sat"}


@handles(f"add|sub {INT}")
def add(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    a, b = (cg.operand(o, ty) for o in item.operands[1:])
    cg.assign(item.operands[0], total(cg, item, ty, a, b, item.op), item.predicate)


@handles("add|sub.sat .s32")
def add_saturating(cg: CodegenContext, item: Instruction) -> None:
    intrinsic(cg, item, SATURATING[item.op])


def in_halves(cg: CodegenContext, value: Value) -> Value:
    """Reinterpret each 32-bit integer as two 16-bit integers."""
    if value.kind == "uniform":
        return Value("<2 x i16>", "uniform", (cg.b.value(f"bitcast i32 {value.ref} to <2 x i16>"),))
    wide = vector("i16", 2 * WARP)
    return Value(wide, "varying", (cg.b.value(f"bitcast {vector('i32')} {cg.to_vector(value)} to {wide}"),))


# The manual writes `.relu` before the type, NVRTC after it.
@handles("add .u16x2|s16x2", "min|max .u16x2|s16x2", "min|max.relu .s16x2", "min|max .s16x2.relu")
def packed(cg: CodegenContext, item: Instruction) -> None:
    """Compute on two packed 16-bit integers."""
    values = [cg.operand(o, "i32") for o in item.operands[1:]]
    if any(v.kind != "uniform" for v in values):
        values = [Value("i32", "varying", (cg.to_vector(v),)) for v in values]
    a, b = (in_halves(cg, v) for v in values)
    t, kind = a.ty, a.kind
    if item.op == "add":
        result = cg.b.value(f"add {t} {a.ref}, {b.ref}")
    else:
        name = f"llvm.{'u' if 'u16x2' in item.parts else 's'}{item.op}.{suffix(t)}"
        result = cg.b.call(name, t, (t, a.ref), (t, b.ref))
        if "relu" in item.parts:
            result = cg.b.call(f"llvm.smax.{suffix(t)}", t, (t, result), (t, "zeroinitializer"))
    full = vector("i32") if kind == "varying" else "i32"
    back = cg.b.value(f"bitcast {t} {result} to {full}")
    cg.assign(item.operands[0], Value("i32", kind, (back,)), item.predicate)


# -- products -----------------------------------------------------------------------------------


@handles(f"mul|mad.lo|hi {INT}", "mul|mad.wide .u16|s16|u32|s32", "mad.hi.sat .s32")
def multiply(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    a, b = (cg.operand(o, ty) for o in item.operands[1:3])
    if "wide" in item.parts:
        ty = f"i{2 * BITS[ty]}"
        a, b = widen(cg, item, a, ty), widen(cg, item, b, ty)
        result = product(cg, item, ty, a, b)
    elif "hi" in item.parts:
        result = high_product(cg, item, ty, a, b)
    else:
        result = product(cg, item, ty, a, b)
    if item.op == "mad":
        result = _add_third(cg, item, ty, result)
    cg.assign(item.operands[0], result, item.predicate)


def _add_third(cg: CodegenContext, item: Instruction, ty: str, result: Value) -> Value:
    addend = cg.operand(item.operands[3], ty)
    if "sat" not in item.parts:
        return total(cg, item, ty, result, addend)

    def make(t: str, _: str, names: list[str]) -> str:
        return cg.b.call(f"llvm.sadd.sat.{suffix(t)}", t, (t, names[0]), (t, names[1]))

    return elementwise(cg, ty, [result, addend], make)


def high_product(cg: CodegenContext, item: Instruction, ty: str, a: Value, b: Value) -> Value:
    extend = "sext" if signed(item.parts[-1]) else "zext"
    bits = BITS[ty]

    def make(t: str, _: str, names: list[str]) -> str:
        wide = t.replace(ty, f"i{2 * bits}")
        x, y = (cg.b.value(f"{extend} {t} {n} to {wide}") for n in names)
        shifted = shifted_right(cg, "lshr", wide, lane_product(cg, wide, x, y), bits)
        return cg.b.value(f"trunc {wide} {shifted} to {t}")

    return elementwise(cg, ty, [a, b], make)


@handles("mul24|mad24.lo|hi .u32|s32", "mad24.hi.sat .s32")
def multiply_24(cg: CodegenContext, item: Instruction) -> None:
    """Multiply the low 24 bits of the operands; the result is bits 31 to 0 (`lo`) or 47 to 16 (`hi`)."""
    values = [cg.operand(o, "i32") for o in item.operands[1:3]]
    b, is_signed = cg.b, signed(item.parts[-1])
    action = "ashr" if is_signed else "lshr"

    def make(t: str, _: str, names: list[str]) -> str:
        wide = t.replace("i32", "i64")
        factors = []
        for name in names:
            raised = b.value(f"shl {t} {name}, {const(t, 8)}")
            small = b.value(f"{action} {t} {raised}, {const(t, 8)}")
            factors.append(b.value(f"{'sext' if is_signed else 'zext'} {t} {small} to {wide}"))
        full = b.value(f"mul {wide} {factors[0]}, {factors[1]}")
        if "hi" in item.parts:
            full = b.value(f"lshr {wide} {full}, {const(wide, 16)}")
        return b.value(f"trunc {wide} {full} to {t}")

    result = elementwise(cg, "i32", values, make)
    if item.op == "mad24":
        result = _add_third(cg, item, "i32", result)
    cg.assign(item.operands[0], result, item.predicate)


# -- carries (the parser makes the condition code an operand, `%cc`) -----------------------------


@handles(f"add|sub.cc {WIDE}", f"addc|subc{{.cc}} {WIDE}")
def add_with_carry(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    a, b = (cg.operand(o, ty) for o in item.operands[1:3])
    _carry(cg, item, ty, a, b, item.operands[3:])


@handles(f"mad.lo|hi.cc {WIDE}", f"madc.lo|hi{{.cc}} {WIDE}")
def multiply_with_carry(cg: CodegenContext, item: Instruction) -> None:
    """Add the high or low half of a product to a third operand, with carries."""
    ty = type_of(item)
    a, b, c = (cg.operand(o, ty) for o in item.operands[1:4])
    result = high_product(cg, item, ty, a, b) if "hi" in item.parts else product(cg, item, ty, a, b)
    _carry(cg, item, ty, result, c, item.operands[4:])


def _carry(
    cg: CodegenContext, item: Instruction, ty: str, x: Value, y: Value, carry_in: tuple[Operand, ...]
) -> None:
    """Compute x + y + carry, or x + ~y + carry for a difference, whose carry means "no borrow"."""
    b = cg.b
    subtracts = item.op.startswith("sub")
    values = [x, y]
    if carry_in:
        flag = cg.operand(carry_in[0], "i1")
        values.append(elementwise(cg, ty, [flag], lambda t, r, n: b.value(f"zext {t} {n[0]} to {r}")))

    def make(t: str, names: list[str]) -> tuple[str, str]:
        first, second = names[:2]
        carry = names[2] if carry_in else const(t, 1 if subtracts else 0)
        if subtracts:
            second = b.value(f"xor {t} {second}, {const(t, -1)}")
        result = b.value(f"add {t} {first}, {second}")
        over = b.value(f"icmp ult {t} {result}, {first}")
        result = b.value(f"add {t} {result}, {carry}")
        again = b.value(f"icmp ult {t} {result}, {carry}")
        return result, b.value(f"or {t.replace(ty, 'i1')} {over}, {again}")

    results = elementwise_two(cg, (ty, "i1"), values, make)
    for target, value in zip(vector_elements(item.operands[0]), results, strict=False):
        cg.assign(target, value, item.predicate)


# -- quotients ----------------------------------------------------------------------------------


@handles(f"div|rem {INT}")
def divide(cg: CodegenContext, item: Instruction) -> None:
    ty, is_signed = type_of(item), signed(item.parts[-1])
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    b = cg.b
    letter = "s" if is_signed else "u"

    def make(t: str, _: str, names: list[str]) -> str:
        """Divide; by 0, quotient and remainder are all ones as on a GPU, and -2^31 / -1 wraps."""
        a, d = names
        flag = t.replace(ty, "i1")
        zero = b.value(f"icmp eq {t} {d}, {const(t, 0)}")
        divisor = b.value(f"select {flag} {zero}, {t} {const(t, 1)}, {t} {d}")
        if is_signed:  # a / -1 wraps to a / 1
            least = b.value(f"icmp eq {t} {a}, {const(t, -(1 << BITS[ty] - 1))}")
            minus = b.value(f"icmp eq {t} {d}, {const(t, -1)}")
            wrap = b.value(f"and {flag} {least}, {minus}")
            divisor = b.value(f"select {flag} {wrap}, {t} {const(t, 1)}, {t} {divisor}")
        if t.startswith("<") and BITS[ty] <= 32:
            quotient = _divide_as_double(cg, t, ty, a, divisor, letter)
        else:
            quotient = b.value(f"{letter}div {t} {a}, {divisor}")
        if item.op == "div":
            return b.value(f"select {flag} {zero}, {t} {const(t, -1)}, {t} {quotient}")
        rest = b.value(f"sub {t} {a}, {b.value(f'mul {t} {quotient}, {divisor}')}")
        return b.value(f"select {flag} {zero}, {t} {const(t, -1)}, {t} {rest}")

    cg.assign(item.operands[0], elementwise(cg, ty, values, make), item.predicate)


def _divide_as_double(cg: CodegenContext, t: str, ty: str, a: str, d: str, letter: str) -> str:
    """Divide 32-bit integers as doubles, since hosts cannot divide integer vectors; the result is exact."""
    b = cg.b
    double = t.replace(ty, "double")
    x, y = (b.value(f"{letter}itofp {t} {n} to {double}") for n in (a, d))
    return b.value(f"fpto{letter}i {double} {b.value(f'fdiv {double} {x}, {y}')} to {t}")


# -- sign, order, distance ----------------------------------------------------------------------


@handles("neg .s16|s32|s64")
def negate(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    zero = Value(ty, "uniform", ("0",))
    result = total(cg, item, ty, zero, cg.operand(item.operands[1], ty), "sub")
    cg.assign(item.operands[0], result, item.predicate)


@handles("abs .s16|s32|s64")
def absolute(cg: CodegenContext, item: Instruction) -> None:
    intrinsic(cg, item, "llvm.abs", ("i1", "false"))


@handles(f"min|max {INT}", "min|max.relu .s32", "min|max .s32.relu")
def extremum(cg: CodegenContext, item: Instruction) -> None:
    ptx_type = next(p for p in item.parts[1:] if p != "relu")
    ty = type_of(item, ptx_type)
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    name = f"llvm.{ptx_type[0]}{item.op}"

    def make(t: str, _: str, names: list[str]) -> str:
        result = cg.b.call(f"{name}.{suffix(t)}", t, (t, names[0]), (t, names[1]))
        if "relu" not in item.parts:
            return result
        return cg.b.call(f"llvm.smax.{suffix(t)}", t, (t, result), (t, const(t, 0)))

    cg.assign(item.operands[0], elementwise(cg, ty, values, make), item.predicate)


@handles(f"sad {INT}")
def absolute_difference(cg: CodegenContext, item: Instruction) -> None:
    letter = "s" if signed(item.parts[-1]) else "u"

    def text(t: str, names: list[str]) -> str:
        pair = (t, names[0]), (t, names[1])
        most = cg.b.call(f"llvm.{letter}max.{suffix(t)}", t, *pair)
        least = cg.b.call(f"llvm.{letter}min.{suffix(t)}", t, *pair)
        return f"add {t} {cg.b.value(f'sub {t} {most}, {least}')}, {names[2]}"

    simple(cg, item, text)


@handles("dp4a .u32|s32.u32|s32", "dp2a.lo|hi .u32|s32.u32|s32")
def dot_product(cg: CodegenContext, item: Instruction) -> None:
    """Add four products of bytes, or two products of a half-word and a byte, to a 32-bit sum."""
    b = cg.b
    a_signed, b_signed = signed(item.parts[-2]), signed(item.parts[-1])
    values = [cg.operand(o, "i32") for o in item.operands[1:4]]
    half = item.op == "dp2a"
    first = 2 if half and "hi" in item.parts else 0

    def part(t: str, name: str, at: int, width: int, is_signed: bool) -> str:
        up = b.value(f"shl {t} {name}, {const(t, 32 - width * (at + 1))}")
        return b.value(f"{'ashr' if is_signed else 'lshr'} {t} {up}, {const(t, 32 - width)}")

    def make(t: str, _: str, names: list[str]) -> str:
        result = names[2]
        for number in range(2 if half else 4):
            x = part(t, names[0], number, 16 if half else 8, a_signed)
            y = part(t, names[1], first + number, 8, b_signed)
            result = b.value(f"add {t} {result}, {b.value(f'mul {t} {x}, {y}')}")
        return result

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)
