"""Stop (KeyboardInterrupt) in a notebook: one line in place of a traceback, below the finished rows."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from gpulab.notebook.failure import calling_line
from gpulab.notebook.screen import show
from gpulab.views.unfinished import finished_view

__all__ = ["install"]


def install(shell: Any) -> None:
    """Make an IPython shell show a KeyboardInterrupt as one line."""
    shell.set_custom_exc((KeyboardInterrupt,), _show)


def _show(
    shell: Any,
    kind: type[BaseException],
    stop: BaseException,
    _trace: TracebackType | None,
    tb_offset: int | None = None,
) -> list[str]:
    del tb_offset  # of IPython's tracebacks
    view = finished_view(stop)
    if view is not None:
        show(view)
    line = "".join(["Stopped", *(text.replace("  at", " at") for text in calling_line(stop)), ""])
    # IPython also keeps the traceback in its history, and formats it for seconds unless the exception does.
    setattr(stop, "_render_traceback_", lambda: [line])  # noqa: B010  (mypy: no such attribute)
    shell._showtraceback(kind, stop, [line])  # noqa: SLF001  (as IPython's own handlers do)
    return [line]
