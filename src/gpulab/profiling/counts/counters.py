"""What a launch asks of the machine, counted while the simulator runs it, under Nsight Compute's names.

Sectors, wavefronts and bank conflicts follow from the lanes' addresses, so they are those of a GPU; where
the assembler joins accesses to shared memory, the joined ones are counted.

A grid of more than `COUNTED_THREADS` threads is counted on a sample of its blocks: every kind of block (at a
corner, an edge, inside) by itself, each scaled to as many as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.sass.memory_forms import shared_forms
from gpulab.devices.argument_copies import copy_arguments, copy_back
from gpulab.devices.base import Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.profiling.counts.count_report import Report
from gpulab.profiling.counts.metrics import AccessCounter, Counters, LineCounters, Metrics

if TYPE_CHECKING:
    from gpulab.compiler.sass.disassembly import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.base import Forms
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder, SiteCount

__all__ = [
    "AccessCounter",
    "Counters",
    "LaunchCount",
    "LineCounters",
    "Metrics",
    "count_blocks",
    "counters",
    "record_launch",
]

COUNTED_THREADS = 1 << 20  # threads of the largest grid that is counted whole
SAMPLED_THREADS = 1 << 18  # about as many threads are counted of a larger one
FEWEST_BLOCKS = 32  # of each kind of block, if there are as many


@dataclass(frozen=True)
class LaunchCount:
    """The counts that were recorded on one launch.

    Attributes
    ----------
    kernel : RecordableKernel
        The kernel that ran.
    blocks : int
        Blocks of the grid.
    samples : tuple of (float, CounterRecorder)
        Each recorder with the number of blocks that one of its blocks stands for.
    code : MachineCode or None
        The disassembled machine code; None counts PTX instructions.
    sampled_blocks : int or None
        Blocks that ran, if that was not the whole grid.
    caveats : tuple of str
        Reasons why the counts are not exact.
    """

    kernel: RecordableKernel
    blocks: int
    samples: tuple[tuple[float, CounterRecorder], ...]
    code: MachineCode | None
    sampled_blocks: int | None = None
    caveats: tuple[str, ...] = ()

    @cached_property
    def counters(self) -> Counters:
        """The counts under the metric names of Nsight Compute."""
        report = Report(self.kernel, list(self.samples), self.code)
        return report.counters(self.blocks, self.sampled_blocks, self.caveats)

    @cached_property
    def sites(self) -> tuple[SiteCount, ...]:
        """The counts of each memory access of the PTX, in the order of the code; whole launches only."""
        ((_, recorder),) = self.samples
        return tuple(recorder.sites())


def count_blocks(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int,
    order: npt.NDArray[np.int64],
) -> Counters:
    """Count a launch on the blocks with these linear indices, and scale the counts to the grid."""
    blocks, order = prod(dim3(grid, "grid")), np.ascontiguousarray(order, np.int64)
    samples = [(blocks / len(order), order)]
    return _record(kernel, grid, block, args, shared_mem, samples, machine=True).counters


def record_launch(
    kernel: RecordableKernel, grid: Dim3, block: Dim3, args: Sequence[Any], *, machine: bool
) -> LaunchCount:
    """Run a launch on the simulator and record its counts: of all blocks, or of a sample of a large grid.

    machine: count the machine instructions and shared-memory accesses that the assembler made, which takes a
    disassembly (about 0.4 s); otherwise those of the PTX.
    """
    samples = _blocks_to_run(dim3(grid, "grid"), dim3(block, "block"))
    return _record(kernel, grid, block, args, 0, samples, machine=machine)


def counters(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Counters:
    """Launch a kernel once on the simulator and count what it does.

    The kernel runs: the arrays hold its results afterwards. On a CUDA GPU the simulator works on copies,
    and what it computed is copied back. Where only a sample of the blocks runs (`Counters.sampled_blocks`),
    it runs on copies in either case, and the arrays stay as they were.

    Raises what the launch raises: `LaunchError`, `MemoryFault`; and `UnsupportedInstruction` for what the
    simulator cannot execute.
    """
    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    samples = _blocks_to_run(grid3, block3)
    whole = samples[0][1] is None
    device, simulated = kernel.device, kernel.on_simulator
    in_place = simulated is kernel and whole
    given = list(args) if in_place else copy_arguments(args, device, simulated.device)

    counts = _record(simulated, grid3, block3, given, shared_mem, samples, machine=True).counters
    if whole:
        copy_back(given, args, simulated.device, device)
    return counts


def _blocks_to_run(
    grid: tuple[int, int, int], block: tuple[int, int, int]
) -> list[tuple[float, npt.NDArray[np.int64] | None]]:
    """Return one sample that is the whole grid, or samples of each kind of block of a large one."""
    if prod(grid) * prod(block) <= COUNTED_THREADS:
        return [(1.0, None)]
    return list(_samples(grid, prod(block)))


def _record(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int,
    samples: Sequence[tuple[float, npt.NDArray[np.int64] | None]],
    *,
    machine: bool,
) -> LaunchCount:
    """Launch once for each sample of blocks (None: the whole grid) and keep what was recorded."""
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

    code, forms, several = _machine_forms(kernel) if machine else (None, (), False)
    recorded, ran = [], 0
    for weight, order in samples:
        recorder = CounterRecorder(forms)
        kernel.record(recorder, grid, block, args, shared_mem, order=order)
        recorded.append((weight, recorder))
        ran += 0 if order is None else len(order)

    caveats = ("the assembler made several forms of one access to shared memory",) if several else ()
    return LaunchCount(kernel, prod(dim3(grid, "grid")), tuple(recorded), code, ran or None, caveats)


def _machine_forms(kernel: Kernel) -> tuple[MachineCode | None, Forms, bool]:
    """A kernel's machine code, how that accesses shared memory, and whether one access has several forms."""
    from gpulab.compiler.sass.disassembly import machine_code

    program = kernel.program
    code = machine_code(program, kernel.name) if program.cubin is not None else None
    return (None, (), False) if code is None else (code, *_forms(code, program.ptx))


def _forms(code: MachineCode, ptx: str) -> tuple[Forms, bool]:
    """How the machine makes accesses to shared memory, where not as PTX; whether one has several forms."""
    found, several = [], False
    for row, forms in shared_forms(code, ptx).items():
        several |= len(forms) > 1
        if len(forms) < 2:
            found.append((row, forms[0].width, forms[0].shift) if forms else (row, 0, 0))
    return tuple(found), several


def _samples(grid: tuple[int, int, int], threads: int) -> Iterator[tuple[float, npt.NDArray[np.int64]]]:
    """Blocks to count of each kind, by their numbers in the grid, and how many blocks each stands for."""
    random = np.random.default_rng(0)
    share = SAMPLED_THREADS / threads / prod(grid)
    ends = [[(0, 1), (1, max(n - 2, 0)), (n - 1, 1 if n > 1 else 0)] for n in grid]  # (first, how many)
    for z in ends[2]:
        for y in ends[1]:
            for x in ends[0]:
                count = x[1] * y[1] * z[1]
                if not count:
                    continue
                most = max(round(share * count), FEWEST_BLOCKS)
                chosen = np.arange(count) if count <= most else np.unique(random.integers(0, count, most))
                places = np.unravel_index(chosen, (z[1], y[1], x[1]))
                numbers = ((places[0] + z[0]) * grid[1] + places[1] + y[0]) * grid[0] + places[2] + x[0]
                yield count / len(chosen), np.ascontiguousarray(numbers, np.int64)
