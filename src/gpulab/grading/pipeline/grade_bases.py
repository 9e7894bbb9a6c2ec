"""What the points of a student depend on besides the verdict: rubric, due date, extension and penalties."""

from __future__ import annotations

import hashlib

from gpulab.grading.judge.plan import NotebookPlan
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import read_penalty_terms
from gpulab.grading.pipeline.nbgrader_steps import recorded_step
from gpulab.grading.release.rubric import read_rubric

__all__ = ["GradeBases"]


class GradeBases:
    """The basis of each student's points in an assignment, as a hash.

    It has the lab's graded content, its rubric, the course's settings with the plug-in for penalties, and
    what the penalty of the student is computed from. Points that were entered on another basis are entered
    again, which does not need another verdict.

    Parameters
    ----------
    course : Course
        The course.
    assignment : str
        The name of the assignment.
    plan : NotebookPlan
        The graded content of the instructor's notebook.
    """

    def __init__(self, course: Course, assignment: str, plan: NotebookPlan) -> None:
        rubric = read_rubric(course.config_folder / "rubric.toml", assignment)
        # A plug-in is a class in the configuration, or in a file beside it.
        settings = [path.read_text(encoding="utf-8") for path in sorted(course.config_folder.glob("*.py"))]
        self._class = repr((plan, rubric, settings))
        with recorded_step("the gradebook could not be read"):
            self._terms, self._own_terms = read_penalty_terms(course, assignment)

    def of(self, student: str) -> str:
        """Return the basis of a student's points."""
        terms = self._own_terms.get(student, self._terms)
        return hashlib.sha256(f"{self._class}\0{terms}".encode()).hexdigest()
