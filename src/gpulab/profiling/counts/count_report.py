"""What the simulator's counted tier recorded, told as `gpulab.profiling.counts.metrics` has it.

The instructions that a GPU executes are found from the machine code where there is any, and otherwise PTX's
own are counted and called so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.compiler.sass.machine_counts import MachineCounts, machine_counts
from gpulab.compiler.sass.ptx_blocks import IterationGroups, PtxBlock, PtxInstruction
from gpulab.profiling.counts.metrics import FLOPS, SECTOR_BYTES, AccessCounter, Counters, LineCounters
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.compiler.sass.disassembly import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.analysis.control_flow import Block
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.counters.counter_recorder import Count, CounterRecorder, Picture, SiteCount
    from gpulab.simt.ptx.syntax import Instruction

__all__ = ["Report"]

# Floating point instructions of PTX, by the machine's name for them.
OPERATIONS = {"fma.f32": "FFMA", "add.f32": "FADD", "sub.f32": "FADD", "mul.f32": "FMUL",
              "fma.f64": "DFMA", "add.f64": "DADD", "sub.f64": "DADD", "mul.f64": "DMUL"}  # fmt: skip
KINDS = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store",
         "atom": "atomic", "red": "reduction", "cp": "copy", "mbarrier": "barrier"}  # fmt: skip


@dataclass
class _Site:
    """A site's counts over all samples, scaled."""

    access: AccessSite
    counts: dict[str, npt.NDArray[np.float64]]
    first: Picture | None
    worst: Picture | None


class Report:
    """Puts recordings, each with its weight, into words."""

    def __init__(
        self, kernel: RecordableKernel, samples: list[tuple[float, CounterRecorder]], code: MachineCode | None
    ) -> None:
        self.kernel, self.samples, self.code = kernel, samples, code
        self.flow = kernel.flow
        self.machine: list[tuple[float, MachineCounts]] = []
        if code is not None:
            self.machine = [(w, machine_counts(code, self.ptx_blocks(recording))) for w, recording in samples]

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
        sites = self.sites()
        shares = self.loads_made(sites)
        found = []
        for site in sites:
            item = self.flow.blocks[site.access.block].code[site.access.index]
            kind = _kind(item, used)
            if site.access.space == "shared" and not site.access.width:
                continue  # the machine makes it as part of another access
            for space, numbers in site.counts.items():
                kept = shares.get(item.row, 1.0) if (space, kind) == ("global", "load") else 1.0
                requests, threads, units, ideal = (round(kept * n) for n in numbers)
                found.append(
                    AccessCounter(
                        line=site.access.line,
                        kind=kind,
                        space=space,
                        opcode=site.access.opcode,
                        width=site.access.width,
                        requests=requests,
                        threads=threads,
                        sectors=units if space == "global" else 0,
                        wavefronts=units if space == "shared" else 0,
                        bank_conflicts=units - ideal if space == "shared" else 0,
                        first=site.first,
                        worst=site.worst,
                    )
                )
        return tuple(found)

    def loads_made(self, sites: list[_Site]) -> dict[int, float]:
        """By row of PTX: the share of its global loads that the machine makes, where that is not all.

        The assembler can keep in a register what was loaded before. None are known where the machine makes
        a load more often than PTX, since its table of rows then says less than it should.
        """
        made: dict[int, float] = {}
        for weight, counts in self.machine:
            for one in counts.executed if not counts.caveats else ():
                if one.instruction.op in ("LDG", "LD"):
                    row = one.instruction.ptx_line
                    made[row] = made.get(row, 0) + weight * one.warps
        asked: dict[int, float] = {}
        for site in sites:
            row = self.flow.blocks[site.access.block].code[site.access.index].row
            asked[row] = asked.get(row, 0) + float(site.counts.get("global", np.zeros(4))[0])
        if not made or any(count > asked.get(row, 0) + 0.5 for row, count in made.items()):
            return {}
        return {row: made.get(row, 0) / count for row, count in asked.items() if count}

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
        for base, scaled in sectors.items():
            array = memory.nearest(base)
            size = array.size if array is not None else 0
            total += np.minimum(scaled, -(-size // SECTOR_BYTES))
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
        for weight, found in self.machine:
            doubts |= dict.fromkeys(found.caveats)
            for one in found.executed:
                op = one.instruction.op
                into = lines.setdefault(one.instruction.line, _Executed())
                into.add(op, op, weight * one.warps, weight * one.threads, weight * one.threads_on)
        return lines, "SASS", tuple(doubts)

    def ptx_blocks(self, recording: CounterRecorder) -> list[PtxBlock]:
        rounds = recording.rounds()
        return [
            PtxBlock(
                block.number,
                tuple(PtxInstruction(item.text, item.row, item.line) for item in _instructions(block)),
                block.targets,
                warps,
                threads,
                parted,
                {group: IterationGroups(*four) for group, four in rounds.get(block.number, {}).items()},
            )
            for block, (warps, threads, parted) in zip(
                self.flow.blocks, recording.blocks().tolist(), strict=True
            )
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
    from gpulab.simt.analysis.control_flow import reads, writes

    # An atomic under a predicate keeps its result's old value: that is no use of it.
    own = set(writes(item)) if item.predicate is not None else set()
    return tuple(name for name in reads(item) if name not in own)


def _kind(item: Instruction, used: set[str]) -> str:
    from gpulab.simt.analysis.control_flow import writes

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
