"""Grading the submissions of an assignment: autograding, feedback, inspection, and the data of the report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.pipeline.autograde import AutogradeResult, autograde, generate_feedback
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.pipeline.inspection import inspect_in_subprocess, load_inspection
from gpulab.grading.release.rubric import read_rubric
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.html_report import feedback_links
from gpulab.grading.reports.known_kernels import known_kernels
from gpulab.views.terminal import Bar

__all__ = ["assignment_report", "grade_submissions", "graded_assignments", "report_path"]

MAX_JOBS = 4  # submissions graded in parallel by default; each keeps about one core busy


def grade_submissions(
    course: Course,
    assignment: str,
    *,
    students: Sequence[str] | None = None,
    device: str | None = None,
    jobs: int | None = None,
) -> list[AutogradeResult]:
    """Grade submissions of an assignment and inspect their kernels.

    students: None grades every submission. device: where the kernels run; None selects a CUDA GPU if one is
    available, else the simulator. jobs: submissions graded in parallel; None selects up to four.
    """
    if device is not None:
        from gpulab.devices import open_device

        course = replace(course, device=device)
        course.environment()  # raises UsageError for a device that submissions cannot be graded on
        open_device(device)  # raises UsageError for a device that is not available
    submitted = course.students(assignment)
    if not submitted:
        raise UsageError(f"there are no submissions of {assignment}; they belong in {course.submitted}.")
    unknown = sorted(set(students or ()) - set(submitted))
    if unknown:
        raise UsageError(
            f"there is no submission of {', '.join(unknown)}; choose from {', '.join(submitted)}."
        )

    selected = list(students or submitted)
    results: list[AutogradeResult] = []
    steps = 2 * len(selected) + 1
    with Bar(f"grading {assignment}") as bar:
        for result in autograde(course, assignment, selected, jobs=jobs or default_jobs()):
            results.append(result)
            bar(len(results), steps, result.student)
        if any(result.graded for result in results):
            generate_feedback(course, assignment)
        for number, student in enumerate(selected):
            bar(len(selected) + 1 + number, steps, f"kernels of {student}")
            inspect_in_subprocess(course, assignment, student)
    save_ungraded(course, assignment, results)
    return results


def default_jobs() -> int:
    """Return the number of submissions to grade in parallel on this machine."""
    return max(1, min(MAX_JOBS, os.cpu_count() or 1))


def assignment_report(
    course: Course, assignment: str, about: Mapping[str, str] | None = None
) -> AssignmentReport:
    """Return the data of an assignment's report; raise `UsageError` if there is no gradebook.

    about: a remark for each student.
    """
    if not course.database.is_file():
        raise UsageError(f"there is no gradebook at {course.database}: run `gpulab grade` first.")
    grades = read_grades(course, assignment)
    students = list(grades.scores)
    return AssignmentReport(
        grades,
        {student: load_inspection(course, assignment, student) for student in students},
        ungraded=load_ungraded(course, assignment),
        rubric=read_rubric(course.config_folder / "rubric.toml", assignment),
        about=about or {},
        feedback=feedback_links(course, assignment, students, report_path(course)),
        known_kernels=known_kernels(course.source / assignment),
    )


def graded_assignments(course: Course) -> list[str]:
    """Return the names of the assignments with a graded submission, sorted."""
    return sorted(path.name for path in (course.work / "inspection").glob("*") if path.is_dir())


def report_path(course: Course) -> Path:
    """Return the default path of the report."""
    return course.work / "report.html"


def ungraded_path(course: Course, assignment: str) -> Path:
    return course.work / "logs" / f"{assignment}-not-graded.json"


def save_ungraded(course: Course, assignment: str, results: Sequence[AutogradeResult]) -> None:
    """Update the stored errors of submissions that could not be graded.

    The gradebook does not have them: it shows the scores of an earlier run, or none.
    """
    errors = load_ungraded(course, assignment)
    for result in results:
        errors.pop(result.student, None)
        if not result.graded:
            errors[result.student] = result.error
    ungraded_path(course, assignment).write_text(json.dumps(errors), encoding="utf-8")


def load_ungraded(course: Course, assignment: str) -> dict[str, str]:
    """Return the error by student of each submission that could not be graded."""
    path = ungraded_path(course, assignment)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
