"""Worker processes for kernels: an endless kernel on a GPU ends only with the process that launched it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import ModuleType, TracebackType
from typing import Any, Self

__all__ = ["TIME_LIMIT_S", "Worker", "WorkerDied", "WorkerFunction", "WorkerTimedOut", "in_worker"]

# Time limit of one call, in seconds. Compiling, checking and timing one kernel takes a few seconds; a kernel
# that is still running after a minute is taken to be endless.
TIME_LIMIT_S = 60.0

EXIT_GRACE_S = 5.0  # time that a process has to end before its exit code is read, in seconds

WorkerFunction = Callable[..., Any]


class WorkerDied(Exception):
    """The worker process ended, or was ended at its time limit, before it returned a result."""


class WorkerTimedOut(WorkerDied):
    """The worker process was ended at its time limit."""


_serving = False  # True in a worker process


def in_worker() -> bool:
    """Return True if this process is a worker process."""
    return _serving


class Worker:
    """A process that runs a function once per call: `worker.call(3)` returns `build(*args)(3)`.

    The process starts with the first call. After it has ended, the next call starts a new one.

    Parameters
    ----------
    build : callable
        Called once in the new process; returns the function that serves the calls. It must be importable by
        name.
    *args
        Arguments of `build`. They must be picklable.
    name : str
        Name of the process, for logs and process listings.
    idle_s : float, optional
        Seconds without a call after which the process ends; by default it does not.
    """

    def __init__(
        self,
        build: Callable[..., WorkerFunction],
        *args: Any,
        name: str = "gpulab worker",
        idle_s: float | None = None,
    ) -> None:
        self._build, self._args, self._name, self._idle_s = build, args, name, idle_s
        self._process: SpawnProcess | None = None
        self._connection: Connection[Any, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def is_running(self) -> bool:
        """True if the process has started and not ended."""
        process = self._process
        return process is not None and process.is_alive()

    def call(self, *arguments: Any, limit_s: float | None = None) -> Any:
        """Run the function in the worker process and return its result.

        Parameters
        ----------
        *arguments
            Arguments of the function. They must be picklable.
        limit_s : float, optional
            Time limit in seconds; by default `TIME_LIMIT_S`. The process is ended when it is exceeded.

        Raises
        ------
        WorkerDied
            If the process ended, or exceeded the time limit, before it returned a result.
        RuntimeError
            If the function raised an exception; the message contains the exception's type and message.
        """
        limit_s = TIME_LIMIT_S if limit_s is None else limit_s
        if self._process is not None and not self._process.is_alive():
            self.end()  # it was idle for too long
        earlier = self._connection
        connection = earlier or self._start()

        try:
            connection.send(arguments)
            returned = connection.poll(limit_s)
            succeeded, result = connection.recv() if returned else (False, None)
        except (EOFError, OSError):
            code = self.end(grace_s=EXIT_GRACE_S)
            if code == 0 and earlier is not None and self._idle_s is not None:
                return self.call(*arguments, limit_s=limit_s)  # it became idle just before this call
            raise WorkerDied(f"the process of the kernel ended unexpectedly (exit code {code})") from None
        except BaseException:
            # After an interrupt, the result of this call must not be taken for the result of the next one.
            self.end()
            raise

        if not returned:
            self.end()
            raise WorkerTimedOut(
                f"the kernel did not end within {limit_s:g} seconds and was stopped; "
                "check that every loop ends"
            )
        if not succeeded:
            raise RuntimeError(f"the worker process raised {result}")
        return result

    def end(self, *, grace_s: float = 0.0) -> int | None:
        """End the process and return its exit code, or None if no process was running.

        grace_s: seconds that the process has to end by itself before it is killed.
        """
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        if process is None:
            return None

        process.join(grace_s)
        code = process.exitcode
        with contextlib.suppress(ValueError):  # another thread has closed the process object
            process.kill()
            process.join(EXIT_GRACE_S)
        return code

    def _start(self) -> Connection[Any, Any]:
        context = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
        connection, remote = context.Pipe()
        process = context.Process(
            target=_serve,
            args=(remote, self._build, self._args, self._idle_s),
            name=self._name,
            daemon=True,
        )
        with _without_main_module(), _without_interrupts():
            process.start()
        remote.close()
        self._process, self._connection = process, connection
        return connection


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Let a process start without the program of this one.

    A new process imports the file of `__main__`. A script that launches kernels outside of
    ``if __name__ == "__main__":`` would run again there, and importing Jupyter takes a second.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let a process start with SIGINT blocked, because it imports modules before it can ignore the signal."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return

    # The first process starts the resource tracker, which unblocks SIGINT in the calling thread.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end_with_parent() -> None:
    """End this process when the calling one has ended, even within an endless kernel."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(
    connection: Connection[Any, Any],
    build: Callable[..., WorkerFunction],
    args: tuple[Any, ...],
    idle_s: float | None,
) -> None:
    """Serve calls in the worker process until the connection is closed, or no call comes for `idle_s`."""
    global _serving  # noqa: PLW0603  (one process, one state)
    _serving = True
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    # Ctrl-C reaches both processes; the calling process decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    function: WorkerFunction | None = None
    while connection.poll(idle_s):
        try:
            arguments = connection.recv()
        except EOFError:
            return
        try:
            function = function or build(*args)
            reply = True, function(*arguments)
        except Exception as error:  # noqa: BLE001  (reported to the calling process)
            reply = False, f"{type(error).__name__}: {error}"
        connection.send(reply)
