"""Scheduling of an explorer's work: one foreground job at a time, and one worker process for the rest.

The candidate that a user waits for is modelled in this process. All other work of the simulator runs in the
worker process, at the lowest priority. A GPU measures one candidate at a time, so that measurements do not
disturb each other.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.exploration.search_space import Candidate
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point
from gpulab.simt.analysis.specialization import block_class
from gpulab.worker_process import Worker, WorkerDied, WorkerFunction

__all__ = ["Exploration", "Task"]

LOWEST_PRIORITY = 19  # argument of nice(2): the foreground gets about 98 % of a shared core
MOST_PREPARED = 24  # candidates that are compiled before any is timed; a curve has fewer blocks


@dataclass(frozen=True)
class Task:
    """Work on one candidate.

    check: also verify its values, on the problem's check sizes. prepare: only compile it, so that a later
    task takes less time.
    """

    candidate: Candidate
    check: bool = False
    prepare: bool = False


class Exploration:
    """Times candidates in the background and, when requested, in the foreground.

    Parameters
    ----------
    report : callable
        Called with a candidate when its time is known, and again when its values were verified. It runs on
        a thread of the exploration.

    Attributes
    ----------
    points : dict of Candidate to Point
        The results so far.
    checked : set of Candidate
        Candidates whose values were verified with their block and tile, or are wrong.
    """

    def __init__(self, report: Callable[[Candidate], None]) -> None:
        self.points: dict[Candidate, Point] = {}
        self.checked: set[Candidate] = set()
        self._prepared: set[Candidate] = set()
        self._report = report
        self._cancelled, self._ended = 0, False
        self._local, self._gpu = _Benches(), _Benches()
        self._worker = Worker(_worker_benches, name="gpulab explorer")
        self._foreground = _TaskQueue(lambda task: self._run(task, self._local.run))
        self._background = _TaskQueue(lambda task: self._run(task, self._worker.call))
        self._measurements = _TaskQueue(lambda task: self._run(task, self._gpu.run))

    def request(self, candidate: Candidate) -> Point | None:
        """Return the candidate's point if it is known; otherwise time the candidate next."""
        if candidate not in self.points:
            queue = self._foreground if candidate.is_modelled else self._measurements
            queue.replace([Task(candidate, check=not candidate.is_modelled)])
        return self.points.get(candidate)

    def fill(self, tasks: Iterable[Task]) -> None:
        """Replace the background's work. Tasks run in this order.

        Candidates that are only to be timed are compiled first, so that they are shown sooner when a slider
        selects them.
        """
        tasks = tuple(tasks)
        modelled = [task for task in tasks if task.candidate.is_modelled]
        timed = _one_of_each_class_first(task.candidate for task in modelled if not task.check)
        prepared = [Task(candidate, prepare=True) for candidate in timed[:MOST_PREPARED]]
        self._background.replace(task for task in (*prepared, *modelled) if not self._is_done(task))
        measured = (task for task in tasks if not task.candidate.is_modelled)
        self._measurements.replace(task for task in measured if not self._is_done(task))

    def cancel(self) -> None:
        """Discard the remaining background work, and end the task that is running."""
        self._cancelled += 1
        self.fill(())
        self._worker.end()

    def end(self) -> None:
        """Stop all work and all reports."""
        self._ended = True  # a task that begins now must not start another worker process
        self._report = lambda _: None
        for queue in (self._foreground, self._background, self._measurements):
            queue.end()
        self._worker.end()
        self._local.end()
        self._gpu.end()

    def _is_done(self, task: Task) -> bool:
        if task.prepare and task.candidate in self._prepared:
            return True
        return task.candidate in (self.checked if task.check else self.points)

    def _run(self, task: Task, find_point: Callable[[Task], Point | None]) -> None:
        if self._ended or self._is_done(task):
            return
        candidate, cancelled = task.candidate, self._cancelled
        self._prepared.add(candidate)
        try:
            point = find_point(task)
        except Exception as error:  # noqa: BLE001  (the thread must survive; the user sees the error)
            was_cancelled = isinstance(error, WorkerDied) and cancelled != self._cancelled
            # A known point is kept; neither a cancelled task nor a failed preparation says anything about it.
            if candidate in self.points or was_cancelled or task.prepare:
                return
            point = Point(candidate.config, candidate.shape, error=str(error))
        if point is None:
            return

        self.points[candidate] = point
        if task.check or point.wrong:
            self.checked.add(candidate)
        self._report(candidate)


def _one_of_each_class_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, first one of each block class, because blocks of a class share code."""
    ordered = list(candidates)
    first = {block_class(candidate.block): candidate for candidate in reversed(ordered)}
    leaders = list(reversed(first.values()))
    return [*leaders, *(candidate for candidate in ordered if candidate not in leaders)]


class _TaskQueue:
    """A thread that runs tasks in order; the waiting tasks can be replaced at any time."""

    def __init__(self, run: Callable[[Task], None]) -> None:
        self._run = run
        self._tasks: deque[Task] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread: threading.Thread | None = None

    def replace(self, tasks: Iterable[Task]) -> None:
        """Replace the waiting tasks. A running task continues."""
        with self._changed:
            self._tasks = deque(tasks)
            if self._tasks and self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._serve, name="gpulab explorer", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self) -> None:
        """Discard the waiting tasks and end the thread after the running one."""
        with self._changed:
            self._ended = True
            self._tasks.clear()
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._tasks)
                if self._ended:
                    return
                task = self._tasks.popleft()
            self._run(task)


class _Benches:
    """One bench for each device name."""

    def __init__(self) -> None:
        self._benches: dict[str, Bench] = {}

    def run(self, task: Task) -> Point | None:
        """Return the task's point; None if it was only prepared."""
        name, candidate = task.candidate.device, task.candidate
        if name not in self._benches:
            self._benches[name] = Bench(_separate_device(name), name)
        if task.prepare:
            self._benches[name].prepare(candidate.cell)
            return None
        return self._benches[name].point(candidate.cell, candidate.shape, check=task.check)

    def end(self) -> None:
        for bench in self._benches.values():
            bench.__exit__(None, None, None)
        self._benches.clear()


def _separate_device(name: str) -> Device:
    """Open a device; a simulated one is not shared with the session's cells, which may run meanwhile."""
    from gpulab.devices.simulator.simulated_device import SimulatedDevice

    device = open_device(name)
    return device if device.measures_time else SimulatedDevice(device.spec.key)


def _worker_benches() -> WorkerFunction:
    """Return the function that runs tasks in the worker process, and lower the priority of the process."""
    with suppress(AttributeError, OSError):  # Windows has no `nice`
        os.nice(LOWEST_PRIORITY)
    return _Benches().run
