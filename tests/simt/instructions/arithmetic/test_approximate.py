"""Tests that the approximate functions are within the error limits of the PTX manual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt.patterns import FLOATS, combined
from tests.simt.ptx_harness import SHAPES, Case, everywhere, run

Array = npt.NDArray[Any]
SPECIAL = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan], np.float32)
POSITIVE = np.arange(1, 0x7F800000, 4099, dtype=np.uint32).view(np.float32)  # over the whole range
ALL = np.concatenate([POSITIVE, -POSITIVE])


def of(op: str, x: Array) -> Array:
    return run([Case(f"{op} %o, %a;", "f4" if x.dtype == np.float32 else "f8")], {"a": x})[0]


def exactly(function: Callable[[Array], Array], x: Array) -> Array:
    with np.errstate(all="ignore"):
        return function(x.astype(np.longdouble))


def ulps(actual: Array, expected: Array) -> float:
    """Return the largest error in units in the last place of the rounded exact result."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float32)
        finite = np.isfinite(rounded)
        distance = np.abs(actual.astype(np.longdouble) - expected) / np.spacing(np.abs(rounded)).astype(
            np.longdouble
        )
    assert np.array_equal(actual[~finite], rounded[~finite], equal_nan=True)
    return float(np.max(distance[finite]))


def relative(actual: Array, expected: Array) -> float:
    with np.errstate(all="ignore"):
        error = np.abs(actual.astype(np.longdouble) / expected - 1)
    return float(np.max(error[np.isfinite(expected) & (expected != 0)]))


def test_error_of_ex2_is_at_most_two_ulps() -> None:
    """Section 9.7.3.21."""
    x = np.concatenate([np.linspace(-150, 130, 200_001).astype(np.float32), ALL])
    assert ulps(of("ex2.approx.f32", x), exactly(np.exp2, x)) <= 2


def test_error_of_lg2() -> None:
    """Section 9.7.3.20: absolute from 1/2 to 2, relative elsewhere."""
    near = np.linspace(0.5, 2, 200_001).astype(np.float32)
    assert np.max(np.abs(of("lg2.approx.f32", near) - exactly(np.log2, near))) <= 2**-22
    far = POSITIVE[(POSITIVE <= 0.5) | (POSITIVE >= 2)]
    assert relative(of("lg2.approx.f32", far), exactly(np.log2, far)) <= 2**-22


@pytest.mark.parametrize("op", ["sin", "cos"])
@pytest.mark.parametrize(("turns", "bound"), [(1, 2**-20.5), (50, 2**-14.7)])
def test_sine_and_cosine(op: str, turns: int, bound: float) -> None:
    """Sections 9.7.3.18 and 9.7.3.19: an absolute error, to 2 pi and to 100 pi."""
    x = np.linspace(-2 * np.pi * turns, 2 * np.pi * turns, 200_001).astype(np.float32)
    assert np.max(np.abs(of(f"{op}.approx.f32", x) - exactly(getattr(np, op), x))) <= bound


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sine_and_cosine_are_within_one_for_any_argument(op: str) -> None:
    assert np.max(np.abs(of(f"{op}.approx.f32", ALL))) <= 1


def test_error_of_tanh() -> None:
    """Section 9.7.3.22: a relative error."""
    x = np.concatenate([np.linspace(-10, 10, 200_001).astype(np.float32), ALL])
    assert relative(of("tanh.approx.f32", x), exactly(np.tanh, x)) <= 2**-11


def test_error_of_rsqrt() -> None:
    """Section 9.7.3.16: a relative error."""
    assert relative(of("rsqrt.approx.f32", POSITIVE), exactly(lambda x: 1 / np.sqrt(x), POSITIVE)) <= 2**-22.9


def test_errors_of_rcp_sqrt_and_div() -> None:
    """Sections 9.7.3.13, 9.7.3.15 and 9.7.3.8."""
    assert ulps(of("rcp.approx.f32", ALL), exactly(lambda x: 1 / x, ALL)) <= 1
    assert relative(of("sqrt.approx.f32", POSITIVE), exactly(np.sqrt, POSITIVE)) <= 2**-23
    a, b = (v.view(np.float32) for v in combined(FLOATS["f32"], 32, 2, 4000))
    with np.errstate(all="ignore"):
        expected = a.astype(np.longdouble) / b.astype(np.longdouble)
        usual = (np.abs(b) >= 2**-126) & (np.abs(b) <= np.float32(2**126))
    full, fast = run([Case(f"div.{k}.f32 %o, %a, %b;", "f4") for k in ("full", "approx")], {"a": a, "b": b})
    assert ulps(full, expected) <= 2
    assert ulps(fast[usual], expected[usual]) <= 2


def test_approximate_quotient_by_a_huge_number_is_zero() -> None:
    """Section 9.7.3.8: above 2^126 the divisor's reciprocal is 0."""
    a = np.array([1, -3, 3e38, np.inf, -np.inf], np.float32)
    b = np.full(5, 2**127, np.float32)
    (actual,) = everywhere([Case("div.approx.f32 %o, %a, %b;", "f4")], {"a": a, "b": b})
    assert np.array_equal(actual, [0, -0.0, 0, np.nan, np.nan], equal_nan=True)
    assert list(np.signbit(actual[:3])) == [False, True, False]


SPECIAL_RESULTS = {
    "sin": [np.nan, -0.0, 0.0, np.nan, np.nan],
    "cos": [np.nan, 1.0, 1.0, np.nan, np.nan],
    "lg2": [np.nan, -np.inf, -np.inf, np.inf, np.nan],
    "ex2": [0.0, 1.0, 1.0, np.inf, np.nan],
    "tanh": [-1.0, -0.0, 0.0, 1.0, np.nan],
    "rsqrt": [np.nan, -np.inf, np.inf, 0.0, np.nan],
    "rcp": [-0.0, -np.inf, np.inf, 0.0, np.nan],
    "sqrt": [np.nan, -0.0, 0.0, np.inf, np.nan],
}


@pytest.mark.parametrize("op", SPECIAL_RESULTS)
def test_special_arguments(op: str) -> None:
    kinds = ["approx"] if op == "tanh" else ["approx", "approx.ftz"]
    for actual in everywhere([Case(f"{op}.{kind}.f32 %o, %a;", "f4") for kind in kinds], {"a": SPECIAL}):
        assert np.array_equal(actual, SPECIAL_RESULTS[op], equal_nan=True)
        zeros = np.array(SPECIAL_RESULTS[op]) == 0
        assert np.array_equal(np.signbit(actual)[zeros], np.signbit(SPECIAL_RESULTS[op])[zeros])


def test_subnormal_arguments_and_results_are_kept_or_flushed() -> None:
    tiny = np.array([1e-40, -1e-40], np.float32)
    kept, flushed = everywhere([Case(f"sin.approx{k}.f32 %o, %a;", "f4") for k in ("", ".ftz")], {"a": tiny})
    assert np.array_equal(kept, tiny)
    assert np.array_equal(flushed, [0, 0])
    assert list(np.signbit(flushed)) == [False, True]
    low = np.array([-130.5, -148.5], np.float32)
    kept, flushed = everywhere([Case(f"ex2.approx{k}.f32 %o, %a;", "f4") for k in ("", ".ftz")], {"a": low})
    assert np.array_equal(kept, np.exp2(low.astype(np.float64)).astype(np.float32))
    assert np.array_equal(flushed, [0, 0])


def test_uniform_affine_and_varying_arguments_give_the_same_bits() -> None:
    (a,) = combined(FLOATS["f32"], 32, 1, 500)
    ops = [f"{op}.approx.f32" for op in SPECIAL_RESULTS]
    everywhere([Case(f"{op} %o, %a;", "f4") for op in ops], {"a": a.view(np.float32)}, SHAPES)


def test_coarse_reciprocals_of_doubles() -> None:
    """Sections 9.7.3.14 and 9.7.3.17: from the upper 32 bits to the upper 32 bits."""
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(-300, 300, 2000)
    for op, function in (("rcp", lambda v: 1 / v), ("rsqrt", lambda v: 1 / np.sqrt(v))):
        actual = of(f"{op}.approx.ftz.f64", x)
        assert not np.any(actual.view(np.uint64) & np.uint64(0xFFFFFFFF))
        assert np.max(np.abs(actual / function(x) - 1)) <= 2**-19
    special = np.array([-np.inf, -1e-310, -0.0, 0.0, 1e-310, np.inf, np.nan])
    (rcp, rsqrt) = everywhere(
        [Case(f"{op}.approx.ftz.f64 %o, %a;", "f8") for op in ("rcp", "rsqrt")], {"a": special}
    )
    assert np.array_equal(rcp, [0, -np.inf, -np.inf, np.inf, np.inf, 0, np.nan], equal_nan=True)
    assert np.array_equal(rsqrt, [np.nan, -np.inf, -np.inf, np.inf, np.inf, 0, np.nan], equal_nan=True)
    assert rcp.view(np.uint64)[-1] == 0x7FFFFFFF00000000
