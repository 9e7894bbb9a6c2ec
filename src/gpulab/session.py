"""The kernel cells that ran in this session, with their kernels, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Kernel

__all__ = ["cell", "keep_cell", "kernel", "kernel_names"]

_KERNELS: dict[str, Kernel] = {}
_CELLS: dict[str, Cell] = {}


def keep_cell(run: Cell, compiled: Kernel | None = None) -> None:
    """Keep a cell that ran, and its kernel if it compiled.

    Without a kernel, the kernel of an older text under the same name is removed.
    """
    _CELLS[run.name] = run
    if compiled is None:
        _KERNELS.pop(run.name, None)
    else:
        _KERNELS[run.name] = compiled


def kernel(name: str) -> Kernel:
    """Return the kernel of a `%%cuda` cell that ran in this session.

    Parameters
    ----------
    name : str
        The name in the cell's header: ``PROBLEM.VARIANT``, or the plain name.

    Raises
    ------
    UsageError
        If no cell of this name ran, or it did not compile.

    Examples
    --------
    >>> import gpulab
    >>> k = gpulab.kernel("stencil.naive")  # doctest: +SKIP
    """
    if name in _KERNELS:
        return _KERNELS[name]
    if name in _CELLS:
        raise UsageError(f"the cell of kernel `{name}` ran but did not compile. Correct it and run it again.")

    compiled = ", ".join(sorted(_KERNELS)) or "none"
    raise UsageError(
        f"no kernel `{name}` was compiled in this session (compiled: {compiled}). Run its %%cuda cell first."
    )


def cell(name: str) -> Cell | None:
    """Return the cell that ran last under this name, compiled or not; None if none did."""
    return _CELLS.get(name)


def kernel_names() -> tuple[str, ...]:
    """Return the names of the compiled kernels, in the order in which they were first compiled."""
    return tuple(_KERNELS)
