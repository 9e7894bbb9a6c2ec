"""A function of a declared problem, such as its reference: called by names, within a time limit.

Everything that goes wrong in it is a `ProblemError` of one sentence that names the line.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpulab.errors import GpulabError, ProblemError
from gpulab.problems.code_line import CodeLine

__all__ = ["DeclaredFunction"]

LIMIT_S = 20.0  # longest processor time of one call
HANG_FACTOR = 6  # a call that waits, or a computer that is busy, takes at most so many times as long


class DeclaredFunction:
    """A function that takes some of the arguments of a problem by their names.

    Parameters
    ----------
    function : callable
        The function.
    title : str
        Its name in messages, such as "the reference".
    line : CodeLine
        The line that declares the problem.
    """

    def __init__(self, function: Callable[..., Any], title: str, line: CodeLine) -> None:
        self.function, self.title = function, title
        self.line = CodeLine.of_function(function, line)

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        try:
            return inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # of a function that is not written in Python
            raise ProblemError(
                f"{self.line}: {self.title} must be a function whose parameters have the names of arguments."
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the function's parameters."""
        return tuple(self._parameters)

    def check_names(self, names: Mapping[str, Any]) -> None:
        """Raise `ProblemError` unless each parameter has one of the names, or a default value."""
        for name, parameter in self._parameters.items():
            optional = parameter.default is not parameter.empty or parameter.kind in (
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            )
            if name not in names and not optional:
                raise ProblemError(
                    f"{self.line}: {self.title} has the parameter {name}; parameters are named after the "
                    f"arguments and sizes: {', '.join(names)}."
                )

    def __call__(self, values: Mapping[str, Any], first: Sequence[Any] = ()) -> Any:
        """Call the function with those of the values that it has parameters for.

        first: its first arguments, which parameters of any name take.
        Raises `ProblemError` if the function raises an exception, or does not return within `LIMIT_S`.
        """
        given = dict(zip(self.names, first, strict=False))
        values = given | {name: value for name, value in values.items() if name not in given}
        self.check_names(values)
        taken = {name: values[name] for name in self._parameters if name in values}
        return self._limited(lambda: self.function(**taken))

    def error(self, message: str) -> ProblemError:
        """Return an error about the function, with its line."""
        return ProblemError(f"{self.line}: {message}")

    def _limited(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns. It runs in a thread, because the main thread cannot stop itself."""
        result: dict[str, Any] = {}

        def run() -> None:
            try:
                # A result that is not finite is reported; a step on the way to it may rightly be infinite.
                with np.errstate(all="ignore"):
                    result["value"] = call()
            except BaseException as error:  # noqa: BLE001  (raised again by the caller's thread)
                result["error"] = error

        thread = threading.Thread(target=run, name=f"gpulab: {self.title}", daemon=True)
        thread.start()
        started = time.monotonic()
        thread.join(LIMIT_S)
        while thread.is_alive() and _processor_time(thread, started) < LIMIT_S:
            thread.join(LIMIT_S / HANG_FACTOR)
        if thread.is_alive():
            line = self._current_line(thread)
            _stop(thread)
            raise ProblemError(
                f"{line}: {self.title} has not returned after {LIMIT_S:g} s; use NumPy instead of loops, or "
                "declare smaller sizes."
            )
        error = result.get("error")
        if isinstance(error, GpulabError):
            raise error
        if error is not None:
            line = self._line_in(frame.lineno for frame in self._frames(error))
            raise ProblemError(f"{line}: {self.title} failed: {type(error).__name__}: {error}.") from error
        return result["value"]

    def _frames(self, error: BaseException) -> list[traceback.FrameSummary]:
        return [
            frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.line.file
        ]

    def _line_in(self, numbers: Any) -> CodeLine:
        """Return the last of some lines of the function's file; its first line if there is none."""
        lines = [number for number in numbers if number]
        return CodeLine(self.line.file, lines[-1]) if lines else self.line

    def _current_line(self, thread: threading.Thread) -> CodeLine:
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  (documented for debuggers)
        while frame is not None and frame.f_code.co_filename != self.line.file:
            frame = frame.f_back
        return self._line_in([frame.f_lineno] if frame is not None else [])


def _processor_time(thread: threading.Thread, started: float) -> float:
    """Return the seconds that a thread has used; those since its start if they cannot be read or are many."""
    elapsed = time.monotonic() - started
    if elapsed > HANG_FACTOR * LIMIT_S or not hasattr(time, "pthread_getcpuclockid"):
        return elapsed
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
    except OSError:  # the thread has ended
        return 0.0


def _stop(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread at its next Python instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )
