"""Which blocks of machine code stand for which blocks of PTX, and which loops the assembler unrolled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpulab.compiler.sass.disassembly import MachineBlock, MachineCode, MachineInstruction
from gpulab.compiler.sass.flow_equations import Graph
from gpulab.compiler.sass.ptx_blocks import PtxBlock

__all__ = ["Match", "Share"]

# PTX that becomes one machine instruction: such lines tell how many copies of a loop's body there are.
ONE_TO_ONE = ("fma.", "add.f", "add.rn.f", "sub.f", "mul.f", "mul.rn.f", "ld.global", "st.", "shfl.", "ex2.")


@dataclass(frozen=True)
class Share:
    """How often one machine block with `copies` of a loop's body ran.

    first_…: those that followed no other round of the same block.
    """

    copies: int
    warps: int
    threads: int
    first_warps: int
    first_threads: int


class Match:
    """A kernel's machine code beside its PTX.

    home: PTX line -> its block. places: PTX line -> machine instructions made from it, with their blocks.
    homes: by machine block, the PTX blocks it is made of, each with its number of instructions, the one with
    most first. Only instructions without a predicate count: the others can come from anywhere.
    """

    def __init__(self, code: MachineCode, blocks: Sequence[PtxBlock]) -> None:
        self.code, self.ptx = code, blocks
        self.by_number = {block.number: block for block in blocks}
        self.home = {one.row: block for block in blocks for one in block.instructions}
        self.opcode = {one.row: one.opcode for block in blocks for one in block.instructions}
        self.places: dict[int, list[tuple[int, MachineInstruction]]] = defaultdict(list)
        for block in code.blocks:
            for one in block.instructions:
                if one.ptx_line in self.home:
                    self.places[one.ptx_line].append((block.number, one))
        self.homes = [self._votes(block) for block in code.blocks]
        self.uncounted_loops: set[int] = set()  # unrolled ones whose rounds nobody counted

    def _votes(self, block: MachineBlock) -> list[tuple[PtxBlock, int]]:
        votes = Counter(
            self.home[one.ptx_line].number
            for one in block.instructions
            if not one.conditional and one.ptx_line in self.home
        )
        return [(self.by_number[number], count) for number, count in votes.most_common()]

    @cached_property
    def ptx_flow(self) -> Mapping[tuple[int, int], int]:
        """Threads that went from one PTX block to another, where the counts of the blocks determine it."""
        graph = Graph([(one.number, target) for one in self.ptx for target in dict.fromkeys(one.targets)])
        for block in self.ptx:
            if block.targets:
                graph.add(graph.out(block.number, block.threads))
            if block is not self.ptx[0]:
                graph.add(graph.into(block.number, block.threads))
        values = {edge: graph.value(graph.edge(*edge)) for edge in graph.edges}
        return {edge: value for edge, value in values.items() if value is not None}

    # -- loops ----------------------------------------------------------------------------------

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """The first block of every PTX loop that holds no other, with all blocks of the loop."""
        before = defaultdict(list)
        for block in self.ptx:
            for target in block.targets:
                before[target].append(block.number)
        found: dict[int, frozenset[int]] = {}
        for block in self.ptx:
            for head in block.targets:
                if head > block.number:
                    continue
                body, todo = {head, block.number}, [block.number]
                while todo:
                    number = todo.pop()
                    if number != head:
                        todo += [one for one in before[number] if one not in body]
                        body.update(before[number])
                found[head] = found.get(head, frozenset()) | body
        return {
            head: body
            for head, body in found.items()
            if not any(other != head and other in body for other in found)
        }

    @cached_property
    def unrolled(self) -> Mapping[int, Mapping[int, Share]]:
        """By the first block of a PTX loop that the assembler unrolled: machine block -> its share."""
        found = {}
        for head, body in self.loops.items():
            layouts: Counter[tuple[tuple[int, int], ...]] = Counter()
            for member in body:
                block = self.by_number[member]
                if block.threads == self.by_number[head].threads:  # it runs in every round
                    layouts.update(
                        tuple(sorted(Counter(number for number, _ in self.places[one.row]).items()))
                        for one in block.instructions
                        if one.opcode.startswith(ONE_TO_ONE) and one.row in self.places
                    )
            if layouts:
                [(best, count)] = layouts.most_common(1)
                if max(copies for _, copies in best) > 1 and 2 * count > layouts.total():
                    found[head] = self._shares(self.by_number[head], dict(best))
        return found

    @cached_property
    def unrolled_members(self) -> frozenset[int]:
        """The PTX blocks of all unrolled loops."""
        return frozenset(member for head in self.unrolled for member in self.loops[head])

    def _shares(self, home: PtxBlock, copies: Mapping[int, int]) -> Mapping[int, Share]:
        """As many rounds as fit go to the block with most copies, what is left to the next one."""
        found: dict[int, Share] = {}
        left = home.warps, home.threads
        for machine, size in sorted(copies.items(), key=lambda one: -one[1]):
            if size == 1:
                found[machine] = Share(1, *left, *left)
                break
            warps, threads, *first = self._rounds(home, size)
            # Of n rounds, floor(n / size) would fit; those that larger copies took are not there.
            for more in found.values():
                warps -= more.warps * (more.copies // size)
                threads -= more.threads * (more.copies // size)
            found[machine] = Share(size, warps, threads, *(first if not found else (warps, threads)))
            left = left[0] - size * warps, left[1] - size * threads
        return found

    def _rounds(self, home: PtxBlock, size: int) -> tuple[int, int, int, int]:
        """`Rounds` of a loop; where nobody counted them, as if all threads went round about equally often."""
        if size in home.rounds:
            some = home.rounds[size]
            return some.warps, some.threads, some.first_warps, some.first_threads
        if not home.threads:
            return 0, 0, 0, 0
        self.uncounted_loops.add(home.number)
        back = [self.ptx_flow.get((one, home.number), 0) for one in self.loops[home.number]]
        runs = max(home.threads - sum(back), 1)
        each, longer = divmod(home.threads, runs)
        threads = (runs - longer) * (each // size) + longer * ((each + 1) // size)
        first = (runs - longer) * (each >= size) + longer * (each + 1 >= size)
        lanes = home.threads / max(home.warps, 1)
        return round(threads / lanes), threads, round(first / lanes), first

    def is_made_of(self, machine: int, head: int) -> bool:
        """Whether most of a machine block comes from the PTX loop with this first block."""
        votes = self.homes[machine]
        return bool(votes) and votes[0][0].number in self.loops[head]

    # -- branches -------------------------------------------------------------------------------

    @cached_property
    def branches(self) -> Sequence[tuple[MachineBlock, PtxBlock, tuple[int, ...]]]:
        """Conditional branches that both codes have, once each.

        A machine block, the PTX block it ends like, and the PTX blocks that its targets stand for.
        """
        found = []
        for block in self.code.blocks:
            last = block.instructions[-1]
            home = self.home.get(last.ptx_line)
            if home is None or last.op != "BRA" or len(block.targets) != 2 or len(home.targets) != 2:
                continue
            if home.instructions[-1].row != last.ptx_line:
                continue
            if sum(one.op == "BRA" for _, one in self.places[last.ptx_line]) != 1:
                continue
            if targets := self._ways(block, home):
                found.append((block, home, targets))
        return found

    def _ways(self, block: MachineBlock, home: PtxBlock) -> tuple[int, ...]:
        """Which ways of a PTX branch the two targets of a machine block are; () where that is not plain."""
        first, second = (self._ahead(target, home.number) for target in home.targets)
        score = 0
        for sign, target in zip((1, -1), block.targets, strict=True):
            for one in self.code.blocks[target].instructions:
                if one.ptx_line in self.home:
                    number = self.home[one.ptx_line].number
                    score += sign * ((number in first - second) - (number in second - first))
        if score == 0:
            return ()
        return home.targets if score > 0 else home.targets[::-1]

    def _ahead(self, number: int, start: int) -> set[int]:
        """PTX blocks that can be reached from one without going back to `start` or before it."""
        seen: set[int] = set()
        todo = [number]
        while todo:
            here = todo.pop()
            if here > start and here not in seen:
                seen.add(here)
                todo += self.by_number[here].targets
        return seen
