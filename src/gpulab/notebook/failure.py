"""Display of gpulab's own errors in IPython: a short coloured message without a traceback.

IPython calls `_render_traceback_()` of an exception and shows the lines that it returns. The method is
attached to `GpulabError` here, so that `gpulab.errors` does not depend on notebooks. Name and full text of
the error still reach the front end, so nbclient and nbgrader see a failed cell.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from gpulab.errors import GpulabError, LaunchError

__all__ = ["calling_line", "install", "install_if_missing", "is_notebook_cell", "mark_shown", "rendered"]

_RED, _BOLD, _RESET = "\x1b[31m", "\x1b[1m", "\x1b[0m"  # ANSI escape sequences
_SHOWN = "_shown_above"
_SHOWN_LINES = 3  # lines of a message after the first one; a test cell's reasons start with the cause
_PACKAGE = str(Path(__file__).resolve().parents[1])
_CHECKS = str(Path(_PACKAGE, "grading", "checks"))


def install(*, terminal: bool) -> None:
    """Make IPython show every `GpulabError` as a short message.

    terminal: print the name of the error in red. A notebook shows errors on a red background, on which red
    text cannot be read, so the name is bold there.
    """
    style = _RED + _BOLD if terminal else _BOLD

    def render(error: GpulabError) -> list[str]:
        return rendered(error, style)

    setattr(GpulabError, "_render_traceback_", render)  # noqa: B010  (mypy: no such attribute)


def install_if_missing() -> None:
    """Call `install` for the running shell, unless it was called: a test cell may run before `%load_ext`."""
    if hasattr(GpulabError, "_render_traceback_"):
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        install(terminal=getattr(shell, "kernel", None) is None)


def mark_shown(error: GpulabError, summary: str) -> GpulabError:
    """Mark an error whose details the cell's output already shows; it is then displayed as `summary`."""
    setattr(error, _SHOWN, summary)
    return error


def rendered(error: GpulabError, style: str = _BOLD) -> list[str]:
    """Return the lines to show in place of a traceback: name, message, findings, and the calling line."""
    summary = getattr(error, _SHOWN, None)
    message = summary if summary is not None else str(error)
    first, *rest = message.splitlines() or [""]
    if len(rest) > _SHOWN_LINES:
        rest = [*rest[:_SHOWN_LINES], _more(len(rest) - _SHOWN_LINES)]
    lines = [f"{style}{type(error).__name__}{_RESET}: {first}", *rest]
    if summary is None:
        findings = error.findings if isinstance(error, LaunchError) else []
        lines += [f"  {finding}" for finding in findings if str(finding) not in message]
        lines += calling_line(error)
    return lines


def _more(number: int) -> str:
    return f"… and {number} more line{'s' * (number > 1)}"


def is_notebook_cell(file: str) -> bool:
    """Return True for the file name that IPython or Jupyter gives to a cell."""
    return "ipython-input" in file or "ipykernel_" in file


def calling_line(error: BaseException) -> list[str]:
    """Return the innermost line of the notebook's own Python that led here.

    It is empty for a kernel cell, and for the call of a check, which students cannot change.
    """
    frames = traceback.extract_tb(error.__traceback__)
    cells = [number for number, frame in enumerate(frames) if is_notebook_cell(frame.filename)]
    if not cells or any(frame.filename.startswith(_CHECKS) for frame in frames[cells[-1] + 1 :]):
        return []
    frame = frames[cells[-1]]
    text = frame.line or ""
    if not text or "run_cell_magic(" in text or text.startswith("raise "):
        return []
    return [f"  at line {frame.lineno} of the Python cell: {text}"]
