"""Points for an explorer: the one that is waited for at once, what may come next in the background.

On the simulator the point that somebody waits for is modelled in this process, on a thread; the others, and
the check of the values, have a process of their own, which steps back. A GPU is asked one thing at a time,
so that no measurement stands in another's way.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from gpulab.devices.base import Device
from gpulab.errors import GpulabError
from gpulab.evidence.bench import Bench
from gpulab.evidence.handles import Setting
from gpulab.evidence.isolated import Answer, Stopped, Worker
from gpulab.evidence.point import Point

__all__ = ["Exploration", "Task"]

STEPS_BACK = 5  # of the process in the background, as `nice` counts


@dataclass(frozen=True)
class Task:
    """A point to find. check: its values too, on the problem's check sizes, with its block and tile."""

    setting: Setting
    check: bool


class Exploration:
    """`now` asks for one point, `fill` for many; `tell` hears of each, on a thread of its own.

    tell: called with a setting when there is a point for it, and once more when its values were checked.
    points: what is known. checked: those whose values were found right, or wrong, with this block and tile.
    """

    def __init__(self, tell: Callable[[Setting], None]) -> None:
        self.points: dict[Setting, Point] = {}
        self.checked: set[Setting] = set()
        self._tell = tell
        self._cancelled = 0
        self._here, self._apart, self._gpu = _Benches(), _Apart(), _Benches()
        self._soon = _Lane(lambda task: self._find(task, self._here.point))
        self._later = _Lane(lambda task: self._find(task, self._apart.point))
        self._measured = _Lane(lambda task: self._find(task, self._gpu.point))

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
        """Do these in the background, in this order, and nothing that was asked for before."""
        wanted = [task for task in tasks if not self._is_done(task)]
        self._later.rest(task for task in wanted if _modelled(task.setting))
        self._measured.rest(task for task in wanted if not _modelled(task.setting))

    def cancel(self) -> None:
        """Leave the rest of the background's work."""
        self._cancelled += 1
        self.fill(())
        self._apart.end()

    def end(self) -> None:
        """Stop all work; nobody is told any more."""
        self._tell = lambda _: None
        for lane in (self._soon, self._later, self._measured):
            lane.end()
        for benches in (self._here, self._apart, self._gpu):
            benches.end()

    def _is_done(self, task: Task) -> bool:
        return task.setting in (self.checked if task.check else self.points)

    def _find(self, task: Task, ask: Callable[[Task], Point]) -> None:
        if self._is_done(task):
            return
        setting, cancelled = task.setting, self._cancelled
        try:
            point = ask(task)
        except (Stopped, RuntimeError, GpulabError) as error:
            ended = isinstance(error, Stopped) and cancelled != self._cancelled
            if setting in self.points or ended:  # what is known stays, and being left is no verdict
                return
            geometry = setting.problem, setting.variant, setting.shape, setting.block, setting.tile
            point = Point(*geometry, why_not=str(error))
        self.points[setting] = point
        if task.check or point.wrong:
            self.checked.add(setting)
        self._tell(setting)


def _modelled(setting: Setting) -> bool:
    return setting.device.startswith("sim")


class _Lane:
    """A thread that does one task after another; what is asked for by `next` comes before the rest."""

    def __init__(self, work: Callable[[Task], None]) -> None:
        self._work = work
        self._next: Task | None = None
        self._rest: deque[Task] = deque()
        self._turn = threading.Condition()
        self._over = False
        self._thread: threading.Thread | None = None

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
            self._turn.notify()

    def _wake(self) -> None:
        if self._thread is None and not self._over:
            self._thread = threading.Thread(target=self._run, name="gpulab explorer", daemon=True)
            self._thread.start()
        self._turn.notify()

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._over or self._next is not None or self._rest)
                if self._over:
                    return
                task, self._next = self._next, None
                if task is None:
                    task = self._rest.popleft()
            self._work(task)


class _Benches:
    """Benches in this process, one for each device; a bench of a GPU has a process of its own."""

    def __init__(self) -> None:
        self._benches: dict[str, Bench] = {}

    def point(self, task: Task) -> Point:
        name, setting = task.setting.device, task.setting
        if name not in self._benches:
            self._benches[name] = Bench(_own_device(name), name)
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
    return SimulatedDevice(device.spec.key) if device.kind == "sim" else device


class _Apart:
    """The same in a process of its own."""

    def __init__(self) -> None:
        self._worker = Worker(_benches_there, name="gpulab explorer")

    def point(self, task: Task) -> Point:
        point: Point = self._worker.ask(task)
        return point

    def end(self) -> None:
        self._worker.end()


def _benches_there() -> Answer:
    """Benches of the new process."""
    with suppress(OSError, AttributeError):  # there is no `nice` on Windows
        os.nice(STEPS_BACK)
    return _Benches().point
