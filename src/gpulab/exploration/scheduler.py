"""Points for an explorer: the one that is waited for at once, what may come next in the background.

On the simulator the point that somebody waits for is modelled in this process, on a thread; the others, and
the checks of values, have processes of their own, which step back and stand still meanwhile. A GPU is asked
one thing at a time, so that no measurement stands in another's way.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from gpulab.devices.base import Device
from gpulab.errors import GpulabError
from gpulab.exploration.search_space import Setting
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point
from gpulab.simt.analysis.specialization import block_class
from gpulab.worker_process import Worker, WorkerDied, WorkerFunction

__all__ = ["Exploration", "Task"]

STEPS_BACK = 5  # of a process in the background, as `nice` counts
PREPARED = 24  # settings that are compiled before anything is timed: a curve has fewer
PR_SET_PDEATHSIG = 1  # of prctl(2)
MOST_APART = 3  # such processes, some 200 MB each


@dataclass(frozen=True)
class Task:
    """A point to find. check: its values too, on the problem's check sizes, with its block and tile.

    prepare: only compile it, so that the point takes less time.
    """

    setting: Setting
    check: bool = False
    prepare: bool = False


class Exploration:
    """`now` asks for one point, `fill` for many; `tell` hears of each, on a thread of its own.

    tell: called with a setting when there is a point for it, and once more when its values were checked.
    points: what is known. checked: those whose values were found right, or wrong, with this block and tile.
    """

    def __init__(self, tell: Callable[[Setting], None]) -> None:
        self.points: dict[Setting, Point] = {}
        self.checked: set[Setting] = set()
        self._tell = tell
        self._prepared: set[Setting] = set()
        self._cancelled = 0
        self._here, self._gpu = _Benches(), _Benches()
        self._apart = [_Apart() for _ in range(min(os.cpu_count() or 1, MOST_APART))]
        self._soon = _Lane(self._find_alone)
        self._later = _Lane(*(partial(self._find, apart.point) for apart in self._apart))
        self._measured = _Lane(partial(self._find, self._gpu.point))
        atexit.register(self.end)  # a process that stands still would not end by itself

    def now(self, setting: Setting) -> Point | None:
        """The point, if it is known; else None, and it is the next that is looked for."""
        if setting in self.points:
            return self.points[setting]
        if _modelled(setting):
            self._soon.next(Task(setting, check=False))
        else:
            self._measured.next(Task(setting, check=True))
        return None

    def fill(self, tasks: Iterable[Task]) -> None:
        """Do these in the background, in this order, and nothing that was asked for before.

        What is timed at once is compiled before anything is timed: whoever moves on waits for less.
        """
        tasks = tuple(tasks)
        wanted = [task for task in tasks if not self._is_done(task)]
        modelled = [task for task in wanted if _modelled(task.setting)]
        soon = _kinds_first(task.setting for task in tasks if _modelled(task.setting) and not task.check)
        prepared = [Task(setting, prepare=True) for setting in soon[:PREPARED]]
        self._later.rest([*(task for task in prepared if not self._is_done(task)), *modelled])
        self._measured.rest(task for task in wanted if not _modelled(task.setting))

    def cancel(self) -> None:
        """Leave the rest of the background's work."""
        self._cancelled += 1
        self.fill(())
        for apart in self._apart:
            apart.end()

    def end(self) -> None:
        """Stop all work; nobody is told any more."""
        atexit.unregister(self.end)
        self._tell = lambda _: None
        for lane in (self._soon, self._later, self._measured):
            lane.end()
        for apart in self._apart:
            apart.end()
        self._here.end()
        self._gpu.end()

    def _is_done(self, task: Task) -> bool:
        if task.prepare and task.setting in self._prepared:
            return True
        return task.setting in (self.checked if task.check else self.points)

    def _find_alone(self, task: Task) -> None:
        """For somebody who waits: nothing else runs meanwhile."""
        for apart in self._apart:
            apart.worker.suspend()
        try:
            self._find(self._here.point, task)
        finally:
            for apart in self._apart:
                apart.worker.resume()

    def _find(self, ask: Callable[[Task], Point | None], task: Task) -> None:
        if self._is_done(task):
            return
        setting, cancelled = task.setting, self._cancelled
        self._prepared.add(setting)
        try:
            point = ask(task)
        except (WorkerDied, RuntimeError, GpulabError) as error:
            ended = isinstance(error, WorkerDied) and cancelled != self._cancelled
            # What is known stays, and neither being left nor failing to be prepared is a verdict.
            if setting in self.points or ended or task.prepare:
                return
            point = Point(setting.cell.config, setting.shape, error=str(error))
        if point is None:
            return
        self.points[setting] = point
        if task.check or point.wrong:
            self.checked.add(setting)
        self._tell(setting)


def _modelled(setting: Setting) -> bool:
    return setting.device.startswith("sim")


def _kinds_first(settings: Iterable[Setting]) -> list[Setting]:
    """In this order, but before all others one with each kind of block: those of a kind share code."""
    given = list(settings)
    firsts = {block_class(setting.block): setting for setting in reversed(given)}
    return [*reversed(firsts.values()), *(setting for setting in given if setting not in firsts.values())]


class _Lane:
    """Tasks in their order, on a thread for each worker; what `next` is given comes before the rest."""

    def __init__(self, *workers: Callable[[Task], None]) -> None:
        self._workers = workers
        self._next: Task | None = None
        self._rest: deque[Task] = deque()
        self._turn = threading.Condition()
        self._over = False
        self._threads: list[threading.Thread] = []

    def next(self, task: Task) -> None:
        with self._turn:
            self._next = task
            self._wake()

    def rest(self, tasks: Iterable[Task]) -> None:
        with self._turn:
            self._rest = deque(tasks)
            if self._rest:
                self._wake()

    def end(self) -> None:
        with self._turn:
            self._over, self._next = True, None
            self._rest.clear()
            self._turn.notify_all()

    def _wake(self) -> None:
        if not self._threads and not self._over:
            for work in self._workers:
                thread = threading.Thread(target=self._run, args=(work,), name="gpulab explorer", daemon=True)
                thread.start()
                self._threads.append(thread)
        self._turn.notify_all()

    def _run(self, work: Callable[[Task], None]) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._over or self._next is not None or self._rest)
                if self._over:
                    return
                task, self._next = self._next, None
                if task is None:
                    task = self._rest.popleft()
            work(task)


class _Benches:
    """Benches in this process, one for each device; a bench of a GPU has a process of its own."""

    def __init__(self) -> None:
        self._benches: dict[str, Bench] = {}

    def point(self, task: Task) -> Point | None:
        """The task's point; None where it was only to be prepared."""
        name, setting = task.setting.device, task.setting
        if name not in self._benches:
            self._benches[name] = Bench(_own_device(name), name)
        if task.prepare:
            self._benches[name].prepare(setting.cell)
            return None
        return self._benches[name].point(setting.cell, setting.shape, check=task.check)

    def end(self) -> None:
        for bench in self._benches.values():
            bench.__exit__(None, None, None)
        self._benches.clear()


def _own_device(name: str) -> Device:
    """A simulated one is not shared with the session's cells, which may run at the same time."""
    from gpulab.devices import open_device
    from gpulab.devices.simulated import SimulatedDevice

    device = open_device(name)
    return device if device.measures_time else SimulatedDevice(device.spec.key)


class _Apart:
    """The same in a process of its own."""

    def __init__(self) -> None:
        self.worker = Worker(_benches_there, name="gpulab explorer")

    def point(self, task: Task) -> Point | None:
        point: Point | None = self.worker.call(task)
        return point

    def end(self) -> None:
        self.worker.end()


def _benches_there() -> WorkerFunction:
    """Benches of the new process."""
    _end_with_parent()
    with suppress(OSError, AttributeError):  # there is no `nice` on Windows
        os.nice(STEPS_BACK)
    return _Benches().point


def _end_with_parent() -> None:
    """Have the system kill this process when the thread that began it ends, held or not: on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
