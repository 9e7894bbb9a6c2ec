"""The output of `printf` of kernels that are launched from Python."""

from __future__ import annotations

import sys

__all__ = ["LINES_IN_CELL", "show_printed", "shown_lines"]

LINES_IN_CELL = 200  # that a cell of a notebook shows of each launch

most_lines: int | None = None  # that are shown of each launch; `gpulab.notebook` sets it in a Jupyter kernel


def show_printed(text: str) -> None:
    """Write the output of a launch to the standard output, which in a notebook is the output of the cell."""
    if text:
        advice = "; the kernel's attribute `printed` has all of them\n"
        sys.stdout.write(shown_lines(text, most_lines, advice))
        sys.stdout.flush()


def shown_lines(text: str, most: int | None, advice: str = "") -> str:
    """Return the first lines of a text, and how many more there are, followed by advice; None: all lines."""
    lines = text.splitlines(keepends=True)
    if most is None or len(lines) <= most:
        return text
    return f"{''.join(lines[:most])}… and {len(lines) - most:,} more lines{advice}"
