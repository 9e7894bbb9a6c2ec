"""Grading a class with nbgrader: one process per submission, so that one that breaks costs only itself."""

from __future__ import annotations

import glob
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpulab.grading.pipeline.course import Course, GradingError

__all__ = ["Outcome", "autograde", "feedback"]

LIMIT_S = 1800.0  # of one submission as a whole, over nbgrader's own limit per cell


@dataclass(frozen=True)
class Outcome:
    """How the grading of one submission ended; `why` is "" when it went through."""

    student: str
    why: str
    seconds: float  # wall time on this machine

    @property
    def graded(self) -> bool:
        return not self.why


def autograde(
    course: Course,
    assignment: str,
    students: Sequence[str],
    *,
    at_once: int = 1,
    limit_s: float = LIMIT_S,
) -> Iterator[Outcome]:
    """Run the tests of each submission; outcomes come in the order of `students`.

    at_once: how many submissions run side by side; each has its own process and its own notebook
    kernel, and the gradebook is locked by SQLite for each short write.
    """
    logs = course.work / "logs"
    logs.mkdir(parents=True, exist_ok=True)

    def grade(student: str) -> Outcome:
        begin = time.perf_counter()
        who = f"--student={glob.escape(student)}"
        answer = course.nbgrader("autograde", assignment, who, "--force", limit_s=limit_s)
        (logs / f"{assignment}-{student}.txt").write_text(answer.log, encoding="utf-8")
        return Outcome(student, answer.why, time.perf_counter() - begin)

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        yield from pool.map(grade, students)


def feedback(course: Course, assignment: str) -> None:
    """Write nbgrader's feedback pages for everything graded; `GradingError` when it refuses."""
    answer = course.nbgrader("generate_feedback", assignment, "--force")
    if not answer.ok:
        raise GradingError(f"no feedback for {assignment}: {answer.why}")
