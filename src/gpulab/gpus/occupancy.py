"""Occupancy: how many blocks and warps of a kernel fit on one SM, and what stops one more.

The formulas are `gpulab.gpus.limits.Limits`'; the number is published arithmetic about a
compute capability, not a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpulab.errors import UsageError
from gpulab.gpus.limits import Limits

__all__ = ["NextStep", "Occupancy", "occupancy"]

# In this order they are named when several stop at the same count: first what a kernel can change.
_RESOURCES = ("registers", "shared memory", "warps", "blocks")


@dataclass(frozen=True)
class NextStep:
    """What one resource must come down to so that `blocks_per_sm` blocks fit as far as it goes.

    resource: `registers` (per thread), `shared memory` (bytes per block) or `threads` (per block).
    now, needed: its value now, and the largest value that lets one more block in.
    """

    resource: str
    now: int
    needed: int
    blocks_per_sm: int


@dataclass(frozen=True)
class Occupancy:
    """Residency of one kernel on one SM.

    blocks_per_sm: resident blocks; 0 when not even one fits. warps_per_sm: their warps;
    max_warps: what the SM can hold; fraction: warps_per_sm / max_warps, 0 to 1.
    limited_by: `registers`, `shared memory`, `warps` or `blocks`: the resource that allows the fewest
    blocks (the first of them in this order when several do).
    limits: blocks that each resource by itself would allow; one that a block takes nothing of is
    not in it.
    needed_for_next_step: one `NextStep` per resource that stops one more block; all of them have
    to be taken. Empty when the SM's number of blocks is the limit, or nothing can be lowered.
    """

    blocks_per_sm: int
    warps_per_sm: int
    max_warps: int
    fraction: float
    limited_by: str
    limits: Mapping[str, int]
    needed_for_next_step: tuple[NextStep, ...]

    @property
    def limiters(self) -> tuple[str, ...]:
        """Every resource that allows no more blocks than there are."""
        return tuple(r for r in _RESOURCES if self.limits.get(r) == self.blocks_per_sm)


def occupancy(spec: Limits, threads_per_block: int, registers: int, shared_bytes: int) -> Occupancy:
    """Occupancy of a kernel on `spec`, by NVIDIA's published formulas with their granularities.

    registers: per thread, as the assembler reports; 0 when unknown, which leaves them out.
    shared_bytes: static and dynamic shared memory of a block together, without what the driver
    reserves. (On compute capability 1.x the kernel's arguments live there too: add them.)

    Raises `UsageError` for a block without threads, or negative counts.
    """
    if threads_per_block < 1:
        raise UsageError(f"a block has at least one thread, not {threads_per_block}.")
    if registers < 0 or shared_bytes < 0:
        raise UsageError("registers and shared bytes cannot be negative.")
    counts = {
        "registers": spec.blocks_by_registers(threads_per_block, registers),
        "shared memory": spec.blocks_by_shared(shared_bytes),
        "warps": spec.blocks_by_warps(threads_per_block),
        "blocks": spec.max_blocks_per_sm,
    }
    limits = {resource: count for resource, count in counts.items() if count is not None}
    blocks = min(limits.values())
    warps = blocks * spec.warps(threads_per_block)
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=warps,
        max_warps=spec.max_warps_per_sm,
        fraction=warps / spec.max_warps_per_sm,
        limited_by=next(r for r in _RESOURCES if limits.get(r) == blocks),
        limits=limits,
        needed_for_next_step=_next_steps(
            spec, threads_per_block, registers, shared_bytes, limits, blocks + 1
        ),
    )


def _next_steps(
    spec: Limits, threads: int, registers: int, shared: int, limits: Mapping[str, int], blocks: int
) -> tuple[NextStep, ...]:
    """What has to come down so that `blocks` blocks fit; () when nothing does it."""
    searches: dict[str, tuple[str, int, Callable[[int], int | None]]] = {
        "registers": ("registers", registers, lambda r: spec.blocks_by_registers(threads, r)),
        "shared memory": ("shared memory", shared, spec.blocks_by_shared),
        "warps": ("threads", threads, spec.blocks_by_warps),
    }
    steps = []
    for resource in _RESOURCES:
        if limits.get(resource, blocks) >= blocks:
            continue
        if resource not in searches:
            return ()
        name, now, allowed = searches[resource]
        lowest = 0 if resource == "shared memory" else 1
        needed = _largest(now - 1, lowest, blocks, allowed)
        if needed is None:
            return ()
        steps.append(NextStep(name, now, needed, blocks))
    return tuple(steps)


def _largest(high: int, low: int, blocks: int, allowed: Callable[[int], int | None]) -> int | None:
    """The largest value in low…high that allows `blocks` blocks; fewer never allow less, so bisect."""

    def fits(value: int) -> bool:
        count = allowed(value)
        return count is None or count >= blocks

    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
