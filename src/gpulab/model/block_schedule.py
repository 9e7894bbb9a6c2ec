"""Schedule of blocks whose work differs: blocks start in the order of their numbers, each where room is."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

import numpy as np
import numpy.typing as npt

__all__ = ["schedule_stretch"]

LONGEST_SCHEDULE = 32  # waves; in a longer launch, the blocks that end last take a small part of the time


def schedule_stretch(
    blocks: int, numbers: Sequence[int], work: Sequence[int], sms: int, resident: int
) -> tuple[float, float]:
    """Return how much longer a launch takes than one whose blocks all have the mean work, at least 1.

    Parameters
    ----------
    blocks : int
        Blocks of the grid.
    numbers, work : sequence of int
        Linear indices of some blocks, in ascending order, and the work of each. Other blocks have
        the work of the nearest of these.
    sms, resident : int
        SMs of the GPU, and blocks that each holds at once.

    Returns
    -------
    chain, busiest : float
        Stretch of the longest chain of blocks that run one after the other, and of the busiest SM.
    """
    slots = sms * resident
    if min(work) == max(work) or blocks > LONGEST_SCHEDULE * slots:
        return 1.0, 1.0
    at = np.asarray(numbers)
    each = np.asarray(work, float)[np.searchsorted((at[1:] + at[:-1]) / 2, np.arange(blocks))]
    mean = float(each.mean())
    # Short blocks, at the boundary of a problem, are too few to let the others begin earlier.
    chain, busiest = (
        max(_last_end(each, servers, together) / (-(-blocks // servers) * mean), 1.0)
        # The blocks of an SM share it: for its units it is one server that executes them one after the other.
        for servers, together in ((slots, 1), (sms, resident))
    )
    return chain, busiest


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
