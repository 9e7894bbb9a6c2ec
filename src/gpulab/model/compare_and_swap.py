"""Tries of atomic operations that machine code makes in a loop.

There is no instruction that adds a floating-point number to shared memory, for example. The assembler writes
a loop that loads the element, adds, and stores the sum by a compare-and-swap (CAS), which fails if another
lane has changed the element meanwhile. PTX has one instruction for the loop, so that the simulator does not
count its iterations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.model.coalescing import Addresses, Masks, lanes

if TYPE_CHECKING:
    from gpulab.compiler.sass.sass_code import MachineCode

__all__ = ["loop_rows", "tries"]

# Share of an iteration for which a change by another warp makes the CAS fail. On an H100, 8 warps whose lanes
# all add to one element take 138 iterations for each addition of a warp.
EXPOSED = 0.81
STEPS = 40  # The bisection halves its error in each step.


def loop_rows(code: MachineCode) -> frozenset[int]:
    """Return the PTX rows of atomic operations that are loops in machine code."""
    return frozenset(
        item.ptx_line
        for number, block in enumerate(code.blocks)
        if number in block.targets
        for item in block.instructions
        if item.op in ("ATOM", "ATOMG", "ATOMS") and item.ptx_line == block.instructions[-1].ptx_line
    )


def tries(masks: Masks, addresses: Addresses, warps: npt.NDArray[np.int64], warps_of_block: int) -> float:
    """Return the iterations of a warp's loop, on average over some requests.

    Of the lanes that update one element, one succeeds in an iteration, or none if another warp has changed
    the element meanwhile. Each of the other warps updates an element in the share of its requests that
    contain it. Warps of which no request is given update the elements of a request equally often.

    Parameters
    ----------
    masks, addresses, warps : array of shape (requests,), (requests, 32) and (requests,)
        The requests, and the numbers of the warps that made them.
    warps_of_block : int
    """
    made: defaultdict[int, list[Counter[int]]] = defaultdict(list)
    for active, row, warp in zip(lanes(masks), addresses, warps.tolist(), strict=True):
        made[warp].append(Counter(row[active].tolist()))

    most = []
    for warp, requests in made.items():
        others = [made[other] for other in made if other != warp]
        for request in requests:
            shares = np.array([[_share(by, element) for element in request] for by in others or [requests]])
            updating = (warps_of_block - 1 - len(others)) * shares.mean() + shares[: len(others)].sum(axis=0)
            lanes_of_element = np.array(list(request.values()))
            most.append((lanes_of_element / _succeeding(updating)).max())
    return float(np.mean(most)) if most else 1.0


def _share(requests: Sequence[Counter[int]], element: int) -> float:
    return sum(element in request for request in requests) / len(requests)


def _succeeding(others: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the share of the CAS of an element that succeed while so many other warps update it."""
    low, high = np.zeros(len(others)), np.ones(len(others))
    for _ in range(STEPS):
        middle = (low + high) / 2
        more = (1 - EXPOSED * middle) ** others > middle
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return high
