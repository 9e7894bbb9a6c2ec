"""How long one warp takes by itself: its instructions in order, each waiting for what it reads.

A warp issues its instructions in their order. One that reads a register waits until the instruction that
writes it is done; one that nobody waits for costs no more than its turn in the unit. So several loads in a
row cost their latency once, and a load whose value is used at once costs it every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["CodeBlock", "Step", "Unit", "block_cycles", "warp_cycles"]

PASSES = 3  # times that the code is gone through, so that every block knows what was on its way before it


@dataclass(frozen=True)
class Step:
    """One instruction.

    unit: what executes it (see `Unit`). reads, writes: registers, by name. site: the place in the program
    that accesses memory, if it is one.
    """

    unit: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    site: int | None = None


@dataclass(frozen=True)
class CodeBlock:
    """Straight-line code. runs: by warps, over the launch. before: the block it mostly comes after."""

    steps: tuple[Step, ...]
    runs: float
    before: int | None = None


@dataclass(frozen=True)
class Unit:
    """cycles: from issue to the result. busy: until the same warp can use the unit again."""

    cycles: float
    busy: float


Latency = Callable[[Step], float]


def warp_cycles(
    blocks: Sequence[CodeBlock], units: Mapping[str, Unit], latency: Latency, warps: float
) -> float:
    """Cycles from a warp's first instruction to its last, the mean over `warps` warps.

    latency: cycles of a step that accesses global or shared memory.
    """
    each = block_cycles(blocks, units, latency)
    return sum(cycles * block.runs for cycles, block in zip(each, blocks, strict=True)) / warps


def block_cycles(blocks: Sequence[CodeBlock], units: Mapping[str, Unit], latency: Latency) -> list[float]:
    """Cycles that each block takes when it comes after the one that it mostly comes after."""
    found = [0.0] * len(blocks)
    ends: list[tuple[dict[str, float], dict[str, float]]] = [({}, {}) for _ in blocks]
    for _ in range(PASSES):
        for number, block in enumerate(blocks):
            ready, free = ends[block.before] if block.before is not None else ({}, {})
            found[number], *rest = _run(block.steps, units, latency, dict(ready), dict(free))
            ends[number] = (rest[0], rest[1])
    return found


def _run(
    steps: Sequence[Step],
    units: Mapping[str, Unit],
    latency: Latency,
    ready: dict[str, float],
    free: dict[str, float],
) -> tuple[float, dict[str, float], dict[str, float]]:
    """Cycles, and what is still to come behind the end: registers, and units that are busy."""
    now = 0.0
    for step in steps:
        unit = units[step.unit]
        at = max(now, free.get(step.unit, 0.0), *(ready.get(name, 0.0) for name in step.reads), 0.0)
        free[step.unit] = at + unit.busy
        done = at + (unit.cycles if step.site is None else latency(step))
        for name in step.writes:
            ready[name] = done
        now = at + 1
        if step.unit == "barrier":
            now = done
    left = ({k: t - now for k, t in times.items() if t > now} for times in (ready, free))
    return now, *left  # type: ignore[return-value]
