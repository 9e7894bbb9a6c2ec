"""The gradebook in a terminal: whole names and numbers, however many cells a lab has."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from rich.console import Console

from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.pipeline.inspection import Inspection
from gpulab.grading.reports.report import ClassReport
from gpulab.grading.reports.terminal_report import gradebook

CELLS = {f"answer_{number}": 5.0 for number in range(20)}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_column_is_cut(width: int) -> None:
    grades = Grades("lab", CELLS, {"a_student_with_a_long_name": dict.fromkeys(CELLS, 2.5)})
    console = Console(file=io.StringIO(), width=width)
    inspection = Inspection("a_student_with_a_long_name", "", (), level=2)
    console.print(gradebook(ClassReport(grades, {"a_student_with_a_long_name": inspection}), width))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "…" not in said
    assert all(cell in said for cell in CELLS)
    assert "a_student_with_a_long_name (level 2)" in said
    assert said.count("total") == 1
