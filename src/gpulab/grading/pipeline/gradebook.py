"""Scores of an assignment, read from nbgrader's gradebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpulab.grading.pipeline.course import Course

__all__ = ["Grades", "read_grades"]


@dataclass(frozen=True)
class Grades:
    """Scores of one assignment.

    max_scores: maximum of each test cell, in the order of the notebook.
    scores: by student, then by test cell; None if a cell waits for manual grading or the submission was not
    graded.
    """

    assignment: str
    max_scores: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float | None]]

    @property
    def max_total(self) -> float:
        return sum(self.max_scores.values())

    def total(self, student: str) -> float:
        return sum(score or 0.0 for score in self.scores[student].values())


def read_grades(course: Course, assignment: str) -> Grades:
    """Return the scores of one assignment."""
    with open_gradebook(course) as gradebook:
        notebooks = sorted(
            gradebook.find_assignment(assignment).notebooks, key=lambda notebook: notebook.name
        )
        order = [cell.name for notebook in notebooks for cell in notebook.source_cells]
        unordered = {cell.name: cell.max_score for notebook in notebooks for cell in notebook.grade_cells}
        max_scores = {name: unordered[name] for name in sorted(unordered, key=order.index)}

        scores = {}
        for submission in gradebook.assignment_submissions(assignment):
            graded = {
                grade.name: None if grade.needs_manual_grade else grade.score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            scores[submission.student.id] = {name: graded.get(name) for name in max_scores}
    return Grades(assignment, max_scores, dict(sorted(scores.items())))


@contextmanager
def open_gradebook(course: Course) -> Iterator[Any]:
    """Open nbgrader's gradebook and release its file at the end."""
    from nbgrader.api import Gradebook

    gradebook = Gradebook(course.database_url)
    try:
        yield gradebook
    finally:
        gradebook.close()
        gradebook.engine.dispose()
