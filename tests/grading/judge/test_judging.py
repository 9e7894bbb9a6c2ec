"""The points that the outputs of a test cell stand for; those of a submission may have any content."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab.grading.judge.judging import score_of


@pytest.mark.parametrize(
    ("text", "points"),
    [("2.5", 2.5), ("7", 4), ("-1", 0), ("nan", 4), ("a sentence", 4), (["2"], 4), (None, 4), (10**400, 4)],
)
def test_points_of_the_value_of_a_test_cell(text: Any, points: float) -> None:
    assert score_of([{"output_type": "execute_result", "data": {"text/plain": text}}], 4) == points


def test_error_after_a_value_gives_no_points() -> None:
    value = {"output_type": "execute_result", "data": {"text/plain": "4"}}
    assert score_of([value, {"output_type": "error"}], 4) == 0
