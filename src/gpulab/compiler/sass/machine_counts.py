"""Executed machine instructions from executed PTX: what the simulator counted, told in the GPU's own code.

The simulator executes PTX and counts, for every basic block, how often a warp ran it and how many threads
took part. A GPU executes what the assembler made of it. Both are tied together by the table in the cubin
that names, for every machine instruction, the line of PTX it was made from (`disassembly`); how
often each block of machine code ran follows from there (`gpulab.compiler.sass.machine_flow`).

Checked against Nsight Compute 2025.3 on an H200, for 108 launches of the labs' kernels and 103 of small ones
(`benchmarks.nsight`): the warp and thread executions of every one of their 39,322 machine instructions are
the GPU's, and so are FFMA, FADD and FMUL; lanes with a true predicate are, but for nine instructions.

Whoever counts fills in one `PtxBlock` per basic block of the kernel, `blocks[0]` being its entry.
`PtxInstruction.row` is the line of `Program.ptx`, from 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpulab.compiler.sass.disassembly import MachineCode, MachineInstruction
from gpulab.compiler.sass.machine_flow import MachineFlow
from gpulab.compiler.sass.ptx_blocks import PtxBlock
from gpulab.compiler.sass.ptx_matching import Match

__all__ = ["Executed", "MachineCounts", "machine_counts"]


@dataclass(frozen=True)
class Executed:
    """One machine instruction and how often it ran.

    warps: executions by a warp, with whichever lanes. threads: active lanes of those, predicate or not.
    on: lanes whose predicate held.
    """

    instruction: MachineInstruction
    warps: int
    threads: int
    on: int


@dataclass(frozen=True)
class MachineCounts:
    """All instructions of a kernel with their counts.

    doubts: in words, what is not exact, and why; empty when all counts follow from what was counted.
    plain_numbers: the code has a slow case for a division or a square root (of denormal numbers and the
    like), and all counts hold as long as no thread needed it.
    """

    executed: tuple[Executed, ...]
    doubts: tuple[str, ...] = ()
    plain_numbers: bool = False

    @property
    def warps(self) -> int:
        """Warp instructions, as `smsp__inst_executed.sum`."""
        return sum(one.warps for one in self.executed)

    @property
    def threads(self) -> int:
        """Thread instructions, as `smsp__thread_inst_executed.sum`."""
        return sum(one.threads for one in self.executed)

    @property
    def threads_on(self) -> int:
        """Thread instructions whose predicate held, as `smsp__thread_inst_executed_pred_on.sum`."""
        return sum(one.on for one in self.executed)

    def on(self, op: str) -> int:
        """Thread instructions of one opcode whose predicate held: `on("FFMA")`."""
        return sum(one.on for one in self.executed if one.instruction.op == op)

    def requests(self, op: str) -> int:
        """Warp instructions of one opcode: `requests("LDS")`."""
        return sum(one.warps for one in self.executed if one.instruction.op == op)

    def by_line(self) -> Mapping[int, tuple[Executed, ...]]:
        """The instructions of every source line."""
        found: dict[int, list[Executed]] = defaultdict(list)
        for one in self.executed:
            found[one.instruction.line].append(one)
        return {line: tuple(some) for line, some in sorted(found.items())}


def machine_counts(code: MachineCode, blocks: Sequence[PtxBlock]) -> MachineCounts:
    """What the machine executed when the simulator counted `blocks`; about 10 ms.

    Counts of a sample of blocks must come here as they are, and be scaled afterwards.
    """
    match = Match(code, blocks)
    flow = MachineFlow(match)
    executed = tuple(
        Executed(one, *flow.executed(block, one)) for block in code.blocks for one in block.instructions
    )
    doubts = []
    if flow.doubtful:
        lines = ", ".join(str(line) for line in sorted(flow.doubtful))
        doubts.append(
            f"how often the machine code of line {lines} ran is not determined: these are estimates"
        )
    if match.uncounted_loops:
        doubts.append("the assembler unrolled a loop, and its rounds were not counted one by one")
    return MachineCounts(executed, tuple(doubts), flow.has_slow_cases)
