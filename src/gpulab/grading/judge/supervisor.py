"""The supervisor of a judge process: time limits, restarts, and one result whatever a submission does."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from gpulab.grading.judge.plan import TEST
from gpulab.grading.judge.records import (
    Incident,
    JudgedCell,
    JudgedSubmission,
    JudgeTask,
    KernelInspection,
    not_run_output,
)
from gpulab.grading.judge.student_client import StudentProcessFailed

__all__ = ["judge"]

TIMEOUT_S = 600.0  # of one submission, with all its restarts
SILENCE_S = 240.0  # longest time until the first message, which follows the student's own run
CELL_SILENCE_S = 120.0  # longest time without a message after that: one test cell on a busy machine
# Bytes of private memory of a judge process. The reference of a stencil at the size that a GPU is timed with
# takes 9 GB; a text can make a compiler allocate without end.
MEMORY_BYTES = 12 << 30
SIMULATOR_MEMORY_BYTES = 4 << 30
MAX_RESTARTS = 3

# The judge process is forked from a server that has imported these modules, which takes a second.
PRELOADED = ("gpulab.grading.judge.judging",)


def judge(task: JudgeTask, *, timeout_s: float = TIMEOUT_S) -> JudgedSubmission:
    """Judge one submission in a process of its own.

    Nothing that a submission does raises an exception here: a test cell that ends or blocks the judge earns
    no points, and the following cells are judged in a new process. A submission that cannot be judged at all
    has an `error`.
    """
    start = time.monotonic()
    verdict = JudgedSubmission(task.student, task.assignment, task.plan.name)
    cells: dict[str, JudgedCell] = {}
    kernels: dict[str, KernelInspection] = {}
    cpu_s, incidents = 0.0, list[Incident]()

    for _ in range(MAX_RESTARTS + 1):
        running, ended, stopped = "", False, ""
        for kind, content in _messages(task, frozenset(cells), start + timeout_s):
            match kind:
                case "submission":
                    verdict = content if not verdict.device else verdict
                    ended = bool(content.error)
                case "begin":
                    running = content
                case "cell":
                    cells[content.grade_id], running = content, ""
                case "kernel":
                    kernels[content.name] = content
                case "incident":
                    incidents.append(content)
                case "usage":
                    cpu_s, ended = cpu_s + content, True
                case "stopped":
                    stopped = content
                case "failed":
                    return replace(verdict, error=content, wall_s=time.monotonic() - start)
        if ended:
            break
        if running:
            reason = stopped or "the process that judged it ended."
            cells[running] = _failed(task, running, reason)
            incidents.append(Incident("hung" if stopped else "crashed", running, reason))

    for cell in task.plan.of_kind(TEST):
        if cell.grade_id not in cells and not verdict.error:
            reason = "not run: earlier test cells ended their process."
            cells[cell.grade_id] = _failed(task, cell.grade_id, reason)
    return replace(
        verdict,
        cells=tuple(cells[cell.grade_id] for cell in task.plan.of_kind(TEST) if cell.grade_id in cells),
        kernels=tuple(kernels.values()),
        incidents=(*verdict.incidents, *incidents),
        cpu_s=cpu_s,
        wall_s=time.monotonic() - start,
    )


def _failed(task: JudgeTask, grade_id: str, reason: str) -> JudgedCell:
    points = next(cell.points for cell in task.plan.of_kind(TEST) if cell.grade_id == grade_id)
    return JudgedCell(grade_id, 0.0, points, (not_run_output(reason),))


def _messages(task: JudgeTask, skipped: frozenset[str], deadline: float) -> Iterator[tuple[str, Any]]:
    """Yield the messages of one judge process until it ends, is silent for too long, or the time is up."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(task, skipped, sender), name="gpulab judge")
    process.start()
    sender.close()
    limit_s = SILENCE_S
    try:
        while receiver.poll(max(0.0, min(limit_s, deadline - time.monotonic()))):
            yield receiver.recv()
            limit_s = CELL_SILENCE_S
        yield "stopped", "it did not end within its time limit and was stopped."
    except EOFError:  # the process ended
        pass
    finally:
        receiver.close()
        process.kill()  # its student process ends with it
        process.join()


def _serve(task: JudgeTask, skipped: frozenset[str], sender: Connection[Any, Any]) -> None:
    """Judge in this process; an error of the judge itself is reported, not hidden."""
    from gpulab.grading.judge.judging import judge_notebook  # which the supervisor does not need

    try:
        judge_notebook(task, skipped, lambda kind, content: sender.send((kind, content)))
    except StudentProcessFailed as error:
        sender.send(("failed", str(error)))
    except Exception as error:  # noqa: BLE001  (reported as the error of the submission)
        sender.send(("failed", f"the judge failed: {type(error).__name__}: {error}"))
