"""What a kernel asks of the machine, told line by line: a cell's on one small size, or any launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.cell import Cell
from gpulab.config import launch_geometry
from gpulab.devices.argument_copies import copy_arguments
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import UsageError
from gpulab.problems import Shape, problem
from gpulab.profiling.counts.counters import counters
from gpulab.profiling.counts.metrics import Counters
from gpulab.profiling.counts.source_lines import SourceLine, Traffic, source_lines, traffic_of
from gpulab.profiling.counts.warp_access import Places
from gpulab.verification.inputs import on_device

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["CellCounts", "count_cell", "count_launch"]


@dataclass(frozen=True)
class CellCounts:
    """Counts of one launch of a kernel. size: on what, in the problem's words or as grid and block."""

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
    same = kernel.on_simulator
    simulator = same.device
    given = on_device(simulator, known.arguments(shape, np.random.default_rng(0)))
    return _counted(same, known.format_shape(shape), launch.grid, launch.block, given, 0, cell.source)


def count_launch(
    kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
) -> CellCounts:
    """Launch any kernel once on the simulator, on copies of its arrays, and count.

    The arrays stay as they are, so that a kernel can be looked at before, after or between its launches.
    Lines are those of the text that the kernel was compiled from; there are none for a kernel of PTX alone.

    Raises `UsageError` for what is no kernel, for another number of arguments than it has and for one that
    has no PTX; and what the launch raises: `LaunchError`, `MemoryFault`, `UnsupportedInstruction`.
    """
    if not isinstance(kernel, Kernel):
        raise UsageError(
            f"this is no kernel but {type(kernel).__name__}; a kernel comes from gpulab.kernel(NAME) or "
            "from dev.compile(TEXT)."
        )
    if not kernel.program.ptx:
        raise UsageError(f"`{kernel.name}` has no PTX, so the simulator cannot count what it does.")
    names = [parameter.name for parameter in kernel.program.signatures[kernel.name]]
    if len(names) != len(args):
        raise UsageError(f"`{kernel.name}` takes {len(names)} arguments; {len(args)} were given.")
    device = kernel.device
    same = kernel.on_simulator
    given = dict(zip(names, copy_arguments(args, device, same.device), strict=True))
    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    size = f"a grid of {_sizes(grid3, 'block')} of {_sizes(block3, 'thread')}"
    program = kernel.program
    text = "" if program.source == program.ptx else program.source  # PTX alone: its own text is no source
    return _counted(same, size, grid3, block3, given, shared_mem, text)


def _counted(
    kernel: RecordableKernel,
    size: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    given: Mapping[str, Any],
    shared_mem: int,
    source: str,
) -> CellCounts:
    counts = counters(kernel, grid, block, list(given.values()), shared_mem)
    return CellCounts(size, counts, source_lines(counts, source, Places.of(kernel, given, grid)))


def _sizes(sizes: tuple[int, int, int], what: str) -> str:
    """`4 x 2 blocks`, without sizes of 1 at the end."""
    x, y, z = sizes
    told = [x, y, z] if z > 1 else [x, y] if y > 1 else [x]
    return f"{' x '.join(map(str, told))} {what}{'s' * (x * y * z != 1)}"
