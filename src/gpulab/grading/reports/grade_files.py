"""Points as CSV: one column per test cell, and the forms that Moodle and Canvas import.

Moodle's grade import lets the teacher map columns: one that identifies the user (username, ID number or
e-mail address), and one per grade item. An empty grade leaves the item without a grade. See "Grade import"
in Moodle's documentation.

Canvas's gradebook import expects the columns Student, ID, SIS User ID, SIS Login ID and Section before those
of assignments, and a row "Points Possible" after the header. It finds a student by the first identifier that
is filled in. An empty grade changes nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.pipeline.gradebook import Person
from gpulab.grading.reports.assignment_report import AssignmentReport

__all__ = ["canvas_rows", "csv_rows", "incomplete", "moodle_rows", "write_rows"]

Row = Sequence[str | float | None]

# A spreadsheet takes text that starts with one of these for a formula, also after blanks.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_rows(rows: Iterable[Row], path: Path) -> Path:
    """Write rows as CSV in UTF-8 and return the path; raise `UsageError` if it cannot be written."""
    try:
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None
    return path


def _cell(value: str | float | None) -> str:
    """Return a number as it is, and text in a form that no spreadsheet evaluates."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"{value:.10g}"
    return f"'{value}" if value.lstrip(" ").startswith(FORMULA_STARTS) else value


def csv_rows(reports: Sequence[AssignmentReport]) -> list[Row]:
    """Return a row for each assignment and student, with a column for each test cell.

    A test cell that is not graded yet is empty. `total` has the penalty deducted.
    """
    cells = list(dict.fromkeys(cell for report in reports for cell in report.grades.max_scores))
    after = ("total", "max", "level", "late_s", "penalty", "not_read", "error")
    rows: list[Row] = [("assignment", "student", "last_name", "first_name", "email", *cells, *after)]
    for report in reports:
        for student in report.students:
            person, late = _person(report, student), report.lateness(student)
            rows.append(
                (
                    report.grades.assignment,
                    student,
                    person.last_name,
                    person.first_name,
                    person.email,
                    *(report.score(student, cell) for cell in cells),
                    report.total(student),
                    report.max_total(student),
                    report.level(student),
                    late.seconds,
                    late.penalty,
                    len(report.not_read(student)),
                    report.ungraded.get(student, ""),
                )
            )
    return rows


def moodle_rows(reports: Sequence[AssignmentReport]) -> list[Row]:
    """Return a row for each student with a grade for each assignment, for Moodle's grade import."""
    names = [report.grades.assignment for report in reports]
    rows: list[Row] = [("Username", "ID number", "First name", "Last name", "Email address", *names)]
    for student in _students(reports):
        person = _first_person(reports, student)
        identity = (student, person.lms_user_id, person.first_name, person.last_name, person.email)
        rows.append((*identity, *(_grade(report, student) for report in reports)))
    return rows


def canvas_rows(reports: Sequence[AssignmentReport]) -> list[Row]:
    """Return a row for each student with a grade for each assignment, for Canvas's gradebook import."""
    names = [report.grades.assignment for report in reports]
    rows: list[Row] = [
        ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", *names),
        ("    Points Possible", "", "", "", "", *(report.grades.max_total for report in reports)),
    ]
    for student in _students(reports):
        person = _first_person(reports, student)
        name = ", ".join(part for part in (person.last_name, person.first_name) if part) or student
        grades = (_grade(report, student) for report in reports)
        rows.append((name, person.lms_user_id, "", student, "", *grades))
    return rows


def incomplete(report: AssignmentReport) -> list[str]:
    """Return the students whose grade is left empty: not graded, or with an answer that is not read yet."""
    return [student for student in report.students if _grade(report, student) is None]


def _grade(report: AssignmentReport, student: str) -> float | None:
    """Return the total, or None if it is not final: not graded, or an answer is not read yet."""
    if student not in report.grades.scores or student in report.ungraded or report.not_read(student):
        return None
    return report.total(student)


def _students(reports: Sequence[AssignmentReport]) -> list[str]:
    return sorted({student for report in reports for student in report.students})


def _person(report: AssignmentReport, student: str) -> Person:
    return report.grades.people.get(student, Person())


def _first_person(reports: Sequence[AssignmentReport], student: str) -> Person:
    return next((r.grades.people[student] for r in reports if student in r.grades.people), Person())
