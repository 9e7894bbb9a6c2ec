"""Comparison of video instructions on whole registers with section 9.7.18 of the PTX manual."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tests.simt.patterns import INTEGERS, combined
from tests.simt.ptx_harness import Case, everywhere

FULL = 0xFFFFFFFF
SCALAR: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
TESTS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
}
SECOND: dict[str, Callable[[int, int], int]] = {"add": lambda a, b: a + b, "min": min, "max": max}


def number(value: int, ty: str, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if ty == "s32" and value >> bits - 1 else value


def clamp(value: int, ty: str, bits: int = 32) -> int:
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if ty == "s32" else (0, (1 << bits) - 1)
    return max(least, min(most, value))


def check(cases: list[tuple[str, Callable[[int, int, int], int]]]) -> None:
    a, b, c = combined(INTEGERS[32], 32, 3, 250)
    found = everywhere([Case(text, "u4") for text, _ in cases], {"a": a, "b": b, "c": c})
    for (text, expected), actual in zip(cases, found, strict=True):
        for x, y, z, result in zip(a, b, c, actual, strict=True):
            assert int(result) == expected(int(x), int(y), int(z)) & FULL, (
                text,
                hex(x),
                hex(y),
                hex(z),
                hex(result),
            )


@pytest.mark.parametrize("op", SCALAR)
def test_scalar_arithmetic(op: str) -> None:
    cases = []
    for d, s, t in product(("u32", "s32"), repeat=3):
        ends = [""]
        if d == "s32" or op in ("vmin", "vmax"):
            ends += [".sat", ".sat.add", ".sat.min", ".sat.max"]
        for end in ends:

            def expected(a: int, b: int, c: int, d=d, s=s, t=t, end=end) -> int:  # type: ignore[no-untyped-def]
                made = SCALAR[op](number(a, s), number(b, t))
                made = clamp(made, d) if end else made
                second = end.removeprefix(".sat").removeprefix(".")
                return SECOND[second](made, number(c, d)) if second else made

            third = ", %c" if end.count(".") > 1 else ""
            cases.append((f"{op}.{d}.{s}.{t}{end} %o, %a, %b{third};", expected))
    check(cases)


def test_shifts_and_comparisons() -> None:
    cases = []
    for mode in ("clamp", "wrap"):
        for s in ("u32", "s32"):

            def right(a: int, b: int, c: int, mode=mode, s=s) -> int:  # type: ignore[no-untyped-def]
                return (number(a, s) >> (min(b, 32) if mode == "clamp" else b & 31)) + c

            def left(a: int, b: int, c: int, mode=mode, s=s) -> int:  # type: ignore[no-untyped-def]
                return number(a, s) << (min(b, 32) if mode == "clamp" else b & 31)

            cases.append((f"vshr.u32.{s}.u32.{mode}.add %o, %a, %b, %c;", right))
            cases.append((f"vshl.u32.{s}.u32.{mode} %o, %a, %b;", left))
    for name, test in TESTS.items():
        for s, t in product(("u32", "s32"), repeat=2):

            def compared(a: int, b: int, c: int, test=test, s=s, t=t) -> int:  # type: ignore[no-untyped-def]
                return int(test(number(a, s), number(b, t))) + c

            cases.append((f"vset.{s}.{t}.{name}.add %o, %a, %b, %c;", compared))
    check(cases)


def average(a: int, b: int) -> int:
    return a + b + 1 >> 1 if a + b >= 0 else a + b >> 1


@pytest.mark.parametrize("count", [2, 4])
def test_packed_arithmetic(count: int) -> None:
    bits = 32 // count
    operations = SCALAR | {"vavrg": average}
    cases = []

    def parts(value: int, ty: str) -> list[int]:
        return [number(value >> bits * i, ty, bits) for i in range(count)]

    for op, operation in operations.items():
        for d, s, t in (("u32", "u32", "u32"), ("s32", "s32", "s32"), ("s32", "u32", "s32")):
            for end in ("", ".sat", ".add"):

                def expected(a: int, b: int, c: int, operation=operation, d=d, s=s, t=t, end=end) -> int:  # type: ignore[no-untyped-def]
                    made = [operation(x, y) for x, y in zip(parts(a, s), parts(b, t), strict=True)]
                    if end == ".add":
                        return c + sum(made)
                    made = [clamp(m, d, bits) if end else m for m in made]
                    return sum((m & ((1 << bits) - 1)) << bits * i for i, m in enumerate(made))

                cases.append((f"{op}{count}.{d}.{s}.{t}{end} %o, %a, %b, %c;", expected))
    check(cases)
