"""The board of stars: the students who agreed to be shown, ranked by the counts of their kernels."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.grading.reports.assignment_report import AssignmentReport

__all__ = ["StarPlace", "star_board"]


@dataclass(frozen=True)
class StarPlace:
    """One entry.

    Attributes
    ----------
    student, name : str
        The student, and the name that the student chose.
    stars : int
        Stars of all right kernels.
    better : int
        Kernels that are better than par.
    ratio : float
        The sum over the kernels of their counts divided by par, which ranks students with equal stars.
    """

    student: str
    name: str
    stars: int
    better: int
    ratio: float


def star_board(report: AssignmentReport) -> list[StarPlace]:
    """Return the students who agreed and have stars: the most stars first, then the lowest counts."""
    places = []
    for student in report.students:
        inspection = report.inspections.get(student)
        scores = [kernel.score for kernel in report.kernels(student) if kernel.score]
        if inspection is None or not inspection.leaderboard or not scores:
            continue
        stars = sum(score["stars"] for score in scores)
        better = sum(score["beats_par"] for score in scores)
        ratio = sum(score["ratio"] for score in scores)
        places.append(StarPlace(student, inspection.leaderboard, stars, better, ratio))
    return sorted(places, key=lambda place: (-place.stars, place.ratio, place.name))
