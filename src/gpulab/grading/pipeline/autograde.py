"""Autograding and feedback with nbgrader: one process per submission, so that a failure affects only it."""

from __future__ import annotations

import glob
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpulab.grading.pipeline.course import Course, GradingError

__all__ = ["AutogradeResult", "autograde", "generate_feedback"]

TIMEOUT_S = 1800.0  # time limit of a submission; nbgrader's own limit applies to each cell


@dataclass(frozen=True)
class AutogradeResult:
    """The outcome of grading one submission. error: one line, empty on success. seconds: wall time."""

    student: str
    error: str
    seconds: float

    @property
    def graded(self) -> bool:
        return not self.error


def autograde(
    course: Course,
    assignment: str,
    students: Sequence[str],
    *,
    jobs: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[AutogradeResult]:
    """Run the test cells of each submission and yield the results in the order of `students`.

    jobs: submissions graded in parallel. Each has its own process and its own Jupyter kernel; SQLite locks
    the gradebook for each short write.
    """
    logs = course.work / "logs"
    logs.mkdir(parents=True, exist_ok=True)

    def grade(student: str) -> AutogradeResult:
        start = time.perf_counter()
        selection = f"--student={glob.escape(student)}"
        run = course.nbgrader("autograde", assignment, selection, "--force", timeout_s=timeout_s)
        (logs / f"{assignment}-{student}.txt").write_text(run.log, encoding="utf-8")
        return AutogradeResult(student, run.error, time.perf_counter() - start)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        yield from pool.map(grade, students)


def generate_feedback(course: Course, assignment: str) -> None:
    """Write nbgrader's feedback pages of all graded submissions; raise `GradingError` if nbgrader fails."""
    run = course.nbgrader("generate_feedback", assignment, "--force")
    if not run.ok:
        raise GradingError(f"no feedback was written for {assignment}: {run.error}")
