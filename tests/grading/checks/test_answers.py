"""Numbers compared with the right ones: what counts as right, as an answer at all, and what it earns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.answers import compare_answers, graded_numbers
from gpulab.grading.checks.shares import share
from gpulab.notebook import screen
from gpulab.provenance import Provenance
from gpulab.views.html import View

TRUTH = {"loads": 8, "bandwidth": 66.8, "share": 0.25, "zero": 0}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[View]:
    views: list[View] = []
    monkeypatch.setattr(screen, "show", views.append)
    return views


@pytest.mark.parametrize(
    ("got", "right", "within", "is_right"),
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
def test_a_number_is_right_within_its_part_of_the_right_one(
    got: object, right: float, within: float, is_right: bool
) -> None:
    (answer,) = compare_answers({"a": got}, {"a": right}, within=within)
    assert answer.is_right is is_right


@pytest.mark.parametrize(
    "got",
    [None, ..., "8", "", True, [8], 8j, float("nan"), float("inf"), {}, np.array([8]), object()],
    ids=lambda got: "an object" if type(got) is object else repr(got),
)
def test_what_is_no_number_is_not_right_and_the_table_says_why(got: object, shown: list[View]) -> None:
    assert graded_numbers({"a": got, "b": 1}, {"a": 8, "b": 1}, points=2) == 1
    (answer,) = compare_answers({"a": got}, {"a": 8})
    assert answer.words in shown[0].text


def test_what_is_not_answered_does_not_show_the_right_number(shown: list[View]) -> None:
    graded_numbers({"a": None, "c": 1}, {"a": 12345, "b": 54321, "c": 1}, points=3)
    assert "12,345" not in shown[0].text
    assert "54,321" not in shown[0].text


def test_all_right_leaves_the_full_mark_to_nbgrader(shown: list[View]) -> None:
    assert graded_numbers(TRUTH, TRUTH, points=4) is None
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("right", "points", "value"),
    [(1, 4, "1"), (3, 4, "3"), (1, 5, "1"), (2, 5, "2.5"), (3, 5, "3.5"), (1, 1, "0"), (3, 1, "0.5")],
)
def test_each_right_number_earns_its_share_in_halves(
    shown: list[View], right: int, points: float, value: str
) -> None:
    answers = dict(list(TRUTH.items())[:right])
    assert repr(graded_numbers(answers, TRUTH, points=points)) == value


@given(points=st.floats(0.5, 100), of=st.integers(1, 30), data=st.data())
def test_a_share_is_never_more_than_its_part(points: float, of: int, data: Any) -> None:
    right = data.draw(st.integers(0, of))
    earned = share(points, right, of)
    assert 0 <= earned <= points * right / of + 1e-6
    assert earned * 2 == int(earned * 2)


@pytest.mark.parametrize("answers", [{}, dict.fromkeys(TRUTH), {"loads": 9, "share": "x"}])
def test_nothing_right_raises_after_the_table_is_shown(shown: list[View], answers: dict[str, Any]) -> None:
    with pytest.raises(WrongResult):
        graded_numbers(answers, TRUTH, points=4)
    assert len(shown) == 1


@pytest.mark.parametrize("answers", [None, ..., [8, 66.8], "8", 8])
def test_answers_are_a_dictionary(shown: list[View], answers: Any) -> None:
    with pytest.raises(UsageError, match="dictionary"):
        graded_numbers(answers, TRUTH, points=4)


def test_a_name_that_was_not_asked_for_is_pointed_out(shown: list[View]) -> None:
    graded_numbers({"loads": 8, "bandwith": 66.8}, TRUTH, points=4)
    assert "bandwith" in shown[0].text


def test_each_right_number_says_where_it_comes_from(shown: list[View]) -> None:
    counted = Provenance("counted", "simulator (H200)")
    graded_numbers({"a": 1, "b": 3}, {"a": (1, counted), "b": (2, "a table")}, points=2)
    assert str(counted) in shown[0].text
    assert "a table" in shown[0].text


def test_a_tolerance_may_be_each_numbers_own(shown: list[View]) -> None:
    assert graded_numbers({"a": 9, "b": 9}, {"a": 10, "b": 10}, points=2, within={"a": 0.2}) == 1


def test_html_of_a_submission_is_text(shown: list[View]) -> None:
    graded_numbers({"<b>": 1, "a": 1}, {"a": 1, "b": 2}, points=2)
    assert "<b>`" not in shown[0].html
    assert "&lt;b&gt;" in shown[0].html
