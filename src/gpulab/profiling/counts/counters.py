"""Performance counters of a launch, counted by the simulator, under Nsight Compute's metric names.

Sectors, wavefronts and bank conflicts follow from the lanes' addresses, so they are those of a GPU. If the
assembler joins several accesses to shared memory, the joined ones are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from gpulab.compiler.sass.memory_forms import shared_forms
from gpulab.devices.argument_copies import copy_arguments, copy_back, simulated_variables
from gpulab.devices.base import Dim3, Kernel, require_kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import LaunchError
from gpulab.finding import TOO_LONG
from gpulab.profiling.counts.block_sampling import BlockSample, sample_blocks
from gpulab.profiling.counts.count_report import CountReport
from gpulab.profiling.counts.metrics import Counters

if TYPE_CHECKING:
    from gpulab.compiler.sass.sass_code import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.base import Forms
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder, SiteCount

__all__ = [
    "LaunchCount",
    "counters",
    "record_launch",
    "record_samples",
]

COUNTED_THREADS = 1 << 20  # threads of the largest grid of which every block is counted
SAMPLED_THREADS = 1 << 18  # approximate number of threads that are counted of a larger grid


@dataclass(frozen=True)
class LaunchCount:
    """The recorded counts of one launch.

    Attributes
    ----------
    kernel : RecordableKernel
        The kernel that ran.
    blocks : int
        Blocks of the grid.
    samples : tuple of (float, CounterRecorder)
        Each recorder with the number of blocks that one of its blocks represents.
    code : MachineCode or None
        The disassembled machine code; None counts PTX instructions.
    sampled_blocks : int or None
        Number of blocks that ran; None if every block did.
    caveats : tuple of str
        Reasons why the counts are not exact.
    stopped : LaunchError or None
        The error of a launch that was stopped at its budget; the counts are those until then.
    """

    kernel: RecordableKernel
    blocks: int
    samples: tuple[tuple[float, CounterRecorder], ...]
    code: MachineCode | None
    sampled_blocks: int | None = None
    caveats: tuple[str, ...] = ()
    stopped: LaunchError | None = None

    @cached_property
    def counters(self) -> Counters:
        """The counts under the metric names of Nsight Compute."""
        report = CountReport(self.kernel, self.samples, self.code)
        return report.counters(self.blocks, self.sampled_blocks, self.caveats)

    @cached_property
    def sites(self) -> tuple[SiteCount, ...]:
        """The counts of each memory access of the PTX, in the order of the code; for whole launches only."""
        ((_, recorder),) = self.samples
        return tuple(recorder.sites())


def counters(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Counters:
    """Launch a kernel once on the simulator and return its performance counters.

    The arrays hold the results of the launch afterwards. If the kernel belongs to a CUDA GPU, the simulator
    works on copies of the arrays, and its results are copied back. A grid of more than 2**20 threads is
    counted on a sample of its blocks, which works on copies; the arrays then keep their values. The variables
    of the kernel's module are treated as the arrays are.

    Parameters
    ----------
    kernel : Kernel
        A kernel of any device.
    grid : int or tuple of int
        Blocks on each axis.
    block : int or tuple of int
        Threads of a block on each axis.
    args : sequence
        Device arrays and scalars in the order of the kernel's parameters.
    shared_mem : int, optional
        Bytes of dynamic shared memory per block.

    Returns
    -------
    Counters
        A mapping from Nsight Compute's metric names to counts of the whole launch. Its `provenance` says
        `counted`, and its `caveats` list what is not exact.

    Raises
    ------
    LaunchError
        If the launch is refused or never ends.
    MemoryFault
        If a thread accesses memory outside the arrays.
    UnsupportedInstruction
        If the simulator cannot execute an instruction of the kernel.

    Notes
    -----
    In a large grid, each kind of block (at a corner, an edge, a face, inside) is sampled separately and its
    counts are multiplied by the number of blocks that it represents. docs/counters.md compares the counters
    with Nsight Compute's.

    Examples
    --------
    Neighbouring threads read neighbouring floats, so a warp's request touches 4 sectors of 32 bytes:

    >>> import numpy as np
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> k = dev.compile('''__global__ void twice(float* y, const float* x)
    ... {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     y[i] = 2.0f * x[i];
    ... }''')
    >>> x = dev.asarray(np.ones(1024, np.float32))
    >>> y = dev.empty_like(x)
    >>> c = gpulab.counters(k, 8, 128, (y, x))
    >>> c["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    32
    >>> c["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    128
    >>> c.sectors_per_load_request
    4.0
    """
    require_kernel(kernel)
    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    device, simulated = kernel.device, kernel.on_simulator
    samples = _samples_of(grid3, block3)
    in_place = simulated is kernel and samples is None

    copies = list(args) if in_place else copy_arguments(args, device, simulated.device)
    with simulated_variables(kernel, keep=samples is not None):
        counts = record_samples(simulated, grid3, block3, copies, shared_mem, samples).counters
    simulated.warn()
    if samples is None:
        copy_back(copies, args, simulated.device, device)
    return counts


def record_launch(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    machine: bool,
    sampled: bool = False,
    budget: int | None = None,
    partial: bool = False,
) -> LaunchCount:
    """Run every block of a launch, or a sample of a large grid if `sampled`, and record the counts.

    `machine` counts the instructions and shared memory accesses of the machine code, which takes a
    disassembly (about 0.4 s) if the code cannot be decoded. Without it, those of PTX are counted. `budget`:
    see `RecordableKernel.record`. `partial`: a launch that is stopped at its budget returns its counts, too.
    """
    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    samples = _samples_of(grid3, block3) if sampled else None
    return record_samples(
        kernel, grid3, block3, args, shared_mem, samples, machine=machine, budget=budget, partial=partial
    )


def record_samples(
    kernel: RecordableKernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Any],
    shared_mem: int,
    samples: Sequence[BlockSample] | None,
    *,
    machine: bool = True,
    budget: int | None = None,
    partial: bool = False,
) -> LaunchCount:
    """Run samples of a launch's blocks, or every block if `samples` is None, and record their counts."""
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

    code, forms, several = _machine_forms(kernel) if machine else (None, (), False)
    recorded: list[tuple[float, CounterRecorder]] = []
    stopped = None
    for sample in [None] if samples is None else samples:
        recorder = CounterRecorder(forms)
        order = None if sample is None else sample.numbers
        try:
            kernel.record(recorder, grid, block, args, shared_mem, order=order, budget=budget)
        except LaunchError as error:
            if not partial or not any(finding.kind in TOO_LONG for finding in error.findings):
                raise
            stopped = error
        recorded.append((1.0 if sample is None else sample.weight, recorder))

    sampled = None if samples is None else sum(len(sample.numbers) for sample in samples)
    caveats = []
    if several:
        caveats.append("the assembler made several forms of one access to shared memory")
    if kernel.uses_textures:
        caveats.append("accesses to textures and surfaces are not counted as requests or sectors")
    return LaunchCount(kernel, prod(grid), tuple(recorded), code, sampled, tuple(caveats), stopped)


def _samples_of(grid: tuple[int, int, int], block: tuple[int, int, int]) -> list[BlockSample] | None:
    """Return samples of a large grid; None for a grid of which every block is counted."""
    threads = prod(block)
    if prod(grid) * threads <= COUNTED_THREADS:
        return None
    return sample_blocks(grid, SAMPLED_THREADS / threads, by_position=True)


def _machine_forms(kernel: Kernel) -> tuple[MachineCode | None, Forms, bool]:
    """Return a kernel's machine code and its forms of the accesses to shared memory that differ from PTX.

    The last item is True if one access of PTX has several forms, which are then not among them.
    """
    from gpulab.compiler.sass.decoding import machine_code

    program = kernel.program
    code = machine_code(program, kernel.name)
    if code is None:
        return None, (), False

    unique, several = [], False
    for row, forms in shared_forms(code, program.ptx).items():
        several |= len(forms) > 1
        if len(forms) < 2:
            unique.append((row, forms[0].width, forms[0].shift) if forms else (row, 0, 0))
    return code, tuple(unique), several
