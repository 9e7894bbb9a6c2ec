"""The gradebook in a terminal: names and numbers are not cut at any width."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from rich.console import Console

from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.terminal_report import gradebook
from tests.grading.reports.invented_class import judged

CELLS = {f"step_{number}": 5.0 for number in range(20)}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_columns_are_not_cut(width: int) -> None:
    grades = Grades("lab", CELLS, {"a_student_with_a_long_name": dict.fromkeys(CELLS, 2.5)})
    console = Console(file=io.StringIO(), width=width)
    inspection = judged("a_student_with_a_long_name", "", (), level=2)
    console.print(gradebook(AssignmentReport(grades, {"a_student_with_a_long_name": inspection}), width))
    assert isinstance(console.file, io.StringIO)
    output = console.file.getvalue()
    assert "…" not in output
    assert all(cell in output for cell in CELLS)
    assert "a_student_with_a_long_name (level 2)" in output
    assert output.count("total") == 1


def test_total_is_the_first_column() -> None:
    grades = Grades("lab", CELLS, {"ada": dict.fromkeys(CELLS, 2.5)})
    console = Console(file=io.StringIO(), width=60)
    console.print(gradebook(AssignmentReport(grades, {}), 60))
    assert isinstance(console.file, io.StringIO)
    (first, *_) = (line.split() for line in console.file.getvalue().splitlines() if "ada" in line)
    assert first[:3] == ["ada", "50", "2.5"]


def test_codes_in_a_name_do_not_reach_the_terminal() -> None:
    grades = Grades("lab", {"step": 5.0}, {"José\x1b[2J\n": {"step": None}})
    console = Console(file=io.StringIO(), width=60)
    console.print(gradebook(AssignmentReport(grades, {}, ungraded={"José\x1b[2J\n": "its name"}), 60))
    assert isinstance(console.file, io.StringIO)
    assert r"'Jos\xe9\x1b[2J\n' (not graded)" in console.file.getvalue()
