"""Output area of a kernel cell: one growing output in a notebook, lines in a terminal.

In a notebook all views are one display that is replaced in place, so that a progress bar leaves nothing
behind and a saved notebook holds one output. Nothing is written to stderr, because nbgrader gives no points
to a cell that writes there.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from gpulab.views.html import View, stack

__all__ = ["NotebookScreen", "Screen", "TerminalScreen", "is_notebook", "screen_of", "show"]


class Screen(Protocol):
    """Output area of a cell."""

    def add(self, view: View) -> None:
        """Show one more view below the others."""

    def bar(self, view: View | None) -> None:
        """Show or update the progress bar; None removes it."""


class NotebookScreen:
    """Output area of a front end that can replace an output: JupyterLab, Notebook, nbclient."""

    def __init__(self) -> None:
        self._views: list[View] = []
        self._handle: Any = None

    def add(self, view: View) -> None:
        self._views.append(view)
        self._draw(stack(*self._views))

    def bar(self, view: View | None) -> None:
        self._draw(stack(*self._views, view))

    def _draw(self, view: View) -> None:
        from IPython.display import display

        if self._handle is not None:
            self._handle.update(view)
        elif view:
            self._handle = display(view, display_id=True)


class TerminalScreen:
    """Output area of IPython in a terminal; the progress bar is the terminal's last line."""

    def __init__(self) -> None:
        self._width = 0

    def add(self, view: View) -> None:
        from IPython.display import display

        display(view)

    def bar(self, view: View | None) -> None:
        if not sys.stdout.isatty():
            return
        text = view.text if view is not None else ""
        if text or self._width:
            sys.stdout.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
            sys.stdout.flush()
        self._width = len(text)


def screen_of(shell: Any) -> Screen:
    """Return the output area for this IPython shell."""
    return NotebookScreen() if is_notebook(shell) else TerminalScreen()


def show(view: View) -> None:
    """Show a view in the output of the running cell, without making it the value of the cell."""
    from IPython.display import display

    display(view)


def is_notebook(shell: Any) -> bool:
    """Return True if the shell belongs to a Jupyter kernel, whose front end can replace outputs."""
    return getattr(shell, "kernel", None) is not None
