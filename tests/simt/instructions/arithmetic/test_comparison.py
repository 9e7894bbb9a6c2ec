"""Tests of comparisons and selections: all tests on all types, ordered and unordered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt import exact
from tests.simt.patterns import FLOATS, INTEGERS, combined, random_bits
from tests.simt.ptx_harness import SHAPES, Case, bits_of, everywhere

Array = npt.NDArray[Any]
ORDER = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
FORMATS = {"f16": exact.F16, "bf16": exact.BF16, "f32": exact.F32, "f64": exact.F64}


@pytest.mark.parametrize("ty", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integer_comparisons(ty: str) -> None:
    bits = int(ty[1:])
    a, b = combined(INTEGERS[bits], bits, 2, 300)
    x, y = (v.view(f"i{bits // 8}") if ty[0] == "s" else v for v in (a, b))
    tests = {name: test(x, y) for name, test in ORDER.items()}
    if ty[0] == "u":
        tests |= {"lo": x < y, "ls": x <= y, "hi": x > y, "hs": x >= y}
    cases = [Case(f"setp.{name}.{ty} %o, %a, %b;", "?") for name in tests]
    cases += [Case(f"set.{name}.u32.{ty} %o, %a, %b;", "u4") for name in tests]
    result = everywhere(cases, {"a": a, "b": b}, SHAPES)
    for (name, expected), flag, value in zip(tests.items(), result, result[len(tests) :], strict=False):
        assert np.array_equal(flag, expected), name
        assert np.array_equal(value, np.where(expected, 0xFFFFFFFF, 0)), name


def values(ty: str, bits: Array) -> Array:
    """Return bit patterns as numbers that NumPy can compare."""
    if ty == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(f"f{bits.dtype.itemsize}")


def float_tests(x: Array, y: Array) -> dict[str, Array]:
    unordered = np.isnan(x) | np.isnan(y)
    result = {"num": ~unordered, "nan": unordered}
    for name, test in ORDER.items():
        result[name] = test(x, y) & ~unordered
        result[name + "u"] = test(x, y) | unordered
    return result


@pytest.mark.parametrize("ty", ["f16", "bf16", "f32", "f64"])
def test_float_comparisons(ty: str) -> None:
    bits = int(ty.lstrip("bf"))
    a, b = combined(FLOATS[ty], bits, 2, 900)
    tests = float_tests(values(ty, a), values(ty, b))
    one = FORMATS[ty].bias << FORMATS[ty].fraction
    inputs = {"a": a, "b": b}
    if bits > 16:
        inputs = {name: v.view(f"f{bits // 8}") for name, v in inputs.items()}
    own = "f32" if bits > 16 else ty
    one = 0x3F800000 if bits > 16 else one
    cases = [Case(f"setp.{name}.{ty} %o, %a, %b;", "?") for name in tests]
    cases += [Case(f"set.{name}.u32.{ty} %o, %a, %b;", "u4") for name in tests]
    cases += [Case(f"set.{name}.{own}.{ty} %o, %a, %b;", "f4" if bits > 16 else "u2") for name in tests]
    result = [bits_of(f) for f in everywhere(cases, inputs)]
    count = len(tests)
    for number, (name, expected) in enumerate(tests.items()):
        flag, whole, real = result[number], result[count + number], result[2 * count + number]
        assert np.array_equal(flag, expected), name
        assert np.array_equal(whole, np.where(expected, 0xFFFFFFFF, 0)), name
        assert np.array_equal(real, np.where(expected, one, 0)), name


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_packed_half_comparisons(ty: str) -> None:
    a, b, c, d = combined(FLOATS[ty], 16, 4, 900)
    lower = float_tests(values(ty, a), values(ty, c))
    upper = float_tests(values(ty, b), values(ty, d))
    inputs = {"a": a | b.astype(np.uint32) << 16, "b": c | d.astype(np.uint32) << 16}
    names = ["lt", "neu", "num", "geu"]
    one = FORMATS[ty].bias << FORMATS[ty].fraction
    cases = [Case(f"setp.{n}.{ty}x2 %o|_, %a, %b;", "?") for n in names]
    cases += [Case(f"setp.{n}.{ty}x2 _|%o, %a, %b;", "?") for n in names]
    cases += [Case(f"set.{n}.u32.{ty}x2 %o, %a, %b;", "u4") for n in names]
    cases += [Case(f"set.{n}.{ty}x2.{ty}x2 %o, %a, %b;", "u4") for n in names]
    result = everywhere(cases, inputs)
    for at, name in enumerate(names):
        first, second = lower[name], upper[name]
        assert np.array_equal(result[at], first), name
        assert np.array_equal(result[4 + at], second), name
        assert np.array_equal(result[8 + at], np.where(first, 0xFFFF, 0) | np.where(second, 0xFFFF0000, 0)), (
            name
        )
        assert np.array_equal(result[12 + at], np.where(first, one, 0) | np.where(second, one << 16, 0)), name


def test_ftz_treats_subnormal_operands_as_zero() -> None:
    a, b = (v.view(np.float32) for v in combined(FLOATS["f32"], 32, 2, 900))
    flushed = [
        np.array([exact.F32.flushed(int(x)) for x in bits_of(v)], np.uint32).view(np.float32) for v in (a, b)
    ]
    tests = float_tests(*flushed)
    names = ["eq", "ltu", "ge", "neu"]
    cases = [Case(f"setp.{n}.ftz.f32 %o, %a, %b;", "?") for n in names]
    cases += [Case(f"set.{n}.ftz.f32.f32 %o, %a, %b;", "f4") for n in names]
    result = everywhere(cases, {"a": a, "b": b})
    for at, name in enumerate(names):
        assert np.array_equal(result[at], tests[name]), name
        assert np.array_equal(result[4 + at] != 0, tests[name]), name


@pytest.mark.parametrize("joint", LOGIC)
def test_comparison_combined_with_a_predicate(joint: str) -> None:
    """The second predicate combines the negated comparison; it is not the negation of the first one."""
    a, b = combined(INTEGERS[32], 32, 2, 200)
    head = ".reg .pred %q; setp.gt.u32 %q, %a, 1000;"
    cases = [
        Case(f"{head} setp.lt.{joint}.s32 %o|_, %a, %b, %q;", "?"),
        Case(f"{head} setp.lt.{joint}.s32 _|%o, %a, %b, %q;", "?"),
        Case(f"{head} setp.lt.{joint}.s32 %o, %a, %b, !%q;", "?"),
        Case(f"{head} set.lt.{joint}.u32.s32 %o, %a, %b, %q;", "u4"),
    ]
    first, second, negated, value = everywhere(cases, {"a": a, "b": b}, SHAPES)
    less, large = a.view(np.int32) < b.view(np.int32), a > 1000
    assert np.array_equal(first, LOGIC[joint](less, large))
    assert np.array_equal(second, LOGIC[joint](~less, large))
    assert np.array_equal(negated, LOGIC[joint](less, ~large))
    assert np.array_equal(value != 0, LOGIC[joint](less, large))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_selections(bits: int) -> None:
    a, b = combined(INTEGERS[bits], bits, 2, 300)
    c = np.resize(combined(FLOATS["f32"], 32, 1, 300)[0], len(a))
    ty = f"b{bits}"
    cases = [
        Case(f".reg .pred %q; setp.lt.u{bits} %q, %a, %b; selp.{ty} %o, %a, %b, %q;", f"u{bits // 8}"),
        Case(f".reg .pred %q; setp.lt.u{bits} %q, %a, %b; selp.{ty} %o, %a, %b, !%q;", f"u{bits // 8}"),
        Case(f"slct.{ty}.s32 %o, %a, %b, %c;", f"u{bits // 8}"),
        Case(f".reg .f32 %f; mov.b32 %f, %c; slct.{ty}.f32 %o, %a, %b, %f;", f"u{bits // 8}"),
        Case(f".reg .f32 %f; mov.b32 %f, %c; slct.ftz.{ty}.f32 %o, %a, %b, %f;", f"u{bits // 8}"),
    ]
    small, large, by_sign, by_float, flushed = everywhere(cases, {"a": a, "b": b, "c": c}, SHAPES)
    real = c.view(np.float32)
    subnormal = (c & 0x7F800000) == 0
    assert np.array_equal(small, np.minimum(a, b))
    assert np.array_equal(large, np.maximum(a, b))
    assert np.array_equal(by_sign, np.where(c.view(np.int32) >= 0, a, b))
    assert np.array_equal(by_float, np.where(real >= 0, a, b))
    assert np.array_equal(flushed, np.where(subnormal | (real >= 0), a, b))


def test_logic_on_predicates() -> None:
    a, b = random_bits(32, 200, 1), random_bits(32, 200, 2)
    head = ".reg .pred %p, %q; setp.lt.u32 %p, %a, 2000000000; setp.lt.u32 %q, %b, 2000000000;"
    p, q = a < 2000000000, b < 2000000000
    expected = {"and": p & q, "or": p | q, "xor": p ^ q}
    cases = [Case(f"{head} {op}.pred %o, %p, %q;", "?") for op in expected]
    cases += [Case(f"{head} not.pred %o, %p;", "?"), Case(f"{head} mov.pred %o, %q;", "?")]
    *joined, negated, moved = everywhere(cases, {"a": a, "b": b})
    for (name, wanted), actual in zip(expected.items(), joined, strict=True):
        assert np.array_equal(actual, wanted), name
    assert np.array_equal(negated, ~p)
    assert np.array_equal(moved, q)
