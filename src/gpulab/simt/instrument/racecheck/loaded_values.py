"""Data flow from a plain load: what a kernel does with the value.

The kind of a race depends on it: an update writes the value back, changed, and a guess is only compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.ptx.syntax import Instruction, Mem

__all__ = ["is_extremum", "is_update", "used_values"]


def is_update(code: Sequence[Instruction]) -> bool:
    """Return True if the value that the last instruction stores depends on what the first one loads."""
    load, *between, store = code
    dependent = set(basic_blocks.writes(load))
    for item in between:
        if dependent.intersection(basic_blocks.reads(item)):
            dependent.update(basic_blocks.writes(item))
        else:
            dependent.difference_update(basic_blocks.writes(item))
    return not dependent.isdisjoint(basic_blocks.registers_of(store.operands[1:]))


def is_extremum(item: Instruction) -> bool:
    """Return True for `atomicMin` and `atomicMax`."""
    return item.op in ("atom", "red") and not {"min", "max"}.isdisjoint(item.parts)


def used_values(blocks: Iterable[Block]) -> frozenset[str]:
    """Return the registers whose values are used otherwise than in comparisons, `atomicMin` or `atomicMax`.

    They are stored, are addresses of stores or arguments of other atomic operations, or are passed to a
    function, themselves or in a computed value. A load of another register is a guess, such as the guard of
    an atomic operation, or the distance of a vertex in a search for shortest paths.
    """
    items = [item for block in blocks for item in block.code]
    used: set[str] = set()
    for item in items:
        if is_extremum(item):
            used.update(basic_blocks.registers_of(o for o in item.operands if isinstance(o, Mem)))
        elif item.op == "atom" or item.call is not None or not basic_blocks.has_result(item):
            used.update(basic_blocks.reads(item))

    before = -1
    while len(used) != before:
        before = len(used)
        for item in reversed(items):
            if not is_extremum(item) and not used.isdisjoint(basic_blocks.writes(item)):
                used.update(basic_blocks.reads(item))
    return frozenset(used)
