"""Sweeps: kernels over blocks, tiles and sizes, one point at a time."""

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
# A block of two axes: x is at least half a warp, so that what lies side by side is read together.
X_FROM, X_TO = 16, 128
SQUARE_FROM = 8


@dataclass(frozen=True)
class Sweep:
    """Every cell at every size, with every tile and block, in this order; iterate to run it.

        for point in Sweep(cells, device, blocks=[(64,), (128,)], sizes=["1024", "4096"]): ...

    blocks, tiles: the numbers that are left out are those of the cell's header. No blocks: the legal powers
    of two, see `default_blocks`; no tiles: the header's. sizes: as the problem reads them; none: the
    problem's timing size.
    device_name: as `open_device` takes it; check, iterations: as `Bench` has them.

    `len` is the number of points. An interrupted loop keeps what it has: every point is complete by itself.
    A combination that cannot be launched is a point whose `why_not` says why.

    Raises `UsageError`, when it is made, for a size that is none and for a cell of no problem.
    """

    cells: Sequence[Cell]
    device: Device
    blocks: Sequence[tuple[int, ...]] = ()
    tiles: Sequence[tuple[int, ...]] = ()
    sizes: Sequence[str] = ()
    device_name: str | None = None
    check: bool = True
    iterations: int = 3

    def __post_init__(self) -> None:
        if not self.cells:
            raise UsageError("there is no kernel to sweep.")
        for cell in self.cells:
            config = require_kernel_cell(cell).config
            for size in self.sizes:
                config.problem.parse_shape(size)

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
            shape = planned.config.timing_shape if size is None else problem.parse_shape(size)
            yield planned, shape


def default_blocks(known: Problem, variant: str, limits: Limits) -> tuple[Block, ...]:
    """The blocks of a variant's own shape: see `blocks_like`."""
    return blocks_like(known.block_of(variant), limits)


def blocks_like(one: Block, limits: Limits) -> tuple[Block, ...]:
    """Blocks of the same shape as this one whose sides are powers of two, as far as the GPU allows them.

    A block that is long on one axis stays so, from one warp on; a square one stays square, from 8 x 8 on;
    any other has 16 to 128 threads in x, at least two in y, and two warps or more.
    """
    x, y, z = one
    powers = [1 << power for power in range(11)]
    if y == z == 1:
        blocks = [(long, 1, 1) for long in powers if long >= WARP]
    elif x == z == 1:
        blocks = [(1, long, 1) for long in powers if long >= WARP]
    elif x == y:
        blocks = [(side, side, 1) for side in powers if side >= SQUARE_FROM]
    else:
        blocks = [
            (i, j, 1) for i in powers if X_FROM <= i <= X_TO for j in powers if j >= 2 and i * j >= 2 * WARP
        ]
    return tuple(block for block in blocks if _legal(block, limits))


def fastest(points: Sequence[Point]) -> frozenset[int]:
    """Places of the points with the most GFLOPS of their problem at their size."""
    best: dict[tuple[str, Shape], int] = {}
    for place, point in enumerate(points):
        if point.kernel_ms is None:
            continue
        key = point.problem, point.shape
        before = points[best[key]].kernel_ms if key in best else None
        if before is None or point.kernel_ms < before:
            best[key] = place
    return frozenset(best.values())


def _legal(block: Block, limits: Limits) -> bool:
    try:
        check_block(block, limits)
    except UsageError:
        return False
    return True
