"""Where a kernel cell shows its pieces: one output that grows in a notebook, lines in a terminal.

In a notebook everything is one display that is replaced in place, so that a progress bar leaves
nothing behind and a saved notebook holds one output. Nothing goes to stderr: nbgrader gives no
points to a cell that writes there.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from gpulab.views.html import View, stack

__all__ = ["NotebookScreen", "Screen", "TerminalScreen", "is_notebook", "screen_of", "show"]


class Screen(Protocol):
    """Where the pieces of a cell's output go."""

    def add(self, view: View) -> None:
        """Show one more piece, below the others."""

    def bar(self, view: View | None) -> None:
        """Show, move or (None) take away the progress bar."""


class NotebookScreen:
    """A front end that can replace an output: JupyterLab, Notebook, nbclient."""

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
    """IPython in a terminal, or no front end at all; the bar is the terminal's last line."""

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
    """The screen that suits this IPython shell."""
    return NotebookScreen() if is_notebook(shell) else TerminalScreen()


def show(view: View) -> None:
    """Show something in the cell that runs, beside its value and not as its value."""
    from IPython.display import display

    display(view)


def is_notebook(shell: Any) -> bool:
    """Whether the shell has a Jupyter kernel behind it, and so a front end that replaces outputs."""
    return getattr(shell, "kernel", None) is not None
