"""Kernels that come with a lab; copies of them in several submissions are not reported."""

from __future__ import annotations

from pathlib import Path

from gpulab.cell import read_cells
from gpulab.errors import GpulabError

__all__ = ["known_kernels"]


def known_kernels(lab: Path) -> dict[str, list[str]]:
    """Return the kernels in a lab's notebooks and in its given files: texts by name.

    lab: the instructor's folder of the assignment. A file that cannot be read is skipped.
    """
    found: dict[str, list[str]] = {}
    for path in (*sorted(lab.glob("*.ipynb")), *sorted(lab.glob("given/*.cu"))):
        try:
            cells = read_cells(path)
        except GpulabError:
            continue
        for cell in cells:
            found.setdefault(cell.name, []).append(cell.source)
    return found
