"""Answers: tolerance, options, and values that are neither numbers nor options."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.exercises.quantity import Quantity, check_answers

NUMBER = Quantity("loads", "loads of a thread", tolerance=0.01)
ORDER = Quantity("order", "what happens first", options=("the write", "the read"))


@pytest.mark.parametrize(
    "answer", [100, 100.9, np.float32(100), np.int64(100), np.array(99.5), Fraction(100)]
)
def test_number_within_the_tolerance_is_right(answer: object) -> None:
    (checked,) = check_answers([NUMBER], {"loads": answer}, {"loads": 100})
    assert checked.is_right


@pytest.mark.parametrize("answer", [101.1, 98.9, -100, 0, 1e300, 10**30])
def test_other_number_is_not_right_yet(answer: object) -> None:
    (checked,) = check_answers([NUMBER], {"loads": answer}, {"loads": 100})
    assert (checked.is_right, checked.is_answered, checked.verdict) == (False, True, "not yet")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (None, "missing"),
        (..., "missing"),
        ("", "missing"),
        ("100", "quotes"),
        (True, "not a number"),
        (np.bool_(True), "not a number"),
        (float("nan"), "nan"),
        (float("-inf"), "inf"),
        (10**400, "too large"),
        (Fraction(10**400), "too large"),
        (100j, "not a number"),
        ([100], "not a number"),
        (np.array([100]), "not a number"),
        ({}, "not a number"),
        pytest.param(object(), "not a number", id="object"),
    ],
    ids=str,
)
def test_value_that_is_no_number_is_not_an_answer(answer: object, verdict: str) -> None:
    (checked,) = check_answers([NUMBER], {"loads": answer}, {"loads": 100})
    assert not checked.is_answered
    assert verdict in checked.verdict


@pytest.mark.parametrize("answer", ["the read", " The Read "])
def test_option_is_compared_without_case(answer: str) -> None:
    (checked,) = check_answers([ORDER], {"order": answer}, {"order": "the read"})
    assert checked.is_right


@pytest.mark.parametrize("answer", ["neither", 7, True, ["the read"]])
def test_other_value_is_refused_with_the_options(answer: object) -> None:
    (checked,) = check_answers([ORDER], {"order": answer}, {"order": "the read"})
    assert not checked.is_answered
    assert '"the write", "the read"' in checked.verdict


@given(st.dictionaries(st.text() | st.integers(), st.from_type(object), max_size=4))
def test_no_answers_raise_an_error(answers: dict[object, object]) -> None:
    check_answers([NUMBER, ORDER], answers, {"loads": 1, "order": "the read"})


@pytest.mark.parametrize("answer", [5000.0, 5e9, 0.005])
def test_number_in_another_unit_is_named(answer: float) -> None:
    rate = Quantity("rate", "speed of a kernel", "TFLOPS", 0.01)
    (checked,) = check_answers([rate], {"rate": answer}, {"rate": 5.0})
    assert (checked.is_right, checked.verdict) == (False, "not yet: check the unit")


def test_count_has_no_other_unit() -> None:
    (checked,) = check_answers([NUMBER], {"loads": 100_000}, {"loads": 100})
    assert checked.verdict == "not yet"
