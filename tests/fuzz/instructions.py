"""Arithmetic PTX instructions of the interpreter: operand types, result type and a function of one thread.

The functions follow the PTX ISA manual and use Python's integers and floats; they share no code with the
simulator. They cover the instructions that the generated kernels compile to; others raise
`NotInterpreted`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from gpulab.simt.ptx.syntax import Imm, Instruction
from tests.fuzz import exact

__all__ = ["ATOMICS", "NotInterpreted", "Unspecified", "bits_of", "decode", "encode", "operation"]

Operation = tuple[Callable[..., Any], tuple[str, ...], str]  # function, operand types, result type


class NotInterpreted(Exception):
    """The interpreter does not implement an instruction or one of its forms."""


class Unspecified(Exception):
    """The kernel's result is not specified by PTX, so the case proves nothing about the simulator."""


def bits_of(ty: str) -> int:
    if ty == "pred":
        return 1
    return int(ty.lstrip("busf"))


def decode(bits: int, ty: str) -> Any:
    """Return the value of a bit pattern in type `ty`."""
    if ty[0] == "f":
        return exact.float_of_bits(bits, ty)
    if ty[0] == "s":
        width = bits_of(ty)
        return bits - (1 << width) if bits >> (width - 1) else bits
    return bits


def encode(value: Any, ty: str) -> int:
    """Return the bit pattern of a value in type `ty`."""
    if ty[0] == "f":
        return exact.bits_of_float(value, ty)
    return int(value) & ((1 << bits_of(ty)) - 1)


def operation(item: Instruction) -> Operation:
    """Return the function, the operand types and the result type of an instruction."""
    decoder = _TABLE.get(item.op)
    if decoder is None:
        raise NotInterpreted(item.text)
    return decoder(item)


def _same(item: Instruction, function: Callable[..., Any], count: int) -> Operation:
    ty = item.parts[-1]
    return function, (ty,) * count, ty


# -- sums and products --------------------------------------------------------------------------


def _rounding(item: Instruction) -> str:
    return next((p for p in item.parts if p in ("rn", "rz", "rm", "rp")), "rn")


def _flushed(item: Instruction, function: Callable[..., float]) -> Callable[..., float]:
    """Apply `.ftz` and `.sat` to a function of floats."""
    ftz, sat, ty = "ftz" in item.parts, "sat" in item.parts, item.parts[-1]

    def flush(x: float) -> float:
        return math.copysign(0.0, x) if ftz and ty == "f32" and abs(x) < 2.0**-126 else x

    def full(*values: float) -> float:
        result = flush(function(*map(flush, values)))
        if sat:
            return 0.0 if result != result else min(max(result, 0.0), 1.0)
        return result

    return full if ftz or sat else function


def _sum(item: Instruction) -> Operation:
    ty = item.parts[-1]
    if ty[0] == "f":
        mode, op = _rounding(item), item.op
        return _same(item, _flushed(item, lambda a, b: exact.binary(op, a, b, ty, mode)), 2)
    if "cc" in item.parts or "sat" in item.parts:
        raise NotInterpreted(item.text)
    return _same(item, operator.add if item.op == "add" else operator.sub, 2)


def _product(item: Instruction) -> Operation:
    ty = item.parts[-1]
    if ty[0] == "f":
        mode = _rounding(item)
        if item.op == "mul":
            return _same(item, _flushed(item, lambda a, b: exact.binary("mul", a, b, ty, mode)), 2)
        return _same(item, _flushed(item, lambda a, b, c: exact.fused_multiply_add(a, b, c, ty, mode)), 3)
    if "cc" in item.parts or "sat" in item.parts:
        raise NotInterpreted(item.text)
    shift, result = 0, ty
    if "wide" in item.parts:
        result = f"{ty[0]}{2 * bits_of(ty)}"
    elif "hi" in item.parts:
        shift = bits_of(ty)
    if item.op == "mul":
        return (lambda a, b: a * b >> shift), (ty, ty), result
    return (lambda a, b, c: (a * b >> shift) + c), (ty, ty, result), result


def _division(item: Instruction) -> Operation:
    ty = item.parts[-1]
    if ty[0] == "f":
        if "approx" in item.parts or "full" in item.parts:
            raise NotInterpreted(item.text)
        mode = _rounding(item)
        return _same(item, _flushed(item, lambda a, b: exact.binary("div", a, b, ty, mode)), 2)

    def divide(a: int, b: int) -> int:
        if b == 0:
            raise Unspecified("integer division by 0")
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if item.op == "div" else a - quotient * b

    return _same(item, divide, 2)


def _reciprocal(item: Instruction) -> Operation:
    ty, mode = item.parts[-1], _rounding(item)
    if "approx" in item.parts:
        raise NotInterpreted(item.text)
    return _same(item, _flushed(item, lambda a: exact.binary("div", 1.0, a, ty, mode)), 1)


def _root(item: Instruction) -> Operation:
    ty = item.parts[-1]
    if "approx" in item.parts or _rounding(item) != "rn":
        raise NotInterpreted(item.text)
    return _same(item, _flushed(item, lambda a: exact.square_root(a, ty)), 1)


def _extremum(item: Instruction) -> Operation:
    most, ty = item.op == "max", item.parts[-1]
    if ty[0] != "f":
        return _same(item, max if most else min, 2)

    def choose(a: float, b: float) -> float:
        if a != a or b != b:
            return math.nan if "NaN" in item.parts or (a != a and b != b) else b if a != a else a
        if a == b == 0:  # +0 counts as larger than -0
            return max(math.copysign(1, a), math.copysign(1, b)) * 0.0 if most else _lower_zero(a, b)
        return max(a, b) if most else min(a, b)

    return _same(item, _flushed(item, choose), 2)


def _lower_zero(a: float, b: float) -> float:
    return min(math.copysign(1, a), math.copysign(1, b)) * 0.0


def _negation(item: Instruction) -> Operation:
    return _same(item, _flushed(item, operator.neg) if item.parts[-1][0] == "f" else operator.neg, 1)


def _absolute(item: Instruction) -> Operation:
    return _same(item, _flushed(item, abs) if item.parts[-1][0] == "f" else abs, 1)


def _copysign(item: Instruction) -> Operation:
    return _same(item, lambda sign, size: math.copysign(size, sign), 2)


# -- comparison and choice ----------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip


def _comparison(name: str, ty: str, ftz: bool) -> Callable[[Any, Any], bool]:
    if ty[0] != "f":
        return _COMPARE[name]

    def compare(a: float, b: float) -> bool:
        if ftz and ty == "f32":
            a, b = (0.0 if abs(x) < 2.0**-126 else x for x in (a, b))
        unordered = a != a or b != b
        if name in ("num", "nan"):
            return unordered == (name == "nan")
        if unordered:
            return name.endswith("u")
        return _COMPARE[name.removesuffix("u")](a, b)

    return compare


def _joined(item: Instruction) -> tuple[Callable[..., tuple[bool, bool]], tuple[str, ...]]:
    """Return a function that gives a comparison and its negation, each combined with an optional operand."""
    ty = item.parts[-1]
    compare = _comparison(item.parts[1], ty, "ftz" in item.parts)
    joint = next((p for p in item.parts[2:-1] if p in ("and", "or", "xor")), None)
    if joint is None:
        return (lambda a, b: (compare(a, b), not compare(a, b))), (ty, ty)
    join = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[joint]

    def both(a: Any, b: Any, c: int) -> tuple[bool, bool]:
        flag = compare(a, b)
        return join(flag, bool(c)), join(not flag, bool(c))

    return both, (ty, ty, "pred")


def _predicate(item: Instruction) -> Operation:
    function, types = _joined(item)
    return function, types, "pred"


def _flag(item: Instruction) -> Operation:
    function, types = _joined(item)
    to = item.parts[-2]
    if to == "f32":
        return (lambda *v: float(function(*v)[0])), types, to
    return (lambda *v: -int(function(*v)[0])), types, to


def _selection(item: Instruction) -> Operation:
    bits = f"b{bits_of(item.parts[-1])}"  # a selection preserves the bits, also those of a NaN
    return (lambda a, b, p: a if p else b), (bits, bits, "pred"), bits


def _selection_by_sign(item: Instruction) -> Operation:
    bits = f"b{bits_of(item.parts[-2])}"
    return (lambda a, b, c: a if c >= 0 else b), (bits, bits, item.parts[-1]), bits


# -- bits ---------------------------------------------------------------------------------------


def _logic(item: Instruction) -> Operation:
    return _same(item, {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[item.op], 2)


def _shift(item: Instruction) -> Operation:
    """Shift; a count beyond the width acts as the width."""
    ty, bits = item.parts[-1], bits_of(item.parts[-1])
    if item.op == "shl":
        return (lambda a, n: a << min(n, bits)), (ty, "u32"), ty
    return (lambda a, n: a >> min(n, bits)), (ty, "u32"), ty


def _counted(item: Instruction) -> Operation:
    ty, bits = item.parts[-1], bits_of(item.parts[-1])
    if item.op == "popc":
        return int.bit_count, (ty,), "u32"
    if item.op == "clz":
        return (lambda a: bits - a.bit_length()), (ty,), "u32"
    if item.op == "brev":
        return (lambda a: int(f"{a:0{bits}b}"[::-1], 2)), (ty,), ty

    def highest(a: int) -> int:
        place = (~a if a < 0 else a).bit_length() - 1
        return bits - 1 - place if "shiftamt" in item.parts and place >= 0 else place

    return highest, (ty,), "u32"


def _extract(item: Instruction) -> Operation:
    ty, bits = item.parts[-1], bits_of(item.parts[-1])

    def extract(a: int, start: int, length: int) -> int:
        start, length = start & 255, length & 255
        sign = 0
        raw = a & ((1 << bits) - 1)
        if ty[0] == "s" and length:
            sign = raw >> min(start + length - 1, bits - 1) & 1
        found = 0
        for i in range(bits):
            inside = i < length and start + i < bits
            found |= (raw >> (start + i) & 1 if inside else sign) << i
        return found

    return extract, (ty, "u32", "u32"), ty


def _insert(item: Instruction) -> Operation:
    ty, bits = item.parts[-1], bits_of(item.parts[-1])

    def insert(a: int, b: int, start: int, length: int) -> int:
        start, length = start & 255, length & 255
        for i in range(min(length, bits)):
            if start + i < bits:
                b = b & ~(1 << start + i) | (a >> i & 1) << start + i
        return b

    return insert, (ty, ty, "u32", "u32"), ty


def _logic3(item: Instruction) -> Operation:
    table = item.operands[4]
    assert isinstance(table, Imm)

    def logic(a: int, b: int, c: int) -> int:
        rows = ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32))
        return sum((int(table.value) >> row & 1) << i for i, row in enumerate(rows))

    return logic, ("b32",) * 3, "b32"


def _funnel(item: Instruction) -> Operation:
    left, clamp = "l" in item.parts, "clamp" in item.parts

    def funnel(a: int, b: int, count: int) -> int:
        count = min(count, 32) if clamp else count & 31
        both = b << 32 | a
        return both << count >> 32 if left else both >> count

    return funnel, ("b32",) * 3, "b32"


def _permute(item: Instruction) -> Operation:
    if len(item.parts) > 2:
        raise NotInterpreted(item.text)

    def permute(a: int, b: int, selector: int) -> int:
        found = 0
        for place in range(4):
            nibble = selector >> 4 * place & 15
            byte = (b << 32 | a) >> 8 * (nibble & 7) & 255
            if nibble & 8:
                byte = 255 * (byte >> 7)
            found |= byte << 8 * place
        return found

    return permute, ("b32",) * 3, "b32"


def _difference(item: Instruction) -> Operation:
    return _same(item, lambda a, b, c: abs(a - b) + c, 3)


def _dot(item: Instruction) -> Operation:
    """Return `dp4a` (four products of bytes) or `dp2a` (two half-words times two of the four bytes)."""
    first, second = item.parts[-2], item.parts[-1]
    half = item.op == "dp2a"
    width, from_byte = (16, 2 if "hi" in item.parts else 0) if half else (8, 0)

    def dot(a: int, b: int, c: int) -> int:
        for i in range(32 // width):
            x, y = a >> width * i & (1 << width) - 1, b >> 8 * (from_byte + i) & 255
            c += decode(x, f"{first[0]}{width}") * decode(y, f"{second[0]}8")
        return c

    return dot, ("b32", "b32", "b32"), "b32"


# -- conversion ---------------------------------------------------------------------------------


def _conversion(item: Instruction) -> Operation:
    to, source = item.parts[-2], item.parts[-1]
    mode = next((p for p in item.parts if p in ("rni", "rzi", "rmi", "rpi")), None)
    if {"satfinite", "relu", "rna", "rs"} & set(item.parts) or "f16" in (to, source):
        raise NotInterpreted(item.text)
    ftz = "ftz" in item.parts

    def flush(x: float) -> float:
        return math.copysign(0.0, x) if ftz and abs(x) < 2.0**-126 else x

    def clamp(x: Any) -> Any:
        if "sat" not in item.parts:
            return x
        if to[0] == "f":
            return 0.0 if x != x else min(max(x, 0.0), 1.0)
        bits, is_signed = bits_of(to), to[0] == "s"
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        return min(max(x, least), most)

    def convert(x: Any) -> Any:
        if source == "f32":
            x = flush(x)
        if source[0] != "f":
            x = clamp(exact.from_int(x, to, _rounding(item)) if to[0] == "f" else x)
        elif to[0] != "f":
            return exact.to_int(x, bits_of(to), to[0] == "s", mode or "rzi", source)
        elif mode is not None:
            x = exact.round_to_integer(x, mode)
        elif to == "f32" and source == "f64":
            directed = _rounding(item) != "rn" and math.isfinite(x) and x
            x = (
                exact.round_fraction(exact.Fraction(x), "f32", _rounding(item))
                if directed
                else exact.to_float32(x)
            )
        if to[0] == "f":
            x = clamp(flush(x) if to == "f32" else x)
        return x

    return convert, (source,), to


_TABLE: dict[str, Callable[[Instruction], Operation]] = {
    "add": _sum, "sub": _sum, "mul": _product, "mad": _product, "fma": _product, "div": _division,
    "rem": _division, "rcp": _reciprocal, "sqrt": _root, "min": _extremum, "max": _extremum, "neg": _negation,
    "abs": _absolute, "copysign": _copysign, "setp": _predicate, "set": _flag, "selp": _selection,
    "slct": _selection_by_sign, "and": _logic, "or": _logic, "xor": _logic,
    "not": lambda item: _same(item, operator.invert, 1), "shl": _shift, "shr": _shift, "popc": _counted,
    "clz": _counted, "brev": _counted, "bfind": _counted, "bfe": _extract, "bfi": _insert, "lop3": _logic3,
    "shf": _funnel, "prmt": _permute, "sad": _difference, "dp2a": _dot, "dp4a": _dot,
    "cvt": _conversion,
}  # fmt: skip

ATOMICS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "min": min, "max": max,
    "exch": lambda old, new: new, "cas": lambda old, compare, new: new if old == compare else old,
    "inc": lambda old, most: 0 if old >= most else old + 1,
    "dec": lambda old, most: most if old == 0 or old > most else old - 1,
}  # fmt: skip
