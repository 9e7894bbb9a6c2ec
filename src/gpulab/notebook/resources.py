"""The resource line: what the assembler reports of a kernel, and how much of a GPU that lets it fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.compiler.program import Resources
from gpulab.notebook.html import View, note, paragraph, stack

if TYPE_CHECKING:
    from gpulab.evidence.occupancy import Occupancy

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
    room = None
    if occupancy is not None:
        room = paragraph(
            f"On one SM of the {gpu}: {_number(occupancy.blocks_per_sm, 'block')} of {threads} threads, "
            f"{occupancy.warps_per_sm} of {occupancy.max_warps} warps ({occupancy.fraction:.0%}); "
            f"limited by {occupancy.limited_by}. (Computed from the GPU's data sheet.)",
            dim=True,
        )
    spill = None
    if resources.spill_bytes:
        spill = note(
            "hint",
            f"{resources.spill_bytes} bytes a thread did not fit in registers and went to local memory, "
            "which lies in DRAM: fewer live values, or a smaller block, would keep them in.",
        )
    return stack(line, room, spill)


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
