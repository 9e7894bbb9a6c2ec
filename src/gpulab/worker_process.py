"""Kernels run in a process of their own: on a GPU an endless kernel can only be ended with its process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Self

__all__ = ["Worker", "WorkerDied"]

TIME_LIMIT_S = 60.0

Answer = Callable[..., Any]


class WorkerDied(Exception):
    """The process was ended, or ended itself, before it answered; the message says which."""


class Worker:
    """A process that answers one question after another: `worker.ask(3)` is `build(*args)(3)`, over there.

    build: called once in the new process, so it must be found by name from there; args must be plain data.

    It starts with the first question, and again with the next one after it was ended.
    """

    def __init__(self, build: Callable[..., Answer], *args: Any, name: str = "gpulab worker") -> None:
        self._build, self._args, self._name = build, args, name
        self._process: SpawnProcess | None = None
        self._line: Connection[Any, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def ask(self, *question: Any, limit_s: float | None = None) -> Any:
        """The answer; `WorkerDied` when there is none within `limit_s` seconds, or when the process died.

        limit_s: None for a minute.

        Raises `RuntimeError` with the words of whatever was raised over there.
        """
        limit_s = TIME_LIMIT_S if limit_s is None else limit_s
        line = self._line or self._start()
        try:
            line.send(question)
            answered = line.poll(limit_s)
            works, answer = line.recv() if answered else (False, None)
        except (EOFError, OSError):
            code = self.end(patience_s=5)
            raise WorkerDied(f"the process that ran the kernel died (exit code {code})") from None
        except BaseException:  # interrupted: what is still on its way must not answer the next question
            self.end()
            raise
        if not answered:
            self.end()
            raise WorkerDied(
                f"the kernel did not end within {limit_s:g} seconds and was stopped; does every loop end?"
            )
        if not works:
            raise RuntimeError(f"the check failed in its process: {answer}")
        return answer

    def end(self, *, patience_s: float = 0.0) -> int | None:
        """End the process, at once or after it had time to end itself; its exit code, None where none ran."""
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return None
        process.join(patience_s)
        code = process.exitcode
        with contextlib.suppress(ValueError):
            process.kill()
            process.join(5)
        return code

    def hold(self) -> None:
        """Let the process stand still until `go_on`, where there is one and the system has a way to."""
        self._signal("SIGSTOP")

    def go_on(self) -> None:
        """Let a held process go on; one that is not held does so anyway."""
        self._signal("SIGCONT")

    def _signal(self, name: str) -> None:
        process = self._process
        if process is None or process.pid is None or not hasattr(signal, name):
            return
        with contextlib.suppress(ProcessLookupError, ValueError):  # it has ended, or is being closed
            if process.exitcode is None:
                os.kill(process.pid, getattr(signal, name))

    def _start(self) -> Connection[Any, Any]:
        context = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
        line, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, self._build, self._args), name=self._name, daemon=True
        )
        process.start()
        theirs.close()
        self._process, self._line = process, line
        return line


def _serve(line: Connection[Any, Any], build: Callable[..., Answer], args: tuple[Any, ...]) -> None:
    """What the new process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the one who asked ends this one
    answer: Answer | None = None
    while True:
        try:
            question = line.recv()
        except EOFError:  # nobody will ask again
            return
        try:
            answer = answer or build(*args)
            said = True, answer(*question)
        except Exception as error:  # noqa: BLE001  (it is told to the process that waits)
            said = False, f"{type(error).__name__}: {error}"
        line.send(said)
