"""Choice of the blocks of a grid that represent all of its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST_MODELLED", "MOST_MODELLED", "BlockSample", "sample_blocks"]

FEWEST_BLOCKS = 32  # smallest sample of a position, if the grid has as many blocks there
# Fewest and most blocks by whose work a launch is modelled, if all have the same work. One is not enough,
# because the work may increase or decrease over the grid.
FEWEST_MODELLED, MOST_MODELLED = 3, 24
# Steps on the three axes, as fractions of the grid: powers of the reciprocal of the root of x**4 = x + 1, the
# golden ratio's counterpart in three dimensions. Such points cover a grid of any width evenly.
STEPS = (0.8191725, 0.6710436, 0.5497005)
GOLDEN = 0.6180340  # step of the place within a stratum


@dataclass(frozen=True)
class BlockSample:
    """Blocks of a grid that represent others.

    Attributes
    ----------
    numbers : array of int
        Linear indices of the blocks in the grid.
    weight : float
        Blocks of the grid that each of them represents.
    """

    numbers: npt.NDArray[np.int64]
    weight: float


def sample_blocks(
    grid: tuple[int, int, int], count: float, *, by_position: bool = False
) -> list[BlockSample]:
    """Return about `count` blocks of a grid.

    Parameters
    ----------
    grid : tuple of int
        Blocks of the grid on each axis.
    count : float
        Number of blocks. A count of 1 selects the block in the middle of the grid.
    by_position : bool
        False: one sample, spread evenly over the grid. True: a random sample of each position (corner, edge,
        face, interior), because blocks at the boundary of a problem execute other instructions. Each position
        gets its share of `count`, but at least `FEWEST_BLOCKS`.
    """
    blocks = prod(grid)
    if not by_position:
        numbers = _spread(grid, int(count)) if count < blocks else np.arange(blocks)
        return [BlockSample(numbers, blocks / len(numbers))]

    random = np.random.default_rng(0)
    # (first, length) on each axis: the first index, those between, and the last one.
    ranges = [[(0, 1), (1, max(n - 2, 0)), (n - 1, 1 if n > 1 else 0)] for n in grid]
    samples = []
    for (z, z_len), (y, y_len), (x, x_len) in product(ranges[2], ranges[1], ranges[0]):
        size = x_len * y_len * z_len
        if not size:
            continue
        most = max(round(count / blocks * size), FEWEST_BLOCKS)
        chosen = np.arange(size) if size <= most else np.unique(random.integers(0, size, most))
        dz, dy, dx = np.unravel_index(chosen, (z_len, y_len, x_len))
        numbers = ((dz + z) * grid[1] + dy + y) * grid[0] + dx + x
        samples.append(BlockSample(np.ascontiguousarray(numbers, np.int64), size / len(chosen)))
    return samples


def _spread(grid: tuple[int, int, int], count: int) -> npt.NDArray[np.int64]:
    """Return the numbers of `count` blocks, spread evenly; fewer if some of them coincide.

    Each axis is divided into as many strata as there are blocks, and each stratum has one block (a Latin
    hypercube). Even a few blocks then represent work that increases along an axis. The place within
    a stratum varies, because work may be periodic.
    """
    steps = np.arange(count)
    within = _multiples(steps, GOLDEN)
    x, y, z = (
        ((np.argsort(np.argsort(_multiples(steps, step))) + within) / count * size).astype(np.int64)
        for step, size in zip(STEPS, grid, strict=True)
    )
    return np.unique((z * grid[1] + y) * grid[0] + x)


def _multiples(steps: npt.NDArray[np.int64], step: float) -> npt.NDArray[np.float64]:
    """Return points between 0 and 1 at multiples of a step from the middle, modulo 1."""
    points: npt.NDArray[np.float64] = np.mod(0.5 + steps * step, 1)
    return points
