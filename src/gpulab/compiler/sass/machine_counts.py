"""Executed machine instructions, derived from the PTX execution counts of the simulator.

The simulator executes PTX and counts, for every basic block, the executions by warps and by threads. A GPU
executes the assembler's output. The cubin contains a table with the PTX line of each machine instruction
(`gpulab.compiler.sass.disassembly`), from which the execution counts of the machine code follow
(`gpulab.compiler.sass.machine_flow`).

The counts were compared with Nsight Compute 2025.3 on an H200, for 108 launches of the labs' kernels and 103
of small ones (`benchmarks.counters`). The warp and thread executions of all 39,322 machine instructions equal
the GPU's, and so do FFMA, FADD and FMUL. Threads with a true predicate are equal except for nine
instructions.

The input is one `PtxBlock` for each basic block of the kernel, the entry first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gpulab.compiler.sass.machine_flow import MachineFlow
from gpulab.compiler.sass.ptx_blocks import PtxBlock
from gpulab.compiler.sass.ptx_matching import PtxMatch
from gpulab.compiler.sass.sass_code import MachineCode, MachineInstruction

__all__ = ["ExecutedInstruction", "MachineCounts", "line_numbers", "machine_counts"]


@dataclass(frozen=True)
class ExecutedInstruction:
    """A machine instruction and its execution counts.

    Attributes
    ----------
    instruction : MachineInstruction
        The instruction.
    warps : int
        Executions by a warp, with any number of active lanes.
    threads : int
        The sum of the active lanes, whatever their predicate.
    threads_on : int
        The sum of the active lanes whose predicate is true.
    """

    instruction: MachineInstruction
    warps: int
    threads: int
    threads_on: int


@dataclass(frozen=True)
class MachineCounts:
    """The execution counts of all machine instructions of a kernel.

    Attributes
    ----------
    executed : tuple of ExecutedInstruction
        The instructions, in the order of the code.
    caveats : tuple of str
        Reasons why counts are not exact; empty if the PTX counts determine all machine counts.
    """

    executed: tuple[ExecutedInstruction, ...]
    caveats: tuple[str, ...] = ()

    @property
    def warps(self) -> int:
        """Warp instructions, as `smsp__inst_executed.sum`."""
        return sum(entry.warps for entry in self.executed)

    @property
    def threads(self) -> int:
        """Thread instructions, as `smsp__thread_inst_executed.sum`."""
        return sum(entry.threads for entry in self.executed)

    @property
    def threads_on(self) -> int:
        """Thread instructions with a true predicate, as `smsp__thread_inst_executed_pred_on.sum`."""
        return sum(entry.threads_on for entry in self.executed)

    def by_line(self) -> Mapping[int, tuple[ExecutedInstruction, ...]]:
        """Return the instructions by source line."""
        lines: dict[int, list[ExecutedInstruction]] = defaultdict(list)
        for entry in self.executed:
            lines[entry.instruction.line].append(entry)
        return {line: tuple(instructions) for line, instructions in sorted(lines.items())}


def machine_counts(code: MachineCode, blocks: Sequence[PtxBlock]) -> MachineCounts:
    """Return the execution counts of the machine code for a launch with these PTX counts; takes about 10 ms.

    Counts of a sample of thread blocks must be passed unscaled, and the result scaled afterwards: scaled
    counts would not fulfil the flow equations.
    """
    match = PtxMatch(code, blocks)
    flow = MachineFlow(match)
    executed = tuple(
        ExecutedInstruction(instruction, *flow.executed(block, instruction))
        for block in code.blocks
        for instruction in block.instructions
    )

    caveats = []
    if flow.estimated_lines:
        caveats.append(
            f"the instruction counts of {line_numbers(flow.estimated_lines)} are estimates, because the "
            "counts of the PTX do not determine them"
        )
    items = [item for block in blocks for item in block.instructions]
    if slow := {item.line for item in items if item.slow and item.row in flow.slow_rows}:
        caveats.append(
            f"a division or root of {line_numbers(slow)} has operands, such as 0, for which machine code "
            "calls a subroutine, whose instructions are not counted"
        )
    if match.uncounted_loops:
        caveats.append("the assembler unrolled a loop whose iterations were not counted in groups")
    return MachineCounts(executed, tuple(caveats))


def line_numbers(lines: Collection[int]) -> str:
    """Return "line 3" or "lines 3, 5" for these lines."""
    return f"line{'s' * (len(lines) > 1)} {', '.join(map(str, sorted(lines)))}"
