"""The leaderboard of the open steps, with the students who agreed to be shown."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.problems import problem as problem_named
from gpulab.problems import problem_names
from gpulab.views.tables.number_format import provenance_text

__all__ = ["Place", "leaderboard", "open_steps"]


@dataclass(frozen=True)
class Place:
    """One entry.

    Attributes
    ----------
    student, name : str
        The student, and the name that the student chose.
    milliseconds, gflops : float
        Time and rate of the kernel.
    shape : tuple of int
        The problem's size.
    source : str
        The provenance of the time.
    """

    student: str
    name: str
    milliseconds: float
    gflops: float
    shape: tuple[int, ...]
    source: str


def open_steps(report: AssignmentReport) -> list[str]:
    """Return the steps without a prescribed method among the submitted kernels: their speed is ranked."""
    submitted = {kernel.name for student in report.students for kernel in report.kernels(student)}
    return [name for name in sorted(submitted) if _is_open(name)]


def _is_open(name: str) -> bool:
    problem, dot, variant = name.partition(".")
    if not dot or problem not in problem_names():
        return False
    steps = problem_named(problem).variants
    return variant in steps and steps[variant].is_open


def leaderboard(report: AssignmentReport, step: str) -> list[Place]:
    """Return the correct kernels of an open step whose students agreed, the fastest first."""
    places = []
    problem, _, variant = step.partition(".")
    for student in report.students:
        inspection = report.inspections.get(student)
        name = inspection.leaderboard if inspection else None
        if not name:
            continue
        right = {kernel.name for kernel in report.kernels(student) if kernel.state == "right"}
        for table in report.speedup_tables(student):
            for row in table:
                if table.problem == problem and row.variant == variant and step in right:
                    source = provenance_text(row.provenance)
                    places.append(Place(student, name, row.after_ms, row.gflops, tuple(row.shape), source))
    return sorted(places, key=lambda place: place.milliseconds)
