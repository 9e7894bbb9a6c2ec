"""Divergence: who runs next when the lanes of a warp part, and where the others wait meanwhile.

The lanes with the lower block number run first and the others wait at their block. The *frontier* of a
block is the set of blocks where lanes may be waiting while it runs (Diamos et al., "SIMD re-convergence
at thread frontiers", MICRO 2011). It is found when the code is made, so that the only run-time state of
divergence is one 32-bit mask for each such block, and a branch that all lanes take alike costs nothing.
"""

from __future__ import annotations

from gpulab.simt.flow import Block, reads, writes

__all__ = ["candidates", "frontiers", "leaves", "spinning", "ways_out"]


def leaves(blocks: list[Block]) -> frozenset[int]:
    """Blocks where a thread only ends: whoever is sent there has left, and nobody waits for it."""
    return frozenset(b.number for b in blocks if b.end == "exit" and not b.code)


def candidates(
    frontier: frozenset[int], targets: tuple[int, ...], exits: frozenset[int]
) -> tuple[list[int], list[int]]:
    """Where a warp may go on when lanes are sent to `targets`: (in order of trial, all occupied).

    The lowest occupied block runs next. Where nobody can have left, one of `targets` is occupied, and
    the trial ends at the highest of them.
    """
    real = set(targets) - exits
    occupied = sorted(frontier | real)
    if not targets or exits & set(targets):
        return occupied, occupied
    return [n for n in occupied if n <= max(real)], occupied


def frontiers(blocks: list[Block], divergent: set[int], spins: frozenset[int]) -> list[frozenset[int]]:
    """The frontier of every block, when the branches of the blocks in `divergent` part lanes.

    spins: heads of loops where lanes may give way to others that wait (see `spinning`).
    """
    exits = leaves(blocks)
    found: list[set[int]] = [set() for _ in blocks]
    work = [0]
    seen: set[int] = set()
    while work:
        number = work.pop()
        seen.add(number)
        block = blocks[number]
        steps: list[tuple[int, set[int]]] = []  # (next block, who waits meanwhile)
        for targets in ways_out(block, divergent):
            if block.end == "barrier":
                lower = {n for n in found[number] if n < number}
                steps += [(t, set()) for t in targets]
                steps += [(n, found[number] - {n} | {number}) for n in lower]
                continue
            order, occupied = candidates(frozenset(found[number]), targets, exits)
            steps += [(c, {n for n in occupied if n > c}) for c in order]
        if number in spins:
            steps += [(c, found[number] - {c} | {number}) for c in found[number]]
        for candidate, waiting in steps:
            if not waiting <= found[candidate] or candidate not in seen:
                found[candidate] |= waiting
                work.append(candidate)
    return [frozenset(f) for f in found]


def ways_out(block: Block, divergent: set[int]) -> list[tuple[int, ...]]:
    """Sets of targets that can receive lanes together."""
    if block.end in ("exit", "trap"):
        return [()]
    targets = tuple(dict.fromkeys(block.targets))
    if block.end == "branch" and block.number in divergent and len(targets) > 1:
        return [targets]
    return [(t,) for t in targets]


def spinning(blocks: list[Block]) -> frozenset[int]:
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
                    shared = item.op in ("ld", "atom") and not {"param", "local", "const"} & set(item.parts)
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
