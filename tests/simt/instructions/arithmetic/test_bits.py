"""Comparison of logic, shifts, bit fields and byte permutations with Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.simt.instructions.arithmetic.test_integer import check
from tests.simt.patterns import INTEGERS, combined, random_bits
from tests.simt.ptx_harness import Case, everywhere

FULL = 0xFFFFFFFF


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic(bits: int) -> None:
    a, b = combined(INTEGERS[bits], bits, 2, 300)
    check(
        [
            (f"and.b{bits} %o, %a, %b;", bits, lambda a, b: a & b),
            (f"or.b{bits} %o, %a, %b;", bits, lambda a, b: a | b),
            (f"xor.b{bits} %o, %a, %b;", bits, lambda a, b: a ^ b),
            (f"not.b{bits} %o, %a;", bits, lambda a, b: ~a),
            (f"cnot.b{bits} %o, %a;", bits, lambda a, b: int(a == 0)),
        ],
        {"a": a, "b": b},
        {"a": f"u{bits}", "b": f"u{bits}"},
    )


def counts(bits: int, length: int) -> np.ndarray:
    """Return shift counts: small ones, some around the width, and much larger ones."""
    some = [
        0,
        1,
        2,
        bits // 2,
        bits - 1,
        bits,
        bits + 1,
        31,
        32,
        33,
        63,
        64,
        65,
        255,
        256,
        1 << 16,
        1 << 31,
        FULL,
    ]
    return np.resize(np.array(some, np.uint32), length)


@pytest.mark.parametrize("ty", ["b16", "b32", "b64", "s16", "s32", "s64", "u16", "u32", "u64"])
def test_shifts_by_any_count(ty: str) -> None:
    bits = int(ty[1:])
    a = np.concatenate([np.repeat(np.array(INTEGERS[bits], f"u{bits // 8}"), 18), random_bits(bits, 180, 3)])
    b = counts(bits, len(a))

    def right(a: int, b: int) -> int:
        return (signed(a, bits) if ty[0] == "s" else a) >> min(b, 2 * bits)

    cases: list[tuple[str, int, Callable[..., int]]] = [(f"shr.{ty} %o, %a, %b;", bits, right)]
    if ty[0] == "b":
        cases.append((f"shl.{ty} %o, %a, %b;", bits, lambda a, b: a << min(b, 2 * bits)))
    for count in (0, 1, bits - 1, bits, 77, FULL):
        cases.append((f"shr.{ty} %o, %a, {count};", bits, lambda a, b, count=count: right(a, count)))
        if ty[0] == "b":
            cases.append((f"shl.{ty} %o, %a, {count};", bits, lambda a, b, n=count: a << min(n, 2 * bits)))
    check(cases, {"a": a, "b": b}, {"a": f"u{bits}", "b": "u32"})


def test_funnel_shifts() -> None:
    a, b = combined(INTEGERS[32], 32, 2, 360)
    c = counts(32, len(a))

    def shifted(left: bool, clamp: bool) -> Callable[[int, int, int], int]:
        def by(a: int, b: int, c: int) -> int:
            n = min(c, 32) if clamp else c & 31
            both = b << 32 | a
            return both << n >> 32 if left else both >> n

        return by

    check(
        [
            (f"shf.{way}.{mode}.b32 %o, %a, %b, %c;", 32, shifted(way == "l", mode == "clamp"))
            for way in "lr"
            for mode in ("clamp", "wrap")
        ],
        {"a": a, "b": b, "c": c},
        dict.fromkeys("abc", "u32"),
    )


@pytest.mark.parametrize("bits", [32, 64])
def test_popc_clz_brev_and_bfind(bits: int) -> None:
    (a,) = combined(INTEGERS[bits], bits, 1, 300)
    a = np.concatenate([a, np.array([1 << i for i in range(bits)], a.dtype)])

    def leading(value: int) -> int:
        return bits - value.bit_length()

    def result(value: int, is_signed: bool) -> int:
        value = value ^ ((1 << bits) - 1) if is_signed and value >> bits - 1 else value
        return value.bit_length() - 1

    def amount(value: int, is_signed: bool) -> int:
        at = result(value, is_signed)
        return bits - 1 - at if at >= 0 else -1

    cases: list[tuple[str, int, Callable[..., int]]] = [
        (f"popc.b{bits} %o, %a;", 32, lambda a: a.bit_count()),
        (f"clz.b{bits} %o, %a;", 32, leading),
        (f"brev.b{bits} %o, %a;", bits, lambda a: int(f"{a:0{bits}b}"[::-1], 2)),
    ]
    for ty in (f"u{bits}", f"s{bits}"):
        cases += [
            (f"bfind.{ty} %o, %a;", 32, lambda a, s=ty[0] == "s": result(a, s)),
            (f"bfind.shiftamt.{ty} %o, %a;", 32, lambda a, s=ty[0] == "s": amount(a, s)),
        ]
    check(cases, {"a": a}, {"a": f"u{bits}"})


def nth_set(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else -1
    at, left = base, abs(offset) - 1
    while 0 <= at < 32:
        if mask >> at & 1:
            if left == 0:
                return at
            left -= 1
        at += 1 if offset > 0 else -1
    return -1


def test_find_nth_set_bit() -> None:
    (mask,) = combined(INTEGERS[32], 32, 1, 600)
    base = np.resize(np.arange(32, dtype=np.uint32), len(mask))
    offset = np.resize(
        np.array([0, 1, 2, 3, 5, 16, 17, 31, 32, 33, -1, -2, -4, -16, -32, -33], np.int32), len(mask)
    )
    check(
        [("fns.b32 %o, %a, %b, %c;", 32, nth_set)],
        {"a": mask, "b": base, "c": offset.view(np.uint32)},
        {"a": "u32", "b": "u32", "c": "s32"},
    )


POSITIONS = [0, 1, 7, 8, 15, 16, 30, 31, 32, 33, 62, 63, 64, 65, 128, 255, 256, 257, FULL]


@pytest.mark.parametrize("ty", ["u32", "s32", "u64", "s64"])
def test_extract_and_insert_bit_fields(ty: str) -> None:
    bits = int(ty[1:])
    grid = np.array([(p, n) for p in POSITIONS for n in POSITIONS], np.uint32)
    c, d = grid[:, 0].copy(), grid[:, 1].copy()
    a, b = random_bits(bits, len(c), 1), random_bits(bits, len(c), 2)

    def small(value: int) -> int:
        """Reduce a position beyond 255: GPUs truncate those of 32-bit operations and clamp the others."""
        return value & 255 if bits == 32 else min(value, 255)

    def extract(a: int, b: int, c: int, d: int) -> int:
        at, length = small(c), small(d)
        a &= (1 << bits) - 1
        fill = a >> min(at + length - 1, bits - 1) & 1 if ty[0] == "s" and length else 0
        return sum((a >> at + i & 1 if i < length and at + i < bits else fill) << i for i in range(bits))

    def insert(a: int, b: int, c: int, d: int) -> int:
        at, length = small(c), small(d)
        field = ((1 << length) - 1) << at & ((1 << bits) - 1)
        return b & ~field | a << at & field

    cases: list[tuple[str, int, Callable[..., int]]] = [(f"bfe.{ty} %o, %a, %c, %d;", bits, extract)]
    if ty[0] == "u":
        cases.append((f"bfi.b{bits} %o, %a, %b, %c, %d;", bits, insert))
    check(cases, {"a": a, "b": b, "c": c, "d": d}, {"a": f"u{bits}", "b": f"u{bits}", "c": "u32", "d": "u32"})


def field_mask(start: int, width: int, clamp: bool) -> int:
    if clamp and start >= 32:
        return 0
    width = min(width, 32) if clamp else width & 31
    return ((1 << width) - 1) << (start & 31) & FULL


def extended(value: int, bits: int, clamp: bool, is_signed: bool) -> int:
    if clamp and bits >= 32:
        return value
    bits &= 31
    return (signed(value, bits) if is_signed else value & (1 << bits) - 1) if bits else 0


def test_bit_masks_and_extensions() -> None:
    grid = np.array([(p, n) for p in POSITIONS for n in POSITIONS], np.uint32)
    values = random_bits(32, len(grid), 5)
    cases: list[tuple[str, int, Callable[..., int]]] = []
    for mode in ("clamp", "wrap"):
        clamp = mode == "clamp"
        cases.append((f"bmsk.{mode}.b32 %o, %a, %b;", 32, lambda a, b, v, c=clamp: field_mask(a, b, c)))
        for is_signed in (False, True):

            def expected(a: int, b: int, v: int, c: bool = clamp, s: bool = is_signed) -> int:
                return extended(v, b, c, s)

            cases.append((f"szext.{mode}.{'s32' if is_signed else 'u32'} %o, %v, %b;", 32, expected))
    inputs = {"a": grid[:, 0].copy(), "b": grid[:, 1].copy(), "v": values}
    check(cases, inputs, dict.fromkeys("abv", "u32"))


def test_all_functions_of_three_bits() -> None:
    a, b, c = (np.array([v], np.uint32) for v in (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA))
    for start in range(0, 256, 64):
        tables = range(start, start + 64)
        result = everywhere(
            [Case(f"lop3.b32 %o, %a, %b, %c, {t};", "u4") for t in tables], {"a": a, "b": b, "c": c}
        )
        assert [int(f[0]) for f in result] == [t * 0x01010101 for t in tables]


def test_lop3_with_predicate() -> None:
    a, b = (np.array(v, np.uint32) for v in ([0, 5, 0xF0, 1 << 31], [7, 0, 0x0F, 1 << 31]))
    text = ".reg .pred %q; setp.lt.u32 %q, %a, %b; lop3.{}.b32 _|%o, %a, %b, %b, 0x80, %q;"
    both, either = everywhere([Case(text.format("and"), "?"), Case(text.format("or"), "?")], {"a": a, "b": b})
    assert list(both) == [bool(x & y) and bool(x < y) for x, y in zip(a, b, strict=True)]
    assert list(either) == [bool(x & y) or bool(x < y) for x, y in zip(a, b, strict=True)]


def picked(a: int, b: int, selector: int) -> int:
    source, result = b << 32 | a, 0
    for place in range(4):
        nibble = selector >> 4 * place & 15
        byte = source >> 8 * (nibble & 7) & 255
        result |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * place
    return result


TABLES = {
    "f4e": [0x3210, 0x4321, 0x5432, 0x6543],
    "b4e": [0x5670, 0x6701, 0x7012, 0x0123],
    "rc8": [0x0000, 0x1111, 0x2222, 0x3333],
    "ecl": [0x3210, 0x3211, 0x3222, 0x3333],
    "ecr": [0x0000, 0x1110, 0x2210, 0x3210],
    "rc16": [0x1010, 0x3232, 0x1010, 0x3232],
}


def test_byte_permutation() -> None:
    a, b, c = (random_bits(32, 300, seed) for seed in (1, 2, 3))
    fixed = [0x3210, 0x5410, 0x7632, 0x0123, 0x4321, 0x6543, 0x1054, 0x7777, 0x0000, 0x4440, 0xBA98, 0x3F80]
    cases: list[tuple[str, int, Callable[..., int]]] = [("prmt.b32 %o, %a, %b, %c;", 32, picked)]
    cases += [(f"prmt.b32 %o, %a, %b, {s};", 32, lambda a, b, c, s=s: picked(a, b, s)) for s in fixed]
    cases += [
        (f"prmt.b32.{mode} %o, %a, %b, %c;", 32, lambda a, b, c, t=table: picked(a, b, t[c & 3]))
        for mode, table in TABLES.items()
    ]
    check(cases, {"a": a, "b": b, "c": c}, dict.fromkeys("abc", "u32"))
