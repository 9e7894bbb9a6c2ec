"""Counts of a launch by source line: of a cell's kernel on one small size, or of any launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.cell import KernelCell
from gpulab.config import LaunchConfig
from gpulab.devices.argument_copies import copy_arguments, simulated_variables
from gpulab.devices.base import Dim3, Kernel, require_kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import UsageError
from gpulab.problems import Shape
from gpulab.profiling.counts.counters import LaunchCount, counters, record_launch
from gpulab.profiling.counts.metrics import Counters
from gpulab.profiling.counts.source_lines import SourceLine, Traffic, source_lines, traffic_of
from gpulab.profiling.counts.warp_access import Places
from gpulab.verification.inputs import place_arguments, poisoned

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.counters.counter_recorder import Count, SiteCount

__all__ = ["CellCount", "LaunchReport", "count_cell", "count_launch"]


@dataclass(frozen=True)
class LaunchReport:
    """The counts of one launch by source line. size: the problem's size, or grid and block, as text."""

    size: str
    counters: Counters
    lines: tuple[SourceLine, ...]

    @property
    def totals(self) -> tuple[tuple[str, str, Traffic], ...]:
        """(space, kind, traffic) of every kind of access to global and shared memory."""
        totals = []
        for space in ("global", "shared"):
            for kind in dict.fromkeys(a.kind for a in self.counters.accesses if a.space == space):
                members = [a for a in self.counters.accesses if (a.space, a.kind) == (space, kind)]
                traffic = traffic_of(members)
                if traffic.requests:
                    totals.append((space, kind, traffic))
        return tuple(totals)

    @property
    def origin(self) -> str:
        """The provenance of the numbers, as a phrase."""
        counts = self.counters
        how = "exact, except as noted" if counts.caveats else "exact"
        if counts.sampled_blocks is not None:
            how = f"a sample of {counts.sampled_blocks:,} of {counts.blocks:,} blocks, scaled"
        return f"counted by the {counts.provenance.device} on {self.size}: {how}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: metrics, lines and their provenance."""
        counts = self.counters
        return {
            "size": self.size,
            "provenance": counts.provenance.as_dict(),
            "exact": not counts.caveats,
            "doubts": list(counts.caveats),
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


@dataclass(frozen=True)
class CellCount:
    """The counted launch of a cell's kernel, from which requirements and the view of counts are computed.

    Attributes
    ----------
    launch : LaunchConfig
        The launch that was counted.
    arguments : mapping of str to object
        The kernel's arguments by name; arrays are on the simulator.
    recorded : LaunchCount
        What the simulator recorded.
    source : str
        The cell's text.
    seed : int
        The seed of the inputs.
    variables : tuple of (ndarray, ndarray)
        The memory of the module's variables, and its contents before the launch.
    """

    launch: LaunchConfig
    arguments: Mapping[str, Any]
    recorded: LaunchCount
    source: str
    seed: int = 0
    variables: tuple[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]], ...] = ()

    @cached_property
    def report(self) -> LaunchReport:
        """The counts by source line."""
        size = self.launch.config.problem.format_shape(self.launch.shape)
        return _by_line(
            self.recorded.counters, self.recorded.kernel, size, self.launch.grid, self.arguments, self.source
        )

    def arrays_of(self, site: SiteCount) -> Mapping[str, Count]:
        """Return the counts of a memory access in global memory by the name of the array.

        The name of memory that is not an argument, such as a `__device__` variable, is "".
        """
        names = {a.address: name for name, a in self._allocations.items()}
        counts: dict[str, Count] = {}
        for address, count in site.arrays.items():
            name = names.get(address, "")
            counts[name] = counts[name] + count if name in counts else count
        return counts

    @cached_property
    def _allocations(self) -> Mapping[str, Any]:
        return {name: a.allocation for name, a in self.arguments.items() if hasattr(a, "allocation")}


def count_cell(
    cell: KernelCell,
    kernel: Kernel,
    *,
    shape: Shape | None = None,
    seed: int = 0,
    machine: bool = True,
    sampled: bool = False,
    part: int | None = None,
) -> CellCount:
    """Launch a cell's kernel once on the simulator, on random inputs, and count it without `printf`.

    Parameters
    ----------
    cell : KernelCell
        The cell that `kernel` was compiled from.
    kernel : Kernel
        The kernel; it must have PTX.
    shape : tuple of int, optional
        The problem's size; by default the problem's `counted_shape`.
    seed : int
        Seed of the inputs.
    machine : bool
        Count the instructions of the machine code instead of those of PTX; see `record_launch`.
    sampled : bool
        Count a sample of the blocks of a large grid. Requirements need the count of every block.
    part : int, optional
        Stop the launch after one of so many parts of its budget, and return the counts until then.

    Raises
    ------
    LaunchError, MemoryFault
        If the launch fails.
    UsageError
        If the size cannot be launched.
    UnsupportedInstruction
        If the simulator cannot execute the kernel.
    """
    config, simulated = cell.config, kernel.on_simulator.silent
    launch = config.at(config.counted_shape if shape is None else shape, simulated.device.spec)
    inputs = config.problem.arguments(launch.shape, np.random.default_rng(seed))
    arguments = place_arguments(simulated.device, inputs, poisoned)
    args = list(arguments.values())
    hosts = [allocation.host for allocation in simulated.module.allocations.values()]
    variables = tuple((host, host.copy()) for host in hosts)
    recorded = record_launch(
        simulated,
        launch.grid,
        launch.block,
        args,
        launch.shared_mem,
        machine=machine,
        sampled=sampled,
        budget=launch.budget // (part or 1),
        partial=part is not None,
    )
    return CellCount(launch, arguments, recorded, cell.source, seed, variables)


def count_launch(
    kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
) -> LaunchReport:
    """Launch any kernel once on the simulator, on copies of its arrays, and count.

    Lines are those of the text that the kernel was compiled from; a kernel of PTX alone has none.

    Raises `UsageError` if `kernel` is not a kernel or has no PTX, or the number of arguments is wrong. The
    errors of the launch are passed on: `LaunchError`, `MemoryFault`, `UnsupportedInstruction`.
    """
    require_kernel(kernel)
    if not kernel.program.ptx:
        raise UsageError(f"`{kernel.name}` has no PTX, so the simulator cannot execute it.")

    names = [parameter.name for parameter in kernel.program.signatures[kernel.name]]
    if len(names) != len(args):
        raise UsageError(f"`{kernel.name}` takes {len(names)} arguments; {len(args)} were given.")
    simulated = kernel.on_simulator
    given = dict(zip(names, copy_arguments(args, kernel.device, simulated.device), strict=True))

    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    size = f"a grid of {_sizes(grid3, 'block')} of {_sizes(block3, 'thread')}"
    program = kernel.program
    text = "" if program.source == program.ptx else program.source  # PTX alone: its own text is no source
    with simulated_variables(kernel, keep=True):
        counts = counters(simulated, grid3, block3, list(given.values()), shared_mem)
    return _by_line(counts, simulated, size, grid3, given, text)


def _by_line(
    counts: Counters,
    kernel: RecordableKernel,
    size: str,
    grid: tuple[int, int, int],
    arguments: Mapping[str, Any],
    source: str,
) -> LaunchReport:
    places = Places.of(kernel, arguments, grid)
    return LaunchReport(size, counts, source_lines(counts, source, places))


def _sizes(sizes: tuple[int, int, int], what: str) -> str:
    """Return sizes as text, such as `4 x 2 blocks`; sizes of 1 at the end are omitted."""
    x, y, z = sizes
    extents = [x, y, z] if z > 1 else [x, y] if y > 1 else [x]
    return f"{' x '.join(map(str, extents))} {what}{'s' * (x * y * z != 1)}"
