"""The kernels of this session that a table leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab import session

if TYPE_CHECKING:
    from gpulab.problems.base import Problem

__all__ = ["left_out"]


def left_out(problem: Problem) -> str:
    """Return a sentence that names the variants whose kernel is not correct; "" if there are none."""
    names = [variant for variant in problem.variants if session.found_incorrect(f"{problem.name}.{variant}")]
    return f"Left out, because not correct yet: {', '.join(names)}." if names else ""
