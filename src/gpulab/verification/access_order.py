"""The order of two racing accesses in the program: which comes first, and on which path no barrier is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.compiler.statements import Branch, Loop, innermost_branch, innermost_loop
from gpulab.verification.barrier_paths import has_unsynchronized_path

if TYPE_CHECKING:
    from gpulab.simt.codegen.memory_access import AccessSite

__all__ = ["AccessOrder", "order_of"]


@dataclass(frozen=True)
class AccessOrder:
    """Two accesses that a path without a barrier connects.

    Attributes
    ----------
    swapped : bool
        The access that was given second comes first.
    loop : Loop or None
        The loop in whose next round the later access is; None if both are in the same round.
    both_ways : Loop or None
        The loop in whose next round a path without a barrier also leads from the later access to the earlier
        one; None if there is no such path.
    branch : Branch or None
        The `if` that contains both lines and that only some lanes of a warp enter. A barrier between the
        lines would be in it.
    """

    swapped: bool
    loop: Loop | None = None
    both_ways: Loop | None = None
    branch: Branch | None = None


def order_of(
    one: AccessSite, two: AccessSite, metadata: Mapping[str, Any], source: str, *, same_warp: bool
) -> AccessOrder | None:
    """Return the order of two accesses, or None if it is not known.

    metadata: what `RacecheckInstrumentation` adds to a kernel. same_warp: see `has_unsynchronized_path`.
    """
    blocks = metadata["blocks"]
    if blocks is None or min(one.block, two.block) < 0:
        return None

    def is_open(start: AccessSite, end: AccessSite) -> bool:
        places = (start.block, start.index), (end.block, end.index)
        return has_unsynchronized_path(blocks, *places, same_warp=same_warp)

    loop = innermost_loop(source, one.line, two.line)
    if one.line == two.line:
        reader, writer = (one, two) if one.action == "reads" else (two, one)
        if loop is not None and is_open(writer, reader):
            return AccessOrder(swapped=writer is two, loop=loop)
        return AccessOrder(swapped=reader is two) if is_open(reader, writer) else None

    first, second = (one, two) if one.line < two.line else (two, one)
    forward, backward = is_open(first, second), is_open(second, first)
    branch = innermost_branch(source, one.line)
    if not (blocks[one.block][3] and blocks[two.block][3]) or branch != innermost_branch(source, two.line):
        branch = None
    if forward and backward and branch and loop and loop.first_line <= branch.first_line:
        return AccessOrder(second is two, loop=loop)  # threads enter the branch in different rounds
    if forward:
        return AccessOrder(first is two, both_ways=loop if backward else None, branch=branch)
    return AccessOrder(second is two, loop=loop) if backward and loop is not None else None
