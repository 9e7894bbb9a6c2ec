"""Conversion of the counts of a `CounterRecorder` into `Counters`.

Executed instructions are derived from the machine code. Without machine code, the instructions of PTX are
counted instead, and the result says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.compiler.sass.machine_counts import MachineCounts, line_numbers, machine_counts
from gpulab.compiler.sass.ptx_blocks import IterationGroups, PtxBlock, PtxInstruction, SelectedResult
from gpulab.profiling.counts.executed_accesses import PtxAccess, executed_shares
from gpulab.profiling.counts.metrics import (
    FLOPS,
    SECTOR_BYTES,
    TENSOR_OPCODES,
    WARP,
    AccessCounter,
    Counters,
    LineCounters,
)
from gpulab.profiling.counts.tensor_products import TensorProduct, machine_product, ptx_product
from gpulab.provenance import Provenance
from gpulab.simt.instrument.counters.select_code import selections
from gpulab.simt.ptx.syntax import Sym

if TYPE_CHECKING:
    from gpulab.compiler.sass.sass_code import MachineCode
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.analysis.basic_blocks import Block, ControlFlow
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.counters.counter_recorder import (
        Count,
        CounterRecorder,
        RequestSample,
        SiteCount,
    )
    from gpulab.simt.ptx.syntax import Instruction

__all__ = ["CountReport", "ptx_block_counts"]

# SASS opcodes of PTX's floating point instructions.
OPERATIONS = {"fma.f32": "FFMA", "add.f32": "FADD", "sub.f32": "FADD", "mul.f32": "FMUL",
              "fma.f64": "DFMA", "add.f64": "DADD", "sub.f64": "DADD", "mul.f64": "DMUL"}  # fmt: skip
KINDS = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store",
         "atom": "atomic", "red": "reduction", "cp": "copy", "mbarrier": "barrier"}  # fmt: skip


@dataclass
class _AccessTotals:
    """Counts of one memory access over all samples, scaled to the whole launch."""

    access: AccessSite
    counts: dict[str, npt.NDArray[np.float64]]
    first: RequestSample | None
    worst: RequestSample | None


@dataclass
class _LineTotals:
    """Instructions of one source line over all samples, scaled to the whole launch."""

    warps: float = 0
    threads: float = 0
    opcodes: dict[str, float] = field(default_factory=dict)
    operations: dict[str, float] = field(default_factory=dict)
    tensor_operations: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        opcode: str,
        operation: str,
        product: TensorProduct | None,
        warps: float,
        threads: float,
        active: float,
    ) -> None:
        self.warps += warps
        self.threads += threads
        self.opcodes[opcode] = self.opcodes.get(opcode, 0) + warps
        if operation in FLOPS or operation in TENSOR_OPCODES:
            self.operations[operation] = self.operations.get(operation, 0) + active
        if product is not None:  # all lanes of the warp compute it together
            operations = product.operations * active / WARP
            self.tensor_operations[product.kind] = self.tensor_operations.get(product.kind, 0) + operations


class CountReport:
    """Counts of one launch.

    Parameters
    ----------
    kernel : RecordableKernel
        The kernel that was launched.
    samples : sequence of (float, CounterRecorder)
        Recordings of some blocks each, with the number of blocks that each of their blocks represents.
    code : MachineCode or None
        The kernel's machine code.
    """

    def __init__(
        self,
        kernel: RecordableKernel,
        samples: Sequence[tuple[float, CounterRecorder]],
        code: MachineCode | None,
    ) -> None:
        self.kernel, self.samples, self.code = kernel, samples, code
        self.flow = kernel.flow
        self.machine: list[tuple[float, MachineCounts]] = []
        if code is not None:
            self.machine = [
                (weight, machine_counts(code, ptx_block_counts(self.flow, recorder)))
                for weight, recorder in samples
            ]

    def counters(self, blocks: int, sampled: int | None, caveats: tuple[str, ...]) -> Counters:
        """Return the counts of the launch.

        `sampled` is the number of its `blocks` that ran; None if every block ran.
        """
        accesses = self._accesses()
        lines, instruction_set, instruction_caveats = self._lines()
        caveats += instruction_caveats
        if sampled is not None:
            caveats = (*caveats, f"counted on {sampled} of {blocks} blocks, and scaled")
        read, written = self._compulsory_bytes()

        by_line: dict[int, list[AccessCounter]] = {}
        for access in accesses:
            by_line.setdefault(access.line, []).append(access)
        line_counters = {
            line: LineCounters(
                tuple(by_line.get(line, ())),
                round(totals.warps),
                round(totals.threads),
                _rounded(totals.opcodes),
                _rounded(totals.operations),
                _rounded(totals.tensor_operations),
                line,
            )
            for line, totals in sorted(lines.items())
        }

        return Counters(
            accesses,
            round(sum(totals.warps for totals in lines.values())),
            round(sum(totals.threads for totals in lines.values())),
            _summed(totals.opcodes for totals in lines.values()),
            _summed(totals.operations for totals in lines.values()),
            _summed(totals.tensor_operations for totals in lines.values()),
            {line: one for line, one in line_counters.items() if line and one.warp_instructions},
            read,
            written,
            self.kernel.resources.registers,
            instruction_set,
            blocks,
            sampled,
            Provenance("counted", self.kernel.device.name, "; ".join(caveats)),
            caveats,
        )

    # -- memory -----------------------------------------------------------------------------------

    def _accesses(self) -> tuple[AccessCounter, ...]:
        used = {name for block in self.flow.blocks for item in block.code for name in _read_by(item)}
        used |= {block.condition.name for block in self.flow.blocks if block.condition is not None}
        access_totals = self._access_totals()
        shares = self._executed_shares(access_totals)
        joined = self._joined_updates()

        counters = []
        for totals in access_totals:
            item = self._instruction(totals.access)
            kind = _kind(item, used)
            if totals.access.space == "shared" and not totals.access.width:
                continue  # the machine code performs it as part of another access
            for space, numbers in totals.counts.items():
                share = shares.get(item.row, 1.0)
                requests, threads, units, ideal, repeats = (round(share * n) for n in numbers)
                if item.row not in joined:
                    units += repeats
                counters.append(
                    AccessCounter(
                        line=totals.access.line,
                        kind=kind,
                        space=space,
                        opcode=totals.access.opcode,
                        width=totals.access.width,
                        requests=requests,
                        threads=threads,
                        sectors=units if space == "global" else 0,
                        wavefronts=units if space == "shared" else 0,
                        bank_conflicts=units - ideal if space == "shared" else 0,
                        first=totals.first,
                        worst=totals.worst,
                    )
                )
        return tuple(counters)

    def _joined_updates(self) -> set[int]:
        """Return the PTX rows of updates that the machine code joins: one lane of each warp adds for all."""
        machine = [] if self.code is None else self.code.blocks
        return {
            item.ptx_line for block in machine for item in block.instructions if item.op in ("VOTE", "VOTEU")
        }

    def _instruction(self, access: AccessSite) -> Instruction:
        return self.flow.blocks[access.block].code[access.index]

    def _executed_shares(self, access_totals: Sequence[_AccessTotals]) -> dict[int, float]:
        """Return, by PTX row, the share of its loads or stores that the machine code executes."""
        accesses: dict[str, dict[int, PtxAccess]] = {"load": {}, "store": {}}
        rows = set()
        for totals in access_totals:
            item = self._instruction(totals.access)
            rows.add(item.row)
            kind = KINDS[item.op] if item.op in ("ld", "ldu", "st") else ""
            for space, (requests, threads, *_) in totals.counts.items():
                if kind and space in ("global", "shared") and totals.access.width:
                    access = accesses[kind].setdefault(item.row, PtxAccess(space))
                    access.requests += requests
                    access.threads += threads

        shares: dict[int, float] = {}
        for kind, by_row in accesses.items():
            if self.machine:
                shares |= executed_shares(kind, by_row, rows - by_row.keys(), self.machine)
        return shares

    def _access_totals(self) -> list[_AccessTotals]:
        """Return the memory accesses in the order of the code, summed over the samples."""
        totals: dict[tuple[int, int, str, int], _AccessTotals] = {}
        for weight, recorder in self.samples:
            for site in recorder.sites():
                access = site.access
                key = access.block, access.index, access.space, access.part
                one = totals.setdefault(key, _AccessTotals(access, {}, None, None))
                for space, count in site.counts.items():
                    one.counts[space] = one.counts.get(space, np.zeros(5)) + weight * _numbers(count)
                one.first, one.worst = one.first or site.first, _worse(one, site)
        return [totals[key] for key in sorted(totals)]

    def _compulsory_bytes(self) -> tuple[int, int]:
        """Return the bytes of all sectors that were read and written; scaled, but at most an array's size."""
        sectors: dict[int, npt.NDArray[np.float64]] = {}
        for weight, recorder in self.samples:
            for base, both in recorder.touched_sectors().items():
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

    def _caveats_of_calls(self) -> Iterator[str]:
        """Yield caveats about machine code of one PTX instruction whose executions PTX does not show."""
        items = [item for block in self.flow.blocks for item in block.code]
        if lines := {item.line for item in items if item.call and item.call.target == Sym("vprintf")}:
            yield f"the instructions of printf in {line_numbers(lines)} are not counted"
        if lines := {item.line for item in items if _is_loop(item)}:
            yield (
                f"the atomic operation of {line_numbers(lines)} is a loop in machine code, which lanes that "
                "update the same element repeat; one iteration is counted"
            )

    def _lines(self) -> tuple[dict[int, _LineTotals], str, tuple[str, ...]]:
        """Return the instructions of each source line, their instruction set, and caveats."""
        lines: dict[int, _LineTotals] = {}
        if self.code is None:
            for weight, recorder in self.samples:
                for block, counts in zip(self.flow.blocks, recorder.blocks().tolist(), strict=True):
                    warps, threads = weight * counts[0], weight * counts[1]
                    for item in _instructions(block):
                        totals = lines.setdefault(item.line or block.line, _LineTotals())
                        # The opcode of __syncwarp() is that of __syncthreads(), too.
                        opcode = "bar.warp" if item.op == "bar" and "warp" in item.parts else item.op
                        totals.add(opcode, _operation(item), ptx_product(item), warps, threads, threads)
            caveat = "PTX instructions are counted: there is no machine code, or no disassembler to read it"
            return lines, "PTX", (caveat,)

        caveats = dict.fromkeys(self._caveats_of_calls())
        # nvdisasm names the header of an inlined function, PTX also the line that calls it.
        callers = {item.row: item.line for block in self.flow.blocks for item in _instructions(block)}
        for weight, machine in self.machine:
            caveats |= dict.fromkeys(machine.caveats)
            for executed in machine.executed:
                opcode = executed.instruction.op
                line = executed.instruction.line or callers.get(executed.instruction.ptx_line, 0)
                totals = lines.setdefault(line, _LineTotals())
                totals.add(
                    opcode,
                    opcode,
                    machine_product(executed.instruction),
                    weight * executed.warps,
                    weight * executed.threads,
                    weight * executed.threads_on,
                )
        return lines, "SASS", tuple(caveats)


def ptx_block_counts(flow: ControlFlow, recorder: CounterRecorder) -> list[PtxBlock]:
    """Return the basic blocks of PTX with their executions, as `machine_counts` needs them."""
    groups, counts = recorder.iteration_groups(), recorder.instruction_counts()
    selected = selections(flow.blocks)

    def instruction(item: Instruction, threads: int) -> PtxInstruction:
        selection, result = selected.get(item.row), None
        if selection is not None and selection.row in counts:  # code without values has fewer selections
            first = counts[selection.row]
            result = SelectedResult(selection.row, first if selection.first else threads - first)
        slow = item.op != "selp" and counts.get(item.row, 0) > 0
        return PtxInstruction(item.text, item.row, item.line, slow, result)

    return [
        PtxBlock(
            block.number,
            tuple(instruction(item, threads) for item in _instructions(block)),
            block.targets,
            warps,
            threads,
            parted,
            {group: IterationGroups(*four) for group, four in groups.get(block.number, {}).items()},
        )
        for block, (warps, threads, parted) in zip(flow.blocks, recorder.blocks().tolist(), strict=True)
    ]


def _instructions(block: Block) -> list[Instruction]:
    """Return the instructions of a block that occur in the text, including the one that ends it."""
    items = block.code if block.last is None else [*block.code, block.last]
    return [item for item in items if item.row]


def _read_by(item: Instruction) -> tuple[str, ...]:
    from gpulab.simt.analysis.basic_blocks import reads, writes

    # A predicated atomic keeps the previous value of its result, which is no use of the result.
    own = set(writes(item)) if item.predicate is not None else set()
    return tuple(name for name in reads(item) if name not in own)


def _kind(item: Instruction, used: set[str]) -> str:
    from gpulab.simt.analysis.basic_blocks import writes

    if "param" in item.parts:
        return "parameter"
    if item.op == "cp" and "bulk" in item.parts:
        return "bulk copy"
    kind = KINDS.get(item.op, item.op)
    if item.op == "wmma":
        kind = item.parts[1]
    if kind == "atomic" and not used & set(writes(item)) and not {"cas", "exch"} & set(item.parts):
        return "reduction"  # the assembler translates it to RED
    return kind


def _is_loop(item: Instruction) -> bool:
    """Return True for an update of floating type that machine code performs by compare-and-swap in a loop."""
    if item.op not in ("atom", "red") or {"cas", "exch"} & set(item.parts):
        return False
    return item.parts[-1] in ("f16", "bf16") or ("shared" in item.parts and item.parts[-1].startswith("f"))


def _operation(item: Instruction) -> str:
    """Return the SASS opcode of an instruction of PTX that `Metrics.operations` counts, otherwise ""."""
    if item.op == "mma" or item.parts[:2] == ("wmma", "mma"):
        return "IMMA" if "s32" in item.parts else "DMMA" if "f64" in item.parts else "HMMA"
    return OPERATIONS.get(f"{item.op}.{item.parts[-1]}", "")


def _numbers(count: Count) -> npt.NDArray[np.float64]:
    return np.array([count.executions, count.threads, count.units, count.ideal, count.repeats], np.float64)


def _worse(totals: _AccessTotals, site: SiteCount) -> RequestSample | None:
    if totals.worst is None or site.worst is None:
        return totals.worst or site.worst
    return site.worst if site.worst.units > totals.worst.units else totals.worst


def _summed(parts: Iterable[Mapping[str, float]]) -> dict[str, int]:
    total: dict[str, float] = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return _rounded(total)


def _rounded(counts: Mapping[str, float]) -> dict[str, int]:
    return {name: round(count) for name, count in counts.items()}
