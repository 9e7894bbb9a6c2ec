"""Kernel cells without their header line, which Python would refuse with a syntax error."""

from __future__ import annotations

import re
from typing import Any

from gpulab.cell import is_kernel_cell
from gpulab.errors import HeaderError

__all__ = ["install"]

_SKIPPED = re.compile(r"\s*(//.*|#\s*(define|include|pragma|if|ifdef|ifndef|endif).*)?$")
_ONE_SIGN = re.compile(r"%cuda\b")
_KERNEL = re.compile(r'\s*(extern\s+"C"\s*)?(__global__|__device__|__constant__|template\s*<)')


def install(shell: Any) -> None:
    """Make an IPython shell refuse CUDA C without a `%%cuda` line with a message that says so."""
    transforms = shell.input_transformers_cleanup
    if _refuse_without_header not in transforms:
        transforms.append(_refuse_without_header)


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
    return lines


_refuse_without_header.has_side_effects = True  # type: ignore[attr-defined]  # not while a line is typed
