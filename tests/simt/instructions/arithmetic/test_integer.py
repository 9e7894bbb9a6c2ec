"""Comparison of integer arithmetic with Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.simt.patterns import INTEGERS, combined
from tests.simt.ptx_harness import SHAPES, Case, everywhere, run

TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


def numbers(array: np.ndarray, ty: str) -> list[int]:
    """Return the bits of an array as integers."""
    signed = array.view(array.dtype.str.replace("u", "i")) if ty[0] == "s" else array
    return [int(x) for x in signed]


def low_bits(values: list[int], bits: int) -> list[int]:
    return [v & ((1 << bits) - 1) for v in values]


def clamp(value: int, bits: int) -> int:
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))


def check(
    cases: list[tuple[str, int, Callable[..., int]]],
    inputs: dict[str, np.ndarray],
    types: dict[str, str],
    shapes: Sequence[str] = SHAPES[:2],
) -> None:
    """Run the cases: text, bits of the result, and the function on Python's integers."""
    found = everywhere([Case(text, f"u{max(bits, 16) // 8}") for text, bits, _ in cases], inputs, shapes)
    columns = [numbers(inputs[name], types[name]) for name in inputs]
    for (text, bits, wanted), got in zip(cases, found, strict=True):
        expected = low_bits([wanted(*row) for row in zip(*columns, strict=True)], bits)
        actual = [int(x) & ((1 << bits) - 1) for x in got]
        wrong = [i for i, (g, e) in enumerate(zip(actual, expected, strict=True)) if g != e]
        assert not wrong, (
            text,
            [hex(c[wrong[0]]) for c in columns],
            hex(actual[wrong[0]]),
            hex(expected[wrong[0]]),
        )


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


@pytest.mark.parametrize("ty", TYPES)
def test_sums_products_and_quotients(ty: str) -> None:
    bits = int(ty[1:])
    a, b, c = combined(INTEGERS[bits], bits, 3, 400)
    cases: list[tuple[str, int, Callable[..., int]]] = [
        (f"add.{ty} %o, %a, %b;", bits, lambda a, b, c: a + b),
        (f"sub.{ty} %o, %a, %b;", bits, lambda a, b, c: a - b),
        (f"mul.lo.{ty} %o, %a, %b;", bits, lambda a, b, c: a * b),
        (f"mul.hi.{ty} %o, %a, %b;", bits, lambda a, b, c: a * b >> bits),
        (f"mad.lo.{ty} %o, %a, %b, %c;", bits, lambda a, b, c: a * b + c),
        (f"mad.hi.{ty} %o, %a, %b, %c;", bits, lambda a, b, c: (a * b >> bits) + c),
        (f"sad.{ty} %o, %a, %b, %c;", bits, lambda a, b, c: abs(a - b) + c),
        (f"min.{ty} %o, %a, %b;", bits, lambda a, b, c: min(a, b)),
        (f"max.{ty} %o, %a, %b;", bits, lambda a, b, c: max(a, b)),
        # The manual leaves division by zero undefined; GPUs give all ones.
        (f"div.{ty} %o, %a, %b;", bits, lambda a, b, c: truncated(a, b) if b else -1),
        (f"rem.{ty} %o, %a, %b;", bits, lambda a, b, c: a - b * truncated(a, b) if b else -1),
    ]
    if bits < 64:
        cases += [(f"mul.wide.{ty} %o, %a, %b;", 2 * bits, lambda a, b, c: a * b)]
    if ty[0] == "s":
        cases += [
            (f"neg.{ty} %o, %a;", bits, lambda a, b, c: -a),
            (f"abs.{ty} %o, %a;", bits, lambda a, b, c: abs(a)),
        ]
    if ty == "s32":
        cases += [
            ("add.sat.s32 %o, %a, %b;", bits, lambda a, b, c: clamp(a + b, 32)),
            ("sub.sat.s32 %o, %a, %b;", bits, lambda a, b, c: clamp(a - b, 32)),
            ("mad.hi.sat.s32 %o, %a, %b, %c;", bits, lambda a, b, c: clamp((a * b >> 32) + c, 32)),
            ("min.relu.s32 %o, %a, %b;", bits, lambda a, b, c: max(0, min(a, b))),
            ("max.s32.relu %o, %a, %b;", bits, lambda a, b, c: max(0, a, b)),
        ]
    check(cases, {"a": a, "b": b, "c": c}, dict.fromkeys("abc", ty), SHAPES)


@pytest.mark.parametrize("ty", ["u16", "s16", "u32", "s32"])
def test_wide_multiply_add(ty: str) -> None:
    bits = int(ty[1:])
    a, b = combined(INTEGERS[bits], bits, 2, 400)
    (c,) = combined(INTEGERS[2 * bits], 2 * bits, 1, len(a))
    c = np.resize(c, len(a))
    wide = ty[0] + str(2 * bits)
    check(
        [(f"mad.wide.{ty} %o, %a, %b, %c;", 2 * bits, lambda a, b, c: a * b + c)],
        {"a": a, "b": b, "c": c},
        {"a": ty, "b": ty, "c": wide},
    )


def signed_24(value: int) -> int:
    value &= (1 << 24) - 1
    return value - (1 << 24) if value >> 23 else value


def test_24_bit_products() -> None:
    a, b, c = combined(INTEGERS[32], 32, 3, 400)
    mask = (1 << 24) - 1
    unsigned = [
        ("mul24.lo.u32 %o, %a, %b;", 32, lambda a, b, c: (a & mask) * (b & mask)),
        ("mul24.hi.u32 %o, %a, %b;", 32, lambda a, b, c: (a & mask) * (b & mask) >> 16),
        ("mad24.lo.u32 %o, %a, %b, %c;", 32, lambda a, b, c: (a & mask) * (b & mask) + c),
        ("mad24.hi.u32 %o, %a, %b, %c;", 32, lambda a, b, c: ((a & mask) * (b & mask) >> 16) + c),
    ]
    check(unsigned, {"a": a, "b": b, "c": c}, dict.fromkeys("abc", "u32"))

    def upper(a: int, b: int) -> int:
        value = signed_24(a) * signed_24(b) >> 16 & 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value

    signed = [
        ("mul24.lo.s32 %o, %a, %b;", 32, lambda a, b, c: signed_24(a) * signed_24(b)),
        ("mul24.hi.s32 %o, %a, %b;", 32, lambda a, b, c: upper(a, b)),
        ("mad24.lo.s32 %o, %a, %b, %c;", 32, lambda a, b, c: signed_24(a) * signed_24(b) + c),
        ("mad24.hi.s32 %o, %a, %b, %c;", 32, lambda a, b, c: upper(a, b) + c),
        ("mad24.hi.sat.s32 %o, %a, %b, %c;", 32, lambda a, b, c: clamp(upper(a, b) + c, 32)),
    ]
    check(signed, {"a": a, "b": b, "c": c}, dict.fromkeys("abc", "s32"))


@pytest.mark.parametrize("bits", [32, 64])
def test_long_sums_and_differences_with_carries(bits: int) -> None:
    a, b, c, d = combined(INTEGERS[bits], bits, 4, 400)
    ty, top = f"u{bits}", bits

    def long(low: int, high: int) -> int:
        return low + (high << top)

    def chain(op: str, last: str) -> str:
        return f".reg .b{bits} %low; {op}.cc.{ty} %low, %a, %c; {op}c.{last}{ty} %o, %b, %d;"

    overflow = f".reg .b{bits} %t; add.cc.{ty} %t, %a, %c; addc.cc.{ty} %t, %b, %d; addc.{ty} %o, 0, 0;"
    borrow = f".reg .b{bits} %t; sub.cc.{ty} %t, %a, %c; subc.cc.{ty} %t, %b, %d; subc.{ty} %o, 0, 0;"
    check(
        [
            (chain("add", ""), bits, lambda a, b, c, d: long(a, b) + long(c, d) >> top),
            (chain("sub", ""), bits, lambda a, b, c, d: long(a, b) - long(c, d) >> top),
            (chain("add", "cc."), bits, lambda a, b, c, d: long(a, b) + long(c, d) >> top),
            (overflow, bits, lambda a, b, c, d: long(a, b) + long(c, d) >> 2 * top),
            (borrow, bits, lambda a, b, c, d: long(a, b) - long(c, d) >> 2 * top),
        ],
        {"a": a, "b": b, "c": c, "d": d},
        dict.fromkeys("abcd", ty),
        SHAPES,
    )


@pytest.mark.parametrize("ty", ["u32", "s32", "u64", "s64"])
def test_long_products_with_carries(ty: str) -> None:
    bits = int(ty[1:])
    a, b, c, d = combined(INTEGERS[bits], bits, 4, 400)
    low = f".reg .b{bits} %t; mad.lo.cc.{ty} %t, %a, %b, %c; madc.hi.{ty} %o, %a, %b, %d;"
    third = f".reg .b{bits} %t; mad.hi.cc.{ty} %t, %a, %b, %c; madc.lo.cc.{ty} %o, %a, %b, %d;"

    def carried(a: int, b: int, c: int) -> int:
        """Return the carry of a sum of `bits` bits."""
        mask = (1 << bits) - 1
        return (a * b & mask) + (c & mask) >> bits

    def carried_high(a: int, b: int, c: int) -> int:
        mask = (1 << bits) - 1
        return (a * b >> bits & mask) + (c & mask) >> bits

    check(
        [
            (low, bits, lambda a, b, c, d: (a * b >> bits) + d + carried(a, b, c)),
            (third, bits, lambda a, b, c, d: a * b + d + carried_high(a, b, c)),
        ],
        {"a": a, "b": b, "c": c, "d": d},
        dict.fromkeys("abcd", ty),
    )


def halves(value: int, signed: bool) -> list[int]:
    parts = [value & 0xFFFF, value >> 16 & 0xFFFF]
    return [p - 0x10000 if signed and p >> 15 else p for p in parts]


def paired(operation: Callable[[int, int], int], signed: bool) -> Callable[[int, int], int]:
    def both(a: int, b: int) -> int:
        lower, upper = (
            operation(x, y) & 0xFFFF for x, y in zip(halves(a, signed), halves(b, signed), strict=True)
        )
        return upper << 16 | lower

    return both


def test_packed_half_words() -> None:
    a, b = combined(INTEGERS[32], 32, 2, 600)
    check(
        [
            ("add.u16x2 %o, %a, %b;", 32, paired(lambda x, y: x + y, False)),
            ("add.s16x2 %o, %a, %b;", 32, paired(lambda x, y: x + y, True)),
            ("min.u16x2 %o, %a, %b;", 32, paired(min, False)),
            ("max.s16x2 %o, %a, %b;", 32, paired(max, True)),
            ("max.s16x2.relu %o, %a, %b;", 32, paired(lambda x, y: max(x, y, 0), True)),
            ("min.relu.s16x2 %o, %a, %b;", 32, paired(lambda x, y: max(min(x, y), 0), True)),
        ],
        {"a": a, "b": b},
        {"a": "u32", "b": "u32"},
    )


def part(value: int, at: int, bits: int, signed: bool) -> int:
    found = value >> at * bits & ((1 << bits) - 1)
    return found - (1 << bits) if signed and found >> bits - 1 else found


@pytest.mark.parametrize("types", ["u32.u32", "s32.s32", "u32.s32", "s32.u32"])
def test_dot_products(types: str) -> None:
    x, y = (t[0] == "s" for t in types.split("."))
    a, b, c = combined(INTEGERS[32], 32, 3, 400)

    def four(a: int, b: int, c: int) -> int:
        return c + sum(part(a, i, 8, x) * part(b, i, 8, y) for i in range(4))

    def two(first: int) -> Callable[[int, int, int], int]:
        return lambda a, b, c: c + sum(part(a, i, 16, x) * part(b, first + i, 8, y) for i in range(2))

    check(
        [
            (f"dp4a.{types} %o, %a, %b, %c;", 32, four),
            (f"dp2a.lo.{types} %o, %a, %b, %c;", 32, two(0)),
            (f"dp2a.hi.{types} %o, %a, %b, %c;", 32, two(2)),
        ],
        {"a": a, "b": b, "c": c},
        dict.fromkeys("abc", "u32"),
    )


ROWS = [
    "add.u32 %o, %t, %a;",
    "add.s32 %o, %t, -7;",
    "sub.u32 %o, %a, %t;",
    "mul.lo.u32 %o, %t, 12;",
    "neg.s32 %o, %t;",
    "mad.lo.s32 %o, %t, 5, %a;",
    "shl.b32 %o, %t, 4;",
    "or.b32 %o, %t, %a;",
    "add.sat.s32 %o, %t, 2147483640;",
    "sub.sat.s32 %o, %t, -2147483648;",
    "mad.hi.sat.s32 %o, %t, 2147483647, 5;",
    "mul24.lo.u32 %o, %t, 77;",
    "mad24.lo.s32 %o, %t, -3, %a;",
    "min.s32 %o, %t, 5;",
    "max.u32 %o, %t, %a;",
    "add.u16x2 %o, %t, 0xfffff;",
    "add.cc.u32 %o, %t, -5; addc.u32 %o, %o, 0;",
    "sub.cc.u32 %o, %t, 9; subc.u32 %o, %o, %t;",
    "abs.s32 %o, %t;",
    "mad.lo.cc.u32 %o, %t, 3, -9; addc.u32 %o, %o, %t;",
    "div.u32 %o, %t, 3;",
    "and.b32 %o, %t, 28;",
    "selp.b32 %o, %t, %a, 1;",
    "slct.b32.s32 %o, %t, %a, 5;",
    "sad.u32 %o, %t, 9, %a;",
    "not.b32 %o, %t;",
    "prmt.b32 %o, %t, %a, 0x5410;",
    "bfe.u32 %o, %t, 2, 3;",
    "bfi.b32 %o, %t, %a, 3, 9;",
    "popc.b32 %o, %t;",
    "shf.l.wrap.b32 %o, %t, %a, 7;",
    "shr.s32 %o, %t, 1;",
    "dp4a.u32.u32 %o, %t, %a, 3;",
    "lop3.b32 %o, %t, %a, 5, 0x96;",
]


def test_affine_operands() -> None:
    """Affine values, kept as a base and a stride, give the same results as varying values from memory."""
    threads = np.tile(np.arange(64, dtype=np.uint32), 2)
    seven = np.full(128, 7, np.uint32)
    follow = [Case(".reg .b32 %t; mov.u32 %t, %tid.x; " + text, "u4") for text in ROWS]
    loaded = [Case(".reg .b32 %t; mov.b32 %t, %b; " + text, "u4") for text in ROWS]
    found = run([*follow, *loaded], {"a": seven, "b": threads})
    for text, one, other in zip(ROWS, found, found[len(ROWS) :], strict=False):
        assert np.array_equal(one, other), text


def test_affine_operands_are_widened() -> None:
    threads = np.tile(np.arange(64, dtype=np.uint32), 2)
    texts = [
        "mul.wide.u32 %o, %t, 12;",
        "mul.wide.s32 %o, %t, -12;",
        "mad.wide.u32 %o, %t, 8, 5;",
        "cvt.u64.u32 %o, %t;",
        "cvt.s64.s32 %o, %t;",
        "sub.s32 %t, %t, 40; cvt.s64.s32 %o, %t;",
        "sub.u32 %t, %t, 40; cvt.u64.u32 %o, %t;",
        "sub.s32 %t, %t, 40; mul.wide.s32 %o, %t, 4;",
        "sub.u32 %t, %t, 40; mul.wide.u32 %o, %t, 4;",
        "cvt.u64.u32 %o, %t; shl.b64 %o, %o, 33;",
        "cvt.u64.u32 %o, %t; neg.s64 %o, %o;",
    ]
    follow = [Case(".reg .b32 %t; mov.u32 %t, %tid.x; " + text, "u8") for text in texts]
    loaded = [Case(".reg .b32 %t; mov.b32 %t, %b; " + text, "u8") for text in texts]
    found = run([*follow, *loaded], {"b": threads})
    for text, one, other in zip(texts, found, found[len(texts) :], strict=False):
        assert np.array_equal(one, other), text
