"""The kernel parameters from which the addresses of stores are computed.

The race detector need not record reads of an array that a launch does not write. This analysis predicts which
arrays a launch writes, so that it only has to be right for most kernels: a write to another array is detected
when it happens (see `RacecheckRecorder.wrote_read_only`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulab.simt.analysis.basic_blocks import ControlFlow, has_address, reads, registers_of, writes
from gpulab.simt.ptx.syntax import Instruction, Mem, Sym, type_size, vector_elements

__all__ = ["stored_parameters"]

POINTER_BYTES = 8


def stored_parameters(flow: ControlFlow, offsets: Mapping[str, int]) -> list[int] | None:
    """Return the byte offsets of the pointers among the parameters whose arrays a kernel writes.

    Parameters
    ----------
    flow : ControlFlow
        The kernel.
    offsets : mapping
        The byte offset of each parameter.

    Returns
    -------
    list of int or None
        None if the kernel also writes through other pointers, such as those that it loads from memory.
    """
    items = [item for block in flow.blocks for item in block.code]
    unknown = {name for item in items if _is_unknown_pointer(item, offsets) for name in writes(item)}
    origins: dict[str, set[int]] = {}
    for item in items:
        for name, offset in _loaded_parameters(item, offsets):
            origins.setdefault(name, set()).add(offset)

    computed = [(reads(item), writes(item)) for item in items if not has_address(item) and item.op != "setp"]
    grows = True
    while grows:
        grows = False
        for operands, results in computed:
            sources = [name for name in operands if name in origins or name in unknown]
            if not sources:
                continue
            found = set().union(*(origins.get(name, ()) for name in sources))
            for name in results:
                known = origins.setdefault(name, set())
                grows |= not found <= known
                known |= found
                if name not in unknown and not unknown.isdisjoint(sources):
                    unknown.add(name)
                    grows = True

    stored: set[int] = set()
    for memory in (memory for item in items for memory in _targets(item)):
        if isinstance(memory.base, Sym) or not unknown.isdisjoint(registers_of((memory,))):
            return None
        for name in registers_of((memory,)):
            stored |= origins.get(name, set())
    return sorted(stored)


def _loaded_parameters(item: Instruction, offsets: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the registers of pointer size that a load of parameters writes, each with its byte offset."""
    if item.op != "ld" or "param" not in item.parts or type_size(item.parts[-1]) != POINTER_BYTES:
        return
    memory = item.operands[1]
    if isinstance(memory, Mem) and isinstance(memory.base, Sym) and isinstance(memory.offset, int):
        first = offsets.get(memory.base.name, 0) + memory.offset
        for number, target in enumerate(vector_elements(item.operands[0])):
            for name in registers_of((target,)):
                yield name, first + number * POINTER_BYTES


def _is_unknown_pointer(item: Instruction, offsets: Mapping[str, int]) -> bool:
    """Return True if an instruction may obtain a pointer that is not computed from its registers."""
    if item.call is not None or any(isinstance(operand, Sym) for operand in item.operands[1:]):
        return True
    if not has_address(item) or not writes(item):
        return False
    type_ = item.parts[-2] if item.op == "suld" else item.parts[-1]  # `suld.b.2d.b64.trap`
    if type_size(type_) != POINTER_BYTES:
        return False
    memory = item.operands[1] if len(item.operands) > 1 else None
    by_name = isinstance(memory, Mem) and isinstance(memory.base, Sym) and memory.base.name in offsets
    return not ("param" in item.parts and by_name)


def _targets(item: Instruction) -> Iterator[Mem]:
    """Yield the addresses in global memory that an instruction may write; a generic one may lie there."""
    if item.op in ("st", "red", "atom") or item.parts[:2] == ("wmma", "store"):
        spaces = {part.partition("::")[0] for part in item.parts}
        if spaces.isdisjoint(("shared", "local", "param")):
            yield from (operand for operand in item.operands if isinstance(operand, Mem))
    elif item.parts[:4] == ("cp", "async", "bulk", "global"):
        yield from (operand for operand in item.operands[:1] if isinstance(operand, Mem))
