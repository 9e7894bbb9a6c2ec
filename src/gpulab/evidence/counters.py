"""What a launch asks of the machine, counted while the simulator runs it, under Nsight Compute's names.

Sectors, wavefronts and bank conflicts follow from the lanes' addresses, so they are those of a GPU. The
instructions that a GPU executes are not those of PTX: they are found from the machine code where NVIDIA's
disassembler is installed (`gpulab.evidence.machine`), and otherwise PTX's own are counted and called so.

A grid of more than `COUNTED_THREADS` threads is counted on a sample of its blocks: every kind of block (at a
corner, an edge, inside) by itself, each scaled to as many as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Dim3, Kernel
from gpulab.devices.launch import dim3
from gpulab.evidence.machine import PtxBlock, PtxInstruction, machine_counts
from gpulab.evidence.machine_memory import shared_forms
from gpulab.evidence.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.compiler.sass import MachineCode
    from gpulab.devices.simulated import SimulatedKernel
    from gpulab.simt.counted import Count, Counting, Picture, SiteCount
    from gpulab.simt.flow import Block, Flow
    from gpulab.simt.observe import Forms
    from gpulab.simt.ptx import Instruction
    from gpulab.simt.values import Access

__all__ = ["AccessCounter", "Counters", "LineCounters", "Tally", "counters"]

COUNTED_THREADS = 1 << 20  # threads of the largest grid that is counted whole
SAMPLED_THREADS = 1 << 18  # about as many threads of each kind of block are counted of a larger one
FEWEST_BLOCKS = 32  # of each kind of block, if there are as many
SECTOR_BYTES = 32

# Floating point instructions of PTX, by the machine's name for them, with the operations each one makes.
OPERATIONS = {"fma.f32": "FFMA", "add.f32": "FADD", "sub.f32": "FADD", "mul.f32": "FMUL",
              "fma.f64": "DFMA", "add.f64": "DADD", "sub.f64": "DADD", "mul.f64": "DMUL"}  # fmt: skip
FLOPS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "DFMA": 2, "DADD": 1, "DMUL": 1}
MACHINE = {"ld": "LDS", "st": "STS"}  # the machine's names of shared loads and stores
KINDS = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store",
         "atom": "atomic", "red": "reduction", "cp": "copy", "mbarrier": "barrier"}  # fmt: skip


@dataclass(frozen=True)
class AccessCounter:
    """One instruction of PTX that accesses memory, and one state space it went to.

    kind: "load", "store", "atomic" (its result is used), "reduction" (it is not), "copy" (`cp.async`, which
    has one of these for each side), "barrier" (`mbarrier`) or "parameter". space: "global", "shared",
    "local" or "const", also for generic addresses. opcode: the PTX instruction. width: bytes a lane.
    requests: by warps with at least one active lane. threads: their active lanes.
    sectors: 32-byte sectors (global memory). wavefronts, bank_conflicts: of shared memory; the second is what
    the first has beyond the fewest that these requests can take.
    first, worst: one warp's addresses: of the first request, and of one that took the most sectors or
    wavefronts (`units`). An instruction that never ran has none.
    """

    line: int
    kind: str
    space: str
    opcode: str
    width: int
    requests: int
    threads: int
    sectors: int = 0
    wavefronts: int = 0
    bank_conflicts: int = 0
    first: Picture | None = None
    worst: Picture | None = None

    @property
    def sectors_per_request(self) -> float:
        return _ratio(self.sectors, self.requests)

    @property
    def wavefronts_per_request(self) -> float:
        return _ratio(self.wavefronts, self.requests)


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of a kernel, or of one of its lines.

    warp_instructions: executed by a warp, with whichever lanes; thread_instructions: by its active lanes.
    opcodes: the first by opcode of the instruction set ("LDS", or "ld" where that is PTX). operations: active
    lanes of floating point instructions by the machine's name (FFMA, FADD, FMUL, DFMA, DADD, DMUL).
    """

    accesses: tuple[AccessCounter, ...]
    warp_instructions: int
    thread_instructions: int
    opcodes: Mapping[str, int]
    operations: Mapping[str, int]

    def total(self, what: str, space: str, kind: str) -> int:
        """The sum of one of `AccessCounter`'s counts over the accesses of a kind: "requests", "sectors", …"""
        return sum(getattr(a, what) for a in self.accesses if a.space == space and a.kind == kind)

    @property
    def global_load_requests(self) -> int:
        return self.total("requests", "global", "load")

    @property
    def global_load_sectors(self) -> int:
        return self.total("sectors", "global", "load")

    @property
    def sectors_per_load_request(self) -> float:
        """4 where 32 lanes read 4 bytes each, next to each other; 32 at most."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def global_store_requests(self) -> int:
        return self.total("requests", "global", "store")

    @property
    def global_store_sectors(self) -> int:
        return self.total("sectors", "global", "store")

    @property
    def sectors_per_store_request(self) -> float:
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def global_reduction_requests(self) -> int:
        return self.total("requests", "global", "reduction")

    @property
    def global_reduction_sectors(self) -> int:
        return self.total("sectors", "global", "reduction")

    @property
    def global_atomic_requests(self) -> int:
        return self.total("requests", "global", "atomic")

    @property
    def global_atomic_sectors(self) -> int:
        return self.total("sectors", "global", "atomic")

    @property
    def shared_load_requests(self) -> int:
        return self.total("requests", "shared", "load")

    @property
    def shared_load_wavefronts(self) -> int:
        return self.total("wavefronts", "shared", "load")

    @property
    def shared_load_bank_conflicts(self) -> int:
        return self.total("bank_conflicts", "shared", "load")

    @property
    def shared_store_requests(self) -> int:
        return self.total("requests", "shared", "store")

    @property
    def shared_store_wavefronts(self) -> int:
        return self.total("wavefronts", "shared", "store")

    @property
    def shared_store_bank_conflicts(self) -> int:
        return self.total("bank_conflicts", "shared", "store")

    @property
    def shared_atomic_requests(self) -> int:
        return self.total("requests", "shared", "atomic") + self.total("requests", "shared", "reduction")

    @property
    def local_requests(self) -> int:
        """Loads and stores of local memory: arrays that do not fit in registers."""
        return self.total("requests", "local", "load") + self.total("requests", "local", "store")

    @property
    def active_threads_per_warp(self) -> float:
        """32 without divergence."""
        return _ratio(self.thread_instructions, self.warp_instructions)

    @property
    def flops(self) -> int:
        """Floating point operations of single and double precision; a fused multiply and add is two."""
        return sum(FLOPS[name] * count for name, count in self.operations.items() if name in FLOPS)

    @property
    def global_bytes(self) -> int:
        """What loads and stores of global memory ask of the L1 cache, in whole sectors."""
        return SECTOR_BYTES * (self.global_load_sectors + self.global_store_sectors)


@dataclass(frozen=True, eq=False)
class LineCounters(Tally):
    """Counts of one line of the source."""

    line: int


@dataclass(frozen=True, eq=False)
class Counters(Tally, Mapping[str, float]):
    """Counts of one launch, by Nsight Compute's metric names, and by the short names of `Tally`.

    lines: the same by source line, for lines that were executed.
    compulsory_bytes_read, compulsory_bytes_written: of global memory, each 32-byte sector that the launch
    reads or writes counted once: what a cache that loses nothing would move.
    registers_per_thread: as the assembler reports; 0 where only PTX was given.
    instruction_set: "SASS", or "PTX" where the instructions are PTX's and not the machine's.
    blocks: of the grid. sampled_blocks: how many of them ran, where the counts are scaled up from a sample;
    None where all of them did.
    doubts: what is not exact, in words.
    """

    lines: Mapping[int, LineCounters]
    compulsory_bytes_read: int
    compulsory_bytes_written: int
    registers_per_thread: int
    instruction_set: str
    blocks: int
    sampled_blocks: int | None
    provenance: Provenance
    doubts: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", _metrics(self))

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)


def counters(
    kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
) -> Counters:
    """Launch a kernel once on the simulator and count what it does.

    The kernel runs: the arrays hold its results afterwards. On a CUDA GPU the simulator works on copies,
    and what it computed is copied back. Where only a sample of the blocks runs (`Counters.sampled_blocks`),
    it runs on copies in either case, and the arrays stay as they were.

    Raises what the launch raises: `LaunchError`, `MemoryFault`; and `UnsupportedInstruction` for what the
    simulator cannot execute.
    """
    from gpulab.devices.simulated import SimulatedKernel, simulator_of

    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    whole = prod(grid3) * prod(block3) <= COUNTED_THREADS
    if isinstance(kernel, SimulatedKernel):
        given = list(args) if whole else _copies(kernel.device, kernel.device, args)
        return _Launch(kernel, grid3, block3, shared_mem).counters(given, whole)
    device = kernel.device  # type: ignore[attr-defined]
    simulator = simulator_of(device.spec)
    twin = simulator.kernel_of(kernel.program, kernel.name)
    given = _copies(device, simulator, args)
    found = _Launch(twin, grid3, block3, shared_mem).counters(given, whole)
    if whole:
        for array, copy in zip(args, given, strict=True):
            if copy is not array:
                array[...] = device.asarray(simulator.asnumpy(copy))
    return found


def _copies(device: Any, simulator: Any, args: Sequence[Any]) -> list[Any]:
    """The arguments with every array copied to the simulator, one that is given twice only once."""
    copies: dict[int, Any] = {}
    for value in args:
        if getattr(value, "shape", ()) and id(value) not in copies:
            copies[id(value)] = simulator.asarray(device.asnumpy(value))
    return [copies.get(id(value), value) for value in args]


class _Launch:
    """One launch to be counted, whole or in samples."""

    def __init__(
        self,
        kernel: SimulatedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_mem: int,
    ) -> None:
        self.kernel, self.grid, self.block, self.shared_mem = kernel, grid, block, shared_mem

    def counters(self, args: Sequence[Any], whole: bool) -> Counters:
        from gpulab.compiler.sass import machine_code
        from gpulab.simt.counted import Counting

        program = self.kernel.program
        code = machine_code(program, self.kernel.name) if program.cubin is not None else None
        forms, several = _forms(code, program.ptx) if code is not None else ((), False)
        samples: list[tuple[float, Counting]] = []
        ran = 0
        for weight, order in [(1.0, None)] if whole else _samples(self.grid, prod(self.block)):
            recording = Counting(forms)
            self.kernel.record(recording, self.grid, self.block, args, self.shared_mem, order=order)
            samples.append((weight, recording))
            ran += 0 if order is None else len(order)
        blocks = prod(self.grid)
        sampled = None if whole else ran
        doubts = ("the assembler made several forms of one access to shared memory",) if several else ()
        return _Report(self.kernel, samples, code).counters(blocks, sampled, doubts)


def _forms(code: MachineCode, ptx: str) -> tuple[Forms, bool]:
    """How the machine makes accesses to shared memory, where not as PTX; whether one has several forms."""
    found, several = [], False
    for row, forms in shared_forms(code, ptx).items():
        several |= len(forms) > 1
        if len(forms) < 2:
            found.append((row, forms[0].width, forms[0].shift) if forms else (row, 0, 0))
    return tuple(found), several


def _samples(
    grid: tuple[int, int, int], threads: int
) -> Iterator[tuple[float, npt.NDArray[np.int64]]]:
    """Blocks to count of each kind, by their numbers in the grid, and how many blocks each stands for."""
    random = np.random.default_rng(0)
    most = max(SAMPLED_THREADS // threads, FEWEST_BLOCKS)
    ends = [[(0, 1), (1, max(n - 2, 0)), (n - 1, 1 if n > 1 else 0)] for n in grid]  # (first, how many)
    for z in ends[2]:
        for y in ends[1]:
            for x in ends[0]:
                count = x[1] * y[1] * z[1]
                if not count:
                    continue
                chosen = np.arange(count) if count <= most else np.unique(random.integers(0, count, most))
                places = np.unravel_index(chosen, (z[1], y[1], x[1]))
                numbers = ((places[0] + z[0]) * grid[1] + places[1] + y[0]) * grid[0] + places[2] + x[0]
                yield count / len(chosen), np.ascontiguousarray(numbers, np.int64)


@dataclass
class _Site:
    """A site's counts over all samples, scaled."""

    access: Access
    counts: dict[str, npt.NDArray[np.float64]]
    first: Picture | None
    worst: Picture | None


class _Report:
    """Puts recordings, each with its weight, into words."""

    def __init__(
        self, kernel: SimulatedKernel, samples: list[tuple[float, Counting]], code: MachineCode | None
    ) -> None:
        from gpulab.simt.inline import flatten
        from gpulab.simt.native import flow_of

        self.kernel, self.samples, self.code = kernel, samples, code
        self.flow: Flow = flow_of(flatten(kernel.module, kernel.entry))

    def counters(self, blocks: int, sampled: int | None, doubts: tuple[str, ...]) -> Counters:
        accesses = self.accesses()
        lines, instruction_set, more = self.instructions()
        doubts += more
        if sampled is not None:
            doubts = (*doubts, f"counted on {sampled} of {blocks} blocks, and scaled")
        read, written = self.compulsory()
        by_line: dict[int, list[AccessCounter]] = {}
        for access in accesses:
            by_line.setdefault(access.line, []).append(access)
        tallies = {
            line: (
                tuple(by_line.get(line, ())), round(c.warps), round(c.threads), _rounded(c.opcodes),
                _rounded(c.operations),
            )
            for line, c in sorted(lines.items())
        }  # fmt: skip
        return Counters(
            accesses,
            round(sum(c.warps for c in lines.values())),
            round(sum(c.threads for c in lines.values())),
            _summed(c.opcodes for c in lines.values()),
            _summed(c.operations for c in lines.values()),
            {line: LineCounters(*tally, line) for line, tally in tallies.items() if line and tally[1]},
            read,
            written,
            self.kernel.resources.registers,
            instruction_set,
            blocks,
            sampled,
            Provenance("counted", self.kernel.device.name, "; ".join(doubts)),
            doubts,
        )

    # -- memory -----------------------------------------------------------------------------------

    def accesses(self) -> tuple[AccessCounter, ...]:
        used = {name for block in self.flow.blocks for item in block.code for name in _read_by(item)}
        used |= {block.condition.name for block in self.flow.blocks if block.condition is not None}
        found = []
        for site in self.sites():
            item = self.flow.blocks[site.access.block].code[site.access.index]
            kind = _kind(item, used)
            for space, numbers in site.counts.items():
                requests, threads, units, ideal = (round(n) for n in numbers)
                of_banks = (units, units - ideal) if space == "shared" else (0, 0)
                found.append(
                    AccessCounter(
                        site.access.line, kind, space, site.access.opcode, site.access.width, requests, threads,
                        units if space == "global" else 0, *of_banks, site.first, site.worst,
                    )
                )  # fmt: skip
        return tuple(found)

    def sites(self) -> list[_Site]:
        """In the order of the code, summed over the samples."""
        found: dict[tuple[int, int, str, int], _Site] = {}
        for weight, recording in self.samples:
            for site in recording.sites():
                access = site.access
                key = access.block, access.index, access.space, access.part
                into = found.setdefault(key, _Site(access, {}, None, None))
                for space, count in site.counts.items():
                    into.counts[space] = into.counts.get(space, np.zeros(4)) + weight * _numbers(count)
                into.first, into.worst = into.first or site.first, _worse(into, site)
        return [found[key] for key in sorted(found)]

    def compulsory(self) -> tuple[int, int]:
        """Bytes of sectors that were read, and written, at all; of a sample no more than the arrays have."""
        sectors: dict[int, npt.NDArray[np.float64]] = {}
        for weight, recording in self.samples:
            for base, both in recording.touched().items():
                sectors[base] = sectors.get(base, np.zeros(2)) + weight * np.array(both)
        memory = self.kernel.device.memory
        total = np.zeros(2)
        for base, both in sectors.items():
            array = memory.nearest(base)
            size = array.size if array is not None else 0
            total += np.minimum(both, -(-size // SECTOR_BYTES))
        read, written = (SECTOR_BYTES * round(n) for n in total)
        return read, written

    # -- instructions -----------------------------------------------------------------------------

    def instructions(self) -> tuple[dict[int, _Executed], str, tuple[str, ...]]:
        """By source line what was executed; of which instruction set; what is not exact about it."""
        lines: dict[int, _Executed] = {}
        if self.code is None:
            for weight, recording in self.samples:
                for block, counts in zip(self.flow.blocks, recording.blocks().tolist(), strict=True):
                    warps, threads = weight * counts[0], weight * counts[1]
                    for item in _instructions(block):
                        into = lines.setdefault(item.line or block.line, _Executed())
                        into.add(item.op, _operation(item), warps, threads, threads)
            why = "instructions are those of PTX: there is no machine code here, or nobody to read it"
            return lines, "PTX", (why,)
        doubts: dict[str, None] = {}
        for weight, recording in self.samples:
            found = machine_counts(self.code, self.ptx_blocks(recording))
            doubts |= dict.fromkeys(found.doubts)
            for one in found.executed:
                op = one.instruction.op
                into = lines.setdefault(one.instruction.line, _Executed())
                into.add(op, op, weight * one.warps, weight * one.threads, weight * one.on)
        return lines, "SASS", tuple(doubts)

    def ptx_blocks(self, recording: Counting) -> list[PtxBlock]:
        return [
            PtxBlock(
                block.number,
                tuple(PtxInstruction(item.text, item.row, item.line) for item in _instructions(block)),
                block.targets,
                *counts,
            )
            for block, counts in zip(self.flow.blocks, recording.blocks().tolist(), strict=True)
        ]


def _instructions(block: Block) -> list[Instruction]:
    """A block's instructions that stand in the text, the one that ends it included."""
    found = block.code if block.last is None else [*block.code, block.last]
    return [item for item in found if item.row]


@dataclass
class _Executed:
    warps: float = 0
    threads: float = 0
    opcodes: dict[str, float] = field(default_factory=dict)
    operations: dict[str, float] = field(default_factory=dict)

    def add(self, opcode: str, operation: str, warps: float, threads: float, on: float) -> None:
        self.warps += warps
        self.threads += threads
        self.opcodes[opcode] = self.opcodes.get(opcode, 0) + warps
        if operation in FLOPS:
            self.operations[operation] = self.operations.get(operation, 0) + on


def _read_by(item: Instruction) -> tuple[str, ...]:
    from gpulab.simt.flow import reads, writes

    # An atomic under a predicate keeps its result's old value: that is no use of it.
    own = set(writes(item)) if item.predicate is not None else set()
    return tuple(name for name in reads(item) if name not in own)


def _kind(item: Instruction, used: set[str]) -> str:
    from gpulab.simt.flow import writes

    if "param" in item.parts:
        return "parameter"
    kind = KINDS.get(item.op, item.op)
    if kind == "atomic" and not used & set(writes(item)) and not {"cas", "exch"} & set(item.parts):
        return "reduction"  # the assembler makes a RED of it
    return kind


def _operation(item: Instruction) -> str:
    return OPERATIONS.get(f"{item.op}.{item.parts[-1]}", "")


def _numbers(count: Count) -> npt.NDArray[np.float64]:
    return np.array([count.executions, count.threads, count.units, count.ideal], np.float64)


def _worse(one: _Site, two: SiteCount) -> Picture | None:
    if one.worst is None or two.worst is None:
        return one.worst or two.worst
    return two.worst if two.worst.units > one.worst.units else one.worst


def _summed(parts: Iterator[Mapping[str, float]]) -> dict[str, int]:
    found: dict[str, float] = {}
    for part in parts:
        for name, count in part.items():
            found[name] = found.get(name, 0) + count
    return _rounded(found)


def _rounded(counts: Mapping[str, float]) -> dict[str, int]:
    return {name: round(count) for name, count in counts.items()}


def _ratio(over: float, under: float) -> float:
    return over / under if under else 0.0


def _metrics(counts: Counters) -> dict[str, float]:
    """Nsight Compute's names (Nsight Compute documentation, "Metrics Reference")."""
    found: dict[str, float] = {}
    for short, kind in (("ld", "load"), ("st", "store"), ("red", "reduction"), ("atom", "atomic")):
        for metric, what in (("requests", "requests"), ("sectors", "sectors")):
            name = f"l1tex__t_{metric}_pipe_lsu_mem_global_op_{short}.sum"
            found[name] = counts.total(what, "global", kind)
    for short, kind in (("ld", "load"), ("st", "store")):
        for metric, what in (
            ("data_pipe_lsu_wavefronts", "wavefronts"), ("data_bank_conflicts_pipe_lsu", "bank_conflicts"),
        ):  # fmt: skip
            found[f"l1tex__{metric}_mem_shared_op_{short}.sum"] = counts.total(what, "shared", kind)
        name = f"smsp__sass_inst_executed_op_shared_{short}.sum"
        requests = counts.total("requests", "shared", kind)
        found[name] = counts.opcodes.get(MACHINE[short], 0) if counts.instruction_set == "SASS" else requests
    found["smsp__inst_executed.sum"] = counts.warp_instructions
    found["smsp__thread_inst_executed.sum"] = counts.thread_instructions
    found["smsp__thread_inst_executed_per_inst_executed.ratio"] = counts.active_threads_per_warp
    for name in ("FFMA", "FADD", "FMUL", "DFMA", "DADD", "DMUL"):
        metric = f"smsp__sass_thread_inst_executed_op_{name.lower()}_pred_on.sum"
        found[metric] = counts.operations.get(name, 0)
    found["launch__registers_per_thread"] = counts.registers_per_thread
    return found
