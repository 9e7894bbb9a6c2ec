"""Sampling of a launch on the simulator: the input of the performance model.

First some blocks, spread over the grid, run to their end. They show how often each instruction executes, and
the addresses of some requests. Then as many blocks as the modelled GPU holds at once begin together, and
their first requests go through its simulated caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError
from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import occupancy
from gpulab.model.block_schedule import schedule_stretch
from gpulab.model.caches import begins_request, site_of
from gpulab.model.compare_and_swap import loop_rows
from gpulab.model.instruction_mix import ptx_blocks, register_pressure
from gpulab.model.l2_halves import PageCount, page_counts
from gpulab.model.model_input import AccessSample, LaunchSample
from gpulab.model.recording import LaunchRecording, TracedWave
from gpulab.model.traffic import launch_traffic
from gpulab.profiling.counts.block_sampling import (
    FEWEST_MODELLED,
    MOST_MODELLED,
    BlockSample,
    sample_blocks,
)

if TYPE_CHECKING:
    from gpulab.compiler.sass.machine_counts import ExecutedInstruction
    from gpulab.compiler.sass.sass_code import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.trace.trace_recorder import Requests, TraceRecorder
    from gpulab.simt.ptx.syntax import Instruction

__all__ = [
    "SampledLaunch",
    "launch_sample",
    "prepare_sampling",
    "record_launch",
    "with_work_found",
]

# Some blocks run to their end. Approximate number of warp instructions that they execute together, and the
# largest number of such blocks:
SAMPLED_EQUAL = 1 << 20, MOST_MODELLED  # if all blocks have the same work
SAMPLED_UNEQUAL = 1 << 22, 128  # if the work of the blocks differs
SAMPLED_REQUESTS = 40  # requests of each access whose addresses are analysed
TRACED_REQUESTS = 1 << 18  # approximate number of requests of a wave
FEWEST_REQUESTS, MOST_REQUESTS = 24, 4096  # traced requests of a warp
# Upper bounds of the traced instructions of a warp: of all kernels, and for each of its requests.
TRACED_INSTRUCTIONS, INSTRUCTIONS_PER_REQUEST = 1200, 5
# Places in a wave of the blocks that are traced for longer, and the approximate upper bounds of the requests
# and instructions of each.
LONGER_TRACED = 1 / 6, 3 / 6, 5 / 6
LONGER_REQUESTS, LONGER_INSTRUCTIONS = 1 << 16, 1 << 22
FEWEST_WAVES, MOST_WAVES = 2, 8  # of short blocks, traced before the wave that is evaluated
# If the block in the middle of the grid has no work, about this many blocks are searched for work: whether
# they make a request to global memory, or execute more than a number of instructions.
SEARCHED_BLOCKS, IDLE_INSTRUCTIONS = 1 << 15, 100
# Modifiers of loads and copies past L1, from counters of micro-kernels on an H100, but for "mmio" and "bulk".
PAST_L1 = {"cg", "cv", "lu", "volatile", "mmio", "L1::no_allocate", "bulk"}


@dataclass(frozen=True)
class SampledLaunch:
    """A launch on the simulator whose blocks are sampled.

    The arguments belong to the sample; the sampled blocks write to them. `working` has the linear indices of
    the blocks with work, or is None if all of them have work. `budget`: see `RecordableKernel.record`.
    """

    kernel: RecordableKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: Sequence[Any]
    shared_mem: int = 0
    working: npt.NDArray[np.int64] | None = None
    budget: int | None = None

    @property
    def blocks(self) -> int:
        """The number of blocks with work."""
        return prod(self.grid) if self.working is None else len(self.working)

    def consecutive(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """Return the linear indices of blocks with work that follow each other."""
        numbers = np.arange(first, first + count)
        return numbers if self.working is None else self.working[numbers]

    def spread(self, count: int) -> BlockSample:
        """Return about `count` blocks with work, spread evenly."""
        if self.working is None:
            (sample,) = sample_blocks(self.grid, count)
            return sample
        (sample,) = sample_blocks((len(self.working), 1, 1), count)
        return replace(sample, numbers=self.working[sample.numbers])

    @property
    def threads(self) -> int:
        return prod(self.block)

    def run(self, recorder: TraceRecorder, blocks: npt.NDArray[np.int64]) -> TraceRecorder:
        """Run some blocks, given by their linear indices, and return the recorder."""
        self.kernel.record(
            recorder, self.grid, self.block, self.args, self.shared_mem, order=blocks, budget=self.budget
        )
        return recorder

    def shared_bytes(self, spec: GpuSpec) -> int:
        """Return the shared memory of a block, in bytes."""
        size = self.kernel.resources.shared_bytes + self.shared_mem
        if spec.compute_capability < (2, 0):  # arguments are in shared memory, after 16 bytes of the launch
            parameters = self.kernel.program.signatures[self.kernel.name]
            size += 16 + sum(4 if each.kind == "pointer" else each.size for each in parameters)
        return size


def with_work_found(launch: SampledLaunch) -> SampledLaunch:
    """Return a launch with its blocks that have work, if that in the middle of the grid has none.

    Such a grid is often far larger than the problem. Of a very large grid, only some blocks run, at equal
    distances; each then represents those up to the next one.
    """
    (middle,) = sample_blocks(launch.grid, 1)
    if _have_work(launch, middle.numbers).any():
        return launch
    blocks = prod(launch.grid)
    step = -(-blocks // SEARCHED_BLOCKS)
    searched = np.arange(0, blocks, step)
    found = searched[_have_work(launch, searched)]
    working = (found[:, None] + np.arange(step)).ravel()
    return replace(launch, working=working[working < blocks]) if len(found) else launch


def record_launch(launch: SampledLaunch, spec: GpuSpec) -> LaunchRecording:
    """Run the samples of a launch. Raise `UsageError` if no block fits on an SM of the GPU."""
    kernel = launch.kernel
    code = _machine_code(kernel, spec)
    launch = with_work_found(launch)
    blocks, recorder, work = _sample_blocks(launch)
    # There is no assembler for compute capability 1.x any more, so its registers are estimated from PTX.
    old = spec.compute_capability < (2, 0)
    registers = register_pressure(kernel.flow) if old else kernel.resources.registers
    residency = occupancy(spec, launch.threads, registers, launch.shared_bytes(spec))
    if not residency.blocks_per_sm:
        raise UsageError(
            f"no block fits on an SM of the {spec.name}: it has {launch.threads} threads of {registers} "
            f"registers and {launch.shared_bytes(spec):,} bytes of shared memory. Use fewer of them."
        )
    traces = _trace_waves(launch, spec, residency.blocks_per_sm)
    longer = _trace_longer(launch, traces[-1]) if traces and not traces[-1].ended else {}

    with_work = "" if launch.working is None else " with work"
    description = f"{len(blocks.numbers):,} of {launch.blocks:,} blocks{with_work} to their end"
    if traces:
        traced = sum(wave.blocks for wave in traces)
        description += f", the first {traces[-1].requests} requests of each warp of {traced:,} blocks"

    runs = [blocks.weight * float(count) for count in recorder.blocks()[:, 0]]
    arrays = {id(array): array.nbytes for array in launch.args if hasattr(array, "allocation")}
    return LaunchRecording(
        grid=launch.grid,
        block=launch.block,
        residency=residency,
        registers=registers,
        shared_bytes=launch.shared_bytes(spec),
        machine_code=code,
        executed=_executed(launch, recorder, code),
        ptx_code=() if code else tuple(ptx_blocks(kernel.flow, runs, folds=old)),
        scale=blocks.weight,
        accesses=_accesses(kernel.flow, recorder.requests(), code, blocks.weight),
        waves=tuple(traces),
        block_numbers=tuple(map(int, blocks.numbers)),
        block_work=work,
        array_bytes=sum(arrays.values()),
        description=description,
        longer=longer,
        working=launch.working,
    )


def launch_sample(recording: LaunchRecording, spec: GpuSpec, architecture: Architecture) -> LaunchSample:
    """Return the input of the model: a recording, with its requests sent through the simulated caches."""
    code = recording.code
    resident = recording.residency.blocks_per_sm
    blocks = recording.blocks
    drifts = bool(recording.waves) and not recording.waves[-1].ended and blocks > 2 * spec.sms * resident
    chain, busiest = schedule_stretch(
        recording.grid, recording.working, recording.block_numbers, recording.block_work, spec.sms, resident
    )
    return LaunchSample(
        blocks=blocks,
        idle_blocks=prod(recording.grid) - blocks,
        block=recording.block,
        resident=resident,
        registers=recording.registers,
        code=code,
        accesses={
            row: replace(one, requests=one.requests * recording.tries.get(row, 1.0))
            for row, one in recording.accesses.items()
            if one.space != "const"
        },
        traffic=launch_traffic(recording, spec, architecture, code) if recording.waves else {},
        separate=launch_traffic(recording, spec, architecture, code, separate=True) if drifts else {},
        array_bytes=recording.array_bytes,
        other_bytes=recording.other_bytes,
        ended=bool(recording.waves) and recording.waves[-1].ended,
        imbalance=_imbalance(recording.waves[-1]) if recording.waves else 1.0,
        shares=_shares(recording.waves[-1]) if recording.waves else {},
        longest_chain=chain,
        busiest_sm=busiest,
        combined=_combined(recording.machine_code),
        pages=_pages(recording.waves[-1]) if recording.waves else {},
    )


def _combined(code: MachineCode | None) -> frozenset[int]:
    """Return the PTX rows of atomic operations for which the compiler combines the lanes of a warp.

    It then reduces their values (REDUX), counts the lanes (POPC) or adds up along them (SHFL), and one lane,
    chosen by a predicate, makes the request. Copies of the operation in an unrolled loop may use the same
    predicate and value.
    """
    rows: set[int] = set()
    choices: set[str] = set()
    for instruction in code.instructions if code else ():
        if instruction.op in ("REDUX", "POPC", "SHFL"):
            rows.add(instruction.ptx_line)
        elif instruction.op.startswith(("RED", "ATOM")) and instruction.predicate:
            if instruction.ptx_line in rows:
                choices.add(instruction.predicate)
            elif instruction.predicate in choices:
                rows.add(instruction.ptx_line)
        elif instruction.targets:
            choices.clear()
    return frozenset(rows)


def _imbalance(wave: TracedWave) -> float:
    """Return the warps of a block for each of them that has work, in blocks where a warp makes many requests.

    Warps that make some requests may take as long as others that make more of them at once.
    """
    used = wave.used.reshape(wave.blocks, -1)
    long = used[used.max(axis=1) >= FEWEST_REQUESTS]
    return float(long.size / np.count_nonzero(long)) if len(long) else 1.0


def _shares(wave: TracedWave) -> dict[int, npt.NDArray[np.float64]]:
    """Return the requests of each site by each warp of some blocks, relative to the mean of warps with work.

    The trace of a longer warp ends after a number of requests. Its requests are therefore counted for each
    request of the site that most warps make most often.
    """
    warps, sites = len(wave.used) // wave.blocks, len(wave.sites)
    if not sites:
        return {}
    blocks = np.unique(np.linspace(0, wave.blocks - 1, min(wave.blocks, SAMPLED_EQUAL[1])).astype(int))
    counts = np.zeros((len(blocks), warps, sites))
    for number, block in enumerate(blocks):
        for warp in range(warps):
            words = wave.words[block * warps + warp, : wave.used[block * warps + warp]]
            counts[number, warp] = np.bincount(site_of(words[begins_request(words)]), minlength=sites)

    making = (counts > 0).mean(axis=(0, 1))
    reference = counts[:, :, int((making * counts.sum(axis=(0, 1))).argmax())]
    works = reference > 0
    if not wave.ended:
        counts = np.where(works, 1 / np.maximum(reference, 1), 0.0)[:, :, None] * counts
    means = counts[works].mean(axis=0) if works.any() else np.zeros(sites)
    return {
        row: counts[:, :, site] / means[site]
        for site, (row, _) in enumerate(wave.sites)
        if row is not None and means[site]
    }


def _pages(wave: TracedWave) -> dict[int, PageCount]:
    """Return the pages of the requests of each site, by PTX row."""
    counts = page_counts(wave.words, wave.used, wave.blocks)
    rows = {number: row for number, (row, _) in enumerate(wave.sites)}
    return {row: pages for number, pages in counts.items() if (row := rows[number]) is not None}


def prepare_sampling(kernel: RecordableKernel, spec: GpuSpec, block: tuple[int, int, int]) -> None:
    """Compile and cache on disk all code that `record_launch` needs for launches with this block."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder

    _machine_code(kernel, spec)
    kernel.make_code(TraceRecorder(), block)


def _machine_code(kernel: RecordableKernel, spec: GpuSpec) -> MachineCode | None:
    """Return a kernel's machine code.

    It is None before compute capability 7.0, for which there is no assembler any more.
    """
    from gpulab.compiler.sass.decoding import machine_code

    if spec.compute_capability < (7, 0):
        return None
    return machine_code(kernel.program, kernel.name)


def _have_work(launch: SampledLaunch, blocks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each block, given by its linear index, whether it has more to do than to end."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder, Wave

    trace = launch.run(TraceRecorder(Wave(blocks, 1, IDLE_INSTRUCTIONS)), blocks)
    warps = np.logical_or(trace.used > 0, ~trace.ended).reshape(len(blocks), -1)
    working: npt.NDArray[np.bool_] = np.logical_or.reduce(warps, axis=1)
    return working


def _sample_blocks(launch: SampledLaunch) -> tuple[BlockSample, TraceRecorder, tuple[int, ...]]:
    """Run some blocks to their end. Return them, the recorder, and the instructions of each block.

    Blocks run one after the other: the sampled requests then depend on the launch only, not on how blocks are
    distributed over threads. If the work of the blocks differs, more of them run.
    """
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder

    recorders: dict[int, TraceRecorder] = {}
    lengths = np.array([len(block.code) + 1 for block in launch.kernel.flow.blocks])

    def run(sample: BlockSample) -> list[int]:
        """Run those blocks of a sample that have not run, and return the instructions of each block."""
        for number in sample.numbers.tolist():
            if number not in recorders:
                recorders[number] = launch.run(TraceRecorder(), np.array([number]))
        return [int(recorders[number].blocks()[:, 0] @ lengths) for number in sample.numbers.tolist()]

    (instructions,) = run(launch.spread(1))
    sample = _blocks_of_about(launch, instructions, *SAMPLED_EQUAL)
    work = run(sample)
    if min(work) < max(work):
        sample = _blocks_of_about(launch, sum(work) // len(work), *SAMPLED_UNEQUAL)
        work = run(sample)

    first, *others = (recorders[number] for number in sample.numbers.tolist())
    first.workers = [worker for recorder in (first, *others) for worker in recorder.workers]
    return sample, first, tuple(work)


def _blocks_of_about(launch: SampledLaunch, each: int, instructions: int, most: int) -> BlockSample:
    """Return at most `most` blocks, which execute about `instructions` if every block executes `each`."""
    return launch.spread(max(min(instructions // max(each, 1), most), FEWEST_MODELLED))


def _executed(
    launch: SampledLaunch, recorder: TraceRecorder, code: MachineCode | None
) -> Sequence[ExecutedInstruction]:
    """Return the instructions of machine code with their executions."""
    from gpulab.compiler.sass.machine_counts import machine_counts
    from gpulab.profiling.counts.count_report import ptx_block_counts

    return machine_counts(code, ptx_block_counts(launch.kernel.flow, recorder)).executed if code else ()


def _shared_widths(code: MachineCode | None) -> Mapping[int, int]:
    """Return the bytes per lane of accesses to shared memory in machine code, by PTX row."""
    widths: dict[int, int] = {}
    for instruction in code.instructions if code else ():
        if instruction.op in ("LDS", "STS") and instruction.predicate != "@!PT":
            row = instruction.ptx_line
            widths[row] = max(widths.get(row, 0), instruction.width)
    return widths


def _accesses(
    flow: ControlFlow, requests: Sequence[Requests], code: MachineCode | None, scale: float
) -> dict[int, AccessSample]:
    """Return a sample of the requests of each PTX row.

    A copy from global to shared memory is represented by its global side, and an access that is made in parts
    (its last part may be predicated off) by the part with the most requests; the parts of a fragment of
    `wmma` are all counted. The machine may join several accesses to shared memory of PTX.
    """
    widths, loops = _shared_widths(code), loop_rows(code) if code else frozenset()
    samples: dict[int, AccessSample] = {}
    for request in sorted(requests, key=lambda r: (r.access.space != "shared", r.made)):
        access = request.access
        item = _instruction(flow, access)
        row, updates = item.row, access.action == "updates"
        chosen = _some(len(request.masks))
        sample = AccessSample(
            access.space,
            access.action == "reads",
            widths.get(row) or access.width,
            scale * request.made,
            request.masks[chosen],
            request.addresses[chosen],
            updates,
            updates and "f" in item.parts[-1],  # such as f32 and bf16x2
            bypasses_l1=updates or _bypasses_l1(item),
            copies=item.op == "cp" and "bulk" not in item.parts,
            compares=updates and (row in loops or "cas" in item.parts),
            warps=request.warps[chosen],
        )
        joined = samples[row].joined(sample) if row in samples and _is_fragment(access) else sample
        samples[row] = joined
    return samples


def _bypasses_l1(item: Instruction) -> bool:
    """Return True for a load or copy from global memory that L1 neither serves nor keeps."""
    if item.op == "ld" and not {"relaxed", "acquire"}.isdisjoint(item.parts):
        return "cta" not in item.parts
    return item.op in ("ld", "cp") and not PAST_L1.isdisjoint(item.parts)


def _some(requests: int) -> npt.NDArray[np.int64]:
    """Return the indices of a random sample of requests, in ascending order.

    Blocks make the same requests in turn, so that requests at equal distances would not represent them.
    """
    random = np.random.default_rng(0)
    return np.sort(random.choice(requests, min(requests, SAMPLED_REQUESTS), replace=False))


def _is_fragment(access: AccessSite) -> bool:
    """Return True for a part of a `wmma` load or store, each of which is an instruction of machine code."""
    return access.opcode.startswith("wmma.")


def _trace_waves(launch: SampledLaunch, spec: GpuSpec, resident: int) -> list[TracedWave]:
    """Trace a wave of blocks in the middle of the grid and, if blocks are short, the waves before it.

    No wave is traced for a GPU without caches.
    """
    if not spec.l2_bytes:
        return []
    blocks = min(spec.sms * resident, launch.blocks)
    first = (launch.blocks - blocks) // 2
    per_warp = TRACED_REQUESTS // (blocks * spec.warps(launch.threads))
    requests = int(np.clip(per_warp, FEWEST_REQUESTS, MOST_REQUESTS))

    last = _trace(launch, launch.consecutive(first, blocks), requests)
    if not last.ended:
        return [last]
    # The evaluated requests begin with the blocks, so the data that earlier blocks left in L2 matters.
    waves = int(np.clip(TRACED_REQUESTS // max(int(last.used.sum()), 1), FEWEST_WAVES, MOST_WAVES))
    starts = [first - n * blocks for n in range(waves, 0, -1) if first >= n * blocks]
    earlier = [_trace(launch, launch.consecutive(start, blocks), requests) for start in starts]
    return [*earlier, last]


def _trace_longer(launch: SampledLaunch, wave: TracedWave) -> dict[int, TracedWave]:
    """Trace some blocks of a wave to their end, or for a large number of requests and instructions."""
    first = (launch.blocks - wave.blocks) // 2
    numbers = sorted({int(wave.blocks * place) for place in LONGER_TRACED})
    warps = len(wave.used) // wave.blocks
    limits = max(LONGER_REQUESTS // warps, wave.requests), LONGER_INSTRUCTIONS // warps
    return {number: _trace(launch, launch.consecutive(first + number, 1), *limits) for number in numbers}


def _trace(
    launch: SampledLaunch, blocks: npt.NDArray[np.int64], requests: int, most_instructions: int = 0
) -> TracedWave:
    """Trace blocks, given by their linear indices."""
    from gpulab.simt.instrument.trace.trace_recorder import TraceRecorder, Wave

    instructions = max(TRACED_INSTRUCTIONS, INSTRUCTIONS_PER_REQUEST * requests, most_instructions)
    trace = launch.run(TraceRecorder(Wave(blocks, requests, instructions)), blocks)
    flow = launch.kernel.flow
    return TracedWave(
        words=np.ascontiguousarray(trace.words[:, : max(int(trace.used.max()), 1)]),
        used=trace.used.copy(),
        blocks=len(blocks),
        requests=requests,
        ended=bool(trace.ended.mean() > 0.5),
        sites=tuple(
            (_instruction(flow, access).row if access.opcode else None, _is_fragment(access))
            for access in trace.native.sites
        ),
    )


def _instruction(flow: ControlFlow, access: AccessSite) -> Instruction:
    """Return the PTX instruction that an access comes from."""
    return flow.blocks[access.block].code[access.index]
