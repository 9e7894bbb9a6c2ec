"""Scores of an assignment, read from nbgrader's gradebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.nbgrader_steps import create_gradebook

__all__ = [
    "Grades",
    "Lateness",
    "Person",
    "entries_by_cell",
    "is_waiting",
    "open_gradebook",
    "read_grades",
    "read_penalty_terms",
]


@dataclass(frozen=True)
class Lateness:
    """The delay of a submission in seconds past the due date, and the points that nbgrader deducts for it."""

    seconds: float = 0.0
    penalty: float = 0.0


@dataclass(frozen=True)
class Person:
    """The names and addresses of a student in the gradebook; a missing entry is empty."""

    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""


@dataclass(frozen=True)
class Grades:
    """Scores of one assignment.

    Attributes
    ----------
    assignment : str
        The name of the assignment.
    max_scores : mapping of str to float
        The maximum of each test cell, in the order of the notebook.
    scores : mapping of str to mapping
        Points by student, then by test cell; None if a cell waits for manual grading or the submission was
        not graded.
    late : mapping of str to Lateness
        The late submissions by student.
    people : mapping of str to Person
        Names and addresses by student.
    """

    assignment: str
    max_scores: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float | None]]
    late: Mapping[str, Lateness] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)

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

        scores, late, people = {}, {}, {}
        for submission in gradebook.assignment_submissions(assignment):
            student = submission.student
            graded = {
                grade.name: None if is_waiting(grade) else grade.score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            scores[student.id] = {name: graded.get(name) for name in max_scores}
            people[student.id] = _person(student)
            lateness = Lateness(
                float(submission.total_seconds_late), float(submission.late_submission_penalty or 0.0)
            )
            if lateness != Lateness():
                late[student.id] = lateness
    return Grades(assignment, max_scores, dict(sorted(scores.items())), late, people)


def read_penalty_terms(course: Course, assignment: str) -> tuple[str, Mapping[str, str]]:
    """Return what penalties depend on besides the time of submission and the verdict, as text.

    These are the due date, the student's extension, and the manual points of a late submission. The first
    text is for students without a submission in the gradebook, the others are by student.
    """
    with open_gradebook(course) as gradebook:
        due = gradebook.find_assignment(assignment).duedate
        terms = {
            submission.student.id: repr((due, submission.extension, _manual_points(submission)))
            for submission in gradebook.assignment_submissions(assignment)
        }
    return repr((due, None, [])), terms


def _manual_points(submission: Any) -> list[tuple[str, float | None, float | None]]:
    """Return the manual points and the extra points of a submission, if it is late."""
    if submission.assignment.duedate is None or not submission.total_seconds_late:
        return []
    return sorted(
        (grade.name, grade.manual_score, grade.extra_credit)
        for notebook in submission.notebooks
        for grade in notebook.grades
        if grade.manual_score is not None or grade.extra_credit
    )


def is_waiting(grade: Any) -> bool:
    """Return True if a cell has no points yet. Points that replace automatic ones count until a review.

    grade: nbgrader's entry of the cell.
    """
    replaced = grade.auto_score is not None and grade.manual_score is not None
    return bool(grade.needs_manual_grade) and not replaced


def _person(student: Any) -> Person:
    names = ("first_name", "last_name", "email", "lms_user_id")
    return Person(**{name: str(getattr(student, name) or "") for name in names})


def entries_by_cell(gradebook: Any, entry: Any, notebook: Any) -> dict[str, Any]:
    """Return the entries of a submitted notebook by cell, read with one query.

    entry: nbgrader's `Grade` or `Comment`. notebook: its `SubmittedNotebook`.
    """
    from nbgrader.api import BaseCell

    rows = gradebook.db.query(BaseCell.name, entry).join(entry.cell)
    return dict(rows.filter(entry.notebook_id == notebook.id).all())


@contextmanager
def open_gradebook(course: Course) -> Iterator[Any]:
    """Open nbgrader's gradebook and release its file at the end."""
    from nbgrader.api import Gradebook

    create_gradebook(course)
    gradebook = Gradebook(course.database_url)
    try:
        yield gradebook
    finally:
        gradebook.close()
        gradebook.engine.dispose()
