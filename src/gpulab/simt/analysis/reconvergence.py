"""Divergence: who runs next when the lanes of a warp part, and where the others wait meanwhile.

The lanes with the lower block number run first and the others wait at their block. The *frontier* of a
block is the set of blocks where lanes may be waiting while it runs (Diamos et al., "SIMD re-convergence
at thread frontiers", MICRO 2011). It is found when the code is made, so that the only run-time state of
divergence is one 32-bit mask for each such block, and a branch that all lanes take alike costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from gpulab.simt.analysis.control_flow import Block, blocks_past, reads, writes

__all__ = [
    "deferred_blocks",
    "exit_blocks",
    "find_spin_loops",
    "frontiers",
    "rendezvous_blocks",
    "resume_order",
    "target_sets",
]


def exit_blocks(blocks: list[Block]) -> frozenset[int]:
    """Blocks where a thread only ends: whoever is sent there has left, and nobody waits for it."""
    return frozenset(b.number for b in blocks if b.end == "exit" and not b.code)


def rendezvous_blocks(blocks: list[Block]) -> dict[int, frozenset[int]]:
    """Blocks where lanes wait for others of their warp, and for each where lanes will not come from."""
    return {b.number: blocks_past(blocks, b.number) for b in blocks if b.end == "barrier" or b.warp_sync}


def deferred_blocks(
    frontier: Iterable[int], real: AbstractSet[int], past: dict[int, frozenset[int]]
) -> frozenset[int]:
    """Stops where lanes go on waiting when others are sent to `real`: those may still come.

    Lanes can wait there that are a round of a loop ahead. They must not take the turn from those they wait
    for after each block: a lock that these wait for, and the loop that does, would never have a turn.
    """
    return frozenset(n for n in frontier if n in past and n not in real and not past[n] & real)


def resume_order(
    frontier: frozenset[int],
    targets: tuple[int, ...],
    exits: frozenset[int],
    past: dict[int, frozenset[int]],
) -> tuple[list[int], list[int]]:
    """Where a warp may go on when lanes are sent to `targets`: (in order of trial, all occupied).

    The lowest occupied block runs next; stops that are held back (see there) come last. Where nobody can
    have left, one of `targets` is occupied, and the trial ends at the highest of them.
    """
    real = set(targets) - exits
    occupied = sorted(frontier | real)
    held = deferred_blocks(frontier, real, past)
    order = [n for n in occupied if n not in held]
    if not targets or exits & set(targets):
        return order + sorted(held), occupied
    return [n for n in order if n <= max(real)], occupied


def frontiers(blocks: list[Block], divergent: set[int], spins: frozenset[int]) -> list[frozenset[int]]:
    """The frontier of every block, when the branches of the blocks in `divergent` part lanes.

    spins: heads of loops where lanes may give way to others that wait (see `find_spin_loops`).
    """
    exits = exit_blocks(blocks)
    past = rendezvous_blocks(blocks)
    past_bits = {number: sum(1 << n for n in behind) for number, behind in past.items()}
    stop_bits = sum(1 << n for n in past)
    found = [0] * len(blocks)  # sets of blocks, as bits: a kernel of 500 blocks has many thousand steps
    work, queued, seen = [0], {0}, {0}

    def step(target: int, waiting: int) -> None:
        """Lanes may run at `target` while others wait."""
        if waiting & ~found[target] or target not in seen:
            found[target] |= waiting
            seen.add(target)
            if target not in queued:
                queued.add(target)
                heappush(work, -target)

    while work:
        number = -heappop(work)  # the highest first: the last found takes 3 times as many rounds
        queued.discard(number)
        block, here = blocks[number], found[number]
        if block.warp_sync:
            for other in _members(here & ~(1 << number)):
                if other not in past[number]:
                    step(other, here & ~(1 << other) | 1 << number)
        for targets in target_sets(block, divergent):
            if block.end == "barrier":
                for target in targets:
                    step(target, 0)
                for other in _members(here & ~(1 << number)):
                    if other not in past[number]:
                        step(other, here & ~(1 << other) | 1 << number)
                continue
            real = sum(1 << target for target in targets if target not in exits)
            tried = occupied = here | real
            may = here & stop_bits & ~real
            held = sum(1 << n for n in _members(may) if not past_bits[n] & real)  # as in `deferred_blocks`
            if targets and not exits & set(targets):  # as in `resume_order`
                tried &= ~held & (1 << real.bit_length()) - 1
            for target in _members(tried):
                step(target, (occupied >> target + 1 << target + 1 | held) & ~(1 << target))
        if number in spins:
            for target in _members(here):
                step(target, here & ~(1 << target) | 1 << number)
    return [frozenset(_members(f)) for f in found]


def _members(bits: int) -> Iterator[int]:
    """The blocks of a set of bits, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def target_sets(block: Block, divergent: set[int]) -> list[tuple[int, ...]]:
    """Sets of targets that can receive lanes together."""
    if block.end in ("exit", "trap"):
        return [()]
    targets = tuple(dict.fromkeys(block.targets))
    if block.end == "branch" and block.number in divergent and len(targets) > 1:
        return [targets]
    return [(t,) for t in targets]


def find_spin_loops(blocks: list[Block]) -> frozenset[int]:
    """Heads of loops that may wait for another thread: what ends them is read from memory inside them."""
    found = set()
    for last in blocks:
        for head in last.targets:
            if head > last.number:
                continue
            loop = blocks[head : last.number + 1]
            read: set[str] = set()
            grows = True
            while grows:
                before = len(read)
                for item in (i for b in loop for i in b.code):
                    memory = item.op in ("ld", "atom", "mbarrier")
                    shared = memory and not {"param", "local", "const"} & set(item.parts)
                    if shared or read & set(reads(item)):
                        read |= set(writes(item))
                grows = len(read) > before
            ends = (
                b.condition.name
                for b in loop
                if b.condition and any(t not in range(head, last.number + 1) for t in b.targets)
            )
            if read & set(ends):
                found.add(head)
    return frozenset(found)
