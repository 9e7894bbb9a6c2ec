"""One run of `gpulab grade`: what has changed is judged and entered in the gradebook."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import KERNEL, NotebookPlan, read_plan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.grade_bases import GradeBases
from gpulab.grading.pipeline.gradebook_writer import GradebookWriter
from gpulab.grading.pipeline.judge_workers import open_workers, worker_count
from gpulab.grading.pipeline.nbgrader_steps import database_problem
from gpulab.grading.pipeline.prepared_notebook import prepare_notebook
from gpulab.grading.pipeline.submitted_files import Submission, read_student_files
from gpulab.grading.pipeline.verdict_store import (
    VerdictStore,
    grading_key,
    load_baselines,
    read_secret,
    save_baselines,
)
from gpulab.grading.release.assignments import graded_sources, max_points, read_notebook
from gpulab.grading.release.rubric import check_points, required_rubric
from gpulab.problems.registry import PROBLEM_FILE, open_lab
from gpulab.profiling.speedup import VariantTiming

__all__ = ["GradeOptions", "GradedSubmission", "GradingRun", "locked_course", "time_left"]

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class GradeOptions:
    """The options of `gpulab grade`.

    Attributes
    ----------
    students : sequence of str or None
        The students to grade; None grades every submission.
    device : str or None
        Where kernels run, "sim" or "cuda:N"; None selects a CUDA GPU if one is available.
    jobs : int or None
        Submissions to judge in parallel on this machine; None selects one per core.
    scheduler : str or None
        The address of a running Dask scheduler, whose workers are used.
    again : bool
        Also judge submissions that have not changed.
    sandboxed : bool
        Run students' Python in a sandbox.
    """

    students: Sequence[str] | None = None
    device: str | None = None
    jobs: int | None = None
    scheduler: str | None = None
    again: bool = False
    sandboxed: bool = True


@dataclass(frozen=True)
class GradedSubmission:
    """The outcome for one student. error: why there are no points; empty on success. judged: in this run."""

    student: str
    error: str = ""
    judged: bool = True

    @property
    def graded(self) -> bool:
        return not self.error


@dataclass
class GradingRun:
    """The state of one run.

    done: the outcomes so far. Their verdicts are stored, so that a later run continues from there.
    """

    course: Course
    assignment: str
    options: GradeOptions = field(default_factory=GradeOptions)
    done: list[GradedSubmission] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = self.course.notebook(self.assignment)
        open_lab(path.parent)
        rubric = required_rubric(self.course.config_folder / "rubric.toml", self.assignment)
        check_points(rubric, max_points(path), path, graded_sources(path))
        self.plan: NotebookPlan = read_plan(path)
        self.source = read_notebook(path)
        self.students = self._selected()
        self.secret = read_secret(self.course)
        self.device = device_label(self.options)
        self.store = VerdictStore(self.course, self.assignment)
        self.writer = GradebookWriter(self.course, self.assignment, self.plan)
        self.bases = GradeBases(self.course, self.assignment, self.plan)

    def _selected(self) -> list[str]:
        submitted = self.course.students(self.assignment)
        if not submitted:
            raise UsageError(
                f"there are no submissions of {self.assignment}; they belong in {self.course.submitted}."
            )
        unknown = sorted(set(self.options.students or ()) - set(submitted))
        if unknown:
            raise UsageError(
                f"there is no submission of {', '.join(unknown)}; choose from {', '.join(submitted)}."
            )
        return sorted(set(self.options.students or submitted))

    def run(self, progress: Progress = lambda *_: None) -> list[GradedSubmission]:
        """Grade the selected students and return the outcomes, sorted by student."""
        tasks: dict[str, tuple[Submission, str]] = {}
        scores = self.writer.scores()
        for student in self.students:
            submission = read_student_files(self.course, self.assignment, student, f"{self.plan.name}.ipynb")
            key = grading_key(self.plan, self.secret, self.device, submission.digest)
            verdict = None if self.options.again else self.store.load(student, key)
            if submission.problem:
                verdict = self._failed(student, submission.problem)
                self.store.save(verdict, key)
            if verdict is None or (verdict.error and not submission.problem):
                tasks[student] = submission, key
                continue
            self._finish(submission, verdict, key, scores, judged=False)
            progress(len(self.done), len(self.students), student)

        if tasks or self._baselines_missing():
            self._judge(tasks, scores, progress)
        return sorted(self.done, key=lambda outcome: outcome.student)

    def _judge(
        self, tasks: dict[str, tuple[Submission, str]], scores: dict[str, Any], progress: Progress
    ) -> None:
        """Judge submissions and enter each verdict as it comes."""
        start, before, last_s = time.monotonic(), len(self.done), 0.0
        jobs = max(1, min(self.options.jobs or worker_count(), len(tasks)))
        with open_workers(
            jobs=jobs,
            scheduler=self.options.scheduler,
            cache=Path(os.environ.get("GPULAB_CACHE") or self.course.work / "cache"),
        ) as workers:
            timings = None
            if self._baselines_missing():
                timings = workers.time_shown_kernels(self.plan, self.options.device)
            for item in workers.judge_all(self._task(submission) for submission, _ in tasks.values()):
                finished, elapsed_s = len(self.done) - before, time.monotonic() - start
                if isinstance(item, JudgedSubmission):
                    submission, key = tasks[item.student]
                    self.store.save(item, key)
                    self._finish(submission, item, key, scores, judged=True)
                    last_s = elapsed_s
                else:
                    left = time_left(last_s, finished, len(tasks) - finished, elapsed_s)
                    progress(len(self.done), len(self.students), ", ".join(item) + left)
            if timings is not None:
                known = [VariantTiming.from_dict(timing) for timing in timings.result()]
                save_baselines(self.course, self.assignment, known, self._plan_key())

    def _task(self, submission: Submission) -> JudgeTask:
        release = self.course.release / self.assignment
        files = {path.name: str(path) for path in sorted(release.glob("*")) if path.is_dir()}
        if self.plan.problem is not None:
            files[PROBLEM_FILE] = self.plan.problem[0]
        return JudgeTask(
            self.assignment,
            submission.student,
            self.plan,
            submission.notebook,
            self.secret,
            self.options.device,
            self.options.sandboxed,
            files,
        )

    def _finish(
        self,
        submission: Submission,
        verdict: JudgedSubmission,
        key: str,
        scores: dict[str, dict[str, float | None]],
        *,
        judged: bool,
    ) -> None:
        """Enter a verdict in the gradebook, unless it is already there."""
        student, basis = verdict.student, self.bases.of(verdict.student)
        current = scores.get(student)
        entered = (
            not judged
            and current is not None
            and verdict.scores.items() <= current.items()
            and self.store.is_written(student, key, basis)
            and self.writer.has_pages(student, graded=not verdict.error)
        )
        if not entered:
            self.store.mark_unwritten(student)
            verdict = self._enter(submission, verdict, key)
        self.store.mark_written(student, key, basis)
        self.done.append(GradedSubmission(student, verdict.error, judged))

    def _enter(self, submission: Submission, verdict: JudgedSubmission, key: str) -> JudgedSubmission:
        """Write gradebook and feedback; return the verdict, with an error if nbgrader refuses it."""
        if verdict.error:
            self.writer.enter_failure(verdict.student, verdict.error, correctable=submission.correctable)
            return verdict
        notebook = prepare_notebook(submission.notebook, self.source)
        try:
            self.writer.enter(verdict.student, notebook, verdict)
            self.writer.write_feedback(verdict.student)
        except GradingError as failed:
            if is_machine_problem(failed):
                raise
            verdict = replace(verdict, cells=(), error=str(failed))
            self.store.save(verdict, key)
            self.writer.enter_failure(verdict.student, verdict.error, correctable=False)
        return verdict

    def _failed(self, student: str, reason: str) -> JudgedSubmission:
        return JudgedSubmission(student, self.assignment, self.plan.name, error=reason)

    def _plan_key(self) -> str:
        return grading_key(self.plan, self.secret, self.device)

    def _baselines_missing(self) -> bool:
        if not self.plan.of_kind(KERNEL):
            return False
        return load_baselines(self.course, self.assignment, self._plan_key()) is None


def is_machine_problem(error: BaseException) -> bool:
    """Return True if an error comes from the machine, such as a full disk or a locked gradebook."""
    if database_problem(error):
        return True
    cause = error.__cause__
    return isinstance(cause, OSError)


def device_label(options: GradeOptions) -> str:
    """Return a name for the device that verdicts come from.

    Raises `UsageError` for a device that is not available on this machine, unless a cluster judges.
    """
    device = options.device or os.environ.get("GPULAB_DEVICE", "")
    kind, _, number = device.partition(":")
    if options.device and (kind not in {"sim", "cuda"} or (kind == "sim" and number)):
        raise UsageError(
            f"submissions cannot be graded on `{options.device}`; choose from sim, cuda or cuda:N."
        )
    if options.scheduler is not None:
        return device or "cluster"
    from gpulab.devices import open_device

    opened = open_device(device or None)
    return f"{opened.kind} {opened.name}"


def time_left(last_s: float, finished: int, remaining: int, elapsed_s: float) -> str:
    """Return the rest of the progress bar's text: the time left, or "" if it is unknown.

    The estimate is made when a submission finishes, `last_s` after the start, and decreases from then on. It
    is unknown before the first one finishes, and while a submission takes longer than the others did.
    """
    seconds = last_s / max(finished, 1) * remaining - (elapsed_s - last_s)
    if seconds < 1:
        return ""
    return f" ({seconds / 60:.0f} min left)" if seconds >= 90 else f" ({seconds:.0f} s left)"


@contextlib.contextmanager
def locked_course(course: Course) -> Iterator[None]:
    """Keep other runs of `gpulab grade` from writing the same gradebook; raise `UsageError` if one does."""
    path: Path = course.work / "grade.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise GradingError(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another `gpulab grade` is running in {course.work}: wait for its end, or stop it."
            ) from None
        yield
