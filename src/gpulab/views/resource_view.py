"""The resources of a kernel, as the assembler reports them, and the occupancy that they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.compiler.program import Resources
from gpulab.views.html import View, note, paragraph, stack
from gpulab.views.tables.number_format import number_of, percentage

if TYPE_CHECKING:
    from gpulab.gpus.occupancy import NextStep, Occupancy

__all__ = ["resource_view"]


def resource_view(
    name: str, resources: Resources, gpu: str = "", threads: int = 0, occupancy: Occupancy | None = None
) -> View:
    """Return registers and memory of a kernel and, if given, its theoretical occupancy.

    gpu: name of the GPU that the occupancy was computed for. threads: per block.
    """
    parts = [
        f"{resources.registers} registers per thread",
        f"{resources.shared_bytes:,} bytes of shared memory per block",
    ]
    if resources.local_bytes:
        parts.append(f"{resources.local_bytes:,} bytes of local memory per thread")
    line = paragraph(f"{name}: " + ", ".join(parts))
    allowed = None if occupancy is None else _occupancy_line(gpu, threads, occupancy)
    spill = None
    if resources.spill_bytes:
        spill = note(
            "hint",
            f"{resources.spill_bytes:,} bytes per thread did not fit into registers and were spilled to "
            "local memory, which is in DRAM. Fewer live values or a smaller block reduce the spills.",
        )
    return stack(line, allowed, spill)


def _occupancy_line(gpu: str, threads: int, occupancy: Occupancy) -> View:
    """Return the occupancy, its limiters, and the resources that one more block per SM would need."""
    allowed = ", ".join(f"{resource} {count}" for resource, count in occupancy.limits.items())
    *others, last = occupancy.limiters
    limiters = f"{', '.join(others)} and {last}" if others else last
    text = (
        f"Theoretical occupancy on the {gpu}: {percentage(occupancy.fraction)}, "
        f"{number_of(occupancy.blocks_per_sm, 'block')} of {threads} threads per SM, "
        f"{occupancy.warps_per_sm} of {occupancy.max_warps} warps; limited by "
        f"{limiters} (blocks that each resource allows: {allowed})."
    )
    steps = " and ".join(_step(step) for step in occupancy.needed_for_next_step)
    more = ""
    if steps and occupancy.fraction < 1:
        blocks = occupancy.needed_for_next_step[0].blocks_per_sm
        more = f" {number_of(blocks, 'block')} would fit with {steps}."
    return paragraph(f"{text}{more} (Computed from the GPU's data sheet.)", dim=True)


def _step(step: NextStep) -> str:
    """Format a requirement: at most 40 registers per thread (now 48)."""
    unit = {"shared memory": "bytes of shared memory per block", "threads": "threads per block"}
    return f"at most {step.needed:,} {unit.get(step.resource, 'registers per thread')} (now {step.now:,})"
