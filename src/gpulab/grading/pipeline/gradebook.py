"""What the gradebook says: points and the most there are, per student and test cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpulab.grading.pipeline.course import Course

__all__ = ["Grades", "read_grades"]


@dataclass(frozen=True)
class Grades:
    """The gradebook of one assignment.

    cells: test cells with their most points, in the notebook's order.
    points: by student, then by cell; None where a person has still to give points, or where the
    submission was not graded.
    """

    assignment: str
    cells: Mapping[str, float]
    points: Mapping[str, Mapping[str, float | None]]

    @property
    def most(self) -> float:
        return sum(self.cells.values())

    def total(self, student: str) -> float:
        return sum(value or 0.0 for value in self.points[student].values())


def read_grades(course: Course, assignment: str) -> Grades:
    """Read one assignment's points from the gradebook."""
    with opened(course) as book:
        notebooks = sorted(book.find_assignment(assignment).notebooks, key=lambda each: each.name)
        order = [cell.name for notebook in notebooks for cell in notebook.source_cells]
        most = {cell.name: cell.max_score for notebook in notebooks for cell in notebook.grade_cells}
        cells = {name: most[name] for name in sorted(most, key=order.index)}
        points = {}
        for submission in book.assignment_submissions(assignment):
            given = {
                grade.name: None if grade.needs_manual_grade else grade.score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            points[submission.student.id] = {name: given.get(name) for name in cells}
    return Grades(assignment, cells, dict(sorted(points.items())))


@contextmanager
def opened(course: Course) -> Iterator[Any]:
    from nbgrader.api import Gradebook

    book = Gradebook(course.database_url)
    try:
        yield book
    finally:
        book.close()
        book.engine.dispose()
