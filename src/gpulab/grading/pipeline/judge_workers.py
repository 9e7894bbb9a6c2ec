"""Judging on the workers of a Dask cluster: on this machine, or on a cluster that is running already."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import KERNEL, NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.pipeline.course import GradingError
from gpulab.profiling.speedup import VariantTiming

__all__ = ["JudgeWorkers", "open_workers", "worker_count"]

MAX_DEATHS = 3  # of its workers, after which a submission is given up
POLL_S = 1.0  # between two looks at the connection to the scheduler
CONNECT_S = 20.0  # after which a scheduler that does not answer is lost

LOST = "the connection to the scheduler was lost. What is judged so far is stored: run the command again."

SETTINGS = {
    "distributed.worker.daemon": False,  # a daemon process must not start the judge's processes
    "distributed.scheduler.allowed-failures": MAX_DEATHS - 1,
    # One submission per worker at a time: only the one that was running is blamed for the worker's end.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


def worker_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_environment(cache: Path) -> dict[str, str]:
    """Return the environment variables of a worker: one thread, and the course's cache of kernels."""
    return {
        "GPULAB_CACHE": str(cache),
        "GPULAB_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }


@dataclass
class JudgeWorkers:
    """A connection to Dask workers that judge submissions.

    client: of Dask. environment: set in each worker before it judges.
    """

    client: Any
    slots: int
    environment: Mapping[str, str] = field(default_factory=dict)

    def judge_all(self, tasks: Iterable[JudgeTask]) -> Iterator[JudgedSubmission | Sequence[str]]:
        """Judge submissions; yield the verdicts as they come, and the students in progress every second.

        A submission whose worker ends is judged again by another one; after `MAX_DEATHS` its verdict is an
        error. Raises `GradingError` if the scheduler is lost.
        """
        from distributed import wait

        waiting = deque(tasks)
        running: dict[Any, JudgeTask] = {}
        while waiting or running:
            while waiting and len(running) < self.slots + 1:
                task = waiting.popleft()
                future = self.client.submit(judge_here, task, dict(self.environment), pure=False)
                running[future] = task
            yield [task.student for task in list(running.values())[: self.slots]]
            try:
                done = wait(list(running), timeout=POLL_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            if self.client.status != "running" or any(future.cancelled() for future in running):
                raise GradingError(LOST)
            for future in [future for future in running if future in done]:
                yield self._verdict(running.pop(future), future)

    def time_shown_kernels(self, plan: NotebookPlan, device: str | None) -> Any:
        """Start timing the kernels that the instructor's notebook shows; return Dask's future."""
        return self.client.submit(time_kernels_here, plan, device, dict(self.environment), pure=False)

    def _verdict(self, task: JudgeTask, future: Any) -> JudgedSubmission:
        from distributed import KilledWorker

        error = future.exception()
        if error is None:
            return JudgedSubmission.from_dict(future.result())
        if isinstance(error, KilledWorker):
            reason = f"the process that judged it ended {MAX_DEATHS} times."
        else:
            reason = f"judging failed: {type(error).__name__}: {error}"
        return JudgedSubmission(task.student, task.assignment, task.plan.name, error=reason)


@contextmanager
def open_workers(*, jobs: int, scheduler: str | None, cache: Path, folder: Path) -> Iterator[JudgeWorkers]:
    """Open the workers: a cluster on this machine with `jobs` processes, or a running one.

    Parameters
    ----------
    jobs : int
        Worker processes on this machine; not used with `scheduler`.
    scheduler : str or None
        Address of the scheduler of a running cluster, such as ``tcp://127.0.0.1:8786``.
    cache : Path
        The course's folder of compiled kernels.
    folder : Path
        For files of the workers.
    """
    import logging

    import dask
    from distributed import Client, LocalCluster
    from distributed.comm.core import CommClosedError

    environment = worker_environment(cache)
    with ExitStack() as stack:
        stack.enter_context(_silent_logs())
        stack.enter_context(dask.config.set(SETTINGS))
        if scheduler is None:
            try:
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=jobs,
                        threads_per_worker=1,
                        processes=True,
                        host="127.0.0.1",
                        # The default port of the dashboard's server may be in use by another cluster.
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                        worker_dashboard_address=None,
                        memory_limit=0,
                        env=environment,
                        local_directory=str(folder),
                        silence_logs=logging.CRITICAL,
                    )
                )
            except (OSError, RuntimeError) as error:
                raise GradingError(f"the worker processes did not start: {error}") from error
            client = stack.enter_context(Client(cluster))
            yield JudgeWorkers(client, jobs, environment)
            return

        try:
            client = stack.enter_context(Client(scheduler, timeout=CONNECT_S))
        except (OSError, ValueError) as error:
            raise UsageError(f"there is no scheduler at {scheduler}: {error}") from None
        try:
            slots = sum(client.nthreads().values())
            yield JudgeWorkers(client, max(slots, 1), environment)
        except (asyncio.CancelledError, CancelledError, CommClosedError) as error:
            raise GradingError(LOST) from error


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Keep Dask from writing to stderr about connections that end; what matters is raised."""
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


def judge_here(task: JudgeTask, environment: Mapping[str, str]) -> dict[str, Any]:
    """Judge a submission in this worker; return the verdict as plain data."""
    from gpulab.grading.judge.supervisor import judge
    from gpulab.grading.sandbox.safe_page import clean_outputs

    os.environ.update(environment)  # before the first judge process starts
    verdict = judge(task)
    page = tuple(replace(cell, outputs=tuple(clean_outputs(list(cell.outputs)))) for cell in verdict.page)
    return replace(verdict, page=page).as_dict()


def time_kernels_here(
    plan: NotebookPlan, device: str | None, environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Time the kernels that a notebook shows, in a process of their own; return plain data."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from gpulab.grading.judge.supervisor import PRELOADED

    os.environ.update(environment)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(time_kernels, plan, device).result()


def time_kernels(plan: NotebookPlan, device_name: str | None) -> list[dict[str, Any]]:
    """Compile and time the kernels that a notebook shows; those that belong to no problem are left out."""
    from gpulab.cell import KernelCell, parse_cell
    from gpulab.devices import open_device
    from gpulab.errors import GpulabError
    from gpulab.profiling.speedup import time_variant
    from gpulab.verification.check import compile_cell

    device = open_device(device_name)
    timings: list[VariantTiming] = []
    for part in plan.of_kind(KERNEL):
        try:
            cell = parse_cell(part.source)
            if isinstance(cell, KernelCell):
                timings.append(time_variant(compile_cell(cell, device), cell.config, device=device))
        except GpulabError:  # a lab may show a kernel that is wrong on purpose
            continue
    return [timing.as_dict() for timing in timings]
