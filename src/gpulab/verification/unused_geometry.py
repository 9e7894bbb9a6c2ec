"""Numbers of a cell's header that have no effect on its kernel, or let threads compute the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulab.cell import Cell, KernelCell
from gpulab.config import KernelConfig, filled
from gpulab.devices.base import Kernel

__all__ = ["unused_geometry"]

AXES = "xyz"
# Registers and instructions by which threads or blocks can differ without threadIdx and blockIdx.
OTHER_INDICES = re.compile(r"%(laneid|warpid|lanemask|cluster|smid)|\b(atom|red|activemask)\b")


def unused_geometry(cell: Cell, kernel: Kernel) -> tuple[str, ...]:
    """Return a sentence for each number of a header that the kernel should use and does not.

    cell: compiled to `kernel`.
    """
    if isinstance(cell, KernelCell):
        return (*_idle_tiles(cell), *_equal_threads(cell.config, kernel.program.ptx))
    tile = cell.header.tile or (1, 1, 1)
    unused = [_macro(axis) for axis in range(3) if tile[axis] != 1 and not _uses_tile(cell, axis)]
    if not unused:
        return ()
    return (
        f"--tile has no effect: the kernel does not use {' and '.join(unused)}, and Python gives the grid.",
    )


def _idle_tiles(cell: KernelCell) -> Iterator[str]:
    """Yield a sentence for each axis whose tile changes neither the grid nor the text of the kernel."""
    config = cell.config
    for axis, number in enumerate(config.tile):
        if number <= 1 or _uses_tile(cell, axis):
            continue
        shape, tile = config.timing_shape, list(config.tile)
        tile[axis] = 1
        grids = [
            config.problem.grid(shape, config.block, filled(tiles)) for tiles in (config.tile, tuple(tile))
        ]
        if grids[0] == grids[1]:
            yield (
                f"the {AXES[axis]} of --tile, {number}, has no effect: it does not change the grid, and the "
                f"kernel does not use {_macro(axis)}."
            )


def _equal_threads(config: KernelConfig, ptx: str) -> Iterator[str]:
    """Yield a sentence for each axis along which all blocks, or all threads of a block, compute the same."""
    if OTHER_INDICES.search(ptx) or not re.search(r"%(tid|ctaid)\.", ptx):
        return
    grid = config.problem.grid(config.timing_shape, config.block, config.tile)
    for axis, name in enumerate(AXES):
        blocks, threads = grid[axis], config.block[axis]
        if blocks > 1 and f"%ctaid.{name}" not in ptx:
            yield (
                f"the kernel does not use blockIdx.{name}, and the grid has {blocks:,} blocks along {name} "
                f"at the size that is timed: all of them compute the same. Use blockIdx.{name}, or let one "
                f"block compute the whole axis, with 0 as the {name} of --tile."
            )
        if threads > 1 and f"%tid.{name}" not in ptx:
            yield (
                f"the kernel does not use threadIdx.{name}, and a block has {threads} threads along "
                f"{name}: all of them compute the same. Use threadIdx.{name}, or write 1 as the {name} of "
                "--block."
            )


def _uses_tile(cell: Cell, axis: int) -> bool:
    return re.search(rf"\b{_macro(axis)}\b", cell.source) is not None


def _macro(axis: int) -> str:
    return f"TILE_{AXES[axis].upper()}"
