"""Paths between two accesses of a kernel that no barrier separates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["has_unsynchronized_path"]

Position = tuple[int, int]  # a basic block, and the index of an instruction in it


def has_unsynchronized_path(
    blocks: Sequence[Sequence[Any]], start: Position, end: Position, *, same_warp: bool
) -> bool:
    """Return True if the control flow graph has a path from one instruction to another without a barrier.

    Parameters
    ----------
    blocks : sequence
        For each basic block its targets, whether it ends in a barrier, and the positions of `__syncwarp()`
        in it; further elements are not used (see `RacecheckInstrumentation`).
    start, end : Position
        The two instructions. A path from an instruction to itself leads through a loop.
    same_warp : bool
        The threads are lanes of one warp, so that `__syncwarp()` separates them too.
    """

    def is_open(block: int, first: int, last: int | None) -> bool:
        warp_syncs = blocks[block][2] if same_warp else ()
        return not any(first <= at and (last is None or at < last) for at in warp_syncs)

    (block, index), (end_block, end_index) = start, end
    if block == end_block and index < end_index and is_open(block, index + 1, end_index):
        return True
    if blocks[block][1] or not is_open(block, index + 1, None):
        return False

    pending, visited = list(blocks[block][0]), set()
    while pending:
        number = pending.pop()
        if number in visited:
            continue
        visited.add(number)
        if number == end_block and is_open(number, 0, end_index):
            return True
        if not blocks[number][1] and is_open(number, 0, None):
            pending.extend(blocks[number][0])
    return False
