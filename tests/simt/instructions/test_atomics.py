"""Tests of atomic operations in global and shared memory: all operations and types, old and new values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt import exact
from tests.simt.patterns import random_bits
from tests.simt.ptx_harness import entry, launch

Array = npt.NDArray[Any]


def number(value: int, ty: str) -> int:
    bits = int(ty[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if ty[0] == "s" and value >> bits - 1 else value


def step(op: str, ty: str, old: int, value: int, other: int) -> int:
    a, b = number(old, ty), number(value, ty)
    results: dict[str, Callable[[], int]] = {
        "add": lambda: a + b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "exch": lambda: b,
        "inc": lambda: 0 if a >= b else a + 1,
        "dec": lambda: b if a == 0 or a > b else a - 1,
        "cas": lambda: other if a == b else a,
    }
    return results[op]() & ((1 << int(ty[1:])) - 1)


OPERATIONS = [
    *(f"add.{ty}" for ty in ("u32", "s32", "u64")),
    *(f"{op}.{ty}" for op in ("min", "max") for ty in ("u32", "s32", "u64", "s64")),
    *(f"{op}.b{bits}" for op in ("and", "or", "xor", "exch", "cas") for bits in (32, 64)),
    *("inc.u32", "dec.u32", "cas.b16"),
]


def text(space: str, op: str, ty: str, places: int) -> str:
    """Return PTX in which thread n updates element n % places; the old values are stored to %rd2."""
    bits = int(ty[1:])
    width = bits // 8
    kind, letter = {16: ("b16", "%h"), 32: ("b32", "%r1"), 64: ("b64", "%rd1")}[bits]
    value, other, old = (f"{letter}{n}" for n in (3, 4, 5))
    cell = f"\trem.u32 %r6, %r0, {places};\n\tmul.wide.u32 %rd20, %r6, {width};\n"
    body = cell + "\tadd.s64 %rd21, %rd0, %rd20;\n"
    body += (
        f"\tmul.wide.u32 %rd22, %r0, {width};\n\tadd.s64 %rd23, %rd1, %rd22;\n\tadd.s64 %rd24, %rd2, %rd22;\n"
    )
    body += f"\tld.global.{kind} {value}, [%rd23];\n\tmov.{kind} {other}, 77;\n"
    extra = f", {other}" if op == "cas" else ""
    update = f"{op}.{ty} {old}, [{{}}], {value}{extra};"
    if space == "global":
        return entry(3, f"{body}\tatom.global.{update.format('%rd21')}\n\tst.global.{kind} [%rd24], {old};")
    body += f"\tsetp.lt.u32 %p1, %r0, {places};\n\tmov.u64 %rd25, cells;\n\tadd.s64 %rd25, %rd25, %rd20;\n"
    body += f"\t@%p1 ld.global.{kind} {old}, [%rd21];\n\t@%p1 st.shared.{kind} [%rd25], {old};\n"
    body += f"\tbar.sync 0;\n\tatom.shared.{update.format('%rd25')}\n\tst.global.{kind} [%rd24], {old};\n"
    body += f"\tbar.sync 0;\n\t@%p1 ld.shared.{kind} {old}, [%rd25];\n\t@%p1 st.global.{kind} [%rd21], {old};"
    return entry(3, body, f"\t.shared .align 8 .b8 cells[{places * width}];")


def own(kind: str, value: str, width: int) -> str:
    """Return PTX that loads the thread's value from the second array."""
    return (
        f"\tmul.wide.u32 %rd22, %r0, {width};\n\tadd.s64 %rd23, %rd1, %rd22;\n"
        f"\tld.global.{kind} {value}, [%rd23];\n"
    )


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_lanes_update_in_order(operation: str, space: str) -> None:
    """The old values show that lanes update in the order of their numbers."""
    op, ty = operation.split(".")
    bits, places, threads = int(ty[1:]), 5, 50
    cells, values = random_bits(bits, places, 1), random_bits(bits, threads, 2)
    if op in ("inc", "dec"):
        values %= 6
        cells %= 6
    if op == "cas":  # half of the comparisons succeed
        values[:places:2] = cells[::2]
    actual, _, olds = launch(text(space, op, ty, places), 1, threads, cells, values, np.zeros_like(values))
    expected = [int(c) for c in cells]
    for thread in range(threads):
        place = thread % places
        assert int(olds[thread]) == expected[place]
        expected[place] = step(op, ty, expected[place], int(values[thread]), 77)
    assert [int(c) for c in actual] == expected


@pytest.mark.parametrize("operation", ["add.u32", "min.s64", "or.b32", "inc.u32"])
def test_reductions_of_many_blocks_to_one_element(operation: str) -> None:
    op, ty = operation.split(".")
    bits = int(ty[1:])
    kind, value = ("b32", "%r13") if bits == 32 else ("b64", "%rd13")
    values = random_bits(bits, 64 * 50, 3)
    if op == "inc":
        values[:] = 0xFFFFFFFF
    body = own(kind, value, bits // 8)
    body += f"\tred.relaxed.gpu.global.{op}.{ty} [%rd0], {value};"
    start = np.array([5], values.dtype)
    actual, _ = launch(entry(2, body), 50, 64, start, values)
    expected = 5
    for value_ in values:
        expected = step(op, ty, expected, int(value_), 0)
    assert int(actual[0]) == expected


@pytest.mark.parametrize(("ty", "dtype"), [("f32", "f4"), ("f64", "f8")])
@pytest.mark.parametrize(
    "qualifiers", ["global.add", "global.gpu.add", "add.relaxed.sys", "acq_rel.cta.global.add"]
)
def test_sums_of_floats(ty: str, dtype: str, qualifiers: str) -> None:
    """Small integers have exact sums in any order; the qualifiers may also come in any order."""
    letter = "%f3" if ty == "f32" else "%d3"
    values = np.random.default_rng(0).integers(-50, 50, 640).astype(dtype)
    width = values.itemsize
    body = own(ty, letter, width)
    body += f"\tatom.{qualifiers}.{ty} {letter}, [%rd0], {letter};\n"
    actual, _ = launch(entry(2, body), 10, 64, np.zeros(1, dtype), values)
    assert actual[0] == values.sum()


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("ty", ["f16", "bf16", "f16x2", "bf16x2"])
def test_sums_of_halves_are_rounded_after_each_addition(ty: str, space: str) -> None:
    form = exact.BF16 if ty.startswith("bf16") else exact.F16
    pairs = ty.endswith("x2")
    kind, value, old = ("b32", "%r13", "%r14") if pairs else ("b16", "%h3", "%h4")
    one = form.bias << form.fraction
    halves = (random_bits(16, 128, 4) & 0x83FF | one) & ~np.uint16(0x4000) | np.uint16(one & 0x3C00)
    values = halves.view(np.uint32) if pairs else halves[:64]
    width = values.itemsize
    body = own(kind, value, width)
    if space == "shared":
        body += f"\tsetp.eq.u32 %p1, %r0, 0;\n\t@%p1 st.shared.{kind} [cell], 0;\n\tbar.sync 0;\n"
        body += f"\tatom.shared.add.noftz.{ty} {old}, [cell], {value};\n\tbar.sync 0;\n"
        body += f"\tld.shared.{kind} {old}, [cell];\n\tst.global.{kind} [%rd0], {old};"
    else:
        body += f"\tred.global.add.noftz.{ty} [%rd0], {value};"
    actual, _ = launch(
        entry(2, body, "\t.shared .align 4 .b32 cell;"), 1, 64, np.zeros(1, values.dtype), values
    )
    expected = [0, 0]
    for row in values.view(np.uint16).reshape(64, -1):
        expected = [exact.total(form, w, int(v)) for w, v in zip(expected, row, strict=False)]
    assert [int(x) for x in actual.view(np.uint16)] == expected


def test_vectors_are_updated_element_by_element() -> None:
    values = np.random.default_rng(1).integers(0, 100, (64, 4)).astype(np.float32)
    body = "\tshl.b32 %r5, %r0, 4;\n\tcvt.u64.u32 %rd22, %r5;\n\tadd.s64 %rd23, %rd1, %rd22;\n"
    body += "\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd23];\n"
    body += "\tred.global.add.v4.f32 [%rd0], {%f1, %f2, %f3, %f4};\n"
    body += "\tatom.global.add.v2.f32 {%f5, %f6}, [%rd0+16], {%f1, %f2};"
    actual, _ = launch(entry(2, body), 1, 64, np.zeros(6, np.float32), values)
    assert np.array_equal(actual, [*values.sum(0), *values.sum(0)[:2]])


def test_only_active_lanes_update() -> None:
    body = "\tsetp.lt.u32 %p1, %r0, 10;\n\t@%p1 red.global.add.u32 [%rd0], 1;\n"
    body += "\t@!%p1 red.global.add.u32 [%rd0+4], 1;"
    (actual,) = launch(entry(1, body), 1, 45, np.zeros(2, np.uint32))
    assert list(actual) == [10, 35]
