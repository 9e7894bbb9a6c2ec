"""Grading the submissions of an assignment, and the data of its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import read_plan
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.grade_bases import GradeBases
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.pipeline.grading_run import GradedSubmission, GradeOptions, GradingRun, locked_course
from gpulab.grading.pipeline.nbgrader_steps import shared_engine
from gpulab.grading.pipeline.verdict_store import VerdictStore, load_baselines, load_judged
from gpulab.grading.release.rubric import read_rubric
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.html_report import feedback_links
from gpulab.grading.reports.known_kernels import known_kernels
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from gpulab.views.terminal import Bar, say

__all__ = ["assignment_report", "grade_submissions", "report_path"]


def grade_submissions(
    course: Course, assignment: str, options: GradeOptions | None = None
) -> list[GradedSubmission]:
    """Grade submissions of an assignment and return the outcome of each.

    Raises
    ------
    UsageError
        If there is nothing to grade, or no sandbox and `options.sandboxed`.
    GradingError
        If the run cannot continue; a later run does.
    """
    options = options or GradeOptions()
    with locked_course(course), shared_engine():
        run = prepare_run(course, assignment, options)
        try:
            with Bar(f"grading {assignment}") as bar:
                return run.run(bar)
        except KeyboardInterrupt:
            names = ", ".join(outcome.student for outcome in run.done) or "nobody"
            say(
                f"\nInterrupted. Graded so far: {names} ({len(run.done)} of {len(run.students)}). Run the "
                "command again to continue.",
                error=True,
            )
            sys.stderr.flush()
            raise


def prepare_run(course: Course, assignment: str, options: GradeOptions) -> GradingRun:
    """Return a run that can start. Meanwhile a sandbox is started on trial, which takes another process."""
    if not options.sandboxed or options.scheduler is not None:
        return GradingRun(course, assignment, options)
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(require_sandbox)
        run = GradingRun(course, assignment, options)
        trial.result()
    return run


def require_sandbox() -> None:
    """Raise `UsageError` if students' Python cannot run in a sandbox on this machine."""
    reason = unavailable_reason()
    if reason:
        raise UsageError(
            f"students' Python would run without a sandbox: {reason.rstrip('.')}. --unsandboxed runs it with "
            "your permissions."
        )


def assignment_report(
    course: Course, assignment: str, about: Mapping[str, str] | None = None
) -> AssignmentReport:
    """Return the data of an assignment's report; raise `UsageError` if there is no gradebook.

    about: a remark for each student.
    """
    if course.database is not None and not course.database.is_file():
        raise UsageError(f"there is no gradebook at {course.database}: run `gpulab grade` first.")
    grades = read_grades(course, assignment)
    students = list(grades.scores)
    judged = {student: load_judged(course, assignment, student) for student in students}
    return AssignmentReport(
        grades,
        judged,
        ungraded={student: verdict.error for student, verdict in judged.items() if verdict.error},
        rubric=read_rubric(course.config_folder / "rubric.toml", assignment),
        about=about or {},
        feedback=feedback_links(course, assignment, students, report_path(course)),
        known_kernels=known_kernels(course.source / assignment),
        baselines=load_baselines(course, assignment) or (),
        outdated=_outdated(course, assignment, students),
    )


def _outdated(course: Course, assignment: str, students: Sequence[str]) -> list[str]:
    """Return the students whose points were entered on another basis than the present one."""
    if assignment not in course.assignments():  # a lab of an earlier term
        return []
    store = VerdictStore(course, assignment)
    bases = GradeBases(course, assignment, read_plan(course.notebook(assignment)))
    return [student for student in students if store.written_basis(student) != bases.of(student)]


def report_path(course: Course) -> Path:
    """Return the default path of the report."""
    return course.work / "report.html"
