"""`graded_numbers`: tolerance, values that are not numbers, and points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.answers import compare_answers, graded_numbers
from gpulab.grading.checks.points import partial_score
from gpulab.notebook import screen
from gpulab.provenance import Provenance
from gpulab.views.html import View

REFERENCES = {"loads": 8, "bandwidth": 66.8, "share": 0.25, "zero": 0}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[View]:
    views: list[View] = []
    monkeypatch.setattr(screen, "show", views.append)
    return views


@pytest.mark.parametrize(
    ("value", "reference", "within", "is_correct"),
    [
        (8, 8, 0, True),
        (8.0, 8, 0, True),
        (np.int64(8), 8, 0, True),
        (np.float32(0.25), 0.25, 0, True),
        (np.array(8), 8, 0, True),
        (7, 8, 0, False),
        (66.8, 66.8000000001, 0, True),
        (63, 66.8, 0.1, True),
        (60, 66.8, 0.1, False),
        (-8, 8, 0.1, False),
        (0, 0, 0.1, True),
        (0.1, 0, 0.1, False),
        (-63, -66.8, 0.1, True),
    ],
)
def test_number_is_correct_within_the_relative_tolerance(
    value: object, reference: float, within: float, is_correct: bool
) -> None:
    (answer,) = compare_answers({"a": value}, {"a": reference}, within=within)
    assert answer.is_correct is is_correct


@pytest.mark.parametrize(
    "answer",
    [None, ..., "8", "", True, [8], 8j, float("nan"), float("inf"), {}, np.array([8]), object()],
    ids=lambda answer: "an object" if type(answer) is object else repr(answer),
)
def test_value_that_is_not_a_number_is_wrong_and_its_verdict_is_shown(
    answer: object, shown: list[View]
) -> None:
    assert graded_numbers({"a": answer, "b": 1}, {"a": 8, "b": 1}, points=2) == 1
    (graded,) = compare_answers({"a": answer}, {"a": 8})
    assert graded.verdict in shown[0].text


def test_reference_of_a_missing_answer_is_not_shown(shown: list[View]) -> None:
    graded_numbers({"a": None, "c": 1}, {"a": 12345, "b": 54321, "c": 1}, points=3)
    assert "12,345" not in shown[0].text
    assert "54,321" not in shown[0].text


def test_all_correct_returns_none_for_full_points(shown: list[View]) -> None:
    assert graded_numbers(REFERENCES, REFERENCES, points=4) is None
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("correct", "points", "value"),
    [(1, 4, "1"), (3, 4, "3"), (1, 5, "1"), (2, 5, "2.5"), (3, 5, "3.5"), (1, 1, "0"), (3, 1, "0.5")],
)
def test_correct_numbers_earn_shares_in_half_points(
    shown: list[View], correct: int, points: float, value: str
) -> None:
    answers = dict(list(REFERENCES.items())[:correct])
    assert repr(graded_numbers(answers, REFERENCES, points=points)) == value


@given(points=st.floats(0.5, 100), total=st.integers(1, 30), data=st.data())
def test_partial_score_is_a_multiple_of_half_within_the_share(points: float, total: int, data: Any) -> None:
    correct = data.draw(st.integers(0, total))
    earned = partial_score(points, correct, total)
    assert 0 <= earned <= points * correct / total + 1e-6
    assert earned * 2 == int(earned * 2)


@pytest.mark.parametrize("answers", [{}, dict.fromkeys(REFERENCES), {"loads": 9, "share": "x"}])
def test_no_correct_answer_raises_after_showing_the_table(shown: list[View], answers: dict[str, Any]) -> None:
    with pytest.raises(WrongResult):
        graded_numbers(answers, REFERENCES, points=4)
    assert len(shown) == 1


@pytest.mark.parametrize("answers", [None, ..., [8, 66.8], "8", 8])
def test_answers_that_are_not_a_mapping_are_refused(shown: list[View], answers: Any) -> None:
    with pytest.raises(UsageError, match="loads"):
        graded_numbers(answers, REFERENCES, points=4)


def test_unknown_name_is_shown(shown: list[View]) -> None:
    graded_numbers({"loads": 8, "bandwith": 66.8}, REFERENCES, points=4)
    assert "bandwith" in shown[0].text


def test_each_reference_is_shown_with_its_source(shown: list[View]) -> None:
    counted = Provenance("counted", "simulator (H200)")
    graded_numbers({"a": 1, "b": 3}, {"a": (1, counted), "b": (2, "a table")}, points=2)
    assert str(counted) in shown[0].text
    assert "a table" in shown[0].text


def test_tolerance_can_be_given_by_name(shown: list[View]) -> None:
    assert graded_numbers({"a": 9, "b": 9}, {"a": 10, "b": 10}, points=2, within={"a": 0.2}) == 1


def test_html_in_a_name_is_escaped(shown: list[View]) -> None:
    graded_numbers({"<b>": 1, "a": 1}, {"a": 1, "b": 2}, points=2)
    assert "<b>`" not in shown[0].html
    assert "&lt;b&gt;" in shown[0].html
