"""What the handles of an explorer can be set to: blocks, tiles and sizes that a kernel can be tried with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from gpulab.cell import KernelCell
from gpulab.errors import UsageError
from gpulab.gpus.limits import Limits
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Shape
from gpulab.profiling.sweep import blocks_like

__all__ = ["Setting", "blocks", "nearest", "neighbours", "sizes", "tiles"]

SMALLER = 4  # sizes below the problem's timing size, each half of the next
OUTPUTS = (1, 2, 4, 8)  # of a thread, along an axis that it computes several on
MOST_OUTPUTS = 16


@dataclass(frozen=True)
class Setting:
    """Where the handles stand.

    cell: the kernel, with the block and the tile in its header. shape: the problem's size. device: as
    `open_device` takes it ("sim:t10", "cuda:0").
    """

    cell: KernelCell
    shape: Shape
    device: str

    @property
    def block(self) -> Block:
        return self.cell.config.block

    @property
    def tile(self) -> Block:
        return self.cell.config.tile

    @property
    def variant(self) -> str:
        return self.cell.config.variant

    @property
    def problem(self) -> str:
        return self.cell.config.problem.name

    def at(self, block: Block | None = None, tile: Block | None = None) -> Setting:
        """The same with another block or tile."""
        return Setting(self.cell.with_geometry(block or (), tile or ()), self.shape, self.device)


def blocks(setting: Setting, limits: Limits, own: Block) -> tuple[Block, ...]:
    """The cell's own block, and those of its shape that the GPU takes and that fit the size.

    A square one stands for all of two axes where the variant's are not square.
    In order of their threads. What only the compiled kernel can tell, such as its registers, is left out.
    """
    known = problem_named(setting.problem)
    usual = known.block_of(setting.variant)
    like = usual if own[0] == own[1] and usual[1] > 1 else own
    found = {*blocks_like(like, limits), own, setting.block}
    ordered = sorted(found, key=lambda block: (prod(block), block))
    return tuple(block for block in ordered if _fits(setting.at(block=block), limits))


def tiles(cell: KernelCell) -> tuple[Block, ...]:
    """Tiles to try: other numbers of outputs along the axes on which a thread of this cell computes several.

    A text that does not use `TILE_X`, `TILE_Y` or `TILE_Z` computes its own number, whatever the header says.
    """
    tile = cell.config.tile
    axes = [
        OUTPUTS if outputs > 1 and f"TILE_{axis}" in cell.source else (outputs,)
        for axis, outputs in zip("XYZ", tile, strict=True)
    ]
    found = {(x, y, z) for x, y, z in product(*axes) if max(x, 1) * max(y, 1) * max(z, 1) <= MOST_OUTPUTS}
    return tuple(sorted({*found, tile}, key=lambda one: (prod(one) or one[0] * one[1], one)))


def sizes(name: str) -> tuple[Shape, ...]:
    """The problem's timing size on a device of this kind, and smaller ones, each half of the next."""
    largest = problem_named(name).timing_size
    return tuple(tuple(number >> halved for number in largest) for halved in range(SMALLER, -1, -1))


def nearest(block: Block, among: tuple[Block, ...]) -> Block:
    """The block with about as many threads, among those that there are."""
    return min(among, key=lambda one: (abs(prod(one).bit_length() - prod(block).bit_length()), one != block))


def neighbours(setting: Setting, limits: Limits, own: Block) -> list[Setting]:
    """The setting itself and the same with every other block, nearest in number of threads first."""
    threads = prod(setting.block)
    curve = [setting.at(block=block) for block in blocks(setting, limits, own)]
    ratio = {one: max(prod(one.block), threads) / min(prod(one.block), threads) for one in curve}
    return sorted(curve, key=lambda one: (one != setting, ratio[one]))


def _fits(setting: Setting, limits: Limits) -> bool:
    config = setting.cell.config
    try:
        config.at(setting.shape, limits)
        config.require_size(setting.shape)
    except UsageError:
        return False
    return True
