"""Gradebook and speed-up table of an assignment in the terminal."""

from __future__ import annotations

import shutil

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from gpulab.grading.reports.assignment_report import AssignmentReport, step_label
from gpulab.grading.reports.speedups import SPEEDUP_HEADERS, speedup_rows

__all__ = ["gradebook", "speedup", "visible"]

TOTAL_WIDTH = 9  # characters of the column of totals, with its padding


def gradebook(report: AssignmentReport, width: int | None = None) -> Group:
    """Return totals, then the scores by student and test cell, with the maximum of each cell in its heading.

    width: characters per line; None for the terminal's. Columns that do not fit follow in further tables.
    """
    columns = width or shutil.get_terminal_size((80, 24)).columns
    names = [*(student + remark(report, student) for student in report.students), "student"]
    name_width = max(map(len, names)) + 4  # with its padding
    parts: list[list[str]] = [[]]
    available = columns - name_width - TOTAL_WIDTH
    for cell in report.grades.max_scores:
        column_width = max(len(heading(report, cell).split("\n")[0]), 5) + 3  # with its padding
        if parts[-1] and column_width > available:
            parts.append([])
            available = columns - name_width
        parts[-1].append(cell)
        available -= column_width
    return Group(*(gradebook_part(report, cells, first=cells is parts[0]) for cells in parts))


def gradebook_part(report: AssignmentReport, cells: list[str], *, first: bool) -> Table:
    """Return the table of some test cells; the first one has the total."""
    grades = report.grades
    table = Table(title=f"{grades.assignment}: points", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("student", overflow="fold")
    if first:
        table.add_column(f"total\nof {grades.max_total:g}", justify="right", no_wrap=True)
    for cell in cells:
        table.add_column(heading(report, cell), justify="right", no_wrap=True)
    for student in report.students:
        row = [score_markup(report, student, cell) for cell in cells]
        total = [f"[bold]{report.total(student):g}"] if first else []
        table.add_row(escape(visible(student) + remark(report, student)), *total, *row)
    return table


def heading(report: AssignmentReport, cell: str) -> str:
    return f"{step_label(cell)}\nof {report.grades.max_scores[cell]:g}"


def visible(student: str) -> str:
    """Return a name; if it has characters that a terminal would act on, as a literal without them."""
    return student if student.isprintable() else ascii(student)


def remark(report: AssignmentReport, student: str) -> str:
    """Return the note after a name: a level other than 1, a penalty, a submission that was not graded."""
    level, penalty = report.level(student), report.lateness(student).penalty
    chosen = "" if level in {None, 1} else f" (level {level})"
    late = f" (late: -{penalty:g})" if penalty else ""
    return chosen + late + (" (not graded)" if student in report.ungraded else "")


def score_markup(report: AssignmentReport, student: str, cell: str) -> str:
    """Return a score in Rich markup; `?` waits for manual grading."""
    score = report.score(student, cell)
    if score is None:
        return "" if student in report.ungraded else "[yellow]?"
    if score == 0 and report.is_given(student, cell):
        return "[dim]given"
    colour = "green" if score == report.max_score(student, cell) else "yellow" if score else "red"
    return f"[{colour}]{score:g}"


def speedup(report: AssignmentReport) -> Table | str:
    """Return the times of each student's correct kernels and of their baselines."""
    rows, origins = speedup_rows(report)
    if not rows:
        return "Speed-up: no correct kernel has a correct baseline."
    table = Table(
        title=f"{report.grades.assignment}: speed-up",
        title_justify="left",
        caption=f"Times: {'; '.join(origins)}.",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for number, header in enumerate(SPEEDUP_HEADERS):
        table.add_column(header, justify="right" if number >= 3 else "left", overflow="fold")
    previous = ""
    for student, *cells in rows:
        table.add_row("" if student == previous else escape(student), *cells)
        previous = student
    return table
