"""Points per step of a class: means, counts, and histograms as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.views.svg import SvgPen

__all__ = ["StepFigures", "histogram", "share_bins", "step_figures", "total_shares"]

BINS = 10  # columns of a histogram from 0 to 100 % of the points


@dataclass(frozen=True)
class StepFigures:
    """Figures of one test cell over the class.

    Attributes
    ----------
    cell : str
        The test cell.
    max_score : float
        Its points at level 1.
    shares : tuple of float
        Score divided by maximum, of each graded student; kernels that are given are left out.
    mean : float or None
        Mean score in points; None if nobody has a score.
    full, none, not_read : int
        Students with all points, with no points, and with an answer that waits for manual grading.
    """

    cell: str
    max_score: float
    shares: tuple[float, ...]
    mean: float | None
    full: int
    none: int
    not_read: int


def step_figures(report: AssignmentReport) -> list[StepFigures]:
    """Return the figures of each test cell, in the order of the notebook."""
    students = [student for student in report.grades.scores if student not in report.ungraded]
    return [_figures(report, cell, students) for cell in report.grades.max_scores]


def _figures(report: AssignmentReport, cell: str, students: Sequence[str]) -> StepFigures:
    scores = {
        student: score
        for student in students
        if (score := report.score(student, cell)) is not None and report.max_score(student, cell) > 0
    }
    shares = tuple(score / report.max_score(student, cell) for student, score in scores.items())
    return StepFigures(
        cell,
        report.grades.max_scores[cell],
        shares,
        fmean(scores.values()) if scores else None,
        sum(share >= 1 for share in shares),
        sum(share <= 0 for share in shares),
        sum(cell in report.not_read(student) for student in students),
    )


def total_shares(report: AssignmentReport) -> list[float]:
    """Return total divided by maximum of each graded student."""
    return [
        report.total(student) / report.max_total(student)
        for student in report.grades.scores
        if student not in report.ungraded and report.max_total(student)
    ]


def share_bins(shares: Sequence[float], bins: int = BINS) -> list[int]:
    """Return the number of shares in each of `bins` equal parts of 0 to 1; 1 is in the last part."""
    counts = [0] * bins
    for share in shares:
        counts[max(0, min(bins - 1, int(share * bins)))] += 1
    return counts


def histogram(shares: Sequence[float], label: str, *, large: bool = False) -> str:
    """Return a histogram of shares from 0 to 100 % as SVG; label: what is counted, for screen readers.

    large: with axis labels and counts; otherwise a small drawing for a table.
    """
    counts = share_bins(shares)
    column, height = (44.0, 120.0) if large else (9.0, 24.0)
    margin, foot, head = (8.0, 22.0, 18.0) if large else (0.0, 1.0, 1.0)
    width = 2 * margin + BINS * column
    pen = SvgPen()
    for number, count in enumerate(counts):
        x, y = margin + number * column, head + height
        bar = height * count / max(1, *counts)
        low, high = 100 * number // BINS, 100 * (number + 1) // BINS
        title = f"{low} to {high} %: {count} student{'s' * (count != 1)}"
        if count:
            pen.path(
                f"M{x + 1:.1f} {y:.1f}V{y - bar:.1f}H{x + column - 1:.1f}V{y:.1f}Z", fill="plain", title=title
            )
        if large and count:
            pen.text(str(count), x + column / 2, y - bar - 4, size=12, anchor="middle")
    pen.line(margin, head + height, width - margin, head + height, "dim")
    if large:
        for number in range(0, BINS + 1, 2):
            x = margin + number * column
            anchor = {0: "start", BINS: "end"}.get(number, "middle")
            pen.text(f"{100 * number // BINS} %", x, head + height + 16, "dim", 12, anchor)
    text = f"{label}: {_summary(shares)}"
    narrowest = round(width) if not large else 320
    return pen.element(width, head + height + foot, text, narrowest=narrowest)


def _summary(shares: Sequence[float]) -> str:
    if not shares:
        return "no scores"
    counts = ", ".join(map(str, share_bins(shares)))
    return f"median {100 * median(shares):.0f} %; students in tenths from 0 to 100 %: {counts}"
