"""The gradebook and the speed-up table in the terminal."""

from __future__ import annotations

import shutil

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from gpulab.grading.reports.report import SPEEDUP_HEADS, ClassReport, speedup_rows

__all__ = ["gradebook", "speedup"]


def gradebook(report: ClassReport, width: int | None = None) -> Group:
    """Students by test cells: points, with the most there are in the heading.

    width: characters of a line, None for the terminal's; what does not fit follows in a table below.
    """
    grades = report.grades
    left = width or shutil.get_terminal_size((80, 24)).columns
    names = [*(name + remark(report, name) for name in grades.points), "student"]
    room = left - max(map(len, names)) - 12  # the total, and the table's own edges
    parts: list[list[str]] = [[]]
    used = 0
    for cell in grades.cells:
        wide = max(len(heading(report, cell).split("\n")[0]), 5) + 3  # with the room beside it
        if parts[-1] and used + wide > room:
            parts.append([])
            used = 0
        parts[-1].append(cell)
        used += wide
    return Group(*(part(report, cells, cells is parts[-1]) for cells in parts))


def part(report: ClassReport, cells: list[str], last: bool) -> Table:
    """The columns of some test cells; the last part has the total."""
    grades = report.grades
    table = Table(title=f"{grades.assignment}: points", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("student", overflow="fold")
    for cell in cells:
        table.add_column(heading(report, cell), justify="right", no_wrap=True)
    if last:
        table.add_column(f"total\nof {grades.most:g}", justify="right", no_wrap=True)
    for student, points in grades.points.items():
        row = [
            "[dim]given"
            if points[cell] == 0 and report.is_given(student, cell)
            else coloured(points[cell], report.most(student, cell))
            for cell in cells
        ]
        total = [f"[bold]{grades.total(student):g}"] if last else []
        table.add_row(escape(student + remark(report, student)), *row, *total)
    return table


def heading(report: ClassReport, cell: str) -> str:
    return f"{cell.removesuffix('_test')}\nof {report.grades.cells[cell]:g}"


def remark(report: ClassReport, student: str) -> str:
    """What stands behind a name: another level than the first, and that nothing was graded."""
    level = report.level(student)
    words = "" if level in {None, 1} else f" (level {level})"
    return words + (" (not graded)" if student in report.ungraded else "")


def coloured(got: float | None, most: float) -> str:
    if got is None:
        return "[yellow]?"
    return f"[{'green' if got == most else 'yellow' if got else 'red'}]{got:g}"


def speedup(report: ClassReport) -> Table | str:
    """Each student's right kernels beside the rung before."""
    rows, origins = speedup_rows(report)
    if not rows:
        return "Speed-up: there is no right kernel with a right one before it."
    table = Table(
        title=f"{report.grades.assignment}: speed-up",
        title_justify="left",
        caption=f"Times: {'; '.join(origins)}.",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for number, head in enumerate(SPEEDUP_HEADS):
        table.add_column(head, justify="right" if number >= 3 else "left", overflow="fold")
    last = ""
    for student, *rest in rows:
        table.add_row("" if student == last else escape(student), *rest)
        last = student
    return table
