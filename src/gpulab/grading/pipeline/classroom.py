"""Grading from end to end: autograde, feedback, a look at each kernel, and what the report shows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.pipeline.autograde import Outcome, autograde, feedback
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.pipeline.inspection import Inspection, inspect_in_own_process, load
from gpulab.grading.release.rubric import read_rubric
from gpulab.grading.reports.report import ClassReport, feedback_links
from gpulab.views.terminal import Bar

__all__ = ["class_report", "grade_class", "graded", "report_path"]


def grade_class(
    course: Course,
    assignment: str,
    *,
    students: Sequence[str] | None = None,
    device: str | None = None,
    at_once: int | None = None,
) -> list[Outcome]:
    """Grade the submissions of an assignment and look at their kernels.

    students: only these; None for all who handed in. device: where the kernels run, None for a CUDA
    GPU when one answers, else the simulator. at_once: submissions graded side by side.
    """
    if device is not None:
        from gpulab.devices import open_device

        course = replace(course, device=device)
        course.environment()  # refuses what a class cannot be graded on
        open_device(device)  # … and what is not here
    present = course.students(assignment)
    if not present:
        raise UsageError(f"nobody handed in {assignment}: submissions go to {course.submitted}.")
    unknown = sorted(set(students or ()) - set(present))
    if unknown:
        raise UsageError(f"no submission of {', '.join(unknown)}; there is one of: {', '.join(present)}.")
    chosen = list(students or present)
    outcomes: list[Outcome] = []
    steps = 2 * len(chosen) + 1
    with Bar(f"grading {assignment}") as bar:
        for outcome in autograde(course, assignment, chosen, at_once=at_once or workers()):
            outcomes.append(outcome)
            bar(len(outcomes), steps, outcome.student)
        if any(outcome.graded for outcome in outcomes):
            feedback(course, assignment)
        for number, student in enumerate(chosen):
            bar(len(chosen) + 1 + number, steps, f"kernels of {student}")
            inspect_in_own_process(course, assignment, student)
    keep_ungraded(course, assignment, outcomes)
    return outcomes


def workers() -> int:
    """How many submissions run side by side: each has one Python process at work most of the time."""
    return max(1, min(4, os.cpu_count() or 1))


def class_report(course: Course, assignment: str, about: Mapping[str, str] | None = None) -> ClassReport:
    """All that is known of an assignment; `UsageError` when nothing of it was graded yet."""
    if not course.database.is_file():
        raise UsageError(f"there is no gradebook at {course.database} yet: run `gpulab grade`.")
    grades = read_grades(course, assignment)
    students = list(grades.points)
    inspections: dict[str, Inspection] = {name: load(course, assignment, name) for name in students}
    return ClassReport(
        grades,
        inspections,
        ungraded=kept_ungraded(course, assignment),
        rubric=read_rubric(course.desk / "rubric.toml", assignment),
        about=about or {},
        feedback=feedback_links(course, assignment, students, report_path(course)),
    )


def graded(course: Course) -> list[str]:
    """Assignments of which something was graded."""
    return sorted(path.name for path in (course.work / "inspection").glob("*") if path.is_dir())


def report_path(course: Course) -> Path:
    """Where the report is written unless another place is named."""
    return course.work / "report.html"


def ungraded_file(course: Course, assignment: str) -> Path:
    return course.work / "logs" / f"{assignment}-not-graded.json"


def keep_ungraded(course: Course, assignment: str, outcomes: Sequence[Outcome]) -> None:
    """Remember who could not be graded: the gradebook shows an older run's points for them, or none."""
    known = kept_ungraded(course, assignment)
    for outcome in outcomes:
        known.pop(outcome.student, None)
        if not outcome.graded:
            known[outcome.student] = outcome.why
    ungraded_file(course, assignment).write_text(json.dumps(known), encoding="utf-8")


def kept_ungraded(course: Course, assignment: str) -> dict[str, str]:
    path = ungraded_file(course, assignment)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
