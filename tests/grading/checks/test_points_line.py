"""The line of points under a test cell."""

from __future__ import annotations

import pytest

from gpulab.exercises.lab_session import grade_as, start_lab
from gpulab.grading.checks.points import partial_score
from gpulab.grading.checks.points_line import award, points_line, record_points
from gpulab.notebook import level, screen
from gpulab.views.html import View

pytestmark = pytest.mark.usefixtures("new_lab")


def test_line_has_points_total_and_next_task() -> None:
    start_lab(seed=1, points=50)
    record_points("stencil.opt_1", 10)
    record_points("idle", 2.5)
    assert points_line(10, 10, "opt_2") == "10 of 10 points · 12.5 of 50 so far · Next: opt_2"


def test_total_is_that_of_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    start_lab(seed=1, points={1: 68, 2: 54})
    record_points("stencil.opt_2", 8)
    assert points_line(8, 10) == "8 of 10 points · 8 of 68 so far"
    monkeypatch.setattr(level.STATE, "level", 2)
    assert points_line(8, 10, "case 2", complete=True) == "8 of 10 points · 8 of 54 so far · Next: case 2"


def test_lab_without_a_maximum_shows_the_points_so_far() -> None:
    record_points("idle", 3)
    assert points_line(3, 3) == "3 of 3 points · 3 so far"


def test_part_of_the_points_names_no_next_task() -> None:
    assert "Next" not in points_line(3, 5, "opt_2")


def test_cell_that_runs_again_counts_once() -> None:
    for points in (5, 3):
        record_points("idle", points)
    assert points_line(3, 5) == "3 of 5 points · 3 so far"


def test_grader_shows_the_points_of_the_cell() -> None:
    start_lab(seed=1, points=50)
    grade_as("ada")
    assert points_line(10, 10, "opt_2") == "10 of 10 points"


def test_award_shows_its_points_and_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[View] = []
    monkeypatch.setattr(screen, "show", shown.append)
    award("axpy", 4, next="sum")
    assert [view.text for view in shown] == ["4 of 4 points · 4 so far · Next: sum"]


def test_part_of_the_points_is_a_number_as_text_and_a_sentence_in_a_page() -> None:
    score = partial_score(5, 2, 4)
    assert repr(score) == "2.5"
    assert "2.5 of 5 points" in score._repr_html_()
