"""Comparison of f32 and f64 arithmetic with exact rational arithmetic in all rounding modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt import exact
from tests.simt.patterns import FLOATS, combined
from tests.simt.ptx_harness import SHAPES, Case, bits_of, everywhere

Array = npt.NDArray[Any]
FORMATS = {"f32": exact.F32, "f64": exact.F64}
MODES = ("rn", "rz", "rm", "rp")


def operands(ty: str, count: int, each: int, seed: int = 0) -> dict[str, Array]:
    result = combined(FLOATS[ty], int(ty[1:]), count, each, seed)
    return {name: a.view(f"f{a.dtype.itemsize}") for name, a in zip("abc", result, strict=False)}


def check(
    ty: str,
    cases: list[tuple[str, Callable[..., int]]],
    inputs: dict[str, Array],
    shapes: Sequence[str] = SHAPES[:2],
) -> None:
    """Compare the bits of each case; any NaN is accepted for a NaN, whose bits are unspecified."""
    form = FORMATS[ty]
    texts = [Case(text, ty.replace("f32", "f4").replace("f64", "f8")) for text, _ in cases]
    result = everywhere(texts, inputs, shapes)
    rows = list(zip(*([int(x) for x in bits_of(a)] for a in inputs.values()), strict=True))
    for (text, wanted), actual in zip(cases, result, strict=True):
        for row, bits in zip(rows, bits_of(actual), strict=True):
            expected = wanted(*row)
            if form.decode(expected)[1] == exact.NAN:
                assert form.decode(int(bits))[1] == exact.NAN, (text, [hex(x) for x in row], hex(bits))
            else:
                assert int(bits) == expected, (text, [hex(x) for x in row], hex(bits), hex(expected))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ty", ["f32", "f64"])
def test_sums_products_and_quotients_are_rounded_once(ty: str, mode: str) -> None:
    form = FORMATS[ty]
    inputs = operands(ty, 2, 900)
    check(
        ty,
        [
            (f"add.{mode}.{ty} %o, %a, %b;", lambda a, b: exact.total(form, a, b, mode)),
            (f"sub.{mode}.{ty} %o, %a, %b;", lambda a, b: exact.total(form, a, b ^ form.sign_bit, mode)),
            (f"mul.{mode}.{ty} %o, %a, %b;", lambda a, b: exact.product(form, a, b, mode)),
            (f"div.{mode}.{ty} %o, %a, %b;", lambda a, b: exact.quotient(form, a, b, mode)),
        ],
        inputs,
        SHAPES,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ty", ["f32", "f64"])
def test_fused_multiply_add_is_rounded_once(ty: str, mode: str) -> None:
    form = FORMATS[ty]
    check(
        ty,
        [
            (f"fma.{mode}.{ty} %o, %a, %b, %c;", lambda a, b, c: exact.fused(form, a, b, c, mode)),
            (f"mad.{mode}.{ty} %o, %a, %b, %c;", lambda a, b, c: exact.fused(form, a, b, c, mode)),
        ],
        operands(ty, 3, 900),
    )


def test_default_rounding_is_to_nearest() -> None:
    for ty, form in FORMATS.items():
        check(
            ty,
            [(f"add.{ty} %o, %a, %b;", lambda a, b, form=form: exact.total(form, a, b))],
            operands(ty, 2, 200),
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ty", ["f32", "f64"])
def test_roots_and_reciprocals_are_rounded_once(ty: str, mode: str) -> None:
    form = FORMATS[ty]
    one = form.bias << form.fraction

    def root(bits: int) -> int:
        negative, value = form.decode(bits)
        if value == exact.NAN or (negative and value):
            return form.quiet
        if value in (exact.INF, 0):
            return bits
        # The leading digits from an integer square root, and a sticky digit for an inexact root.
        shift = 2 * (form.fraction + 4) + 2 * (form.bias + form.fraction)
        scaled = value * 2**shift
        whole = int(scaled)
        result = isqrt(whole)
        exactly = result * result == scaled
        fraction = exact.Fraction(2 * result + (not exactly), 2 * 2 ** (shift // 2))
        return form.encode(False, fraction, mode)

    check(
        ty,
        [
            (f"sqrt.{mode}.{ty} %o, %a;", root),
            (f"rcp.{mode}.{ty} %o, %a;", lambda a: exact.quotient(form, one, a, mode)),
        ],
        operands(ty, 1, 900),
    )


def test_ftz_flushes_subnormal_numbers() -> None:
    form, flush = exact.F32, exact.F32.flushed
    one = form.bias << form.fraction

    def flushed(operation: Callable[..., int]) -> Callable[..., int]:
        return lambda *bits: flush(operation(form, *(flush(b) for b in bits)))

    two = operands("f32", 2, 900)
    check(
        "f32",
        [
            ("add.ftz.f32 %o, %a, %b;", flushed(exact.total)),
            ("mul.ftz.f32 %o, %a, %b;", flushed(exact.product)),
            ("div.rn.ftz.f32 %o, %a, %b;", flushed(exact.quotient)),
            ("mul.rz.ftz.f32 %o, %a, %b;", flushed(lambda f, a, b: exact.product(f, a, b, "rz"))),
            ("rcp.rn.ftz.f32 %o, %a;", lambda a, b: flush(exact.quotient(form, one, flush(a)))),
            ("neg.ftz.f32 %o, %a;", lambda a, b: flush(a) ^ form.sign_bit),
            ("abs.ftz.f32 %o, %a;", lambda a, b: flush(a) & ~form.sign_bit),
        ],
        two,
    )
    three = operands("f32", 3, 900)
    check("f32", [("fma.rn.ftz.f32 %o, %a, %b, %c;", flushed(exact.fused))], three)


def test_sat_clamps_results() -> None:
    form, flush = exact.F32, exact.F32.flushed
    one = form.bias << form.fraction

    def clamped(bits: int) -> int:
        negative, value = form.decode(bits)
        if value == exact.NAN or negative:
            return 0
        return min(bits, one)

    check(
        "f32",
        [
            ("add.sat.f32 %o, %a, %b;", lambda a, b: clamped(exact.total(form, a, b))),
            ("mul.sat.f32 %o, %a, %b;", lambda a, b: clamped(exact.product(form, a, b))),
            ("fma.rn.sat.f32 %o, %a, %b, %a;", lambda a, b: clamped(exact.fused(form, a, b, a))),
            (
                "add.ftz.sat.f32 %o, %a, %b;",
                lambda a, b: clamped(flush(exact.total(form, flush(a), flush(b)))),
            ),
        ],
        operands("f32", 2, 900),
    )


# -- order ---------------------------------------------------------------------------------------


def key(form: exact.Format, bits: int) -> int:
    """Return an integer with the same order as the numbers, -0 before +0."""
    return -1 - (bits & ~form.sign_bit) if bits & form.sign_bit else bits


def ordered(form: exact.Format, op: str, modifiers: tuple[str, ...], values: tuple[int, ...]) -> int:
    """Return `min` or `max` as in section 9.7.3.11 of the manual."""
    initial = values
    if "ftz" in modifiers:
        values = tuple(form.flushed(v) for v in values)
    if "abs" in modifiers:
        values = tuple(v & ~form.sign_bit for v in values)
    result = values[0]
    for other in values[1:]:
        strange = [form.decode(v)[1] == exact.NAN for v in (result, other)]
        if all(strange) or (any(strange) and "NaN" in modifiers):
            result = form.quiet
        elif any(strange):
            result = other if strange[0] else result
        else:
            result = (min if op == "min" else max)(result, other, key=lambda b: key(form, b))
    if form.decode(result)[1] == exact.NAN:
        return form.quiet
    if "xorsign" in modifiers:
        result = result & ~form.sign_bit | (initial[0] ^ initial[1]) & form.sign_bit
    return result


@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_of_two_and_three(op: str) -> None:
    form = exact.F32
    inputs = operands("f32", 3, 900)
    kinds = ["", "ftz.", "NaN.", "ftz.NaN.", "xorsign.abs.", "NaN.xorsign.abs."]
    two = [Case(f"{op}.{kind}f32 %o, %a, %b;", "f4") for kind in kinds]
    three = [Case(f"{op}.{kind}f32 %o, %a, %b, %c;", "f4") for kind in ("", "NaN.", "abs.", "ftz.NaN.abs.")]
    rows = list(zip(*([int(x) for x in bits_of(a)] for a in inputs.values()), strict=True))
    for case, actual in zip([*two, *three], everywhere([*two, *three], inputs), strict=True):
        modifiers = tuple(case.text.split(" ")[0].split(".")[1:-1])
        count = 3 if "%c" in case.text else 2
        for row, bits in zip(rows, bits_of(actual), strict=True):
            assert int(bits) == ordered(form, op, modifiers, row[:count]), (case.text, [hex(x) for x in row])


@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_of_doubles(op: str) -> None:
    check(
        "f64",
        [(f"{op}.f64 %o, %a, %b;", lambda a, b: ordered(exact.F64, op, (), (a, b)))],
        operands("f64", 2, 900),
    )


@pytest.mark.parametrize("ty", ["f32", "f64"])
def test_signs_and_classes(ty: str) -> None:
    form = FORMATS[ty]
    inputs = operands(ty, 2, 400)
    raw = {name: bits_of(a) for name, a in inputs.items()}
    sign = np.array(form.sign_bit, raw["a"].dtype)
    magnitude = raw["a"] & ~sign
    classes = {
        "finite": magnitude < form.infinity,
        "infinite": magnitude == form.infinity,
        "number": magnitude <= form.infinity,
        "notanumber": magnitude > form.infinity,
        "normal": (magnitude < form.infinity) & ((magnitude == 0) | (magnitude >= 1 << form.fraction)),
        "subnormal": (magnitude > 0) & (magnitude < 1 << form.fraction),
    }
    out = f"f{raw['a'].dtype.itemsize}"
    cases = [Case(f"testp.{name}.{ty} %o, %a;", "?") for name in classes]
    cases += [Case(f"{text} %o, %a, %b;", out) for text in (f"copysign.{ty}",)]
    cases += [Case(f"neg.{ty} %o, %a;", out), Case(f"abs.{ty} %o, %a;", out)]
    *tests, copied, negated, absolute = everywhere(cases, inputs)
    for (name, expected), actual in zip(classes.items(), tests, strict=True):
        assert np.array_equal(actual, expected), name
    assert np.array_equal(bits_of(copied), raw["b"] & ~sign | raw["a"] & sign)
    assert np.array_equal(bits_of(negated), raw["a"] ^ sign)
    assert np.array_equal(bits_of(absolute), magnitude)
