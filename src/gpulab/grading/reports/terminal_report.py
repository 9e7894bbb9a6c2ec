"""Gradebook and speed-up table of an assignment in the terminal."""

from __future__ import annotations

import shutil

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from gpulab.grading.reports.html_report import SPEEDUP_HEADERS, AssignmentReport, speedup_rows

__all__ = ["gradebook", "speedup"]


def gradebook(report: AssignmentReport, width: int | None = None) -> Group:
    """Return the scores by student and test cell, with the maximum of each cell in its heading.

    width: characters per line; None for the terminal's. Columns that do not fit follow in further tables.
    """
    grades = report.grades
    columns = width or shutil.get_terminal_size((80, 24)).columns
    names = [*(name + remark(report, name) for name in grades.scores), "student"]
    available = columns - max(map(len, names)) - 12  # for the total and the edges of the table
    parts: list[list[str]] = [[]]
    used = 0
    for cell in grades.max_scores:
        column_width = max(len(heading(report, cell).split("\n")[0]), 5) + 3  # with its padding
        if parts[-1] and used + column_width > available:
            parts.append([])
            used = 0
        parts[-1].append(cell)
        used += column_width
    return Group(*(gradebook_part(report, cells, cells is parts[-1]) for cells in parts))


def gradebook_part(report: AssignmentReport, cells: list[str], last: bool) -> Table:
    """Return the table of some test cells; the last one has the total."""
    grades = report.grades
    table = Table(title=f"{grades.assignment}: points", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("student", overflow="fold")
    for cell in cells:
        table.add_column(heading(report, cell), justify="right", no_wrap=True)
    if last:
        table.add_column(f"total\nof {grades.max_total:g}", justify="right", no_wrap=True)
    for student, scores in grades.scores.items():
        row = [
            "[dim]given"
            if scores[cell] == 0 and report.is_given(student, cell)
            else coloured(scores[cell], report.max_score(student, cell))
            for cell in cells
        ]
        total = [f"[bold]{grades.total(student):g}"] if last else []
        table.add_row(escape(student + remark(report, student)), *row, *total)
    return table


def heading(report: AssignmentReport, cell: str) -> str:
    return f"{cell.removesuffix('_test')}\nof {report.grades.max_scores[cell]:g}"


def remark(report: AssignmentReport, student: str) -> str:
    """Return the note after a student's name: a level other than 1, and a submission that was not graded."""
    level = report.level(student)
    chosen = "" if level in {None, 1} else f" (level {level})"
    return chosen + (" (not graded)" if student in report.ungraded else "")


def coloured(score: float | None, max_score: float) -> str:
    """Return a score in Rich markup; `?` waits for manual grading."""
    if score is None:
        return "[yellow]?"
    return f"[{'green' if score == max_score else 'yellow' if score else 'red'}]{score:g}"


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
