"""Executions of the loads and stores of PTX in machine code.

The assembler keeps loaded values in registers, merges stores of several basic blocks into one, and moves
loads out of branches. The addresses are those of the PTX, and the executions those of the machine code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpulab.compiler.sass.machine_counts import MachineCounts
from gpulab.compiler.sass.sass_code import MachineInstruction

__all__ = ["PtxAccess", "executed_shares"]

SPACES = {"LDG": "global", "LDS": "shared", "STG": "global", "STS": "shared"}  # by opcode
OPCODES = {"load": ("LDG", "LDS", "LD"), "store": ("STG", "STS", "ST")}
ROUNDING = 0.5  # executions; scaled counts of samples are not integers


@dataclass
class PtxAccess:
    """Executions of the load or store at one row of PTX, scaled to the whole launch.

    Attributes
    ----------
    space : str
        The state space, "global" or "shared"; of a generic address, one that it pointed to.
    requests, threads : float
        Executions by warps with an active lane, and active lanes.
    executed : float
        Requests of the machine code.
    """

    space: str
    requests: float = 0
    threads: float = 0
    executed: float = 0

    @property
    def left(self) -> float:
        """Requests of PTX for which no instruction of the machine code was found."""
        return self.requests - self.executed


@dataclass
class _Executions:
    """Executions of a machine instruction, and whether each of them is a request."""

    instruction: MachineInstruction
    warps: float = 0
    threads: float = 0
    exact: bool = True


def executed_shares(
    kind: str,
    accesses: Mapping[int, PtxAccess],
    others: Collection[int],
    machine: Sequence[tuple[float, MachineCounts]],
) -> Mapping[int, float]:
    """Return, by PTX row, the share of its requests that the machine code executes.

    An instruction that merges accesses of several basic blocks can have the row of one of them, or of a
    branch next to them. It performs the accesses that have no instruction of their own: first the one with
    the same number of threads, and the next ones if it is executed more often.

    Parameters
    ----------
    kind : str
        "load" or "store".
    accesses : mapping of int to PtxAccess
        The loads or stores of the PTX, by row; `executed` is set.
    others : collection of int
        Rows of other accesses to memory, such as atomics. The machine code makes loads and stores of them
        that are no access of PTX.
    machine : sequence of (float, MachineCounts)
        Machine counts of each sample of blocks, with the number of blocks that each block represents.
    """
    by_row: dict[int, list[_Executions]] = defaultdict(list)
    for executions in _executions(OPCODES[kind], machine):
        by_row[executions.instruction.ptx_line].append(executions)

    merged = []
    for row, several in by_row.items():
        if row in accesses:
            merged += _set_executed(accesses[row], several)
        elif row not in others:
            merged += [each for each in several if each.instruction.op in SPACES]
    for each in merged:
        _assign(each, [access for access in accesses.values() if access.space == SPACES[each.instruction.op]])

    return {row: access.executed / access.requests for row, access in accesses.items() if access.requests}


def _executions(
    opcodes: Collection[str], machine: Sequence[tuple[float, MachineCounts]]
) -> Iterator[_Executions]:
    """Yield the executions of the instructions with an opcode, over all samples."""
    total: dict[int, _Executions] = {}
    for weight, counts in machine:
        for entry in counts.executed:
            instruction = entry.instruction
            if instruction.op in opcodes:
                each = total.setdefault(instruction.offset, _Executions(instruction))
                each.warps += weight * entry.warps
                each.threads += weight * entry.threads_on
                # An execution for which the predicate of every lane is false is no request.
                each.exact &= not counts.caveats and not instruction.conditional
    yield from total.values()


def _set_executed(access: PtxAccess, several: Sequence[_Executions]) -> list[_Executions]:
    """Set the executed requests of an access from its instructions, and return executions beyond them."""
    if not all(each.exact for each in several):
        access.executed = access.requests
        return []

    warps = sum(each.warps for each in several)
    access.executed = min(warps, access.requests)
    first = several[0].instruction
    if warps <= access.requests + ROUNDING or first.op not in SPACES:
        return []
    threads = sum(each.threads for each in several) - access.threads
    return [_Executions(first, warps - access.requests, threads)]


def _assign(executions: _Executions, accesses: Sequence[PtxAccess]) -> None:
    """Add the executions of a merged instruction to the accesses without an instruction of their own."""
    warps = executions.warps
    for access in sorted(accesses, key=lambda access: abs(access.threads - executions.threads)):
        if access.left > ROUNDING and warps > ROUNDING:
            part = min(warps, access.left)
            access.executed += part
            warps = warps - part if executions.exact else 0
