"""Logic, shifts, and counting or finding bits (PTX manual, sections 9.7.1 and 9.7.8)."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, Value, suffix
from gpulab.simt.instructions.arithmetic.elementwise import (
    as_constant,
    const,
    elementwise,
    product,
    shifted_right,
    signed,
    simple,
    total,
    type_of,
)
from gpulab.simt.ptx.syntax import Imm, Instruction, Reg, vector_elements

BITWISE = ".pred|b16|b32|b64"
INT4 = ".u32|u64|s32|s64"


@handles(f"and|or|xor {BITWISE}")
def logic(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    values = [cg.operand(o, ty) for o in item.operands[1:]]
    target = item.operands[0]
    if item.op == "or" and isinstance(target, Reg) and cg.shape(target.name).kind == "affine":
        # The operands of an affine `or` have no bit in common, so that it is a sum.
        cg.assign(target, total(cg, item, ty, values[0], values[1]), item.predicate)
        return
    simple(cg, item, lambda t, n: f"{item.op} {t} {n[0]}, {n[1]}")


@handles(f"not {BITWISE}")
def complement(cg: CodegenContext, item: Instruction) -> None:
    ones = "true" if item.parts[-1] == "pred" else -1
    simple(cg, item, lambda t, n: f"xor {t} {n[0]}, {const(t, ones)}")


@handles("cnot .b16|b32|b64")
def logical_not(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)

    def text(t: str, names: list[str]) -> str:
        flag = cg.b.value(f"icmp eq {t} {names[0]}, {const(t, 0)}")
        return f"zext {t.replace(ty, 'i1')} {flag} to {t}"

    simple(cg, item, text)


@handles("shl .b16|b32|b64", "shr .b16|b32|b64|u16|u32|u64|s16|s32|s64")
def shift(cg: CodegenContext, item: Instruction) -> None:
    """Shift; a count of at least the width gives 0, or copies of the sign for `shr.s`."""
    ty, bits = type_of(item), BITS[type_of(item)]
    value, amount = cg.operand(item.operands[1], ty), cg.operand(item.operands[2], "i32")
    count = as_constant(amount)
    b = cg.b
    if item.op == "shl" and count is not None and 0 <= count < bits:
        factor = Value(ty, "uniform", (str(1 << count if count < bits - 1 else -(1 << count)),))
        cg.assign(item.operands[0], product(cg, item, ty, value, factor), item.predicate)
        return
    arithmetic = item.op == "shr" and signed(item.parts[-1])
    action = "shl" if item.op == "shl" else "ashr" if arithmetic else "lshr"
    if count is not None:
        count = min(count & 0xFFFFFFFF, bits - 1 if arithmetic else bits)
        if count == bits:
            cg.assign(item.operands[0], Value(ty, "uniform", ("0",)), item.predicate)
            return
        result = elementwise(cg, ty, [value], lambda t, _, n: shifted_right(cg, action, t, n[0], count))
        cg.assign(item.operands[0], result, item.predicate)
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

    cg.assign(item.operands[0], elementwise(cg, ty, [value, amount], make), item.predicate)


@handles("shf.l|r.clamp|wrap .b32")
def funnel(cg: CodegenContext, item: Instruction) -> None:
    values = [cg.operand(o, "i32") for o in item.operands[1:4]]
    b, left = cg.b, "l" in item.parts
    clamp = "clamp" in item.parts

    def make(t: str, _: str, names: list[str]) -> str:
        lower, upper, count = names
        name = f"llvm.{'fshl' if left else 'fshr'}.{suffix(t)}"
        turned = b.call(
            name, t, (t, upper), (t, lower), (t, count)
        )  # the intrinsic takes the count modulo 32
        if not clamp:
            return turned
        past = b.value(f"icmp ugt {t} {count}, {const(t, 31)}")
        whole = lower if left else upper
        return b.value(f"select {t.replace('i32', 'i1')} {past}, {t} {whole}, {t} {turned}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)


# -- counting and finding -----------------------------------------------------------------------


@handles("popc|clz|brev .b32|b64", f"bfind{{.shiftamt}} {INT4}")
def count_bits(cg: CodegenContext, item: Instruction) -> None:
    ty = type_of(item)
    value = cg.operand(item.operands[1], ty)
    b = cg.b

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
        if item.op == "clz":
            return zeros
        if "shiftamt" in item.parts:
            none = b.value(f"icmp eq {t} {source}, {const(t, 0)}")
            return b.value(f"select {t.replace(ty, 'i1')} {none}, {t} {const(t, -1)}, {t} {zeros}")
        return b.value(f"sub {t} {const(t, BITS[ty] - 1)}, {zeros}")  # -1 if no bit is set

    result = elementwise(cg, ty, [value], make)
    if item.op != "brev":
        result = cg.as_type(result, "i32")
    cg.assign(item.operands[0], result, item.predicate)


@handles("fns .b32")
def find_nth_set(cg: CodegenContext, item: Instruction) -> None:
    """Find the n-th set bit upwards (n > 0) or downwards (n < 0) from `base`; -1 if there is none."""
    values = [cg.operand(o, "i32") for o in item.operands[1:4]]
    b = cg.b

    def make(t: str, _: str, names: list[str]) -> str:
        mask, base, number = names
        flag = t.replace("i32", "i1")
        base = b.value(f"and {t} {base}, {const(t, 31)}")  # undefined in the manual beyond 31
        down = b.value(f"icmp slt {t} {number}, {const(t, 0)}")

        # A search downwards is a search upwards in the reversed word.
        turned = b.call(f"llvm.bitreverse.{suffix(t)}", t, (t, mask))
        word = b.value(f"select {flag} {down}, {t} {turned}, {t} {mask}")
        mirrored = b.value(f"sub {t} {const(t, 31)}, {base}")
        start = b.value(f"select {flag} {down}, {t} {mirrored}, {t} {base}")
        ones = b.value(f"shl {t} {const(t, -1)}, {start}")
        word = b.value(f"and {t} {word}, {ones}")
        left = b.call(f"llvm.abs.{suffix(t)}", t, (t, number), ("i1", "false"))

        # Binary search for the bit of rank n, by the number of set bits in the lower half of the interval.
        rank = b.value(f"sub {t} {left}, {const(t, 1)}")
        at = const(t, 0)
        for width in (16, 8, 4, 2, 1):
            part = b.value(f"lshr {t} {word}, {at}")
            part = b.value(f"and {t} {part}, {const(t, (1 << width) - 1)}")
            below = b.call(f"llvm.ctpop.{suffix(t)}", t, (t, part))
            higher = b.value(f"icmp uge {t} {rank}, {below}")
            passed = b.value(f"select {flag} {higher}, {t} {below}, {t} {const(t, 0)}")
            rank = b.value(f"sub {t} {rank}, {passed}")
            step = b.value(f"select {flag} {higher}, {t} {const(t, width)}, {t} {const(t, 0)}")
            at = b.value(f"or {t} {at}, {step}")

        count = b.call(f"llvm.ctpop.{suffix(t)}", t, (t, word))
        found = b.value(f"icmp ule {t} {left}, {count}")
        back = b.value(f"sub {t} {const(t, 31)}, {at}")
        place = b.value(f"select {flag} {down}, {t} {back}, {t} {at}")
        place = b.value(f"select {flag} {found}, {t} {place}, {t} {const(t, -1)}")

        # n = 0 tests the bit at `base` itself.
        here = b.value(f"and {t} {b.value(f'lshr {t} {mask}, {base}')}, {const(t, 1)}")
        is_set = b.value(f"icmp ne {t} {here}, {const(t, 0)}")
        itself = b.value(f"select {flag} {is_set}, {t} {base}, {t} {const(t, -1)}")
        none = b.value(f"icmp eq {t} {number}, {const(t, 0)}")
        return b.value(f"select {flag} {none}, {t} {itself}, {t} {place}")

    cg.assign(item.operands[0], elementwise(cg, "i32", values, make), item.predicate)


# -- functions of three bits --------------------------------------------------------------------


def _of_two(cg: CodegenContext, t: str, table: int, x: str, y: str) -> str:
    """Return the function of two bits with a truth table, whose bit 2 x + y is the value for (x, y)."""
    b, ones = cg.b, const(t, -1)
    single = {0b0000: const(t, 0), 0b1111: ones, 0b1100: x, 0b1010: y}
    if table in single:
        return single[table]
    if table & 1:  # true for (0, 0): the complement has a simpler form
        return b.value(f"xor {t} {_of_two(cg, t, table ^ 0b1111, x, y)}, {ones}")
    if table == 0b0100:
        return b.value(f"and {t} {x}, {b.value(f'xor {t} {y}, {ones}')}")
    if table == 0b0010:
        return b.value(f"and {t} {y}, {b.value(f'xor {t} {x}, {ones}')}")
    return b.value(f"{ {0b1000: 'and', 0b1110: 'or', 0b0110: 'xor'}[table] } {t} {x}, {y}")


@handles("lop3 .b32", "lop3.and|or .b32")
def logic3(cg: CodegenContext, item: Instruction) -> None:
    """Compute any function of three bits: its value for x = 0, changed where x is 1."""
    table = item.operands[4]
    if not isinstance(table, Imm) or not isinstance(table.value, int):
        raise UnsupportedInstruction(item.text, item.line, "its table must be a number")
    bits = table.value & 255
    values = [cg.operand(o, "i32") for o in item.operands[1:4]]
    b = cg.b

    def make(t: str, _: str, names: list[str]) -> str:
        x, y, z = names
        without, change = bits & 15, (bits & 15) ^ (bits >> 4)
        base = _of_two(cg, t, without, y, z)
        if not change:
            return base
        changed = b.value(f"and {t} {x}, {_of_two(cg, t, change, y, z)}")
        return b.value(f"xor {t} {base}, {changed}")

    targets = vector_elements(item.operands[0])
    result = elementwise(cg, "i32", values, make)
    joint = next((p for p in item.parts if p in ("and", "or")), None)
    if joint is not None:
        other = cg.operand(item.operands[5], "i1")

        def flag(t: str, _: str, names: list[str]) -> str:
            return b.value(f"icmp ne {t} {names[0]}, {const(t, 0)}")

        nonzero = elementwise(cg, "i1", [result], flag)
        predicate = elementwise(
            cg, "i1", [nonzero, other], lambda t, _, n: b.value(f"{joint} {t} {n[0]}, {n[1]}")
        )
        if len(targets) > 1:
            cg.assign(targets[1], predicate, item.predicate)
    cg.assign(targets[0], result, item.predicate)
