"""The resource line: what the assembler reports of a kernel, and how much of a GPU that lets it fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.compiler.program import Resources
from gpulab.views.html import View, note, paragraph, stack

if TYPE_CHECKING:
    from gpulab.gpus.occupancy import NextStep, Occupancy

__all__ = ["resource_view"]


def resource_view(
    name: str, resources: Resources, gpu: str = "", threads: int = 0, occupancy: Occupancy | None = None
) -> View:
    """Registers and shared memory of kernel `name`; with an `occupancy`, what they allow.

    gpu: name of the GPU whose data sheet the occupancy was computed from; threads: per block.
    """
    parts = [
        f"{resources.registers} registers a thread",
        f"{resources.shared_bytes} bytes of shared memory a block",
    ]
    if resources.local_bytes:
        parts.append(f"{resources.local_bytes} bytes of local memory a thread")
    line = paragraph(f"{name}: " + ", ".join(parts))
    room = None if occupancy is None else _room(gpu, threads, occupancy)
    spill = None
    if resources.spill_bytes:
        spill = note(
            "hint",
            f"{resources.spill_bytes} bytes a thread did not fit in registers and went to local memory, "
            "which lies in DRAM: fewer live values, or a smaller block, would keep them in.",
        )
    return stack(line, room, spill)


def _room(gpu: str, threads: int, occupancy: Occupancy) -> View:
    """How full an SM gets, what stops one more block, and what it would take to let it in."""
    allowed = ", ".join(f"{resource} {count}" for resource, count in occupancy.limits.items())
    words = (
        f"Theoretical occupancy on the {gpu}: {occupancy.fraction:.0%}, "
        f"{_number(occupancy.blocks_per_sm, 'block')} of {threads} threads an SM, "
        f"{occupancy.warps_per_sm} of {occupancy.max_warps} warps; limited by "
        f"{' and '.join(occupancy.limiters)} (blocks that each would allow: {allowed})."
    )
    steps = " and ".join(_step(step) for step in occupancy.needed_for_next_step)
    more = ""
    if steps and occupancy.fraction < 1:
        blocks = occupancy.needed_for_next_step[0].blocks_per_sm
        more = f" {_number(blocks, 'block')} would fit with {steps}."
    return paragraph(f"{words}{more} (Computed from the GPU's data sheet.)", dim=True)


def _step(step: NextStep) -> str:
    """`at most 40 registers a thread (now 48)`."""
    unit = {"shared memory": "bytes of shared memory a block", "threads": "threads a block"}
    return f"at most {step.needed:,} {unit.get(step.resource, 'registers a thread')} (now {step.now:,})"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
