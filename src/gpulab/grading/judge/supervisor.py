"""The supervisor of a judge process: time limits, restarts, and one result for every submission."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from gpulab.errors import ProblemError
from gpulab.grading.judge.plan import TEST
from gpulab.grading.judge.records import (
    Incident,
    JudgedCell,
    JudgedSubmission,
    JudgeTask,
    KernelInspection,
    error_output,
)
from gpulab.grading.judge.student_client import StudentProcessFailed
from gpulab.grading.sandbox.mechanisms import VARIABLE, chosen_mechanism

__all__ = ["JudgingStopped", "judge", "messages"]

Emit = Callable[[str, Any], None]

TIMEOUT_S = 600.0  # longest time for one submission, with all its restarts
SILENCE_S = 240.0  # longest time until the first message, which follows the student's own run
CELL_SILENCE_S = 120.0  # longest time without a message after that: one test cell on a busy machine
MAX_RESTARTS = 3
COLLECT_AFTER = 100_000  # new objects in a judge process
START_S = 10.0  # longest time to start a judge process, with restarts of the server that forks it
START_INTERVAL_S = 0.05  # between two tries
STOP_INTERVAL_S = 0.5  # between two looks at whether the run is over
END_S = 10.0  # longest time from the end of a process's messages to its exit code
STOPPED = "it did not end within its time limit and was stopped."  # that of the submission

# A judge process is forked from a server that has imported these modules, so that they are imported once and
# not for each submission: the judge, and what the checks of its test cells import when they run.
PRELOADED = (
    "gpulab.grading.judge.judging",
    "gpulab.devices.simulator.simulated_device",
    "gpulab.verification.check",
    "gpulab.grading.checks.counted_speed",
    "llvmlite.binding",
)


class JudgingStopped(Exception):
    """The run is over before the process of this thread was."""


def judge(
    task: JudgeTask,
    *,
    environment: Mapping[str, str] | None = None,
    stop: threading.Event | None = None,
    timeout_s: float = TIMEOUT_S,
) -> JudgedSubmission:
    """Judge one submission in a process of its own.

    Parameters
    ----------
    task : JudgeTask
        The submission, and what the instructor's notebook grades.
    environment : mapping, optional
        Variables of the process, in addition to those of this one.
    stop : threading.Event, optional
        If another thread sets it, the process ends and `JudgingStopped` is raised.
    timeout_s : float
        Longest time in seconds, with all restarts.

    Notes
    -----
    No submission raises an exception here: a test cell that ends or blocks the judge earns
    no points, and the following cells are judged in a new process. A submission that cannot be judged at all
    has an `error`.
    """
    start = time.monotonic()
    environment = dict(environment or {})
    if task.sandboxed:  # chosen by trying once, and not in each judge process
        environment[VARIABLE] = chosen_mechanism().name
    verdict = JudgedSubmission(task.student, task.assignment, task.plan.name)
    cells: dict[str, JudgedCell] = {}
    kernels: dict[str, KernelInspection] = {}
    cpu_s, incidents = 0.0, list[Incident]()

    for _ in range(MAX_RESTARTS + 1):
        running, ended, stopped = "", False, ""
        run = messages(
            _judge, task, frozenset(cells), environment=environment, deadline=start + timeout_s, stop=stop
        )
        for kind, content in run:
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
    return JudgedCell(grade_id, 0.0, points, (error_output("NotRun", reason),))


def messages(
    target: Callable[..., None],
    *args: Any,
    deadline: float,
    environment: Mapping[str, str] | None = None,
    stop: threading.Event | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield what a function emits in a process of its own, until it ends or exceeds a time limit.

    Parameters
    ----------
    target : callable
        Called in the new process with `args` and with a function that takes the kind and the content of a
        message. It must be importable by name.
    *args
        Its arguments. They must be picklable.
    deadline : float
        The time by `time.monotonic()` at which the process is stopped.
    environment : mapping, optional
        Variables of the process, in addition to those of this one.
    stop : threading.Event, optional
        If another thread sets it, the process ends and `JudgingStopped` is raised.
    """
    process, receiver = _start(target, args, dict(environment or {}))
    limit_s = SILENCE_S
    try:
        while _wait(receiver, min(deadline, time.monotonic() + limit_s), stop):
            yield receiver.recv()
            limit_s = CELL_SILENCE_S
        silent = time.monotonic() < deadline
        yield "stopped", f"it did not end within {limit_s:.0f} s and was stopped." if silent else STOPPED
    except EOFError:
        process.join(END_S)
        if process.exitcode == -signal.SIGXCPU:
            from gpulab.grading.judge.judging import CELL_CPU_S  # not before: it imports the judge

            yield "stopped", f"it needed more than {CELL_CPU_S} s of processor time and was stopped."
    finally:
        receiver.close()
        process.kill()  # its student process ends with it
        process.join()


def _start(
    target: Callable[..., None], args: tuple[Any, ...], environment: dict[str, str]
) -> tuple[BaseProcess, Connection[Any, Any]]:
    """Start a process of `messages`, again if the server was killed meanwhile; return it and its messages."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            return _ask_server(target, args, environment)
        except (OSError, EOFError):
            if time.monotonic() > deadline:
                raise
        time.sleep(START_INTERVAL_S)  # a killed server answers no more before it counts as ended


def _ask_server(
    target: Callable[..., None], args: tuple[Any, ...], environment: dict[str, str]
) -> tuple[BaseProcess, Connection[Any, Any]]:
    _start_server(environment)
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(target, args, environment, sender), name="gpulab judge")
    try:
        process.start()
    except BaseException:
        receiver.close()
        raise
    finally:
        sender.close()
    return process, receiver


def _start_server(environment: Mapping[str, str]) -> None:
    """Start the server of the judge processes, unless it runs already.

    environment: the server gets these variables, because libraries read some of them when they are imported.
    """
    from multiprocessing import forkserver

    with _server_lock:
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            forkserver.set_forkserver_preload(list(PRELOADED))
            forkserver.ensure_running()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


_server_lock = threading.Lock()


def _wait(receiver: Connection[Any, Any], until: float, stop: threading.Event | None) -> bool:
    """Return True if there is a message, or the end of the process, before a time."""
    while not receiver.poll(max(0.0, min(STOP_INTERVAL_S, until - time.monotonic()))):
        if stop is not None and stop.is_set():
            raise JudgingStopped
        if time.monotonic() >= until:
            return False
    return True


def _serve(
    target: Callable[..., None],
    args: tuple[Any, ...],
    environment: Mapping[str, str],
    sender: Connection[Any, Any],
) -> None:
    """Run the function in this process; an error of the judge itself is reported, not hidden."""
    # Ctrl-C reaches all processes of the terminal. The supervisor ends this one. The student's process does
    # not inherit a handler, as it would SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    os.environ.update(environment)
    # Compiling kernels makes many small objects and few cycles: collecting these less often saves a twelfth
    # of the judge's time. The objects that the server has imported are not looked at again.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    try:
        target(*args, lambda kind, content: sender.send((kind, content)))
    except (StudentProcessFailed, ProblemError) as error:
        sender.send(("failed", str(error)))
    except Exception as error:  # noqa: BLE001  (reported as the error of the submission)
        sender.send(("failed", f"the judge failed: {type(error).__name__}: {error}"))


def _judge(task: JudgeTask, skipped: frozenset[str], emit: Emit) -> None:
    from gpulab.grading.judge.judging import judge_notebook  # which the supervisor does not need

    judge_notebook(task, skipped, emit)
