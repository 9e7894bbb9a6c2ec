"""Points as CSV: all cells, the forms of Moodle and Canvas, and text that a spreadsheet would evaluate."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.gradebook import Grades, Lateness, Person
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.grade_files import canvas_rows, csv_rows, incomplete, moodle_rows, write_rows
from tests.grading.reports.invented_class import judged

REPORT = AssignmentReport(
    Grades(
        "lab",
        {"opt_1_test": 10.0, "answer_1": 5.0},
        {
            "ada": {"opt_1_test": 7.5, "answer_1": 4.0},
            "bob": {"opt_1_test": 10.0, "answer_1": None},
            "cyd": {"opt_1_test": 1.0, "answer_1": 1.0},
        },
        late={"ada": Lateness(3600, 1.5)},
        people={"ada": Person("First", "Last", "ada@example.org", "17")},
    ),
    {"ada": judged("ada", "", (), level=2)},
    ungraded={"cyd": "it is not a notebook"},
)


def records(rows: list) -> dict[str, dict]:
    """Return the rows after the header as dicts, by the value in the column of student names."""
    head, *body = rows
    key = next(name for name in ("student", "Username", "SIS Login ID") if name in head)
    return {row[head.index(key)]: dict(zip(head, row, strict=True)) for row in body}


def test_csv_has_a_column_for_each_cell() -> None:
    ada = records(csv_rows([REPORT]))["ada"]
    assert (ada["opt_1_test"], ada["answer_1"]) == (7.5, 4.0)


def test_csv_has_total_after_the_penalty_and_level() -> None:
    ada = records(csv_rows([REPORT]))["ada"]
    assert (ada["total"], ada["max"], ada["level"], ada["late_s"], ada["penalty"]) == (10, 15, 2, 3600, 1.5)


def test_csv_counts_answers_that_are_not_read() -> None:
    assert records(csv_rows([REPORT]))["bob"]["not_read"] == 1


def test_moodle_has_identity_and_grade() -> None:
    ada = records(moodle_rows([REPORT]))["ada"]
    assert (ada["ID number"], ada["Email address"], ada["lab"]) == ("17", "ada@example.org", 10)


@pytest.mark.parametrize("rows", [moodle_rows, canvas_rows])
def test_grade_is_empty_until_all_answers_are_read(rows) -> None:
    assert records(rows([REPORT]))["bob"]["lab"] is None


def test_incomplete_students_are_named() -> None:
    assert incomplete(REPORT) == ["bob", "cyd"]


def test_canvas_starts_with_its_columns_and_points_possible() -> None:
    header, points, *_ = canvas_rows([REPORT])
    assert header == ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", "lab")
    assert (points[0].strip(), points[-1]) == ("Points Possible", 15)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "  =1"])
def test_text_is_no_formula(tmp_path: Path, text: str) -> None:
    named = replace(REPORT.grades, people={"ada": Person(first_name=text)})
    path = write_rows(csv_rows([replace(REPORT, grades=named)]), tmp_path / "grades.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        assert records(list(csv.reader(stream)))["ada"]["first_name"] == f"'{text}"


def test_two_labs_have_two_grades() -> None:
    other = replace(REPORT, grades=replace(REPORT.grades, assignment="other", late={}))
    ada = records(moodle_rows([REPORT, other]))["ada"]
    assert (ada["lab"], ada["other"]) == (10, 11.5)


def test_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_rows([], tmp_path / "missing" / "grades.csv")
