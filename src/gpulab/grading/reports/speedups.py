"""Speed-ups of a class, as rows of times and as a table of students and kernels."""

from __future__ import annotations

from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.problems import problem as problem_named
from gpulab.views.tables.number_format import milliseconds
from gpulab.views.tables.speedup_view import sources

__all__ = ["SPEEDUP_HEADERS", "speedup_matrix", "speedup_rows"]

SPEEDUP_HEADERS = ("student", "kernel", "baseline", "baseline ms", "kernel ms", "speed-up")


def speedup_rows(report: AssignmentReport) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return a row for each correct kernel with a timed baseline, and the sources of the times.

    The columns are those of `SPEEDUP_HEADERS`. If the class has kernels of several problems, a kernel is
    named by its problem and step.
    """
    rows: list[tuple[str, ...]] = []
    origins: dict[str, None] = {}  # used as an ordered set
    several = len(_problems(report)) > 1
    for student in report.students:
        for problem_table in report.speedup_tables(student):
            origins |= dict.fromkeys(sources(problem_table))
            for row in problem_table:
                if row.speedup is not None:
                    kernel = _label(problem_table.problem, row.variant, several)
                    times = milliseconds(row.before_ms), milliseconds(row.after_ms)
                    rows.append((student, kernel, row.before or "", *times, f"{row.speedup:.2f}"))
    return rows, list(origins)


def speedup_matrix(report: AssignmentReport) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the kernels with a speed-up, and a row for each student with a speed-up for each kernel.

    A cell names the baseline in brackets; it is empty without a speed-up.
    """
    rows, _ = speedup_rows(report)
    timed = {row[1] for row in rows}
    problems = _problems(report)
    steps = [
        _label(name, variant, len(problems) > 1)
        for name in problems
        for variant in problem_named(name).variants
    ]
    kernels = [name for name in steps if name in timed]
    cells: dict[str, dict[str, str]] = {}
    for student, kernel, baseline, _, _, speedup in rows:
        cells.setdefault(student, {})[kernel] = f"{speedup} ({baseline})"
    matrix = [(student, *(by.get(kernel, "") for kernel in kernels)) for student, by in cells.items()]
    return kernels, matrix


def _problems(report: AssignmentReport) -> list[str]:
    """Return the names of the problems that the class has timed kernels of, sorted."""
    return sorted({table.problem for student in report.students for table in report.speedup_tables(student)})


def _label(problem: str, step: str, several: bool) -> str:
    return f"{problem}.{step}" if several else step
