"""The lab's reference solutions of the open steps, against which graded kernels are judged.

The judge of a submission sets them. In a student's notebook there are none.
"""

from __future__ import annotations

from gpulab.cell import KernelCell, require_kernel_cell

__all__ = ["reference_of", "set_reference"]

_REFERENCES: dict[str, KernelCell] = {}


def set_reference(name: str, cell: KernelCell | None) -> None:
    """Judge a kernel against this solution from now on; None removes the solution.

    Parameters
    ----------
    name : str
        The kernel as its header names it, such as ``"stencil.opt_4"``.
    cell : KernelCell or None
        The solution, with its own block and tile.
    """
    if cell is None:
        _REFERENCES.pop(name, None)
    else:
        _REFERENCES[name] = require_kernel_cell(cell)


def reference_of(name: str) -> KernelCell | None:
    """Return the reference solution of a kernel; None if there is none."""
    return _REFERENCES.get(name)
