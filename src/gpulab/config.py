"""Configurations: the variant, block and tile of a kernel, and the grid of a launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import DEFAULT_GPU, gpu
from gpulab.gpus.limits import Limits
from gpulab.problems.base import Block, Problem, Shape

__all__ = ["KernelConfig", "LaunchConfig", "check_block", "defines"]

_AXES = "xyz"

# Warp instructions before a launch on the simulator counts as endless. A single warp that does all of the
# problem's work lane by lane needs fewer than half of them.
MIN_INSTRUCTIONS, INSTRUCTIONS_PER_WORK = 1 << 24, 16


@dataclass(frozen=True)
class KernelConfig:
    """The header of a kernel cell: its problem, its variant, and its block and tile.

    Attributes
    ----------
    problem : Problem
        The problem that the kernel solves.
    variant : str
        The name of one of the problem's variants.
    block : tuple of int
        Threads of a block on the axes (x, y, z).
    tile : tuple of int
        Output points that a thread computes on each axis; 0 stands for the whole axis, in a loop.
    kernel : str
        The `__global__` function that is the step's kernel, or an instance of a template such as `k<8>`; ""
        for the name that the problem gives it.
    """

    problem: Problem
    variant: str
    block: Block
    tile: Block
    kernel: str = ""

    @property
    def name(self) -> str:
        """`PROBLEM.VARIANT`, the name of the cell's kernel in a session."""
        return f"{self.problem.name}.{self.variant}"

    @property
    def kernel_name(self) -> str:
        """The name of the `__global__` function that the cell must define."""
        return self.kernel or self.problem.kernel_name(self.variant)

    @property
    def defines(self) -> Mapping[str, object]:
        """The macros with which the cell is compiled: `BLOCK_X` to `BLOCK_Z`, `TILE_X` to `TILE_Z`."""
        return defines(self.block, self.tile)

    @property
    def check_shapes(self) -> tuple[Shape, ...]:
        """The sizes on which the kernel's values are verified."""
        return self.problem.check_shapes(self.variant, self.block, self.tile)

    @property
    def counted_shape(self) -> Shape:
        """The size on which the kernel's memory traffic is counted."""
        return self.problem.counted_shape(self.variant, self.block, self.tile)

    @property
    def timing_shape(self) -> Shape:
        """The size at which the kernel is timed."""
        return self.problem.timing_shape(self.variant, self.block, self.tile)

    def with_geometry(self, block: tuple[int, ...] = (), tile: tuple[int, ...] = ()) -> KernelConfig:
        """Return the configuration with another block and tile; missing numbers stay as they are."""
        return replace(self, block=filled(block, self.block), tile=filled(tile, self.tile))

    def require_size(self, shape: Shape) -> None:
        """Raise `UsageError` for a size that a variant without guards cannot take with this geometry."""
        units = self.problem.shape_multiples(self.variant, self.block, self.tile)
        if all(number % unit == 0 for number, unit in zip(shape, units, strict=True)):
            return

        nearest = tuple(-(-number // unit) * unit for number, unit in zip(shape, units, strict=True))
        raise UsageError(
            f"with this block and tile, {self.variant} needs sizes whose {', '.join(self.problem.axes)} are "
            f"multiples of {', '.join(map(str, units))}; {self.problem.format_shape(shape)} is not. "
            f"Take {self.problem.format_shape(nearest)}."
        )

    def at(self, shape: Shape, limits: Limits | None = None) -> LaunchConfig:
        """Return the launch for one size, within the limits of a GPU.

        Parameters
        ----------
        shape : tuple of int
            The problem's size.
        limits : Limits, optional
            The limits of the GPU that runs or is modelled (`device.spec`); by default those of the
            catalogue's default GPU.

        Raises
        ------
        UsageError
            If the problem has no such size, or the block or the grid exceeds the limits.

        Notes
        -----
        The grid is ``ceil(extent / (block * tile))`` on each axis, and 1 where the tile is 0, unless the
        problem declares another one.
        """
        limits = limits or gpu(DEFAULT_GPU)
        check_block(self.block, limits)
        if min(self.tile) < 0:
            tile = " x ".join(map(str, self.tile))
            raise UsageError(f"the tile {tile} is not possible: no number may be negative.")

        grid = self.problem.grid(self.problem.checked_shape(shape), self.block, self.tile)
        for axis, blocks, most in zip(_AXES, grid, limits.max_grid_dims, strict=True):
            if blocks > most:
                raise UsageError(
                    f"{self.problem.format_shape(shape)} needs {blocks} blocks on the {axis} axis; a grid "
                    f"has at most {most}. Take a larger block or tile."
                )
        return LaunchConfig(self, shape, grid)

    def __str__(self) -> str:
        block, tile = (" ".join(map(str, numbers)) for numbers in (self.block, self.tile))
        kernel = f' --kernel "{self.kernel}"' if self.kernel else ""
        return f"%%cuda {self.name} --block {block} --tile {tile}{kernel}"


@dataclass(frozen=True)
class LaunchConfig:
    """One launch of a kernel: its configuration, the problem's size and the grid in blocks."""

    config: KernelConfig
    shape: Shape
    grid: Block

    @property
    def block(self) -> Block:
        return self.config.block

    @property
    def shared_mem(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        return self.config.problem.shared_mem(
            self.config.variant, self.shape, self.config.block, self.config.tile
        )

    @property
    def threads(self) -> int:
        """Threads of the whole grid."""
        return prod(self.grid) * prod(self.block)

    @property
    def budget(self) -> int:
        """Instructions that a warp may execute on the simulator before it is reported as endless."""
        return _budget(self.config.problem.work(self.shape))

    @property
    def column_budget(self) -> int:
        """The same of a warp in a launch of some blocks: those at one position (x, y) share their work."""
        return _budget(self.config.problem.work(self.shape) // prod(self.grid[:2]))


def _budget(work: int) -> int:
    return MIN_INSTRUCTIONS + INSTRUCTIONS_PER_WORK * work


def check_block(block: Block, limits: Limits | None = None) -> None:
    """Raise `UsageError` if the GPU (default: the catalogue's default GPU) cannot run such a block."""
    limits = limits or gpu(DEFAULT_GPU)
    name = " x ".join(str(number) for number in block)
    for axis, number, most in zip(_AXES, block, limits.max_block_dims, strict=True):
        if number < 1:
            raise UsageError(f"a block of {name} has no threads: every number must be at least 1.")
        if number > most:
            raise UsageError(f"a block of {name} is too long: at most {most:,} threads on the {axis} axis.")
    threads, most = prod(block), limits.max_threads_per_block
    if threads > most:
        raise UsageError(f"a block of {name} has {threads:,} threads: at most {most:,} are allowed.")


def defines(block: Block, tile: Block) -> Mapping[str, object]:
    """Return the macros of a block and a tile: `BLOCK_X` to `BLOCK_Z`, `TILE_X` to `TILE_Z`."""
    names = [f"BLOCK_{axis.upper()}" for axis in _AXES] + [f"TILE_{axis.upper()}" for axis in _AXES]
    return dict(zip(names, (*block, *tile), strict=True))


def filled(given: tuple[int, ...], default: Block = (1, 1, 1)) -> Block:
    """Return the given numbers, with those of the default in the places that are missing."""
    x, y, z = (*given, *default[len(given) :])
    return x, y, z
