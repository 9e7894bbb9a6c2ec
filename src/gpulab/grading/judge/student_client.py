"""The judge's side of a student's process: it starts and limits the process, and sends it requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from gpulab.errors import GpulabError, UsageError
from gpulab.grading.judge.plain_values import decode, encode, storable
from gpulab.grading.judge.records import Incident
from gpulab.grading.sandbox.sandboxed_process import LimitedProcess

__all__ = ["CellRun", "StudentFunction", "StudentProcess", "StudentProcessEnded", "StudentProcessFailed"]

CELL_LIMIT_S = 20.0  # limit of one Python cell; a graded run shows no sliders and models no times
GRACE_S = 3.0  # time between the interrupt of a cell and the end of its process
NOTEBOOK_LIMIT_S = 120.0  # limit of all cells together, restarts included
START_LIMIT_S = 60.0  # until a new process has answered, on a busy machine
MAX_RESTARTS = 2
MAX_ERROR = 300  # characters of a cell's error that a sentence quotes
NO_REPLY = "it sent no valid reply."


class StudentProcessEnded(GpulabError):
    """The process of a submission ended, hung or sent no valid reply; the message says which.

    kind: that of the `Incident`.
    """

    def __init__(self, message: str, kind: str = "crashed") -> None:
        super().__init__(message)
        self.kind = kind


class StudentProcessFailed(GpulabError):
    """No process can be started, for a reason that does not lie in the submission."""


@dataclass(frozen=True)
class CellRun:
    """One cell of the student's own run.

    outputs: in the form of a notebook file. error: why the cell did not run to its end; empty if it did.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    succeeded: bool = False
    error: str = ""


def error_text(outputs: Sequence[Mapping[str, Any]]) -> str:
    """Return the first error among the outputs of a cell in one line, or ""."""
    for output in outputs:
        if "evalue" in output:
            text = storable(f"{output.get('ename')}: {output['evalue']}")
            return " ".join(text.split())[:MAX_ERROR]
    return ""


class StudentProcess:
    """A process that runs the Python cells of one submission.

    Parameters
    ----------
    start : callable
        Starts the process; called again after the process ended.
    """

    def __init__(self, start: Callable[[], LimitedProcess]) -> None:
        self._start = start
        self._process: LimitedProcess | None = None
        self._deadline = float("inf")
        self._ran: list[str] = []  # cells that succeeded, to repeat them in a new process
        self._starts = 0
        self._compiler: StudentProcess | None = None
        self.incidents: list[Incident] = []

    def __enter__(self) -> Self:
        self._deadline = time.monotonic() + NOTEBOOK_LIMIT_S
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def run(self, source: str, label: str, limit_s: float = CELL_LIMIT_S) -> CellRun:
        """Run a cell. A cell that ends or blocks its process fails, and later cells run in a new process.

        label: the cell's name in `incidents`.
        """
        try:
            reply = self._ask({"do": "run", "source": source, "limit_s": limit_s}, limit_s + GRACE_S)
            outputs = [output for output in reply["outputs"] if isinstance(output, dict)]
            succeeded = reply["succeeded"] is True
        except (KeyError, TypeError):
            return self._failed(label, StudentProcessEnded(NO_REPLY))
        except StudentProcessEnded as ended:
            return self._failed(label, ended)

        if reply.get("flooded") is True:
            from gpulab.notebook.recording_shell import MAX_WRITTEN  # which imports IPython

            reason = f"it wrote more than {MAX_WRITTEN >> 20} MiB of output and was stopped."
            self.incidents.append(Incident("flooded", label, reason))
        error = "" if succeeded else error_text(outputs)
        if reply.get("hung") is True:
            error = f"it did not end within {limit_s:g} s and was interrupted."
            self.incidents.append(Incident("hung", label, error))
        if succeeded:
            self._ran.append(source)
        return CellRun(outputs, succeeded, error)

    def _failed(self, label: str, ended: StudentProcessEnded) -> CellRun:
        self.end()
        self.incidents.append(Incident(ended.kind, label, str(ended)))
        return CellRun(error=str(ended))

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the plain values of variables by name; names that do not exist are left out."""
        if not names:
            return {}
        reply = self._ask({"do": "values", "names": list(names)}, CELL_LIMIT_S)
        values = reply.get("values")
        if not isinstance(values, dict):
            raise StudentProcessEnded(NO_REPLY)

        def function_named(name: str) -> Callable[[], StudentFunction]:
            return lambda: StudentFunction(self, name)

        return {name: decode(values[name], function_named(name)) for name in names if name in values}

    def call(self, name: str, args: Sequence[Any], *, compiled: bool, limit_s: float) -> dict[str, Any]:
        """Call a function of the submission and return the reply."""
        request = {
            "do": "call",
            "name": name,
            "compiled": compiled,
            "args": [encode(arg) for arg in args],
            "limit_s": limit_s,
        }
        return self._ask(request, limit_s + GRACE_S)

    def compiler(self) -> StudentProcess:
        """Return a second process, which runs only the functions that are compiled; it ends with this one."""
        if self._compiler is None:
            self._compiler = StudentProcess(self._start).__enter__()
        return self._compiler

    def end(self) -> None:
        """Kill the process and all that it started."""
        if self._compiler is not None:
            self._compiler.end()
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _running(self) -> LimitedProcess:
        """Return the process; a new one first repeats the cells that succeeded."""
        if self._process is not None:
            return self._process
        if self._starts > MAX_RESTARTS:
            raise StudentProcessEnded("not run: earlier cells ended their process too often.")
        self._starts += 1
        self._process = self._start()
        try:
            self._exchange(self._process, {"do": "values", "names": []}, START_LIMIT_S)
        except StudentProcessEnded as ended:
            lines = self._process.errors().strip().splitlines() or [str(ended)]
            raise StudentProcessFailed(f"no process for the student's Python starts: {lines[-1]}") from None
        for source in self._ran:
            request = {"do": "run", "source": source, "limit_s": CELL_LIMIT_S}
            self._exchange(self._process, request, CELL_LIMIT_S + GRACE_S)
        return self._process

    def _ask(self, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
        try:
            return self._exchange(self._running(), request, limit_s)
        except StudentProcessEnded:
            self.end()
            raise

    def _exchange(self, process: LimitedProcess, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise StudentProcessEnded(f"not run: the notebook exceeded its {NOTEBOOK_LIMIT_S:g} s.", "hung")
        try:
            process.write(json.dumps(request).encode() + b"\n")
            line = process.readline(min(limit_s, remaining))
        except TimeoutError:
            reason = f"it did not end within {limit_s:g} s and was stopped."
            raise StudentProcessEnded(reason, "hung") from None
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            reason = process.stopped_by or "the Python process of this notebook ended in this cell"
            raise StudentProcessEnded(f"{reason}.", "flooded" if "of output" in reason else "crashed")

        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise StudentProcessEnded(NO_REPLY)
        return reply


class StudentFunction:
    """A function of a submission: a call runs it in the student's process and returns plain values.

    Arrays in the arguments are replaced by their contents after the call, as if it had run here.

    Attributes
    ----------
    text : str
        The text that defines the function, as the judge read it in the submitted notebook.
    """

    def __init__(self, process: StudentProcess, name: str, *, compiled: bool = False) -> None:
        self._process, self._compiled = process, compiled
        self.__name__ = name
        self.text = ""

    def compiled(self) -> StudentFunction:
        """Return the function as Numba compiles its text, in a process without the rest of the notebook.

        Raises `UsageError` if the text does not run by itself.
        """
        process = self._process.compiler()
        run = process.run(self.text, self.__name__)
        if not run.succeeded:
            raise UsageError(f"{self.__name__} does not run by itself: {run.error}")
        return StudentFunction(process, self.__name__, compiled=True)

    def __call__(self, *args: Any) -> Any:
        """Call the function; raise `UsageError` with its error, or if it changed an argument's shape."""
        reply = self._process.call(self.__name__, args, compiled=self._compiled, limit_s=CELL_LIMIT_S)
        match reply:
            case {"error": [str(kind), str(text)]}:
                message = storable(text)
                if kind == "NotImplementedError":
                    raise NotImplementedError(message)
                raise UsageError(f"{self.__name__} raised {storable(kind)}: {message}")
            case {"result": result, "args": list(changed)} if len(changed) == len(args):
                for before, after in zip(args, changed, strict=True):
                    self._copy_back(before, decode(after))
                return decode(result)
        raise UsageError(f"{self.__name__} did not return a plain value.")

    def _copy_back(self, before: Any, after: Any) -> None:
        import numpy as np

        if not isinstance(before, np.ndarray):
            return
        if not isinstance(after, np.ndarray) or after.shape != before.shape or after.dtype != before.dtype:
            raise UsageError(f"{self.__name__} must not change the shape or the type of an array.")
        before[...] = after
