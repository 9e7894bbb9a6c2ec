"""Integer arithmetic, logic and bit fields, each as the PTX manual defines it."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.elementwise import (
    as_constant,
    const,
    elementwise,
    intrinsic,
    is_float,
    product,
    refuse,
    signed,
    simple,
    total,
    type_of,
    widen,
)
from gpulab.simt.floating import float_binary, fused
from gpulab.simt.llvm import BITS, Value, suffix
from gpulab.simt.ptx import Imm, Instruction, Reg
from gpulab.simt.values import Values, handles


@handles("add", "sub")
def add(low: Values, item: Instruction) -> None:
    refuse(item, "cc")
    ty = type_of(item)
    if is_float(item):
        float_binary(low, item)
        return
    if "sat" in item.parts:
        name = f"llvm.{'s' if signed(item.parts[-1]) else 'u'}{item.op}.sat"
        intrinsic(low, item, name)
        return
    a, b = (low.operand(o, ty) for o in item.operands[1:])
    low.assign(item.operands[0], total(low, item, ty, a, b, item.op), item.predicate)


@handles("mul", "mad", "mul24", "mad24")
def multiply(low: Values, item: Instruction) -> None:
    refuse(item, "cc")
    if is_float(item):
        if item.op == "mad":
            return fused(low, item)
        float_binary(low, item)
        return None
    if item.op in ("mul24", "mad24") or "sat" in item.parts:
        raise UnsupportedInstruction(item.text, item.line)
    ty = type_of(item)
    a, b = (low.operand(o, ty) for o in item.operands[1:3])
    if "wide" in item.parts:
        ty = f"i{2 * BITS[ty]}"
        a, b = widen(low, item, a, ty), widen(low, item, b, ty)
        made = product(low, item, ty, a, b)
    elif "hi" in item.parts:
        made = high_product(low, item, ty, a, b)
    else:
        made = product(low, item, ty, a, b)
    if item.op == "mad":
        made = total(low, item, ty, made, low.operand(item.operands[3], ty))
    low.assign(item.operands[0], made, item.predicate)


def high_product(low: Values, item: Instruction, ty: str, a: Value, b: Value) -> Value:
    extend = "sext" if signed(item.parts[-1]) else "zext"
    bits = BITS[ty]

    def make(t: str, _: str, names: list[str]) -> str:
        wide = t.replace(ty, f"i{2 * bits}")
        x, y = (low.b.value(f"{extend} {t} {n} to {wide}") for n in names)
        full = low.b.value(f"mul {wide} {x}, {y}")
        shifted = low.b.value(f"lshr {wide} {full}, {const(wide, bits)}")
        return low.b.value(f"trunc {wide} {shifted} to {t}")

    return elementwise(low, ty, [a, b], make)


@handles("neg")
def negate(low: Values, item: Instruction) -> None:
    if is_float(item):
        simple(low, item, lambda t, n: f"fneg {t} {n[0]}")
        return
    ty = type_of(item)
    zero = Value(ty, "uniform", ("0",))
    low.assign(
        item.operands[0], total(low, item, ty, zero, low.operand(item.operands[1], ty), "sub"), item.predicate
    )


@handles("div", "rem")
def divide(low: Values, item: Instruction) -> None:
    if is_float(item):
        float_binary(low, item)
        return
    ty, is_signed = type_of(item), signed(item.parts[-1])
    values = [low.operand(o, ty) for o in item.operands[1:]]
    b = low.b
    letter = "s" if is_signed else "u"

    def make(t: str, _: str, names: list[str]) -> str:
        """By 0 the quotient is all ones and the remainder the dividend; -2^31 / -1 wraps."""
        a, d = names
        flag = t.replace(ty, "i1")
        zero = b.value(f"icmp eq {t} {d}, {const(t, 0)}")
        divisor = b.value(f"select {flag} {zero}, {t} {const(t, 1)}, {t} {d}")
        wrap = ""
        if is_signed:
            least = b.value(f"icmp eq {t} {a}, {const(t, -(1 << BITS[ty] - 1))}")
            minus = b.value(f"icmp eq {t} {d}, {const(t, -1)}")
            wrap = b.value(f"and {flag} {least}, {minus}")
            divisor = b.value(f"select {flag} {wrap}, {t} {const(t, 1)}, {t} {divisor}")
        if t.startswith("<") and BITS[ty] == 32:
            quotient = _divide_as_double(low, t, a, divisor, letter)
        else:
            quotient = b.value(f"{letter}div {t} {a}, {divisor}")
        if item.op == "div":
            return b.value(f"select {flag} {zero}, {t} {const(t, -1)}, {t} {quotient}")
        rest = b.value(f"sub {t} {a}, {b.value(f'mul {t} {quotient}, {divisor}')}")
        return b.value(f"select {flag} {zero}, {t} {a}, {t} {rest}")

    low.assign(item.operands[0], elementwise(low, ty, values, make), item.predicate)


def _divide_as_double(low: Values, t: str, a: str, d: str, letter: str) -> str:
    """A 32-bit quotient is exact when rounded towards zero from a double; hosts divide no integer vectors."""
    b = low.b
    double = t.replace("i32", "double")
    x, y = (b.value(f"{letter}itofp {t} {n} to {double}") for n in (a, d))
    return b.value(f"fpto{letter}i {double} {b.value(f'fdiv {double} {x}, {y}')} to {t}")


@handles("min", "max")
def extremum(low: Values, item: Instruction) -> None:
    if is_float(item):
        name = f"llvm.{item.op}imum" if "NaN" in item.parts else f"llvm.{item.op}imumnum"
    else:
        name = f"llvm.{'s' if signed(item.parts[-1]) else 'u'}{item.op}"
    intrinsic(low, item, name)


@handles("abs")
def absolute(low: Values, item: Instruction) -> None:
    if is_float(item):
        intrinsic(low, item, "llvm.fabs")
    else:
        intrinsic(low, item, "llvm.abs", ("i1", "false"))


@handles("and", "or", "xor")
def logic(low: Values, item: Instruction) -> None:
    ty = type_of(item)
    values = [low.operand(o, ty) for o in item.operands[1:]]
    target = item.operands[0]
    if item.op == "or" and isinstance(target, Reg) and low.shape(target.name).kind == "rows":
        low.assign(target, total(low, item, ty, values[0], values[1]), item.predicate)  # no bit in common
        return
    simple(low, item, lambda t, n: f"{item.op} {t} {n[0]}, {n[1]}")


@handles("not")
def complement(low: Values, item: Instruction) -> None:
    simple(
        low,
        item,
        lambda t, n: f"xor {t} {n[0]}, {const(t, 'true' if 'i1' in t.split() or t == 'i1' else -1)}",
    )


@handles("cnot")
def logical_not(low: Values, item: Instruction) -> None:
    ty = type_of(item)

    def make(t: str, _: str, names: list[str]) -> str:
        flag = low.b.value(f"icmp eq {t} {names[0]}, {const(t, 0)}")
        return low.b.value(f"zext {t.replace(ty, 'i1')} {flag} to {t}")

    low.assign(
        item.operands[0], elementwise(low, ty, [low.operand(item.operands[1], ty)], make), item.predicate
    )


@handles("shl", "shr")
def shift(low: Values, item: Instruction) -> None:
    """Shifts by the width or more give 0, or the sign for `shr.s`."""
    ty, bits = type_of(item), BITS[type_of(item)]
    value, amount = low.operand(item.operands[1], ty), low.operand(item.operands[2], "i32")
    count = as_constant(amount)
    b = low.b
    if item.op == "shl" and count is not None and 0 <= count < bits:
        factor = Value(ty, "uniform", (str(1 << count if count < bits - 1 else -(1 << count)),))
        low.assign(item.operands[0], product(low, item, ty, value, factor), item.predicate)
        return
    arithmetic = item.op == "shr" and signed(item.parts[-1])
    action = "shl" if item.op == "shl" else "ashr" if arithmetic else "lshr"
    if count is not None:
        count = min(count & 0xFFFFFFFF, bits - 1 if arithmetic else bits)
        if count == bits:
            low.assign(item.operands[0], Value(ty, "uniform", ("0",)), item.predicate)
            return
        made = elementwise(
            low, ty, [value], lambda t, _, n: b.value(f"{action} {t} {n[0]}, {const(t, count)}")
        )
        low.assign(item.operands[0], made, item.predicate)
        return

    def make(t: str, _: str, names: list[str]) -> str:
        narrow = t.replace(ty, "i32")
        raw = names[1]
        over = b.value(f"icmp ugt {narrow} {raw}, {const(narrow, bits - 1)}")
        flag = t.replace(ty, "i1")
        fitted = b.value(f"select {flag} {over}, {narrow} {const(narrow, bits - 1)}, {narrow} {raw}")
        if bits > 32:
            fitted = b.value(f"zext {narrow} {fitted} to {t}")
        elif bits < 32:
            fitted = b.value(f"trunc {narrow} {fitted} to {t}")
        shifted = b.value(f"{action} {t} {names[0]}, {fitted}")
        return shifted if arithmetic else b.value(f"select {flag} {over}, {t} {const(t, 0)}, {t} {shifted}")

    low.assign(item.operands[0], elementwise(low, ty, [value, amount], make), item.predicate)


@handles("popc", "clz", "brev", "bfind")
def bits(low: Values, item: Instruction) -> None:
    ty = type_of(item)
    value = low.operand(item.operands[1], ty)
    b = low.b

    def make(t: str, _: str, names: list[str]) -> str:
        source = names[0]
        if item.op == "brev":
            return b.call(f"llvm.bitreverse.{suffix(t)}", t, (t, source))
        if item.op == "popc":
            return b.call(f"llvm.ctpop.{suffix(t)}", t, (t, source))
        if item.op == "bfind" and signed(item.parts[-1]):
            sign = b.value(f"ashr {t} {source}, {const(t, BITS[ty] - 1)}")
            source = b.value(f"xor {t} {source}, {sign}")
        zeros = b.call(f"llvm.ctlz.{suffix(t)}", t, (t, source), ("i1", "false"))
        if item.op == "clz" or "shiftamt" in item.parts:
            if "shiftamt" in item.parts:
                none = b.value(f"icmp eq {t} {source}, {const(t, 0)}")
                return b.value(f"select {t.replace(ty, 'i1')} {none}, {t} {const(t, -1)}, {t} {zeros}")
            return zeros
        return b.value(f"sub {t} {const(t, BITS[ty] - 1)}, {zeros}")  # -1 when no bit is set

    made = elementwise(low, ty, [value], make)
    if item.op != "brev":
        made = low.as_type(made, "i32")
    low.assign(item.operands[0], made, item.predicate)


@handles("bfe")
def extract_bits(low: Values, item: Instruction) -> None:
    """`bfe`: `length` bits from `start`; beyond the top, zeros or the sign."""
    ty, width = type_of(item), BITS[type_of(item)]
    b, is_signed = low.b, signed(item.parts[-1])
    value = low.operand(item.operands[1], ty)
    start, length = (low.as_type(low.operand(o, "i32"), ty) for o in item.operands[2:4])

    def make(t: str, _: str, names: list[str]) -> str:
        source, first, count = names
        flag = t.replace(ty, "i1")
        top = const(t, width - 1)
        first = b.value(f"and {t} {first}, {const(t, 255)}")
        count = b.value(f"and {t} {count}, {const(t, 255)}")
        past = b.value(f"icmp ugt {t} {first}, {top}")
        fitted = b.value(f"select {flag} {past}, {t} {top}, {t} {first}")
        action = "ashr" if is_signed else "lshr"
        low_part = b.value(f"{action} {t} {source}, {fitted}")
        beyond = b.value(f"ashr {t} {source}, {top}") if is_signed else const(t, 0)
        low_part = b.value(f"select {flag} {past}, {t} {beyond}, {t} {low_part}")
        none = b.value(f"icmp eq {t} {count}, {const(t, 0)}")
        whole = b.value(f"icmp ugt {t} {count}, {top}")
        spare = b.value(f"sub {t} {const(t, width)}, {count}")
        spare = b.value(f"and {t} {spare}, {top}")
        cut = b.value(f"{action} {t} {b.value(f'shl {t} {low_part}, {spare}')}, {spare}")
        cut = b.value(f"select {flag} {whole}, {t} {low_part}, {t} {cut}")
        return b.value(f"select {flag} {none}, {t} {const(t, 0)}, {t} {cut}")

    low.assign(item.operands[0], elementwise(low, ty, [value, start, length], make), item.predicate)


@handles("bfi")
def insert_bits(low: Values, item: Instruction) -> None:
    ty, width = type_of(item), BITS[type_of(item)]
    b = low.b
    source, into = (low.operand(o, ty) for o in item.operands[1:3])
    start, length = (low.as_type(low.operand(o, "i32"), ty) for o in item.operands[3:5])

    def make(t: str, _: str, names: list[str]) -> str:
        value, base, first, count = names
        flag = t.replace(ty, "i1")
        first = b.value(f"and {t} {first}, {const(t, 255)}")
        count = b.value(f"and {t} {count}, {const(t, 255)}")
        past = b.value(f"icmp ugt {t} {first}, {const(t, width - 1)}")
        fitted = b.value(f"select {flag} {past}, {t} {const(t, 0)}, {t} {first}")
        whole = b.value(f"icmp ugt {t} {count}, {const(t, width - 1)}")
        small = b.value(f"select {flag} {whole}, {t} {const(t, 0)}, {t} {count}")
        ones = b.value(f"sub {t} {b.value(f'shl {t} {const(t, 1)}, {small}')}, {const(t, 1)}")
        ones = b.value(f"select {flag} {whole}, {t} {const(t, -1)}, {t} {ones}")
        field = b.value(f"shl {t} {ones}, {fitted}")
        moved = b.value(f"and {t} {b.value(f'shl {t} {value}, {fitted}')}, {field}")
        kept = b.value(f"and {t} {base}, {b.value(f'xor {t} {field}, {const(t, -1)}')}")
        return b.value(f"select {flag} {past}, {t} {base}, {t} {b.value(f'or {t} {moved}, {kept}')}")

    low.assign(item.operands[0], elementwise(low, ty, [source, into, start, length], make), item.predicate)


@handles("lop3")
def logic3(low: Values, item: Instruction) -> None:
    """Any function of three bits: the table's ones, or-ed together."""
    table = item.operands[4]
    assert isinstance(table, Imm)
    values = [low.operand(o, "i32") for o in item.operands[1:4]]
    b = low.b

    def make(t: str, _: str, names: list[str]) -> str:
        inverted = [b.value(f"xor {t} {n}, {const(t, -1)}") for n in names]
        found = const(t, 0)
        for row in range(8):
            if int(table.value) >> row & 1:
                x, y, z = (names[i] if row >> (2 - i) & 1 else inverted[i] for i in range(3))
                term = b.value(f"and {t} {b.value(f'and {t} {x}, {y}')}, {z}")
                found = b.value(f"or {t} {found}, {term}")
        return found

    low.assign(item.operands[0], elementwise(low, "i32", values, make), item.predicate)


@handles("shf")
def funnel(low: Values, item: Instruction) -> None:
    first, second, amount = (low.operand(o, "i32") for o in item.operands[1:4])
    b, left = low.b, "l" in item.parts
    clamp = "clamp" in item.parts

    def make(t: str, _: str, names: list[str]) -> str:
        lower, upper, count = names
        name = f"llvm.{'fshl' if left else 'fshr'}.{suffix(t)}"
        turned = b.call(name, t, (t, upper), (t, lower), (t, count))  # the count is taken modulo 32
        if not clamp:
            return turned
        past = b.value(f"icmp ugt {t} {count}, {const(t, 31)}")
        whole = lower if left else upper
        return b.value(f"select {t.replace('i32', 'i1')} {past}, {t} {whole}, {t} {turned}")

    low.assign(item.operands[0], elementwise(low, "i32", [first, second, amount], make), item.predicate)


@handles("prmt")
def permute(low: Values, item: Instruction) -> None:
    """Pick four bytes of eight by the nibbles of a selector; bit 3 of a nibble spreads the sign."""
    if len(item.parts) > 2:
        raise UnsupportedInstruction(item.text, item.line)
    values = [low.operand(o, "i32") for o in item.operands[1:4]]
    b = low.b

    def make(t: str, _: str, names: list[str]) -> str:
        wide, flag = t.replace("i32", "i64"), t.replace("i32", "i1")
        x, y, selector = (b.value(f"zext {t} {n} to {wide}") for n in names)
        both = b.value(f"or {wide} {x}, {b.value(f'shl {wide} {y}, {const(wide, 32)}')}")
        found = const(wide, 0)
        for byte in range(4):
            nibble = b.value(f"lshr {wide} {selector}, {const(wide, 4 * byte)}")
            index = b.value(
                f"shl {wide} {b.value(f'and {wide} {nibble}, {const(wide, 7)}')}, {const(wide, 3)}"
            )
            value = b.value(f"and {wide} {b.value(f'lshr {wide} {both}, {index}')}, {const(wide, 255)}")
            sign = b.value(f"and {wide} {nibble}, {const(wide, 8)}")
            spread = b.value(f"icmp ne {wide} {sign}, {const(wide, 0)}")
            high = b.value(
                f"mul {wide} {b.value(f'lshr {wide} {value}, {const(wide, 7)}')}, {const(wide, 255)}"
            )
            value = b.value(f"select {flag} {spread}, {wide} {high}, {wide} {value}")
            found = b.value(f"or {wide} {found}, {b.value(f'shl {wide} {value}, {const(wide, 8 * byte)}')}")
        return b.value(f"trunc {wide} {found} to {t}")

    low.assign(item.operands[0], elementwise(low, "i32", values, make), item.predicate)


@handles("sad")
def absolute_difference(low: Values, item: Instruction) -> None:
    ty = type_of(item)
    values = [low.operand(o, ty) for o in item.operands[1:4]]
    b, letter = low.b, "s" if signed(item.parts[-1]) else "u"

    def make(t: str, _: str, names: list[str]) -> str:
        most = b.call(f"llvm.{letter}max.{suffix(t)}", t, (t, names[0]), (t, names[1]))
        least = b.call(f"llvm.{letter}min.{suffix(t)}", t, (t, names[0]), (t, names[1]))
        return b.value(f"add {t} {b.value(f'sub {t} {most}, {least}')}, {names[2]}")

    low.assign(item.operands[0], elementwise(low, ty, values, make), item.predicate)


@handles("dp4a", "dp2a")
def dot_product(low: Values, item: Instruction) -> None:
    """Four products of bytes, or two of a half-word and a byte, added to a 32-bit sum."""
    b = low.b
    a_signed, b_signed = signed(item.parts[-2]), signed(item.parts[-1])
    values = [low.operand(o, "i32") for o in item.operands[1:4]]
    half = item.op == "dp2a"
    first = 2 if half and "hi" in item.parts else 0

    def part(t: str, name: str, at: int, width: int, is_signed: bool) -> str:
        up = b.value(f"shl {t} {name}, {const(t, 32 - width * (at + 1))}")
        return b.value(f"{'ashr' if is_signed else 'lshr'} {t} {up}, {const(t, 32 - width)}")

    def make(t: str, _: str, names: list[str]) -> str:
        total = names[2]
        for number in range(2 if half else 4):
            x = part(t, names[0], number, 16 if half else 8, a_signed)
            y = part(t, names[1], first + number, 8, b_signed)
            total = b.value(f"add {t} {total}, {b.value(f'mul {t} {x}, {y}')}")
        return total

    low.assign(item.operands[0], elementwise(low, "i32", values, make), item.predicate)
