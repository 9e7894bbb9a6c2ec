"""The gradebook and the speed-up table in the terminal."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from gpulab.grading.report import SPEEDUP_HEADS, ClassReport, speedup_rows

__all__ = ["gradebook", "speedup"]


def gradebook(report: ClassReport) -> Table:
    """Students by test cells: points, with the most there are in the heading."""
    grades = report.grades
    table = Table(title=f"{grades.assignment}: points", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("student", overflow="fold")
    for cell, most in grades.cells.items():
        table.add_column(f"{cell.removesuffix('_test')}\nof {most:g}", justify="right", no_wrap=True)
    table.add_column(f"total\nof {grades.most:g}", justify="right", no_wrap=True)
    for student, points in grades.points.items():
        cells = [coloured(points[cell], most) for cell, most in grades.cells.items()]
        remark = " (not graded)" if student in report.ungraded else ""
        table.add_row(escape(student + remark), *cells, f"[bold]{grades.total(student):g}")
    return table


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
