"""A kernel without the values that it computes: what is left says where it goes and what it asks of memory.

A model of caches is given addresses, and counts of blocks of code; most of a kernel's work is on values that
neither depends on. The rest is a slice of it (M. Weiser, Program Slicing, 1984), taken backwards from
branches, addresses and masks. What a load outside it asks for is still asked for and checked, and so for a
store or an atomic, by an instruction of its own, `touch`; other instructions outside it become `skip`.
Blocks keep their numbers and instructions their places: what is counted is what the whole kernel would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulab.simt.analysis.control_flow import (
    Block,
    ControlFlow,
    has_result,
    is_warp_sync,
    reads,
    registers_of,
    with_code,
    writes,
)
from gpulab.simt.ptx.syntax import Instruction, Mem, Sym

__all__ = ["without_values"]

SPACES = ("global", "shared", "local")
# They do more than assign their result, whoever needs it. Those that touch memory have rules of their own.
ACTS = ("bar", "barrier", "mbarrier")
TOUCHING = ("ld", "ldu", "st", "atom", "red")


def without_values(flow: ControlFlow, registers: set[str]) -> ControlFlow:
    """The slice. registers: all that the kernel has."""
    needed, spaces = _slice(flow.blocks)
    blocks = [replace(b, code=[_kept(item, needed, spaces) for item in b.code]) for b in flow.blocks]
    return with_code(blocks, registers)


def _slice(blocks: list[Block]) -> tuple[set[str], set[str]]:
    """The registers in the slice, and the state spaces whose contents are."""
    items = [item for block in blocks for item in block.code]
    needed = {name for block in blocks for name in _read_at_ends(block)}
    spaces = set(SPACES) if any(item.call is not None for item in items) else set()
    before = -1
    while len(needed) + len(spaces) != before:
        before = len(needed) + len(spaces)
        for item in reversed(items):
            result = not needed.isdisjoint(writes(item))
            if result and _reads_memory(item):
                spaces |= _spaces(item)
            if item.op == "cp" and "shared" in spaces:
                spaces.add("global")
            if result or _acts(item, spaces):
                needed.update(reads(item))
            else:
                needed.update(_read_anyway(item))
    return needed, spaces


def _read_at_ends(block: Block) -> Iterator[str]:
    if block.condition is not None:
        yield block.condition.name
    if block.barrier is not None:
        yield from reads(block.barrier)


def _acts(item: Instruction, spaces: set[str]) -> bool:
    """Whether an instruction must be executed, whoever needs its result."""
    if item.op in ("st", "atom", "red"):
        return not spaces.isdisjoint(_spaces(item))
    return not has_result(item) or item.call is not None or item.op in ACTS


def _read_anyway(item: Instruction) -> Iterator[str]:
    """What is read of an instruction that is not executed: an address, its mask, and whom it waits for."""
    memory = _memory(item)
    if memory is not None:
        yield from registers_of((memory,))
        if item.predicate is not None:
            yield item.predicate.name
    if is_warp_sync(item):
        yield from registers_of(item.operands[-1:])


def _kept(item: Instruction, needed: set[str], spaces: set[str]) -> Instruction:
    """The instruction, or what stands for it in the slice."""
    if _acts(item, spaces) or not needed.isdisjoint(writes(item)):
        return item
    memory = _memory(item)
    if memory is not None:
        return replace(item, parts=("touch", *item.parts), operands=(memory,))
    return replace(item, parts=("skip", *item.parts), operands=(), predicate=None)


def _memory(item: Instruction) -> Mem | None:
    """The address of a load or a store that somebody but the thread itself can see."""
    if item.op not in TOUCHING or "local" in item.parts or len(item.operands) < 2:
        return None
    memory = item.operands[item.op not in ("st", "red")]
    if not isinstance(memory, Mem) or ("param" in item.parts and isinstance(memory.base, Sym)):
        return None
    return memory


def _reads_memory(item: Instruction) -> bool:
    return any(isinstance(operand, Mem) for operand in item.operands)


def _spaces(item: Instruction) -> set[str]:
    """Which memory an instruction may read or write; one of two addresses may be in either."""
    stems = {part.partition("::")[0] for part in item.parts[1:]}
    found = stems.intersection(SPACES)
    return found or (set() if stems & {"param", "const"} else set(SPACES))
