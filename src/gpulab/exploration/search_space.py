"""The search space of an explorer: the blocks, tiles, sizes and GPUs that a kernel can be timed with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod

from gpulab.cell import KernelCell
from gpulab.config import KernelConfig
from gpulab.devices.base import Device
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.gpus.limits import Limits
from gpulab.problems.base import Block, Problem, Shape
from gpulab.profiling.sweep import blocks_like

__all__ = [
    "Candidate",
    "blocks",
    "first_candidate",
    "gpu_choices",
    "nearest",
    "neighbours",
    "sizes",
    "tiles",
]

HALVINGS = 4  # sizes offered below the timing size, each half of the next
OUTPUTS = (1, 2, 4, 8)  # offered per thread, on an axis on which the cell computes several
MOST_OUTPUTS = 16  # outputs of a thread on all axes; more would spill registers


@dataclass(frozen=True)
class Candidate:
    """One point of the search space.

    Attributes
    ----------
    cell : KernelCell
        The kernel's text, and its configuration with this point's block and tile.
    shape : tuple of int
        The problem's size.
    device : str
        A name that `open_device` accepts, such as "sim:t10" or "cuda:0".
    """

    cell: KernelCell
    shape: Shape
    device: str

    @property
    def config(self) -> KernelConfig:
        return self.cell.config

    @property
    def block(self) -> Block:
        return self.config.block

    @property
    def tile(self) -> Block:
        return self.config.tile

    @property
    def is_modelled(self) -> bool:
        return self.device.startswith("sim")

    def at(self, block: Block | None = None, tile: Block | None = None) -> Candidate:
        """Return the candidate with another block or tile."""
        return replace(self, cell=self.cell.with_geometry(block or (), tile or ()))


def first_candidate(cell: KernelCell, device: Device) -> Candidate:
    """Return the cell's own block and tile at the timing size of its problem."""
    return Candidate(cell, cell.config.problem.timing_size, device.selector)


def gpu_choices(device: Device) -> tuple[tuple[str, str], ...]:
    """Return (label, device name) of each GPU: first the session's own, then those of the catalogue."""
    measured = [(f"{device.spec.name}, measured", device.selector)] if device.measures_time else []
    modelled = []
    for spec in map(gpu, names()):
        label = spec.name + (", modelled" if measured else "") + ("" if spec.calibrated else ", uncalibrated")
        modelled.append((label, f"sim:{spec.key}"))
    return (*measured, *sorted(modelled, key=lambda choice: choice[1] != device.selector))


def blocks(candidate: Candidate, limits: Limits, cell_block: Block) -> tuple[Block, ...]:
    """Return the blocks that the GPU allows and that fit the size, by their number of threads.

    They have the shape of the variant's usual block; a square block in the cell selects squares if the
    usual block spans two axes. The blocks of the cell and of the candidate are always included. Limits that
    depend on the compiled kernel, such as registers, are not considered.
    """
    usual = candidate.config.problem.block_of(candidate.config.variant)
    pattern = usual if cell_block[0] == cell_block[1] and usual[1] > 1 else cell_block
    choices = {*blocks_like(pattern, limits), cell_block, candidate.block}
    ordered = sorted(choices, key=lambda block: (prod(block), block))
    return tuple(block for block in ordered if _fits(candidate.at(block=block), limits))


def tiles(cell: KernelCell) -> tuple[Block, ...]:
    """Return tiles with other numbers of outputs on the axes on which the cell computes several per thread.

    Only axes whose macro (`TILE_X`, `TILE_Y`, `TILE_Z`) occurs in the text vary.
    """
    own = cell.config.tile
    axes = [
        OUTPUTS if outputs > 1 and f"TILE_{axis}" in cell.source else (outputs,)
        for axis, outputs in zip("XYZ", own, strict=True)
    ]
    choices = {(x, y, z) for x, y, z in product(*axes) if max(x, 1) * max(y, 1) * max(z, 1) <= MOST_OUTPUTS}
    return tuple(sorted({*choices, own}, key=lambda tile: (prod(tile) or tile[0] * tile[1], tile)))


def sizes(problem: Problem) -> tuple[Shape, ...]:
    """Return the problem's timing size and smaller ones, each half of the next, in ascending order.

    A size that has no smaller extent, such as a fixed one, stays as it is.
    """
    shapes = [
        tuple(
            size.nearest(extent >> halvings, size.multiple)
            for extent, size in zip(problem.timing_size, problem.sizes.values(), strict=True)
        )
        for halvings in range(HALVINGS, -1, -1)
    ]
    return tuple(dict.fromkeys(shapes))


def nearest(block: Block, choices: tuple[Block, ...]) -> Block:
    """Return the choice whose number of threads is closest, the block itself if it is a choice."""

    def distance(choice: Block) -> tuple[int, bool]:
        return abs(prod(choice).bit_length() - prod(block).bit_length()), choice != block

    return min(choices, key=distance)


def neighbours(candidate: Candidate, limits: Limits, cell_block: Block) -> list[Candidate]:
    """Return the candidate, then the same with every other block, closest number of threads first."""
    threads = prod(candidate.block)

    def distance(other: Candidate) -> tuple[bool, float]:
        count = prod(other.block)
        return other != candidate, max(count, threads) / min(count, threads)

    curve = (candidate.at(block=block) for block in blocks(candidate, limits, cell_block))
    return sorted(curve, key=distance)


def _fits(candidate: Candidate, limits: Limits) -> bool:
    try:
        candidate.config.at(candidate.shape, limits)
        candidate.config.require_size(candidate.shape)
    except UsageError:
        return False
    return True
