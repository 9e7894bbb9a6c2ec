"""How gpulab's own errors look in a notebook: a short coloured message, no traceback.

IPython asks an exception for `_render_traceback_()` and shows the lines it gives. Giving this
method to `GpulabError` here keeps `gpulab.errors` free of notebooks. The error itself still goes
to the front end with its name and full text, so nbclient and nbgrader see a failed cell.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from gpulab.errors import GpulabError, LaunchError

__all__ = ["install", "install_here", "mark_shown", "rendered"]

_RED, _BOLD, _OFF = "\x1b[31m", "\x1b[1m", "\x1b[0m"
_SHOWN = "_shown_above"
_PACKAGE = str(Path(__file__).resolve().parents[1])


def install(*, terminal: bool) -> None:
    """From now on IPython shows every `GpulabError` by its message alone.

    terminal: whether the name is to be red. A notebook paints the whole error in its own red, on
    which no red text can be read in both themes; there the name is bold.
    """
    start = _RED + _BOLD if terminal else _BOLD

    def lines(error: GpulabError) -> list[str]:
        return rendered(error, start)

    setattr(GpulabError, "_render_traceback_", lines)  # noqa: B010  (mypy: no such attribute)


def install_here() -> None:
    """`install` for the shell that runs, unless it was done: a test cell may come before `%load_ext`."""
    if hasattr(GpulabError, "_render_traceback_"):
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        install(terminal=getattr(shell, "kernel", None) is None)


def mark_shown(error: GpulabError, summary: str) -> GpulabError:
    """Note that the cell's output already tells the whole story; the error then repeats one line of it."""
    setattr(error, _SHOWN, summary)
    return error


def rendered(error: GpulabError, start: str = _BOLD) -> list[str]:
    """What stands where the traceback would: the error's name, its message, where it came from."""
    summary = getattr(error, _SHOWN, None)
    message = summary if summary is not None else str(error)
    first, *rest = message.splitlines() or [""]
    lines = [f"{start}{type(error).__name__}{_OFF}: {first}", *rest]
    if summary is None:
        findings = error.findings if isinstance(error, LaunchError) else []
        lines += [f"  {finding}" for finding in findings if str(finding) not in message]
        lines += _called_from(error)
    return lines


def _called_from(error: GpulabError) -> list[str]:
    """The innermost line of the person's own Python that led here; none for a kernel cell."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE)]
    cells = [f for f in frames if "ipython-input" in f.filename or "ipykernel_" in f.filename]
    text = (cells[-1].line or "") if cells else ""
    if not text or "run_cell_magic(" in text or text.startswith("raise "):
        return []
    return [f"  at line {cells[-1].lineno} of the Python cell: {text}"]
