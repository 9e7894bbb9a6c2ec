"""The kernels of this session that a table shows, and those that it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab import session

if TYPE_CHECKING:
    from gpulab.cell import KernelCell
    from gpulab.devices.base import Kernel
    from gpulab.problems.base import Problem

__all__ = ["correct_kernel", "left_out"]


def correct_kernel(problem: Problem, variant: str) -> tuple[Kernel, KernelCell] | None:
    """Return the session's kernel of a variant and its cell; None if there is none, or its check failed."""
    from gpulab.cell import require_kernel_cell

    name = f"{problem.name}.{variant}"
    cell = session.cell(name)
    if cell is None or name not in session.kernel_names() or session.found_incorrect(name):
        return None
    return session.kernel(name), require_kernel_cell(cell)


def left_out(problem: Problem) -> str:
    """Return a sentence that names the variants whose kernel is not correct; "" if there are none."""
    names = [variant for variant in problem.variants if session.found_incorrect(f"{problem.name}.{variant}")]
    return f"Left out, because not correct yet: {', '.join(names)}." if names else ""
