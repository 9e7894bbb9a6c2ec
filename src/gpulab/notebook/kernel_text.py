"""Kernel cells without a header line or without a body, which IPython would refuse with its own errors."""

from __future__ import annotations

import ast
import re
from typing import Any

from gpulab.cell import is_kernel_cell
from gpulab.errors import HeaderError

__all__ = ["install"]

_SKIPPED = re.compile(r"\s*(//.*|#\s*(define|include|pragma|if|ifdef|ifndef|endif).*)?$")
_HEADER = re.compile(r"%%cuda(\s|$)")
_ONE_SIGN = re.compile(r"%cuda\b")
_KERNEL = re.compile(r'\s*(extern\s+"C"\s*)?(__global__|__device__|__constant__|template\s*<)')


def install(shell: Any) -> None:
    """Make an IPython shell accept empty kernel cells, and refuse CUDA C without `%%cuda` in line 1."""
    transforms = shell.input_transformers_cleanup
    for transform in (_refuse_without_header, _add_body):
        if transform not in transforms:
            transforms.append(transform)


def _refuse_without_header(lines: list[str]) -> list[str]:
    if lines and _ONE_SIGN.match(lines[0]):
        raise HeaderError("a kernel cell begins with two percent signs: write %%cuda, not %cuda.")
    first = next((line for line in lines if not _SKIPPED.match(line.rstrip("\n"))), "")
    if _KERNEL.match(first) and not (lines and lines[0].startswith("%%")):
        commented = is_kernel_cell("".join(lines))
        advice = (
            "Remove the // before %%cuda in the first line."
            if commented
            else "The first line must be the header: %%cuda PROBLEM.VARIANT --block X Y, or %%cuda NAME."
        )
        raise HeaderError(f"this cell is CUDA C, but it has no header line. {advice}")
    if number := _lines_above_header(lines):
        raise HeaderError(
            f"the header %%cuda is in line {number + 1} of the cell: it must be the first line. Move the "
            "lines above it to another cell, or below it."
        )
    return lines


def _add_body(lines: list[str]) -> list[str]:
    """Return the lines of a cell, with an empty line below a header alone, because IPython needs a body."""
    return [lines[0], "\n"] if len(lines) == 1 and _HEADER.match(lines[0]) else lines


def _lines_above_header(lines: list[str]) -> int:
    """Return the number of lines above a header that is not in the first line; 0 if there is none."""
    number = next((n for n, line in enumerate(lines) if line.startswith("%%cuda")), 0)
    if number == 0 or lines[0].startswith("%%"):
        return 0
    above = "".join(line for line in lines[:number] if not line.lstrip().startswith("//"))
    try:
        ast.parse(above)
    except SyntaxError:  # the line may belong to a text in quotes
        return 0
    return number


_refuse_without_header.has_side_effects = True  # type: ignore[attr-defined]  # not while a line is typed
