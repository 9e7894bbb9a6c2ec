"""The process in the sandbox: it runs a student's Python cells and answers the judge's requests.

Requests and replies are lines of JSON. The student's code may do whatever the sandbox allows in this process,
including writing replies of its own. The judge therefore treats replies as claims, which it compares.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from gpulab.grading.judge.plain_values import decode, encode
from gpulab.notebook.failure import calling_line
from gpulab.notebook.recording_shell import OutputFlood, RecordingShell, open_shell

__all__ = ["serve"]


class CellTimeout(KeyboardInterrupt):
    """A cell exceeded its time; IPython shows it as an interrupted cell, without the lines of this module."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}", *calling_line(self)]


def serve() -> None:
    """Answer requests from stdin on stdout until stdin ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Output of C libraries and of child processes must not mix with the replies.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in ((0, "r"), (1, "w"), (2, "w")))

    builtins.input = refuse_input
    shell = open_shell()
    for line in requests:
        reply(replies, answer(shell, json.loads(line)))


def refuse_input(prompt: object = "") -> str:
    """Raise an error in place of `input`, which nobody could answer."""
    del prompt
    raise EOFError("input() gets no answer when a notebook is graded: assign the value in the cell.")


def reply(replies: IO[str], data: Any) -> None:
    replies.write(json.dumps(data) + "\n")
    replies.flush()


def answer(shell: RecordingShell, request: dict[str, Any]) -> Any:
    """Return the reply to one request."""
    match request:
        case {"do": "run", "source": source, "limit_s": limit_s}:
            with time_limit(limit_s):
                outputs, succeeded = shell.record(source)
            flooded, hung = isinstance(shell.error, OutputFlood), isinstance(shell.error, CellTimeout)
            return {
                "outputs": json_outputs(outputs),
                "succeeded": succeeded,
                "flooded": flooded,
                "hung": hung,
            }
        case {"do": "values", "names": names}:
            namespace = shell.user_ns
            return {"values": {name: claim(namespace[name]) for name in names if name in namespace}}
        case {"do": "call", "name": name, "compiled": compiled, "args": args, "limit_s": limit_s}:
            with time_limit(limit_s):
                return call(shell, name, compiled, [decode(arg) for arg in args])
    return {"error": ["UsageError", "unknown request"]}


def claim(value: Any) -> Any:
    """Return a value as JSON data, or the name of its type if methods of its class raise errors."""
    try:
        return encode(value)
    except Exception:  # noqa: BLE001  (methods of the student's classes may raise anything)
        return {"type": type(value).__name__[:100]}


def call(shell: RecordingShell, name: str, compiled: bool, args: list[Any]) -> dict[str, Any]:
    """Call a function of the notebook; return its result and its array arguments after the call."""
    try:
        function = shell.user_ns[name]
        if compiled:
            function = numba_function(shell, name)
        result = function(*args)
        return {"result": encode(result), "args": [encode(arg) for arg in args]}
    except BaseException as error:  # noqa: BLE001  (the student's code may raise anything)
        return {"error": [type(error).__name__, str(error)[:2000]]}


def numba_function(shell: RecordingShell, name: str) -> Any:
    """Return a function of the notebook compiled with Numba, once."""
    from gpulab.grading.checks.loops import compile_with_bounds

    key = f"_compiled_{name}"
    function = shell.user_ns[name]
    if key not in shell.user_ns:
        shell.user_ns[key] = compile_with_bounds(function)
    return shell.user_ns[key]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code after a time. Code in a C library ends later, or with its process."""

    def interrupt(number: int, frame: Any) -> None:
        del number, frame
        raise CellTimeout(f"interrupted after {seconds:g} s")

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except CellTimeout:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def json_outputs(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return outputs as JSON data; images become base64 text, other values their text."""
    return json.loads(json.dumps(outputs, default=_as_text))  # type: ignore[no-any-return]


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode("ascii")
    return str(value)


if __name__ == "__main__":
    serve()
