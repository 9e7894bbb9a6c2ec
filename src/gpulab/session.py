"""The kernels of this session by name, for the Python cells below the `%%cuda` cell that made them."""

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
    """Remember the text of a cell that ran, and its kernel if it compiled.

    Without a kernel, the one that an older text left under this name is forgotten.
    """
    _CELLS[run.name] = run
    if compiled is None:
        _KERNELS.pop(run.name, None)
    else:
        _KERNELS[run.name] = compiled


def kernel(name: str) -> Kernel:
    """The kernel last compiled under this name; `UsageError` with the list when there is none."""
    try:
        return _KERNELS[name]
    except KeyError:
        known = ", ".join(sorted(_KERNELS)) or "none yet"
        if name in _CELLS:
            raise UsageError(
                f"the cell of kernel `{name}` ran, but did not compile: correct it and run it again."
            ) from None
        raise UsageError(
            f"no kernel `{name}` was compiled in this session (there is: {known}); run its %%cuda cell first."
        ) from None


def cell(name: str) -> Cell | None:
    """The cell last run under this name, also when it did not compile; None when none was."""
    return _CELLS.get(name)


def kernel_names() -> tuple[str, ...]:
    """The names that `kernel` knows, in the order they were first compiled."""
    return tuple(_KERNELS)
