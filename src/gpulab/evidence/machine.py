"""Executed machine instructions from executed PTX: what the simulator counted, told in the GPU's own code.

The simulator executes PTX and counts, for every basic block, how often a warp ran it and how many threads
took part. A GPU executes what the assembler made of it. Both are tied together by the table in the cubin
that names, for every machine instruction, the line of PTX it was made from (`gpulab.compiler.sass`):

1. Threads flow through the machine's blocks as water does: as many leave a block as come in. Every jump is
   one unknown, every block one equation.
2. A load, store, barrier or shuffle of a PTX block is executed by just the threads of that block. The
   machine's copies of it, one or (in a loop that the assembler unrolled) several, therefore add up to the
   block's count. Copies under a predicate say nothing about their block, so they are left out.
3. The way into the slow case of a division or a square root is taken by no thread.
4. What is open after that is filled from the other instructions of a block, which the assembler may have
   moved: the ones that agree with most of the others count first, what contradicts is dropped.
5. Of a loop that was unrolled, the machine's copies share the rounds as the assembler has it: the large one
   first. That needs the rounds that are second and fourth ones; without them all threads are taken to go
   round equally often.

What is left undetermined is reported in `MachineCounts.doubts`, not guessed silently.

Whoever counts fills in one `PtxBlock` per basic block of the kernel's PTX; `PtxInstruction.row` is the
line in `Program.ptx`, from 1. A block's instructions need only be those that came from the kernel's text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.compiler.sass import MachineBlock, MachineCode, MachineInstruction

__all__ = ["Executed", "MachineCounts", "PtxBlock", "PtxInstruction", "machine_counts"]

# Instructions that a GPU executes for just the threads that the program sends there.
ANCHORS = frozenset(
    ("LD", "LDG", "LDS", "LDL", "LDSM", "LDGSTS", "ST", "STG", "STS", "STL", "BAR", "ATOM", "ATOMG", "ATOMS")
) | frozenset(("RED", "REDG", "SHFL", "VOTE", "MATCH", "MEMBAR", "HMMA", "NANOSLEEP"))
TOLERANCE = 1e-6


@dataclass(frozen=True)
class PtxInstruction:
    """opcode: "ld.shared.f32". row: its line in the PTX text. line: of the source."""

    opcode: str
    row: int
    line: int = 0


@dataclass(frozen=True)
class PtxBlock:
    """A basic block of PTX and how often it ran.

    warps: executions by a warp, with whichever lanes. threads: the sum of their active lanes.
    second, fourth: (warps, threads) of those executions that were the second, fourth, … (the fourth, eighth,
    …) in a row of a block that jumps to itself; None when they were not counted.
    """

    number: int
    instructions: tuple[PtxInstruction, ...]
    warps: int
    threads: int
    second: tuple[int, int] | None = None
    fourth: tuple[int, int] | None = None


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
    """All instructions of a kernel with their counts; `doubts` says in words what is not exact, and why."""

    executed: tuple[Executed, ...]
    doubts: tuple[str, ...] = ()

    @property
    def warps(self) -> int:
        """Warp instructions, as `smsp__inst_executed.sum`."""
        return sum(one.warps for one in self.executed)

    @property
    def threads(self) -> int:
        """Thread instructions, as `smsp__thread_inst_executed.sum`."""
        return sum(one.threads for one in self.executed)

    def on(self, op: str) -> int:
        """Thread instructions of one opcode whose predicate held: `on("FFMA")`."""
        return sum(one.on for one in self.executed if one.instruction.op == op)

    def by_line(self) -> Mapping[int, tuple[Executed, ...]]:
        """The instructions of every source line."""
        found: dict[int, list[Executed]] = defaultdict(list)
        for one in self.executed:
            found[one.instruction.line].append(one)
        return {line: tuple(some) for line, some in sorted(found.items())}


def machine_counts(code: MachineCode, blocks: Sequence[PtxBlock]) -> MachineCounts:
    """What the machine executed when the simulator counted `blocks`; block 0 is the kernel's entry."""
    return _Bridge(code, blocks).counts()


class _Equations:
    """Linear equations, taken up one by one: what follows from earlier ones is checked, not added."""

    def __init__(self, unknowns: int) -> None:
        self.rows = np.zeros((0, unknowns + 1))
        self.pivots: list[int] = []

    def reduced(self, row: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        row = row.copy()
        if self.pivots:
            row -= row[self.pivots] @ self.rows
        row[np.abs(row) < TOLERANCE] = 0.0
        return row

    def add(self, row: npt.NDArray[np.float64]) -> bool:
        """Take up `row[:-1] @ x == row[-1]`; False when it contradicts what is known."""
        rest = self.reduced(row)
        pivot = int(np.argmax(np.abs(rest[:-1])))
        if rest[pivot] == 0.0 or pivot == len(rest) - 1:
            return bool(abs(rest[-1]) < 0.5)
        rest /= rest[pivot]
        self.rows -= np.outer(self.rows[:, pivot], rest)
        self.rows = np.vstack([self.rows, rest])
        self.pivots.append(pivot)
        return True

    def would_contradict(self, row: npt.NDArray[np.float64]) -> bool:
        rest = self.reduced(row)
        return not rest[:-1].any() and abs(rest[-1]) >= 0.5

    def value(self, row: npt.NDArray[np.float64]) -> float | None:
        """`row[:-1] @ x` where the equations determine it."""
        rest = self.reduced(row)
        return None if rest[:-1].any() else float(-rest[-1])


class _Bridge:
    def __init__(self, code: MachineCode, blocks: Sequence[PtxBlock]) -> None:
        self.code, self.ptx = code, blocks
        self.home = {one.row: block for block in blocks for one in block.instructions}
        self.doubts: list[str] = []
        self.edges: list[tuple[int, int]] = []  # from, to; to is -1 where threads end or return
        for block in code.blocks:
            last = block.instructions[-1]
            self.edges += [(block.number, target) for target in block.targets]
            if last.op in ("EXIT", "RET", "BPT", "KILL") or not block.targets:
                self.edges.append((block.number, -1))
        self.equations = _Equations(len(self.edges))

    # -- rows of the system ---------------------------------------------------------------------

    def row(self, terms: Iterable[tuple[int, float]], value: float) -> npt.NDArray[np.float64]:
        """sum of factor * threads of machine block == value."""
        row = np.zeros(len(self.edges) + 1)
        for number, factor in terms:
            for index, (start, _) in enumerate(self.edges):
                if start == number:
                    row[index] += factor
        row[-1] = value
        return row

    def flow(self) -> None:
        """Rules 1 and 3."""
        entry = self.ptx[0].threads
        for block in self.code.blocks:
            row = self.row([(block.number, 1.0)], 0.0)
            for index, (_, end) in enumerate(self.edges):
                if end == block.number:
                    row[index] -= 1.0
            for caller in self.code.blocks:
                if caller.calls == block.number:
                    row -= self.row([(caller.number, 1.0)], 0.0)
            if block.number == 0:
                row[-1] = entry
            self.equations.add(row)
        for number in self.slow_cases():
            self.equations.add(self.row([(number, 1.0)], 0.0))

    def slow_cases(self) -> Iterator[int]:
        """Blocks that call a subroutine which only some numbers need."""
        blocks = self.code.blocks
        for block in blocks:
            if block.calls is None:
                continue
            # Whoever can go around the call has tested whether it is needed.
            before = [one for one in blocks if block.number in one.targets]
            around = {target for one in before for target in one.targets} - {block.number}
            if around:
                yield block.number

    def anchors(self) -> None:
        """Rule 2."""
        places: dict[int, list[tuple[int, MachineInstruction]]] = defaultdict(list)
        for block in self.code.blocks:
            for one in block.instructions:
                if one.op in ANCHORS and one.ptx_line in self.home:
                    places[one.ptx_line].append((block.number, one))
        for line, found in places.items():
            if not any(one.conditional for _, one in found):
                row = self.row([(number, 1.0) for number, _ in found], self.home[line].threads)
                self.take(row)

    def take(self, row: npt.NDArray[np.float64]) -> bool:
        return self.equations.add(row)

    def votes(self) -> None:
        """Rule 4."""
        copies = Counter(one.ptx_line for one in self.code.instructions)
        proposals: list[tuple[int, int, PtxBlock]] = []
        for block in self.code.blocks:
            votes = Counter(
                self.home[one.ptx_line].number
                for one in block.instructions
                if not one.conditional and one.ptx_line in self.home and copies[one.ptx_line] == 1
            )
            proposals += [(count, block.number, self.ptx_by_number(p)) for p, count in votes.items()]
        for _, number, home in sorted(proposals, key=lambda one: -one[0]):
            self.take(self.row([(number, 1.0)], home.threads))
        places: dict[int, list[int]] = defaultdict(list)
        for block in self.code.blocks:
            for one in block.instructions:
                if not one.conditional and one.ptx_line in self.home and one.op not in ("BRA", "PLOP3"):
                    places[one.ptx_line].append(block.number)
        for line, numbers in places.items():
            self.take(self.row([(number, 1.0) for number in numbers], self.home[line].threads))

    def ptx_by_number(self, number: int) -> PtxBlock:
        return next(block for block in self.ptx if block.number == number)

    def zeros(self) -> None:
        done=set()
        while True:
            new=False
            for b in self.code.blocks:
                if b.number in done: continue
                v=self.equations.value(self.row([(b.number,1.0)],0.0))
                if v is not None and abs(v)<.5:
                    done.add(b.number); new=True
                    for i,(s,e) in enumerate(self.edges):
                        if b.number in (s,e):
                            r=np.zeros(len(self.edges)+1); r[i]=1; self.equations.add(r)
            if not new: return

    def solve(self):
        self.flow(); self.zeros(); self.anchors(); self.zeros()
        self.votes(); self.zeros()
        return [self.equations.value(self.row([(b.number, 1.0)], 0.0)) for b in self.code.blocks]

    def counts(self) -> MachineCounts:
        raise NotImplementedError
