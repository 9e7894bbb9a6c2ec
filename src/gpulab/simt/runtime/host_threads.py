"""Threads of the host that run native code.

A thread pool of Python's library takes a third of a millisecond for a launch, as long as many launches of a
lab take; this one has what a launch needs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue

from gpulab.errors import LaunchError

__all__ = ["HostThreads", "cores", "host_threads"]

_STARTING = threading.Lock()  # the stack size of new threads is a setting of the whole process


def cores() -> int:
    """Return the number of threads to simulate with: GPULAB_THREADS, or the host cores of this process."""
    setting = os.environ.get("GPULAB_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HostThreads:
    """Threads with a stack of at least `stack` bytes each.

    The default stack has 8 MiB or less. Of a larger one, only pages that are used take memory. All threads
    are started at once, because a task could not run if its thread failed to start later. Raises
    `LaunchError` if they cannot be started.
    """

    def __init__(self, count: int, stack: int) -> None:
        self._tasks: SimpleQueue[tuple[Callable[[int], object], int, SimpleQueue[object]] | None]
        self._tasks = SimpleQueue()
        threads = [
            threading.Thread(target=self._serve, name=f"gpulab {number}", daemon=True)
            for number in range(count)
        ]
        with _STARTING:
            before = threading.stack_size()
            try:
                threading.stack_size(stack)
                for thread in threads:
                    thread.start()
            except (RuntimeError, ValueError) as error:
                for _ in threads:
                    self._tasks.put(None)
                raise LaunchError(
                    f"the simulator needs {stack >> 20} MiB of stack per core for this kernel, and the host "
                    f"cannot provide it ({error}); use a smaller kernel."
                ) from error
            finally:
                threading.stack_size(before)

    def submit(self, run: Callable[[int], object], argument: int, done: SimpleQueue[object]) -> None:
        """Call `run` in one of the threads; then `done` receives its result, or the exception."""
        self._tasks.put((run, argument, done))

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            run, argument, done = task
            try:
                done.put(run(argument))
            except BaseException as error:  # noqa: BLE001 - the launch raises it
                done.put(error)


@cache
def host_threads(stack: int) -> HostThreads:
    """Return one thread per core, for kernels that need a stack of this size; they are used again."""
    return HostThreads(cores(), stack)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=host_threads.cache_clear)  # threads do not survive a fork
