"""Reconvergence of divergent lanes at thread frontiers.

When a warp diverges, the lanes with the lowest block number run first and the others are suspended at the
start of their block. The *frontier* of a block is the set of blocks where lanes may be suspended while it
runs (Diamos et al., "SIMD re-convergence at thread frontiers", MICRO 2011). Frontiers are computed when code
is generated, so that the only run-time state of divergence is one 32-bit mask per frontier block, and a
uniform branch costs nothing.

A *rendezvous* is a block where lanes wait for others of their warp: a barrier, or a `.sync` instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from gpulab.simt.analysis.basic_blocks import Block, reads, registers_of, writes
from gpulab.simt.analysis.control_flow import blocks_past, blocks_without_path, predecessors
from gpulab.simt.ptx.syntax import Instruction, Mem

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
    """Return the blocks in which a thread only exits. Lanes sent there have left the kernel."""
    return frozenset(b.number for b in blocks if b.end == "exit" and not b.code)


def rendezvous_blocks(blocks: list[Block]) -> dict[int, frozenset[int]]:
    """Return each rendezvous block with the blocks from which no lane can still reach it.

    A `.sync` instruction names the lanes that it waits for, also those that have passed by it in an iteration
    of a loop and come to it in a later one.
    """
    edges = predecessors(blocks)
    past = {b.number: blocks_past(blocks, edges, b.number) for b in blocks if b.end == "barrier"}
    return past | {b.number: blocks_without_path(blocks, edges, b.number) for b in blocks if b.warp_sync}


def deferred_blocks(
    frontier: Iterable[int], targets: AbstractSet[int], past: dict[int, frozenset[int]]
) -> frozenset[int]:
    """Return the rendezvous blocks whose lanes stay suspended while other lanes run at `targets`.

    The lanes at `targets` may still reach the rendezvous. If the suspended ones, which may be one iteration
    of a loop ahead, took precedence after each block, then a lock holder that they wait for might never run.

    Parameters
    ----------
    frontier : iterable of int
        Blocks where lanes may be suspended.
    targets : set of int
        Blocks that receive lanes now.
    past : dict
        As returned by `rendezvous_blocks`.
    """
    return frozenset(n for n in frontier if n in past and n not in targets and not past[n] & targets)


def resume_order(
    frontier: frozenset[int],
    targets: tuple[int, ...],
    exits: frozenset[int],
    past: dict[int, frozenset[int]],
) -> tuple[list[int], list[int]]:
    """Return the blocks at which a warp may resume, in the order they are tried, and all occupied blocks.

    The lowest occupied block runs next; deferred rendezvous blocks come last. If no lane can have exited, one
    of `targets` is occupied, so the order ends at the highest of them.
    """
    real = set(targets) - exits
    occupied = sorted(frontier | real)
    deferred = deferred_blocks(frontier, real, past)
    order = [n for n in occupied if n not in deferred]
    if not targets or exits & set(targets):
        return order + sorted(deferred), occupied
    return [n for n in order if n <= max(real)], occupied


def frontiers(
    blocks: list[Block],
    divergent: set[int],
    spin_loops: frozenset[int],
    past: dict[int, frozenset[int]],
) -> list[frozenset[int]]:
    """Return the frontier of every block.

    Parameters
    ----------
    blocks : list of Block
        The kernel's blocks.
    divergent : set of int
        Blocks whose branch can diverge.
    spin_loops : frozenset of int
        Heads of loops in which lanes yield to suspended lanes (see `find_spin_loops`).
    past : dict
        As returned by `rendezvous_blocks`.
    """
    exits = exit_blocks(blocks)
    past_bits = {number: sum(1 << n for n in behind) for number, behind in past.items()}
    rendezvous_bits = sum(1 << n for n in past)
    frontier_bits = [0] * len(blocks)  # sets of blocks as bits: kernels of 500 blocks take thousands of steps
    work, queued, seen = [0], {0}, {0}

    def step(target: int, suspended: int) -> None:
        """Record that lanes may run at `target` while others are suspended."""
        if suspended & ~frontier_bits[target] or target not in seen:
            frontier_bits[target] |= suspended
            seen.add(target)
            if target not in queued:
                queued.add(target)
                heappush(work, -target)

    while work:
        number = -heappop(work)  # highest first; lowest first would take three times as many steps
        queued.discard(number)
        block, here = blocks[number], frontier_bits[number]

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
            waiting = here & rendezvous_bits & ~real
            deferred = sum(
                1 << n for n in _members(waiting) if not past_bits[n] & real
            )  # cf. deferred_blocks
            if targets and not exits & set(targets):  # as in `resume_order`
                tried &= ~deferred & (1 << real.bit_length()) - 1
            for target in _members(tried):
                step(target, (occupied >> target + 1 << target + 1 | deferred) & ~(1 << target))

        if number in spin_loops:
            for target in _members(here):
                step(target, here & ~(1 << target) | 1 << number)
    return [frozenset(_members(f)) for f in frontier_bits]


def _members(bits: int) -> Iterator[int]:
    """Yield the numbers of the set bits, lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def target_sets(block: Block, divergent: set[int]) -> list[tuple[int, ...]]:
    """Return the sets of targets that can receive lanes at the same time."""
    if block.end in ("exit", "trap"):
        return [()]
    targets = tuple(dict.fromkeys(block.targets))
    if block.end == "branch" and block.number in divergent and len(targets) > 1:
        return [targets]
    return [(t,) for t in targets]


def _address_registers(item: Instruction) -> Iterable[str]:
    """Return the registers from which an instruction computes the addresses that it accesses."""
    return registers_of(operand for operand in item.operands if isinstance(operand, Mem))


def find_spin_loops(blocks: list[Block], *, at_fixed_address: bool = False) -> frozenset[int]:
    """Return the heads of loops that may wait for another thread.

    The exit condition of such a loop depends on memory that the loop reads. With `at_fixed_address`, only
    reads count whose address does not change in the loop: those of a binary search, for example, do not.
    """
    heads = set()
    for last in blocks:
        for head in last.targets:
            if head > last.number:
                continue

            loop = blocks[head : last.number + 1]
            items = [item for block in loop for item in block.code]
            changed: set[str] = set()
            if at_fixed_address:
                changed = {name for item in items for name in writes(item)}

            # Registers that depend on memory read inside the loop.
            dependent: set[str] = set()
            others = []
            for item in items:
                memory = item.op in ("ld", "atom", "mbarrier")
                shared = memory and not {"param", "local", "const"} & set(item.parts)
                if shared and changed.isdisjoint(_address_registers(item)):
                    dependent.update(writes(item))
                else:
                    others.append(item)
            grows = bool(dependent)
            while grows:
                before = len(others)
                left = []
                for item in others:
                    if dependent.isdisjoint(reads(item)):
                        left.append(item)
                    else:
                        dependent.update(writes(item))
                others, grows = left, len(left) < before

            conditions = (
                b.condition.name
                for b in loop
                if b.condition and any(t not in range(head, last.number + 1) for t in b.targets)
            )
            if dependent & set(conditions):
                heads.add(head)
    return frozenset(heads)
