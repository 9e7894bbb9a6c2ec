"""Sweeps of kernels over blocks, tiles and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from gpulab.cell import Cell, KernelCell, require_kernel_cell
from gpulab.config import check_block
from gpulab.devices.base import Device
from gpulab.errors import UsageError
from gpulab.gpus.limits import Limits
from gpulab.problems import Block, Problem, Shape
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point

__all__ = ["Sweep", "blocks_like", "default_blocks", "fastest"]

WARP = 32
# Threads on the x axis of a two-dimensional block: at least half a warp, so that accesses coalesce.
MIN_X, MAX_X = 16, 128
MIN_SQUARE = 8  # threads on each axis of a square block


@dataclass(frozen=True)
class Sweep:
    """A sweep of cells over all combinations of size, tile and block; iterating over it runs it.

    ``for point in Sweep(cells, device, blocks=[(64,), (128,)], sizes=["1024", "4096"]): ...``

    `len` is the number of points. A combination that cannot be launched is a point with an `error`.

    Parameters
    ----------
    cells : sequence of Cell
        Cells of problems.
    device : Device
        The device that runs the kernels.
    blocks, tiles : sequence of tuple of int
        Missing numbers are those of the cell's header. Without blocks, the legal powers of two are used (see
        `default_blocks`); without tiles, the header's.
    sizes : sequence of int or str
        Sizes such as 128 or "65x47x9"; without any, the problem's timing size.
    device_name, check, iterations
        See `Bench`.

    Raises
    ------
    UsageError
        If there is no cell, a cell belongs to no problem, or a block, a tile or a size is invalid.
    """

    cells: Sequence[Cell]
    device: Device
    blocks: Sequence[tuple[int, ...]] = ()
    tiles: Sequence[tuple[int, ...]] = ()
    sizes: Sequence[int | str] = ()
    device_name: str | None = None
    check: bool = True
    iterations: int = 3

    def __post_init__(self) -> None:
        if not self.cells:
            raise UsageError("there is no kernel to sweep.")
        _require_tuples("blocks", self.blocks, "blocks=[(32, 8), (64,)]")
        _require_tuples("tiles", self.tiles, "tiles=[(1, 2), (1, 4)]")
        for cell in self.cells:
            config = require_kernel_cell(cell).config
            for size in self.sizes:
                config.problem.parse_shape(str(size))

    def plan(self) -> list[tuple[KernelCell, Shape]]:
        """Return the cells with their blocks and tiles, each with a size, in the order of the sweep."""
        return [planned for cell in self.cells for planned in self._plan(require_kernel_cell(cell))]

    def __len__(self) -> int:
        return len(self.plan())

    def __iter__(self) -> Iterator[Point]:
        with Bench(self.device, self.device_name, check=self.check, iterations=self.iterations) as bench:
            for cell, shape in self.plan():
                yield bench.point(cell, shape)

    def _plan(self, cell: KernelCell) -> Iterator[tuple[KernelCell, Shape]]:
        problem, variant = cell.config.problem, cell.config.variant
        blocks = self.blocks or default_blocks(problem, variant, self.device.spec)
        for size, tile, block in product(self.sizes or (None,), self.tiles or ((),), blocks):
            planned = cell.with_geometry(block, tile)
            shape = planned.config.timing_shape if size is None else problem.parse_shape(str(size))
            yield planned, shape


def _require_tuples(name: str, values: Sequence[object], form: str) -> None:
    """Raise `UsageError` unless the values are tuples of one to three integers."""
    for value in values:
        numbers = value if isinstance(value, (tuple, list)) else ()
        if not 1 <= len(numbers) <= 3 or not all(type(number) is int for number in numbers):
            raise UsageError(
                f"`{name}` is a list of tuples of one to three integers, as in {form}; {value!r} is no such "
                "tuple."
            )


def default_blocks(problem: Problem, variant: str, limits: Limits) -> tuple[Block, ...]:
    """Return the blocks of the variant's default shape; see `blocks_like`."""
    return blocks_like(problem.block_of(variant), limits)


def blocks_like(block: Block, limits: Limits) -> tuple[Block, ...]:
    """Return the legal blocks of the same shape whose extents are powers of two.

    A one-dimensional block stays so, with at least one warp; a square block stays square, with at least 8 x 8
    threads; any other block has 16 to 128 threads in x, at least two in y, and at least two warps.
    """
    x, y, z = block
    powers = [1 << power for power in range(11)]
    if y == z == 1:
        blocks = [(long, 1, 1) for long in powers if long >= WARP]
    elif x == z == 1:
        blocks = [(1, long, 1) for long in powers if long >= WARP]
    elif x == y:
        blocks = [(side, side, 1) for side in powers if side >= MIN_SQUARE]
    else:
        blocks = [
            (i, j, 1) for i in powers if MIN_X <= i <= MAX_X for j in powers if j >= 2 and i * j >= 2 * WARP
        ]
    return tuple(block for block in blocks if _legal(block, limits))


def fastest(points: Sequence[Point]) -> frozenset[int]:
    """Return the indices of the points with the shortest time of their problem and size."""
    best: dict[tuple[str, Shape], int] = {}
    for index, point in enumerate(points):
        if point.kernel_ms is None:
            continue
        key = point.problem, point.shape
        shortest = points[best[key]].kernel_ms if key in best else None
        if shortest is None or point.kernel_ms < shortest:
            best[key] = index
    return frozenset(best.values())


def _legal(block: Block, limits: Limits) -> bool:
    try:
        check_block(block, limits)
    except UsageError:
        return False
    return True
