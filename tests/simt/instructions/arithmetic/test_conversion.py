"""Comparison of conversions with exact rational arithmetic: all pairs of types and rounding modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor, trunc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt import exact
from tests.simt.patterns import FLOATS, INTEGERS, combined, random_bits
from tests.simt.ptx_harness import SHAPES, Case, everywhere, run

Array = npt.NDArray[Any]
INTEGER_TYPES = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FORMATS = {"f16": exact.F16, "bf16": exact.BF16, "f32": exact.F32, "f64": exact.F64}
MODES = ("rn", "rz", "rm", "rp")
WHOLE: dict[str, Callable[[Fraction], int]] = {"rni": round, "rzi": trunc, "rmi": floor, "rpi": ceil}


def width(ty: str) -> int:
    return int(ty.lstrip("usbf"))


def source(ty: str, count: int = 500) -> Array:
    """Return bit patterns of a type as an array to load; 8-bit ones have random bits above them."""
    bits = width(ty)
    if ty in FORMATS:
        (found,) = combined(FLOATS[ty], bits, 1, count, 7)
        if ty in ("f32", "f64"):  # numbers around the ends of the integer types, and halves
            powers = [2.0**n for n in (0, 3, 7, 8, 15, 16, 31, 32, 63, 64)]
            edges = [s * (p + d) for p in powers for s in (1, -1) for d in (-1, -0.5, 0, 0.5, 1)]
            moderate = np.random.default_rng(1).normal(0, 1, 200) * 10.0 ** (np.arange(200) / 10)
            some = np.array([*edges, *moderate], f"f{bits // 8}")
            return np.concatenate([found.view(f"f{bits // 8}"), some])
        return found
    if bits == 8:
        return np.concatenate([np.arange(256, dtype=np.uint16), random_bits(16, 100, 5)])
    return combined(INTEGERS[bits], bits, 1, count, 3)[0]


def as_integer(bits: int, ty: str) -> int:
    bits &= (1 << width(ty)) - 1
    return bits - (1 << width(ty)) if ty[0] == "s" and bits >> width(ty) - 1 else bits


def limits(ty: str) -> tuple[int, int]:
    bits = width(ty)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if ty[0] == "s" else (0, (1 << bits) - 1)


def filled(value: int, ty: str) -> int:
    """Return an integer of a type as the bits of a register of at least 16 bits."""
    return value & ((1 << max(16, width(ty))) - 1)


def check(
    cases: Sequence[tuple[str, str, Callable[[int], int]]], initial: Array, everywhere_too: bool = True
) -> None:
    """Run the cases: text, dtype of the result, and the expected bits as a function of the source's bits."""
    texts = [Case(text, out) for text, out, _ in cases]
    found = everywhere(texts, {"a": initial}, SHAPES[: 2 if everywhere_too else 1])
    raw = [int(x) for x in initial.view(f"u{initial.dtype.itemsize}")]
    for (text, _, wanted), actual in zip(cases, found, strict=True):
        for bits, result in zip(raw, actual.view(f"u{actual.dtype.itemsize}"), strict=True):
            assert int(result) == wanted(bits), (text, hex(bits), hex(result), hex(wanted(bits)))


@pytest.mark.parametrize("ty", INTEGER_TYPES)
def test_integers_to_integers(ty: str) -> None:
    cases = []
    for to in INTEGER_TYPES:
        out = f"u{max(16, width(to)) // 8}"
        least, most = limits(to)

        def plain(bits: int, to: str = to) -> int:
            return filled(as_integer(as_integer(bits, ty), to), to)

        def saturated(bits: int, to: str = to, least: int = least, most: int = most) -> int:
            return filled(max(least, min(most, as_integer(bits, ty))), to)

        cases += [(f"cvt.{to}.{ty} %o, %a;", out, plain), (f"cvt.sat.{to}.{ty} %o, %a;", out, saturated)]
    check(cases, source(ty))


def test_narrow_result_is_extended_to_its_register() -> None:
    cases = [
        ("cvt.s8.u16 %o, %a;", "u4", lambda bits: as_integer(bits, "s8") & 0xFFFFFFFF),
        ("cvt.u8.u16 %o, %a;", "u4", lambda bits: bits & 0xFF),
        ("cvt.s16.u16 %o, %a;", "u8", lambda bits: as_integer(bits, "s16") & (1 << 64) - 1),
    ]
    check(cases, random_bits(16, 300, 2))


def to_integer(form: exact.Format, ty: str, to: str, mode: str, bits: int) -> int:
    negative, value = form.decode(bits)
    least, most = limits(to)
    if value == exact.NAN:
        top = as_integer(1 << width(to) - 1, to)
        return filled(top, to) if ty == "f64" or width(to) == 64 else 0
    if value == exact.INF:
        return filled(least if negative else most, to)
    assert isinstance(value, Fraction)
    return filled(max(least, min(most, WHOLE[mode](-value if negative else value))), to)


@pytest.mark.parametrize("ty", FORMATS)
def test_floats_to_integers(ty: str) -> None:
    """Results are clamped; NaN gives 0, or the top bit for 64-bit types (PTX ISA, section 9.7.9.21)."""
    cases = []
    for to in INTEGER_TYPES:
        out = f"u{max(16, width(to)) // 8}"
        for mode in WHOLE:

            def wanted(bits: int, to: str = to, mode: str = mode) -> int:
                return to_integer(FORMATS[ty], ty, to, mode, bits)

            cases.append((f"cvt.{mode}.{to}.{ty} %o, %a;", out, wanted))
    initial = source(ty)
    for start in range(0, len(cases), 8):
        check(cases[start : start + 8], initial, everywhere_too=start == 0)


@pytest.mark.parametrize("ty", INTEGER_TYPES)
def test_integers_to_floats(ty: str) -> None:
    cases = []
    for to, form in FORMATS.items():
        out = f"f{width(to) // 8}" if to in ("f32", "f64") else "u2"
        for mode in MODES:

            def wanted(bits: int, form: exact.Format = form, mode: str = mode) -> int:
                value = as_integer(bits, ty)
                return form.encode(value < 0, Fraction(abs(value)), mode)

            cases.append((f"cvt.{mode}.{to}.{ty} %o, %a;", out, wanted))
    check(cases, source(ty))


def narrowed(to: str, ty: str, mode: str, bits: int) -> int:
    return FORMATS[to].encode(*FORMATS[ty].decode(bits), mode)


@pytest.mark.parametrize("ty", FORMATS)
@pytest.mark.parametrize("to", FORMATS)
def test_floats_to_floats(to: str, ty: str) -> None:
    """Any NaN is accepted for f32 and f64; f16 and bf16 have a canonical NaN."""
    form = FORMATS[to]
    out = f"f{width(to) // 8}" if to in ("f32", "f64") else "u2"
    if to == ty:
        cases = [Case(f"cvt.{mode}.{to}.{ty} %o, %a;", out) for mode in WHOLE]
    elif FORMATS[ty].fraction <= form.fraction and FORMATS[ty].exponent <= form.exponent:
        cases = [Case(f"cvt.{to}.{ty} %o, %a;", out)]
    else:
        cases = [Case(f"cvt.{mode}.{to}.{ty} %o, %a;", out) for mode in MODES]
    initial = source(ty)
    for case, actual in zip(cases, everywhere(cases, {"a": initial}), strict=True):
        mode = case.text.split(".")[1]
        for bits, result in zip(
            initial.view(f"u{width(ty) // 8}"), actual.view(f"u{width(to) // 8}"), strict=True
        ):
            negative, value = FORMATS[ty].decode(int(bits))
            if isinstance(value, Fraction) and mode in WHOLE:
                whole = WHOLE[mode](-value if negative else value)
                value = Fraction(abs(whole))
            expected = form.encode(negative, value, mode if mode in MODES else "rn")
            if value == exact.NAN and out != "u2":
                assert form.decode(int(result))[1] == exact.NAN
            else:
                assert int(result) == expected, (case.text, hex(bits), hex(result), hex(expected))


def test_saturation_and_flushing_between_floats() -> None:
    f32, flush = exact.F32, exact.F32.flushed
    cases = [
        ("cvt.sat.f32.f32 %o, %a;", "f4", f32.clamped),
        ("cvt.ftz.sat.f32.f32 %o, %a;", "f4", lambda bits: f32.clamped(flush(bits))),
        (
            "cvt.rn.sat.f16.f32 %o, %a;",
            "u2",
            lambda bits: exact.F16.clamped(narrowed("f16", "f32", "rn", bits)),
        ),
        ("cvt.rzi.ftz.u32.f32 %o, %a;", "u4", lambda bits: to_integer(f32, "f32", "u32", "rzi", flush(bits))),
        ("cvt.rpi.ftz.s32.f32 %o, %a;", "u4", lambda bits: to_integer(f32, "f32", "s32", "rpi", flush(bits))),
    ]
    check(cases, source("f32"))
    double = source("f64")
    subnormal = np.array([1e-39, -1e-40, 1.2e-38, 5e-324], np.float64)
    initial = np.concatenate([double[~np.isnan(double)], subnormal])
    check(
        [("cvt.rn.ftz.f32.f64 %o, %a;", "f4", lambda bits: flush(narrowed("f32", "f64", "rn", bits)))],
        initial,
    )


@pytest.mark.parametrize("ty", ["f16", "bf16"])
def test_floats_to_halves_with_relu_and_satfinite(ty: str) -> None:
    form = FORMATS[ty]

    def wanted(bits: int, mode: str, relu: bool, finite: bool) -> int:
        negative, value = exact.F32.decode(bits)
        if value == exact.NAN:
            return form.quiet
        return 0 if relu and negative else form.encode(negative, value, mode, finite)

    cases = []
    for mode in ("rn", "rz"):
        for relu in ("", ".relu"):
            for finite in ("", ".satfinite"):

                def one(bits: int, m: str = mode, r: bool = bool(relu), f: bool = bool(finite)) -> int:
                    return wanted(bits, m, r, f)

                cases.append((f"cvt.{mode}{relu}{finite}.{ty}.f32 %o, %a;", "u2", one))
                pair = f"cvt.{mode}{relu}{finite}.{ty}x2.f32 %o, %a, 0f3F800000;"
                cases.append((pair, "u4", lambda bits, one=one: one(bits) << 16 | form.bias << form.fraction))
    check(cases, source("f32", 900))


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_eight_bit_floats(name: str) -> None:
    form = exact.E4M3 if name == "e4m3" else exact.E5M2

    def down(ty: str, bits: int, relu: bool) -> int:
        negative, value = FORMATS[ty].decode(bits)
        if value == exact.NAN:
            return form.quiet
        return 0 if relu and negative else form.encode(negative, value, "rn", True)

    cases = []
    for relu in ("", ".relu"):

        def two(bits: int, r: bool = bool(relu)) -> int:
            return down("f32", bits, r) << 8 | form.bias << form.fraction

        cases.append((f"cvt.rn.satfinite{relu}.{name}x2.f32 %o, %a, 0f3F800000;", "u2", two))
    check(cases, source("f32", 900))
    halves = np.arange(1 << 16, dtype=np.uint32)
    pairs = halves | halves[::-1] << 16
    for ty in ("f16", "bf16"):
        table = [down(ty, bits, False) for bits in range(1 << 16)]
        (actual,) = run([Case(f"cvt.rn.satfinite.{name}x2.{ty}x2 %o, %a;", "u2")], {"a": pairs})
        assert np.array_equal(actual & 0xFF, table)
        assert np.array_equal(actual >> 8, table[::-1])
    table = [exact.F16.encode(*form.decode(bits)) for bits in range(256)]
    both = np.arange(256, dtype=np.uint16) | np.arange(256, dtype=np.uint16)[::-1] << 8
    (actual,) = everywhere([Case(f"cvt.rn.f16x2.{name}x2 %o, %a;", "u4")], {"a": both})
    assert np.array_equal(actual & 0xFFFF, table)
    assert np.array_equal(actual >> 16, table[::-1])


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_floats_to_tf32(mode: str) -> None:
    """NaN becomes the canonical NaN, except for ties away, where GPUs add to its bits."""

    def wanted(bits: int) -> int:
        negative, value = exact.F32.decode(bits)
        if mode == "rna":
            return bits + (1 << 12) & 0xFFFFE000
        return 0x7FFFE000 if value == exact.NAN else exact.TF32.encode(negative, value, mode) << 13

    def finite(bits: int) -> int:
        negative, value = exact.F32.decode(bits)
        return 0x7FFFE000 if value == exact.NAN else exact.TF32.encode(negative, value, mode, True) << 13

    cases = [(f"cvt.{mode}.tf32.f32 %o, %a;", "u4", wanted)]
    cases.append((f"cvt.{mode}.satfinite.tf32.f32 %o, %a;", "u4", finite))
    check(cases, source("f32", 900))


def test_rounding_ties_away() -> None:
    (actual,) = run([Case("cvt.rna.tf32.f32 %o, %a;", "u4")], {"a": source("f32", 900)})
    for bits, result in zip(source("f32", 900).view(np.uint32), actual, strict=True):
        negative, value = exact.F32.decode(int(bits))
        if value != exact.NAN:
            assert int(result) == exact.TF32.encode(negative, value, "rna") << 13


@pytest.mark.parametrize("to", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_pack_saturated_integers(to: str) -> None:
    bits, (least, most) = width(to), limits(to)
    a, b, c = combined(INTEGERS[32], 32, 3, 400)
    text = (
        f"cvt.pack.sat.{to}.s32 %o, %a, %b;" if bits == 16 else f"cvt.pack.sat.{to}.s32.b32 %o, %a, %b, %c;"
    )
    (actual,) = everywhere([Case(text, "u4")], {"a": a, "b": b, "c": c})
    mask = (1 << bits) - 1
    for x, y, z, result in zip(a.view(np.int32), b.view(np.int32), c, actual, strict=True):
        upper, lower = (max(least, min(most, int(v))) & mask for v in (x, y))
        rest = int(z) << 2 * bits if bits < 16 else 0
        assert int(result) == (rest | upper << bits | lower) & 0xFFFFFFFF
