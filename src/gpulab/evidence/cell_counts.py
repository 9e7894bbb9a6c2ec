"""What a kernel cell asks of the machine: its kernel counted on one small size, told line by line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gpulab.cell import Cell
from gpulab.devices.base import Device, Kernel
from gpulab.evidence.counters import counters
from gpulab.evidence.geometry import launch_geometry
from gpulab.evidence.line_counts import SourceLine, Traffic, source_lines, traffic_of
from gpulab.evidence.tally import Counters
from gpulab.evidence.twin import twin_of
from gpulab.evidence.warp_access import Places
from gpulab.problems import Shape, problem

__all__ = ["CellCounts", "count_cell"]


@dataclass(frozen=True)
class CellCounts:
    """Counts of one launch of a cell's kernel. size: on what, in the problem's words."""

    size: str
    counters: Counters
    lines: tuple[SourceLine, ...]

    @property
    def totals(self) -> tuple[tuple[str, str, Traffic], ...]:
        """(space, kind, traffic) of global and shared memory, for those that were accessed."""
        found = []
        for space in ("global", "shared"):
            for kind in dict.fromkeys(a.kind for a in self.counters.accesses if a.space == space):
                members = [a for a in self.counters.accesses if (a.space, a.kind) == (space, kind)]
                traffic = traffic_of(members)
                if traffic.requests:
                    found.append((space, kind, traffic))
        return tuple(found)

    @property
    def origin(self) -> str:
        """Where every one of the numbers comes from, as a sentence without its full stop."""
        counts = self.counters
        how = "exact, except as noted" if counts.doubts else "exact"
        if counts.sampled_blocks is not None:
            how = f"a sample of {counts.sampled_blocks:,} of {counts.blocks:,} blocks, scaled"
        return f"counted by the {counts.provenance.device} on {self.size}: {how}"

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON: metrics, lines, and where the numbers come from."""
        counts = self.counters
        return {
            "size": self.size,
            "provenance": counts.provenance.as_dict(),
            "exact": not counts.doubts,
            "doubts": list(counts.doubts),
            "instruction_set": counts.instruction_set,
            "metrics": dict(counts),
            "compulsory_bytes": [counts.compulsory_bytes_read, counts.compulsory_bytes_written],
            "lines": [
                {
                    "line": line.number,
                    "warp_instructions": line.warp_instructions,
                    "share": line.share,
                    "active_lanes": line.active_lanes,
                    "sectors": asdict(line.sectors) if line.sectors else None,
                    "wavefronts": asdict(line.wavefronts) if line.wavefronts else None,
                }
                for line in self.lines
                if line.warp_instructions
            ],
        }


def count_cell(cell: Cell, kernel: Kernel, device: Device, shape: Shape | None = None) -> CellCounts | None:
    """Launch a cell's kernel once on the simulator, on fresh inputs, and count.

    shape: the size; the problem's `counted_shape` when left out. None comes back for a cell of no problem,
    which nobody knows how to launch, and for a kernel that has no PTX.

    Raises what the launch raises: `LaunchError`, `MemoryFault`; `UsageError` for a shape that cannot be; and
    `UnsupportedInstruction` for what the simulator cannot execute.
    """
    header = cell.header
    if header.problem is None or header.variant is None or header.block is None or header.tile is None:
        return None
    if not kernel.program.ptx:
        return None
    known = problem(header.problem)
    if shape is None:
        shape = known.counted_shape(header.variant, header.block, header.tile)
    launch = launch_geometry(known, shape, header.block, header.tile, device.spec)
    same = twin_of(kernel, device)
    simulator = same.device
    given = {
        argument.name: simulator.zeros(argument.value.shape, argument.value.dtype)
        if argument.role == "output"
        else simulator.asarray(argument.value)
        if argument.kind == "pointer"
        else argument.value
        for argument in known.arguments(shape, np.random.default_rng(0))
    }
    counts = counters(same, launch.grid, launch.block, list(given.values()))
    places = Places.of(same, given, launch.grid)
    return CellCounts(known.format_shape(shape), counts, source_lines(counts, cell.source, places))
