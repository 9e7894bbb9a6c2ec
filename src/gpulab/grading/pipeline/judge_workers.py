"""Judging in parallel: by threads that each wait for a judge process, or on a running Dask cluster."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import KERNEL, NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.pipeline.course import GradingError
from gpulab.grading.sandbox.resource_limits import ONE_THREAD
from gpulab.profiling.speedup import VariantTiming

__all__ = ["JudgeWorkers", "open_workers", "worker_count"]

POLL_S = 1.0  # between two looks at the connection to the scheduler
CONNECT_S = 20.0  # longest time until a scheduler answers
SHOWN_KERNELS_S = 600.0  # longest time to time the kernels that a notebook shows

LOST = "the connection to the scheduler was lost. The verdicts so far are stored: run the command again."

SETTINGS = {
    "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


def worker_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_environment(cache: Path) -> dict[str, str]:
    """Return the environment variables of a worker: one thread, and the course's cache of kernels."""
    return {"GPULAB_CACHE": str(cache), **ONE_THREAD}


@dataclass
class JudgeWorkers:
    """Workers that judge submissions.

    Attributes
    ----------
    executor : concurrent.futures.Executor
        Of the threads of this process, or of a Dask cluster.
    slots : int
        Submissions that are judged at the same time.
    environment : mapping of str to str
        Variables of each judge process.
    stop : threading.Event or None
        Ends the judge processes of this machine; None for a cluster.
    connected : callable
        Returns False once the cluster is lost.
    """

    executor: Executor
    slots: int
    environment: Mapping[str, str] = field(default_factory=dict)
    stop: threading.Event | None = None
    connected: Callable[[], bool] = lambda: True

    def judge_all(self, tasks: Iterable[JudgeTask]) -> Iterator[JudgedSubmission | Sequence[str]]:
        """Judge submissions; yield the verdicts as they come, and the students in progress every second.

        A submission whose worker of a cluster ends is judged again by another one, as often as the cluster's
        settings allow; then its verdict is an error. Raises `GradingError` if the scheduler is lost.
        """
        waiting = deque(tasks)
        running: dict[Future[dict[str, Any]], JudgeTask] = {}
        while waiting or running:
            while waiting and len(running) < self.slots + 1:
                task = waiting.popleft()
                running[self._submit(judge_here, task)] = task
            yield [task.student for task in list(running.values())[: self.slots]]
            done = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED).done
            if not self.connected() or any(future.cancelled() for future in running):
                raise GradingError(LOST)
            for future in [future for future in running if future in done]:
                yield self._verdict(running.pop(future), future)

    def time_shown_kernels(self, plan: NotebookPlan, device: str | None) -> Future[list[dict[str, Any]]]:
        """Start timing the kernels that the instructor's notebook shows."""
        return self._submit(time_kernels_here, plan, device)

    def _submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        options = {} if self.stop is None else {"stop": self.stop}
        return self.executor.submit(partial(function, **options), *args, dict(self.environment))

    def _verdict(self, task: JudgeTask, future: Future[dict[str, Any]]) -> JudgedSubmission:
        error = future.exception()
        if error is None:
            return JudgedSubmission.from_dict(future.result())
        deaths = getattr(error, "allowed_failures", None)  # of Dask's KilledWorker
        if deaths is not None:
            reason = f"the process that judged it ended {deaths + 1} times."
        else:
            reason = f"judging failed: {type(error).__name__}: {error}"
        return JudgedSubmission(task.student, task.assignment, task.plan.name, error=reason)


@contextmanager
def open_workers(*, jobs: int, scheduler: str | None, cache: Path) -> Iterator[JudgeWorkers]:
    """Open the workers.

    Parameters
    ----------
    jobs : int
        Submissions to judge in parallel on this machine; not used with `scheduler`.
    scheduler : str or None
        Address of the scheduler of a running Dask cluster, such as ``tcp://127.0.0.1:8786``.
    cache : Path
        The course's folder of compiled kernels.
    """
    environment = worker_environment(cache)
    with (
        _local_workers(jobs, environment) if scheduler is None else _cluster(scheduler, environment) as opened
    ):
        yield opened


@contextmanager
def _local_workers(jobs: int, environment: Mapping[str, str]) -> Iterator[JudgeWorkers]:
    """Open threads that each wait for one judge process. No submission is judged in this process."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "gpulab judge") as executor:
        try:
            yield JudgeWorkers(executor, jobs, environment, stop)
        except BaseException:  # an interrupt, or a full disk
            stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _cluster(scheduler: str, environment: Mapping[str, str]) -> Iterator[JudgeWorkers]:
    """Open a connection to a running Dask cluster."""
    import dask
    from distributed import Client
    from distributed.comm.core import CommClosedError

    with ExitStack() as stack:
        stack.enter_context(_silent_logs())
        stack.enter_context(dask.config.set(SETTINGS))
        try:
            client = stack.enter_context(Client(scheduler, timeout=CONNECT_S))
        except (OSError, ValueError) as error:
            raise UsageError(f"there is no scheduler at {scheduler}: {error}") from None
        try:
            yield JudgeWorkers(
                client.get_executor(pure=False),
                max(1, sum(client.nthreads().values())),
                environment,
                connected=lambda: client.status == "running",
            )
        except (asyncio.CancelledError, CancelledError, CommClosedError) as error:
            raise GradingError(LOST) from error


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Keep Dask from logging closed connections on stderr. Errors that matter raise exceptions."""
    import logging

    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in [*names, "asyncio", "tornado.application"]]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def judge_here(
    task: JudgeTask, environment: Mapping[str, str], stop: threading.Event | None = None
) -> dict[str, Any]:
    """Judge a submission in a process that this one starts; return the verdict as plain data."""
    from gpulab.grading.judge.supervisor import judge

    return judge(task, environment=environment, stop=stop).as_dict()


def time_kernels_here(
    plan: NotebookPlan,
    device: str | None,
    environment: Mapping[str, str],
    stop: threading.Event | None = None,
) -> list[dict[str, Any]]:
    """Time the kernels that a notebook shows, in a process that this one starts; return plain data."""
    from gpulab.grading.judge.supervisor import messages

    deadline = time.monotonic() + SHOWN_KERNELS_S
    timing = messages(time_kernels, plan, device, deadline=deadline, environment=environment, stop=stop)
    for kind, content in timing:
        if kind == "times":
            return list(content)
        raise GradingError(f"the kernels that the lab shows could not be timed: {content}")
    raise GradingError("the process that timed the kernels of the lab ended.")


def time_kernels(plan: NotebookPlan, device_name: str | None, emit: Callable[[str, Any], None]) -> None:
    """Compile and time the kernels that a notebook shows; those that belong to no problem are left out.

    emit: takes ("times", the times as plain data).
    """
    from gpulab.cell import KernelCell, parse_cell
    from gpulab.devices import open_device
    from gpulab.errors import GpulabError
    from gpulab.problems.registry import use_problem_text
    from gpulab.profiling.speedup import time_variant
    from gpulab.verification.check import compile_cell

    use_problem_text(plan.problem)
    device = open_device(device_name)
    timings: list[VariantTiming] = []
    for part in plan.of_kind(KERNEL):
        try:
            cell = parse_cell(part.source)
            if isinstance(cell, KernelCell):
                timings.append(time_variant(compile_cell(cell, device), cell.config, device=device))
        except GpulabError:  # a lab may show a kernel that is wrong on purpose
            continue
    emit("times", [timing.as_dict() for timing in timings])
