"""What a launch asks of the machine, counted while the simulator runs it, under Nsight Compute's names.

Sectors, wavefronts and bank conflicts follow from the lanes' addresses, so they are those of a GPU; where
the assembler joins accesses to shared memory, the joined ones are counted.

A grid of more than `COUNTED_THREADS` threads is counted on a sample of its blocks: every kind of block (at a
corner, an edge, inside) by itself, each scaled to as many as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

__all__ = ["AccessCounter", "Counters", "LineCounters", "Metrics", "count_blocks", "counters"]

COUNTED_THREADS = 1 << 20  # threads of the largest grid that is counted whole
SAMPLED_THREADS = 1 << 18  # about as many threads are counted of a larger one
FEWEST_BLOCKS = 32  # of each kind of block, if there are as many


def count_blocks(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int,
    order: npt.NDArray[np.int64],
) -> Counters:
    """Counts of a launch from some of its blocks, by their numbers: each stands for as many others."""
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    code, forms, _ = _machine_forms(kernel)
    recording = CounterRecorder(forms)
    kernel.record(recording, grid3, block3, args, shared_mem, order=np.ascontiguousarray(order, np.int64))
    blocks = prod(grid3)
    return Report(kernel, [(blocks / len(order), recording)], code).counters(blocks, len(order), ())


def counters(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Counters:
    """Launch a kernel once on the simulator and count what it does.

    The kernel runs: the arrays hold its results afterwards. On a CUDA GPU the simulator works on copies,
    and what it computed is copied back. Where only a sample of the blocks runs (`Counters.sampled_blocks`),
    it runs on copies in either case, and the arrays stay as they were.

    Raises what the launch raises: `LaunchError`, `MemoryFault`; and `UnsupportedInstruction` for what the
    simulator cannot execute.
    """
    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    whole = prod(grid3) * prod(block3) <= COUNTED_THREADS
    device = kernel.device
    twin = kernel.on_simulator
    given = list(args) if twin is kernel and whole else copy_arguments(args, device, twin.device)
    found = _Launch(twin, grid3, block3, shared_mem).counters(given, whole)
    if whole:
        copy_back(given, args, twin.device, device)
    return found


class _Launch:
    """One launch to be counted, whole or in samples."""

    def __init__(
        self,
        kernel: RecordableKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_mem: int,
    ) -> None:
        self.kernel, self.grid, self.block, self.shared_mem = kernel, grid, block, shared_mem

    def counters(self, args: Sequence[Any], whole: bool) -> Counters:
        from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

        code, forms, several = _machine_forms(self.kernel)
        samples: list[tuple[float, CounterRecorder]] = []
        ran = 0
        for weight, order in [(1.0, None)] if whole else _samples(self.grid, prod(self.block)):
            recording = CounterRecorder(forms)
            self.kernel.record(recording, self.grid, self.block, args, self.shared_mem, order=order)
            samples.append((weight, recording))
            ran += 0 if order is None else len(order)
        blocks = prod(self.grid)
        sampled = None if whole else ran
        doubts = ("the assembler made several forms of one access to shared memory",) if several else ()
        return Report(self.kernel, samples, code).counters(blocks, sampled, doubts)


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
