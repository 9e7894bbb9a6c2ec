"""The output of `printf` of kernels that are launched from Python."""

from __future__ import annotations

import sys

__all__ = ["LINES_IN_CELL", "limit_lines", "show_printed", "shown_lines"]

LINES_IN_CELL = 200  # that a cell of a notebook shows of each launch
_most_lines: list[int] = []  # empty: no limit, as in a script


def limit_lines() -> None:
    """Show at most `LINES_IN_CELL` lines of each launch from now on."""
    _most_lines[:] = [LINES_IN_CELL]


def show_printed(text: str) -> None:
    """Write the output of a launch to the standard output, which in a notebook is the output of the cell."""
    if text:
        text = shown_lines(text, *_most_lines, advice="; the kernel's attribute `printed` has all of them\n")
        sys.stdout.write(text)
        sys.stdout.flush()


def shown_lines(text: str, most: int | None = None, advice: str = "") -> str:
    """Return the first lines of a text, and how many others there are, followed by advice."""
    lines = text.splitlines(keepends=True)
    if most is None or len(lines) <= most:
        return text
    return f"{''.join(lines[:most])}… and {len(lines) - most:,} more lines{advice}"
