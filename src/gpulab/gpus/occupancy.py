"""Occupancy: resident blocks and warps of a kernel on one SM, and the resources that limit them.

It is computed by NVIDIA's published formulas (`gpulab.gpus.limits.Limits`), not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpulab.errors import UsageError
from gpulab.gpus.limits import Limits

__all__ = ["NextStep", "Occupancy", "occupancy"]

# The order in which equal limits are reported: first the resources that the kernel's source determines.
_RESOURCES = ("registers", "shared memory", "warps", "blocks")


@dataclass(frozen=True)
class NextStep:
    """The reduction of one resource that one more resident block requires.

    Attributes
    ----------
    resource : str
        "registers" (per thread), "shared memory" (bytes per block) or "threads" (per block).
    now : int
        Its present value.
    needed : int
        The largest value with which `blocks_per_sm` blocks are resident.
    blocks_per_sm : int
        The resident blocks after the reduction.
    """

    resource: str
    now: int
    needed: int
    blocks_per_sm: int


@dataclass(frozen=True)
class Occupancy:
    """The occupancy of a kernel on one SM.

    Attributes
    ----------
    blocks_per_sm, warps_per_sm : int
        Resident blocks, and their warps; 0 if not even one block fits.
    max_warps : int
        Warps that can be resident on the SM.
    fraction : float
        warps_per_sm / max_warps, 0 to 1.
    limited_by : str
        The resource that allows the fewest blocks: "registers", "shared memory", "warps" or "blocks"; the
        first in this order if several do.
    limits : mapping of str to int
        Blocks that each resource alone would allow; without resources that the kernel does not use.
    needed_for_next_step : tuple of NextStep
        The reductions, all of them together, that allow one more resident block. Empty if the number of
        blocks per SM is the limit, or no reduction helps.
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
        """All resources that allow no more than `blocks_per_sm` blocks."""
        return tuple(resource for resource in _RESOURCES if self.limits.get(resource) == self.blocks_per_sm)


def occupancy(spec: Limits, threads_per_block: int, registers: int, shared_bytes: int) -> Occupancy:
    """Return the theoretical occupancy of a kernel on a GPU.

    Parameters
    ----------
    spec : Limits
        The GPU, or the limits of its compute capability.
    threads_per_block : int
        Threads per block, at least 1.
    registers : int
        Registers per thread, as ptxas reports them; 0 if unknown, which ignores this limit.
    shared_bytes : int
        Static and dynamic shared memory per block in bytes, without the part that the driver reserves. On
        compute capability 1.x, kernel arguments are in shared memory and must be added.

    Returns
    -------
    Occupancy
        Resident blocks and warps per SM, `fraction` of the largest number of warps, and the limiting
        resource.

    Raises
    ------
    UsageError
        If the block has no threads, or a count is negative.

    Examples
    --------
    >>> import gpulab
    >>> result = gpulab.occupancy(gpulab.gpu("h200"), 256, registers=40, shared_bytes=0)
    >>> result.warps_per_sm, result.fraction, result.limited_by
    (48, 0.75, 'registers')
    """
    if threads_per_block < 1:
        raise UsageError(f"a block must have at least one thread, not {threads_per_block}.")
    if registers < 0 or shared_bytes < 0:
        raise UsageError(
            f"registers and shared_bytes must not be negative, but are {registers} and {shared_bytes}."
        )

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
        limited_by=next(resource for resource in _RESOURCES if limits.get(resource) == blocks),
        limits=limits,
        needed_for_next_step=_next_steps(
            spec, threads_per_block, registers, shared_bytes, limits, blocks + 1
        ),
    )


def _next_steps(
    spec: Limits, threads: int, registers: int, shared: int, limits: Mapping[str, int], blocks: int
) -> tuple[NextStep, ...]:
    """Return the reductions with which `blocks` blocks are resident; () if there are none."""
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
    """Return the largest value from low to high that allows `blocks` blocks; None if none does.

    A smaller value never allows fewer blocks, so bisection finds it.
    """

    def fits(value: int) -> bool:
        count = allowed(value)
        return count is None or count >= blocks

    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
