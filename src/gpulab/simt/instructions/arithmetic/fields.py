"""Bit fields and byte permutations (PTX manual, sections 9.7.1 and 9.7.9.7)."""

from __future__ import annotations

from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, Value, suffix
from gpulab.simt.instructions.arithmetic.elementwise import as_constant, const, elementwise, signed, type_of
from gpulab.simt.ptx.syntax import Instruction

INT4 = ".u32|u64|s32|s64"


def _in_range(cg: CodegenContext, t: str, name: str, width: int) -> str:
    """Return a position or length reduced to 0 to 255; GPUs truncate or clamp larger values."""
    if width == 32:
        return cg.b.value(f"and {t} {name}, {const(t, 255)}")
    return cg.b.call(f"llvm.umin.{suffix(t)}", t, (t, name), (t, const(t, 255)))


@handles(f"bfe {INT4}")
def extract_bits(cg: CodegenContext, item: Instruction) -> None:
    """Extract `length` bits from `start`; bits beyond the top are zeros or the sign."""
    ty, width = type_of(item), BITS[type_of(item)]
    b, is_signed = cg.b, signed(item.parts[-1])
    value = cg.operand(item.operands[1], ty)
    start, length = (cg.as_type(cg.operand(o, "i32"), ty) for o in item.operands[2:4])

    def make(t: str, _: str, names: list[str]) -> str:
        source, first, count = names
        flag = t.replace(ty, "i1")
        top = const(t, width - 1)
        first, count = (_in_range(cg, t, n, width) for n in (first, count))
        past = b.value(f"icmp ugt {t} {first}, {top}")
        fitted = b.value(f"select {flag} {past}, {t} {top}, {t} {first}")
        action = "ashr" if is_signed else "lshr"
        low_part = b.value(f"{action} {t} {source}, {fitted}")
        beyond = b.value(f"ashr {t} {source}, {top}") if is_signed else const(t, 0)
        low_part = b.value(f"select {flag} {past}, {t} {beyond}, {t} {low_part}")
        empty = b.value(f"icmp eq {t} {count}, {const(t, 0)}")
        full = b.value(f"icmp ugt {t} {count}, {top}")
        shift = b.value(f"sub {t} {const(t, width)}, {count}")
        shift = b.value(f"and {t} {shift}, {top}")
        cut = b.value(f"{action} {t} {b.value(f'shl {t} {low_part}, {shift}')}, {shift}")
        cut = b.value(f"select {flag} {full}, {t} {low_part}, {t} {cut}")
        return b.value(f"select {flag} {empty}, {t} {const(t, 0)}, {t} {cut}")

    cg.assign(item.operands[0], elementwise(cg, ty, [value, start, length], make), item.predicate)


@handles("bfi .b32|b64")
def insert_bits(cg: CodegenContext, item: Instruction) -> None:
    """Insert the low `length` bits of the first operand at `start` of the second."""
    ty, width = type_of(item), BITS[type_of(item)]
    b = cg.b
    source, into = (cg.operand(o, ty) for o in item.operands[1:3])
    start, length = (cg.as_type(cg.operand(o, "i32"), ty) for o in item.operands[3:5])

    def make(t: str, _: str, names: list[str]) -> str:
        value, base, first, count = names
        flag = t.replace(ty, "i1")
        first, count = (_in_range(cg, t, n, width) for n in (first, count))
        past = b.value(f"icmp ugt {t} {first}, {const(t, width - 1)}")
        fitted = b.value(f"select {flag} {past}, {t} {const(t, 0)}, {t} {first}")
        full = b.value(f"icmp ugt {t} {count}, {const(t, width - 1)}")
        small = b.value(f"select {flag} {full}, {t} {const(t, 0)}, {t} {count}")
        ones = b.value(f"sub {t} {b.value(f'shl {t} {const(t, 1)}, {small}')}, {const(t, 1)}")
        ones = b.value(f"select {flag} {full}, {t} {const(t, -1)}, {t} {ones}")
        field = b.value(f"shl {t} {ones}, {fitted}")
        moved = b.value(f"and {t} {b.value(f'shl {t} {value}, {fitted}')}, {field}")
        rest = b.value(f"and {t} {base}, {b.value(f'xor {t} {field}, {const(t, -1)}')}")
        return b.value(f"select {flag} {past}, {t} {base}, {t} {b.value(f'or {t} {moved}, {rest}')}")

    cg.assign(item.operands[0], elementwise(cg, ty, [source, into, start, length], make), item.predicate)


@handles("bmsk.clamp|wrap .b32")
def field_mask(cg: CodegenContext, item: Instruction) -> None:
    """Return a mask of `width` ones from bit `start` upwards."""
    values = [cg.operand(o, "i32") for o in item.operands[1:3]]
    b, clamps = cg.b, "clamp" in item.parts

    def make(t: str, _: str, names: list[str]) -> str:
        flag = t.replace("i32", "i1")
        start = b.value(f"and {t} {names[0]}, {const(t, 31)}")
        width = b.value(f"and {t} {names[1]}, {const(t, 31)}")
        from_start = b.value(f"shl {t} {const(t, -1)}, {start}")
        end = b.value(f"add {t} {start}, {width}")
        beyond = b.value(f"icmp ugt {t} {end}, {const(t, 31)}")
        if clamps:
            wide = b.value(f"icmp ugt {t} {names[1]}, {const(t, 31)}")
            beyond = b.value(f"or {flag} {beyond}, {wide}")
        from_end = b.value(f"shl {t} {const(t, -1)}, {b.value(f'and {t} {end}, {const(t, 31)}')}")
        inside = b.value(f"xor {t} {from_end}, {const(t, -1)}")
        rest = b.value(f"select {flag} {beyond}, {t} {const(t, -1)}, {t} {inside}")
        field = b.value(f"and {t} {from_start}, {rest}")
        if not clamps:
            return field
        outside = b.value(f"icmp ugt {t} {names[0]}, {const(t, 31)}")
        return b.value(f"select {flag} {outside}, {t} {const(t, 0)}, {t} {field}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)


@handles("szext.clamp|wrap .u32|s32")
def extend_bits(cg: CodegenContext, item: Instruction) -> None:
    """Extend the low N bits by zeros or their sign; N = 0 gives 0."""
    values = [cg.operand(o, "i32") for o in item.operands[1:3]]
    b, action = cg.b, "ashr" if signed(item.parts[-1]) else "lshr"

    def make(t: str, _: str, names: list[str]) -> str:
        flag = t.replace("i32", "i1")
        bits = b.value(f"and {t} {names[1]}, {const(t, 31)}")
        shift = b.value(f"and {t} {b.value(f'sub {t} {const(t, 32)}, {bits}')}, {const(t, 31)}")
        cut = b.value(f"{action} {t} {b.value(f'shl {t} {names[0]}, {shift}')}, {shift}")
        empty = b.value(f"icmp eq {t} {bits}, {const(t, 0)}")
        cut = b.value(f"select {flag} {empty}, {t} {const(t, 0)}, {t} {cut}")
        if "wrap" in item.parts:
            return cut
        full = b.value(f"icmp ugt {t} {names[1]}, {const(t, 31)}")
        return b.value(f"select {flag} {full}, {t} {names[0]}, {t} {cut}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)


# -- bytes --------------------------------------------------------------------------------------

MODES = {  # source bytes of the result for each value of the selector's low two bits
    "f4e": ("0123", "1234", "2345", "3456"),
    "b4e": ("0765", "1076", "2107", "3210"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("0123", "1123", "2223", "3333"),
    "ecr": ("0000", "0111", "0122", "0123"),
    "rc16": ("0101", "2323", "0101", "2323"),
}


@handles("prmt .b32", "prmt .b32.f4e|b4e|rc8|ecl|ecr|rc16")
def permute(cg: CodegenContext, item: Instruction) -> None:
    """Pick four bytes of eight by the nibbles of a selector; bit 3 of a nibble replicates the sign."""
    values = [cg.operand(o, "i32") for o in item.operands[1:4]]
    selector = as_constant(values[2])
    mode = MODES.get(item.parts[-1])
    if mode is not None:
        values[2] = _selector(cg, mode, values[2])
        selector = None
    if selector is not None and not selector & 0x8888:
        result = elementwise(cg, "i32", values[:2], lambda t, _, n: _fixed_bytes(cg, t, n, selector))
    else:
        result = elementwise(cg, "i32", values, lambda t, _, n: _chosen_bytes(cg, t, n))
    cg.assign(item.operands[0], result, item.predicate)


def _selector(cg: CodegenContext, mode: tuple[str, ...], control: Value) -> Value:
    """Return the selector of a mode from a table of four 16-bit words, indexed by two bits."""
    words = [sum(int(byte) << 4 * place for place, byte in enumerate(row)) for row in mode]
    table = sum(word << 16 * number for number, word in enumerate(words))
    table -= (table >> 63) << 64
    b = cg.b

    def make(t: str, _: str, names: list[str]) -> str:
        wide = t.replace("i32", "i64")
        index = b.value(f"and {t} {names[0]}, {const(t, 3)}")
        amount = b.value(f"zext {t} {b.value(f'shl {t} {index}, {const(t, 4)}')} to {wide}")
        word = b.value(f"lshr {wide} {const(wide, table)}, {amount}")
        return b.value(f"trunc {wide} {word} to {t}")

    return elementwise(cg, "i32", [control], make)


def _fixed_bytes(cg: CodegenContext, t: str, names: list[str], selector: int) -> str:
    """Permute by a constant selector; bytes with the same displacement move together."""
    b = cg.b
    moves: dict[tuple[int, int], int] = {}  # (operand, displacement in bytes) -> mask of the result
    for place in range(4):
        byte = selector >> 4 * place & 7
        key = (byte >> 2, place - (byte & 3))
        moves[key] = moves.get(key, 0) | 255 << 8 * place
    result = ""
    for (operand, left), mask in moves.items():
        part = names[operand]
        if left:
            part = b.value(f"{'shl' if left > 0 else 'lshr'} {t} {part}, {const(t, 8 * abs(left))}")
        if mask != 0xFFFFFFFF:
            part = b.value(f"and {t} {part}, {const(t, mask - (mask >> 31 << 32))}")
        result = b.value(f"or {t} {result}, {part}") if result else part
    return result


def _chosen_bytes(cg: CodegenContext, t: str, names: list[str]) -> str:
    b = cg.b
    wide, flag = t.replace("i32", "i64"), t.replace("i32", "i1")
    x, y, selector = (b.value(f"zext {t} {n} to {wide}") for n in names)
    both = b.value(f"or {wide} {x}, {b.value(f'shl {wide} {y}, {const(wide, 32)}')}")
    result = const(wide, 0)
    for byte in range(4):
        nibble = b.value(f"lshr {wide} {selector}, {const(wide, 4 * byte)}")
        index = b.value(f"shl {wide} {b.value(f'and {wide} {nibble}, {const(wide, 7)}')}, {const(wide, 3)}")
        value = b.value(f"and {wide} {b.value(f'lshr {wide} {both}, {index}')}, {const(wide, 255)}")
        sign = b.value(f"and {wide} {nibble}, {const(wide, 8)}")
        spread = b.value(f"icmp ne {wide} {sign}, {const(wide, 0)}")
        high = b.value(f"mul {wide} {b.value(f'lshr {wide} {value}, {const(wide, 7)}')}, {const(wide, 255)}")
        value = b.value(f"select {flag} {spread}, {wide} {high}, {wide} {value}")
        result = b.value(f"or {wide} {result}, {b.value(f'shl {wide} {value}, {const(wide, 8 * byte)}')}")
    return b.value(f"trunc {wide} {result} to {t}")
