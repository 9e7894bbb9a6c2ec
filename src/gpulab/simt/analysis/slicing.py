"""Program slicing: remove the computation of values that affect neither control flow nor addresses.

The cache model needs the addresses of a kernel's memory requests and the execution counts of its blocks. Most
instructions compute values on which neither depends. The slice (M. Weiser, "Program slicing", 1984) is
computed backwards from branches, addresses and masks. A load, store or atomic outside the slice is replaced
by the pseudo-instruction `touch` (`touch_matrix` for matrices), which still checks and records its addresses;
other instructions outside it become `skip`. Blocks keep their numbers and instructions their positions, so
counts are those of the whole kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulab.simt.analysis.basic_blocks import (
    Block,
    ControlFlow,
    has_address,
    has_result,
    is_warp_sync,
    reads,
    registers_of,
    synchronized_lanes,
    with_code,
    writes,
)
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand, Sym

__all__ = ["without_values"]

SPACES = ("global", "shared", "local")
# Operations with side effects. Those that access memory are treated separately.
SIDE_EFFECTS = ("bar", "barrier", "mbarrier")
ACCESSES = ("ld", "ldu", "st", "atom", "red")
MATRICES = ("ldmatrix", "stmatrix", "wmma")


def without_values(flow: ControlFlow, registers: set[str]) -> ControlFlow:
    """Return the slice of a kernel; `registers` are all registers of the kernel."""
    needed, spaces = _slice(flow.blocks)
    blocks = [replace(b, code=[_sliced(item, needed, spaces) for item in b.code]) for b in flow.blocks]
    return with_code(blocks, registers)


def _slice(blocks: list[Block]) -> tuple[set[str], set[str]]:
    """Return the registers in the slice, and the state spaces whose contents are in it."""
    items = [item for block in blocks for item in block.code]
    needed = {name for block in blocks for name in _read_at_end(block)}
    spaces = set(SPACES) if any(item.call is not None for item in items) else set()
    before = -1
    while len(needed) + len(spaces) != before:
        before = len(needed) + len(spaces)
        for item in reversed(items):
            result = not needed.isdisjoint(writes(item))
            if result and has_address(item):
                spaces |= _spaces(item)
            if item.op == "cp" and _target_space(item) in spaces:
                spaces |= _spaces(item)
            if result or _has_side_effect(item, spaces):
                needed.update(reads(item))
            else:
                needed.update(_read_by_stand_in(item))
    return needed, spaces


def _read_at_end(block: Block) -> Iterator[str]:
    if block.condition is not None:
        yield block.condition.name
    if block.barrier is not None:
        yield from reads(block.barrier)


def _has_side_effect(item: Instruction, spaces: set[str]) -> bool:
    """Return True if an instruction must be executed even if its result is not needed."""
    if item.op in ("st", "atom", "red", "stmatrix") or item.parts[:2] == ("wmma", "store"):
        return not spaces.isdisjoint(_spaces(item))
    return not has_result(item) or item.call is not None or item.op in SIDE_EFFECTS


def _read_by_stand_in(item: Instruction) -> Iterator[str]:
    """Yield the registers that `touch` or `skip` still needs: address, predicate and mask of lanes."""
    memory = _visible_address(item)
    if memory is not None:
        yield from registers_of((memory, *_stride(item)))
        if item.predicate is not None:
            yield item.predicate.name
    if is_warp_sync(item):
        yield from registers_of((synchronized_lanes(item),))


def _sliced(item: Instruction, needed: set[str], spaces: set[str]) -> Instruction:
    """Return the instruction if it is in the slice, otherwise `touch` or `skip`."""
    if _has_side_effect(item, spaces) or not needed.isdisjoint(writes(item)):
        return item
    memory = _visible_address(item)
    if memory is not None:
        operation = "touch_matrix" if item.op in MATRICES else "touch"
        return replace(item, parts=(operation, *item.parts), operands=(memory, *_stride(item)))
    return replace(item, parts=("skip", *item.parts), operands=(), predicate=None)


def _visible_address(item: Instruction) -> Mem | None:
    """Return the address of an access to memory that other threads can see, otherwise None."""
    if item.op not in (*ACCESSES, *MATRICES) or "local" in item.parts or len(item.operands) < 2:
        return None
    memory = item.operands[has_result(item)]
    if not isinstance(memory, Mem) or ("param" in item.parts and isinstance(memory.base, Sym)):
        return None
    return memory


def _stride(item: Instruction) -> tuple[Operand, ...]:
    """Return the distance of rows or columns, an operand of `wmma.load` and `wmma.store`."""
    return item.operands[2:3] if item.op == "wmma" else ()


def _target_space(item: Instruction) -> str:
    """Return the state space that a copy writes; empty for other instructions on copies."""
    stems = (part.partition("::")[0] for part in item.parts[1:])
    return next((stem for stem in stems if stem in SPACES), "")


def _spaces(item: Instruction) -> set[str]:
    """Return the state spaces that an instruction may access; a generic address may lie in any of them."""
    stems = {part.partition("::")[0] for part in item.parts[1:]}
    named = stems.intersection(SPACES)
    return named or (set() if stems & {"param", "const"} else set(SPACES))
