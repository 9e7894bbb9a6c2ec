"""What a launch asks of a GPU, found by running a sample of its blocks on the simulator.

A few blocks, spread over the grid, run to their end: they say how often every instruction is executed, and
some of their requests say what each access asks of memory. Then the blocks that an H200, or whichever GPU
is modelled, runs at once begin together, and their first requests go through its caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.devices.base import Kernel
from gpulab.gpus.architectures import Timings
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import Occupancy, occupancy
from gpulab.model.caches import CacheShape, SiteTraffic, WaveTrace, cache_traffic
from gpulab.model.code import CodeBlock
from gpulab.model.estimate import Work
from gpulab.model.instruction_mix import machine_blocks, pressure, ptx_blocks
from gpulab.model.resource_usage import AccessSample, LaunchSample, loads_per_stall, resource_usage, units_of

if TYPE_CHECKING:
    from gpulab.compiler.sass.disassembly import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.analysis.control_flow import ControlFlow
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.trace.trace_recorder import Requests, TraceRecorder

__all__ = ["Launch", "Workload", "observe", "prepare", "workload"]

SAMPLED_INSTRUCTIONS = 1 << 20  # by warps: about as many are executed by the blocks that run to their end
SAMPLED_BLOCKS = 24  # of them at most
SAMPLED_REQUESTS = 16  # of an access, whose lanes' addresses are looked at
TRACED_REQUESTS = 1 << 18  # of a wave, about
FEWEST_REQUESTS, MOST_REQUESTS = 24, 256  # of a warp
TRACED_INSTRUCTIONS = 1200  # of a warp at most
MOST_WAVES = 8  # before the one that counts


@dataclass(frozen=True)
class Launch:
    """A launch on the simulator: args are its own, and are written to."""

    kernel: RecordableKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: Sequence[Any]
    shared_mem: int = 0

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    @property
    def threads(self) -> int:
        return prod(self.block)


@dataclass(frozen=True)
class Workload:
    """work: for the model. occupancy: on the GPU that is modelled. sampled: what ran, in words."""

    work: Work
    occupancy: Occupancy
    sampled: str


def workload(launch: Launch, spec: GpuSpec, timings: Timings) -> Workload:
    """Run the samples. Raises what the launch raises."""
    seen, residency, sampled = observe(launch, spec, timings)
    return Workload(resource_usage(seen, spec, timings), residency, sampled)


def observe(launch: Launch, spec: GpuSpec, timings: Timings) -> tuple[LaunchSample, Occupancy, str]:
    """What the samples show, the occupancy on this GPU, and what ran, in words."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder

    with ThreadPoolExecutor(1) as aside:  # what runs meanwhile takes about as long as the disassembler
        machine = aside.submit(disassembled, launch.kernel, spec)
        order = _sample(launch)
        recording = TraceRecorder()
        _run(launch, recording, order)
        scale = launch.blocks / len(order)
        coded = aside.submit(lambda: _code(launch, recording, spec, scale, machine.result()))
        registers = _registers(launch.kernel, spec)
        residency = occupancy(spec, launch.threads, registers, _shared_bytes(launch, spec))
        resident = max(residency.blocks_per_sm, 1)
        tracings = _traced(launch, spec, resident)
        code, widths = coded.result()
    traffic, traced = _traffic(launch, spec, timings, code, resident, tracings)
    flow = launch.kernel.flow
    arrays = {id(a): a.nbytes for a in launch.args if hasattr(a, "allocation")}
    seen = LaunchSample(
        launch.grid,
        launch.block,
        resident,
        registers,
        tuple(code),
        _accesses(flow, recording.requests(), widths, scale),
        traffic,
        sum(arrays.values()),
        bool(tracings) and _ended(tracings[-1]),
    )
    sampled = f"{len(order):,} of {launch.blocks:,} blocks to their end"
    return seen, residency, f"{sampled}, {traced}" if traced else sampled


def prepare(kernel: RecordableKernel, spec: GpuSpec, block: tuple[int, int, int]) -> None:
    """Make all the code that `observe` needs for launches with this block; it is kept on disk."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder

    disassembled(kernel, spec)
    kernel.make_code(TraceRecorder(), block)


def disassembled(kernel: Kernel, spec: GpuSpec) -> MachineCode | None:
    """A kernel's machine code, but for the numbers in it.

    None for GPUs before 7.0: nobody can make their machine code any more.
    """
    from gpulab.compiler.sass.disassembly import machine_code

    if spec.compute_capability < (7, 0):
        return None
    return machine_code(kernel.program, kernel.name, immediates=False)


def _accesses(
    flow: ControlFlow, requests: Sequence[Requests], widths: Mapping[int, int], scale: float
) -> dict[int, AccessSample]:
    """By row of PTX. Of a copy from global to shared memory, the global side; of one that is made in parts
    (its end may be left out), the part that most requests are for.
    """
    found: dict[int, AccessSample] = {}
    for one in sorted(requests, key=lambda one: (one.access.space != "shared", one.made)):
        row = _row(flow, one.access)
        found[row] = _access(one, widths.get(row), scale)
    return found


def _access(one: Requests, width: int | None, scale: float) -> AccessSample:
    """width: of the machine's access, where it joins several of PTX."""
    step = max(len(one.masks) // SAMPLED_REQUESTS, 1)
    return AccessSample(
        one.access.space,
        one.access.action == "reads",
        width or one.access.width,
        scale * one.made,
        one.masks[::step],
        one.addresses[::step],
    )


def _run(launch: Launch, recording: TraceRecorder, order: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    launch.kernel.record(
        recording,
        launch.grid,
        launch.block,
        launch.args,
        launch.shared_mem,
        order=np.ascontiguousarray(order),
    )


def _sample(launch: Launch) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Blocks that are run to their end: spread evenly over the grid, as many as cost little."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder

    middle = int(np.ravel_multi_index([n // 2 for n in reversed(launch.grid)], launch.grid[::-1]))
    first = TraceRecorder()
    _run(launch, first, np.array([middle], np.int64))
    lengths = [len(block.code) + 1 for block in launch.kernel.flow.blocks]
    cost = int(first.blocks()[:, 0] @ np.array(lengths))
    count = int(np.clip(SAMPLED_INSTRUCTIONS // max(cost, 1), 1, min(SAMPLED_BLOCKS, launch.blocks)))
    if count == launch.blocks:
        return np.arange(count)
    if count == 1:
        return np.array([middle], np.int64)
    # Steps of the golden ratio on each axis cover edges and inside alike, whatever the grid's width.
    steps = np.arange(count)
    places = [
        ((0.5 + steps * ratio) % 1 * size).astype(np.int64)
        for ratio, size in zip((0.8191725, 0.6710436, 0.5497005), launch.grid, strict=True)
    ]
    return np.unique((places[2] * launch.grid[1] + places[1]) * launch.grid[0] + places[0])


def _registers(kernel: RecordableKernel, spec: GpuSpec) -> int:
    """Of a thread. The first GPUs' compilers are told from PTX: nobody can make their code any more."""
    return pressure(kernel.flow) if spec.compute_capability < (2, 0) else kernel.resources.registers


def _code(
    launch: Launch, recording: TraceRecorder, spec: GpuSpec, scale: float, code: MachineCode | None
) -> tuple[list[CodeBlock], Mapping[int, int]]:
    """The code with how often it runs, and the width of machine accesses by PTX row.

    Without machine code it is told from PTX.
    """
    from gpulab.profiling.counts.count_report import Report

    kernel = launch.kernel
    if code is None:
        runs = [scale * float(n) for n in recording.blocks()[:, 0]]
        return ptx_blocks(kernel.flow, runs, folds=spec.compute_capability < (2, 0)), {}
    report = Report(kernel, [(scale, recording)], code)
    executed = report.machine[0][1].executed
    found = machine_blocks(code, executed)
    blocks = [CodeBlock(block.steps, scale * block.runs, block.before) for block in found]
    widths: dict[int, int] = {}
    for one in code.instructions:
        if one.op in ("LDS", "STS"):
            widths[one.ptx_line] = max(widths.get(one.ptx_line, 0), one.width)
    return blocks, widths


def _shared_bytes(launch: Launch, spec: GpuSpec) -> int:
    arguments = 0
    if spec.compute_capability < (
        2,
        0,
    ):  # there the arguments lie in shared memory, with 16 bytes of the launch
        arguments = 16 + sum(4 if hasattr(a, "dtype") and a.ndim else a.dtype.itemsize for a in launch.args)
    return launch.kernel.resources.shared_bytes + launch.shared_mem + arguments


def _traced(launch: Launch, spec: GpuSpec, resident: int) -> list[TraceRecorder]:
    """A wave of blocks in the middle of the grid, behind the waves before it where blocks are short."""
    if not spec.l2_bytes:
        return []
    warps = spec.warps(launch.threads)
    blocks = min(spec.sms * resident, launch.blocks)
    first = (launch.blocks - blocks) // 2
    requests = int(np.clip(TRACED_REQUESTS // (blocks * warps), FEWEST_REQUESTS, MOST_REQUESTS))
    last = _trace(launch, first, blocks, requests)
    if not _ended(last):
        return [last]
    made = int(last.used.sum())  # what the blocks before left in L2 matters
    before = int(np.clip(TRACED_REQUESTS // max(made, 1), 0, MOST_WAVES))
    starts = [first - n * blocks for n in range(before, 0, -1) if first >= n * blocks]
    return [*(_trace(launch, start, blocks, requests) for start in starts), last]


def _ended(tracing: TraceRecorder) -> bool:
    """Whether most warps of a wave came to their end."""
    return bool(tracing.ended.mean() > 0.5)


def _traffic(
    launch: Launch,
    spec: GpuSpec,
    timings: Timings,
    code: Sequence[CodeBlock],
    resident: int,
    tracings: Sequence[TraceRecorder],
) -> tuple[dict[int, SiteTraffic], str]:
    """By access, where the requests of the last wave found their sectors; and what was traced, in words."""
    if not tracings:
        return {}, ""
    last = tracings[-1]
    assert last.wave is not None
    requests = last.wave.requests
    l1 = timings.l1_bytes
    if timings.l1_is_shared:
        l1 = max(l1 - resident * spec.shared_allocated(_shared_bytes(launch, spec)), 0)
    accesses = last.native.sites
    found = cache_traffic(
        [_wave(tracing, spec.sms) for tracing in tracings],
        CacheShape(l1, timings.l1_ways),
        CacheShape(spec.l2_bytes, timings.l2_ways),
        sites=len(accesses),
        turns=requests,
        skip=0 if _ended(last) else requests // 2,
        window=loads_per_stall(code, units_of(spec, timings, spec.warps(launch.threads))),
        clusters=timings.l2_clusters,
    )
    flow = launch.kernel.flow
    pairs = sorted(zip(accesses, found, strict=True), key=lambda pair: pair[1].requests)
    rows = {_row(flow, access): traffic for access, traffic in pairs if access.opcode and traffic.lines}
    return rows, f"the first {requests} requests of each warp of {last.wave.blocks * len(tracings):,} blocks"


def _trace(launch: Launch, first: int, blocks: int, requests: int) -> TraceRecorder:
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder, Wave

    tracing = TraceRecorder(Wave(first, blocks, requests, TRACED_INSTRUCTIONS))
    _run(launch, tracing, np.arange(first, first + blocks))
    return tracing


def _wave(tracing: TraceRecorder, sms: int) -> WaveTrace:
    """The traced blocks shared out to the SMs."""
    assert tracing.wave is not None
    numbers = np.arange(tracing.warps).reshape(tracing.wave.blocks, -1)
    # Blocks go to whichever SM is free: after the first wave, in no order that anybody knows.
    numbers = np.random.default_rng(0).permutation(numbers)
    by_sm = [numbers[sm::sms].ravel() for sm in range(sms)]
    starts = np.concatenate([[0], np.cumsum([len(some) for some in by_sm])])
    return WaveTrace(tracing.words, tracing.used, np.concatenate(by_sm), starts)


def _row(flow: ControlFlow, access: AccessSite) -> int:
    """The line of PTX that an access stands in."""
    return flow.blocks[access.block].code[access.index].row
