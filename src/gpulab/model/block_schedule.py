"""Schedule of blocks whose work differs: blocks start in the order of their numbers, each where room is."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from math import prod

import numpy as np
import numpy.typing as npt

__all__ = ["schedule_stretch"]

AT_ONCE = 4096  # blocks whose nearest sampled block is searched at once
FLAT_AXIS = 0.1  # weight of an axis along which the work does not change, relative to the steepest axis
LONGEST_SCHEDULE = 32  # waves; in a longer launch, the blocks that end last take a small part of the time


def schedule_stretch(
    grid: tuple[int, int, int],
    working: npt.NDArray[np.int64] | None,
    numbers: Sequence[int],
    work: Sequence[int],
    sms: int,
    resident: int,
) -> tuple[float, float]:
    """Return how much longer a launch takes than one whose blocks all have the mean work, at least 1.

    Parameters
    ----------
    grid : tuple of int
        Blocks of the grid on each axis.
    working : array of int or None
        Linear indices of the blocks with work, in ascending order; None if all blocks have work.
    numbers, work : sequence of int
        Linear indices of some of these blocks, and the work of each. Other blocks have the work of
        the nearest of these.
    sms, resident : int
        SMs of the GPU, and blocks that each holds at once.

    Returns
    -------
    chain, busiest : float
        Stretch of the longest chain of blocks that run one after the other, and of the busiest SM.
    """
    slots = sms * resident
    blocks = prod(grid) if working is None else len(working)
    if min(work) == max(work) or blocks > LONGEST_SCHEDULE * slots:
        return 1.0, 1.0
    sampled = np.asarray(work, float)
    scheduled = np.arange(blocks) if working is None else working
    each = sampled[_nearest(_places(grid, np.asarray(numbers)), sampled, _places(grid, scheduled))]
    mean = float(each.mean())
    # Short blocks, at the boundary of a problem, are too few to let the others begin earlier.
    chain, busiest = (
        max(_last_end(each, servers, together) / (-(-blocks // servers) * mean), 1.0)
        # The blocks of an SM share it: for its units it is one server that executes them one after the other.
        for servers, together in ((slots, 1), (sms, resident))
    )
    return chain, busiest


def _places(grid: tuple[int, int, int], blocks: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the coordinates of blocks as fractions of the grid, an array of shape (blocks, 3)."""
    z, y, x = np.unravel_index(blocks, grid[::-1])
    places: npt.NDArray[np.float64] = np.stack([x, y, z], axis=1) / np.array(grid)
    return places


def _nearest(
    places: npt.NDArray[np.float64], work: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Return the index of the nearest place to each wanted one.

    Distances along an axis count the more, the more the work at the places changes along it.
    """
    slopes = np.abs(np.linalg.lstsq(np.c_[places, np.ones(len(places))], work, rcond=None)[0][:3])
    scale = slopes / (slopes.max() or 1.0) + FLAT_AXIS
    nearest = [
        ((scale * (part[:, None] - places)) ** 2).sum(axis=2).argmin(axis=1)
        for part in np.array_split(wanted, -(-len(wanted) // AT_ONCE))
    ]
    return np.concatenate(nearest)


def _last_end(work: npt.NDArray[np.float64], servers: int, together: int) -> float:
    """Return when the last block ends.

    Each server gets `together` blocks at the start, whatever their work. Each of the others begins on the
    server that is free first.
    """
    first = work[: servers * together]
    free = [float(first[server::servers].sum()) for server in range(min(servers, len(first)))]
    heapify(free)
    for amount in work[len(first) :].tolist():
        heapreplace(free, free[0] + amount)
    return max(free)
