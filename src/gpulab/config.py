"""The geometry of a launch: from a shape, a block and a tile to a grid, within the GPU's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import DEFAULT_GPU, gpu
from gpulab.gpus.limits import Limits
from gpulab.problems.base import Block, Problem, Shape

__all__ = ["Launch", "check_block", "defines", "launch_geometry"]

_AXES = "xyz"


@dataclass(frozen=True)
class Launch:
    """grid: blocks, block: threads of a block, tile: points of a thread (0: the whole axis, in a loop)."""

    grid: Block
    block: Block
    tile: Block


def check_block(block: Block, limits: Limits | None = None) -> None:
    """`UsageError` in words when the GPU (None: the catalogue's default one) cannot run such a block."""
    limits = limits or gpu(DEFAULT_GPU)
    name = " x ".join(str(number) for number in block)
    for axis, number, most in zip(_AXES, block, limits.max_block_dims, strict=True):
        if number < 1:
            raise UsageError(f"a block of {name} has no threads: every number must be at least 1.")
        if number > most:
            raise UsageError(f"a block of {name} is too long: at most {most} threads on the {axis} axis.")
    threads, most = prod(block), limits.max_threads_per_block
    if threads > most:
        raise UsageError(f"a block of {name} has {threads} threads: at most {most} are allowed.")


def launch_geometry(
    problem: Problem, shape: Shape, block: Block, tile: Block, limits: Limits | None = None
) -> Launch:
    """`grid = ceil(extent / (block * tile))` on each axis, 1 where the tile is 0.

    limits: of the GPU that is here or modelled (`device.spec`); None for the catalogue's default one.

    Raises `UsageError` when the shape is not one of the problem's, or the block or the grid is more
    than the GPU takes.
    """
    limits = limits or gpu(DEFAULT_GPU)
    check_block(block, limits)
    if min(tile) < 0:
        raise UsageError(
            f"a tile of {' x '.join(map(str, tile))}: a thread cannot compute fewer than 0 points."
        )
    extents = problem.extents(problem.checked_shape(shape))
    grid = [
        -(-extent // (threads * points)) if points else 1
        for extent, threads, points in zip(extents, block, tile, strict=True)
    ]
    for axis, blocks, most in zip(_AXES, grid, limits.max_grid_dims, strict=True):
        if blocks > most:
            raise UsageError(
                f"{problem.format_shape(shape)} needs {blocks} blocks on the {axis} axis, and a grid has "
                f"at most {most}: take a larger block or tile."
            )
    return Launch((grid[0], grid[1], grid[2]), block, tile)


def defines(block: Block, tile: Block) -> Mapping[str, object]:
    """The macros that every kernel of a problem may use: `BLOCK_X` to `BLOCK_Z`, `TILE_X` to `TILE_Z`."""
    names = [f"BLOCK_{axis.upper()}" for axis in _AXES] + [f"TILE_{axis.upper()}" for axis in _AXES]
    return dict(zip(names, (*block, *tile), strict=True))
