"""Relation between blocks of machine code and blocks of PTX, and the loops that the assembler unrolled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpulab.compiler.sass.flow_equations import FlowGraph
from gpulab.compiler.sass.ptx_blocks import PtxBlock
from gpulab.compiler.sass.sass_code import MachineBlock, MachineCode, MachineInstruction

__all__ = ["PtxMatch", "UnrolledCopy"]

# PTX instructions that the assembler turns into one machine instruction each: the number of machine
# instructions of such a line is the number of copies of a loop's body. Instructions that prepare an operand,
# such as R2UR for the descriptor of a load from global memory, belong to the same line and do not count.
ONE_TO_ONE = ("fma.", "add.f", "add.rn.f", "sub.f", "mul.f", "mul.rn.f", "ld.global", "st.", "shfl.", "ex2.")
PREPARATIONS = ("R2UR", "LDC", "ULDC", "S2R", "MOV", "UMOV", "IMAD", "IADD3", "LEA")
# Machine instructions that compute predicates: the assembler adds such tests to the loops that it unrolls.
TESTS = ("ISETP", "PLOP3", "UISETP", "UPLOP3")


_Layout = tuple[tuple[int, int], ...]  # machine blocks, each with its copies of a loop's body


@dataclass(frozen=True)
class UnrolledCopy:
    """Execution counts of a machine block that contains several copies of a loop's body.

    Attributes
    ----------
    copies : int
        Iterations that one execution of the block performs.
    warps, threads : int
        Executions of the block.
    first_warps, first_threads : int
        Executions that did not follow another execution of the same block.
    """

    copies: int
    warps: int
    threads: int
    first_warps: int
    first_threads: int


class PtxMatch:
    """The machine code of a kernel, related to the basic blocks of its PTX.

    Attributes
    ----------
    code : MachineCode
        The machine code.
    ptx : sequence of PtxBlock
        The blocks of the PTX, with their execution counts.
    block_by_number : mapping of int to PtxBlock
        The blocks by number.
    block_of_row, opcode_of_row : mapping
        Block and opcode of each PTX line.
    machine_of_row : mapping of int to list
        The machine instructions that were made from each PTX line, with the numbers of their machine blocks.
    selected : mapping of int to SelectedResult
        The results that only a selection reads, by their PTX line.
    origins : list of list
        For each machine block, the PTX blocks from which its unconditional instructions were made, with the
        number of these instructions, largest first. Instructions with a predicate may come from any block.
    uncounted_loops : set of int
        First blocks of unrolled loops whose iterations were not counted in groups.
    """

    def __init__(self, code: MachineCode, blocks: Sequence[PtxBlock]) -> None:
        self.code, self.ptx = code, blocks
        self.block_by_number = {block.number: block for block in blocks}
        self.block_of_row = {item.row: block for block in blocks for item in block.instructions}
        self.opcode_of_row = {item.row: item.opcode for block in blocks for item in block.instructions}
        self.selected = {
            item.row: item.selected for block in blocks for item in block.instructions if item.selected
        }
        self.machine_of_row: dict[int, list[tuple[int, MachineInstruction]]] = defaultdict(list)
        for block in code.blocks:
            for instruction in block.instructions:
                if instruction.ptx_line in self.block_of_row:
                    self.machine_of_row[instruction.ptx_line].append((block.number, instruction))
        self.origins = [self._origins(block) for block in code.blocks]
        self.uncounted_loops: set[int] = set()

    def _origins(self, block: MachineBlock) -> list[tuple[PtxBlock, int]]:
        counts = Counter(
            self.block_of_row[instruction.ptx_line].number
            for instruction in block.instructions
            if not instruction.conditional and instruction.ptx_line in self.block_of_row
        )
        return [(self.block_by_number[number], count) for number, count in counts.most_common()]

    @cached_property
    def ptx_flow(self) -> Mapping[tuple[int, int], int]:
        """The thread count of each PTX edge that the counts of the blocks determine."""
        graph = FlowGraph(
            [(block.number, target) for block in self.ptx for target in dict.fromkeys(block.targets)]
        )
        for block in self.ptx:
            if block.targets:
                graph.add(graph.out(block.number, block.threads))
            if block is not self.ptx[0] and self.is_counted(block):
                graph.add(graph.into(block.number, block.threads))
        values = {edge: graph.value(graph.edge(*edge)) for edge in graph.edges}
        return {edge: value for edge, value in values.items() if value is not None}

    @staticmethod
    def is_counted(block: PtxBlock) -> bool:
        """Return True if a block has execution counts.

        The simulator does not execute a block that only exits: threads end at the branch to it.
        """
        return bool(block.targets) or block.threads > 0 or len(block.instructions) > 1

    # -- loops ----------------------------------------------------------------------------------

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """The blocks of each innermost PTX loop, by the loop's first block."""
        predecessors = defaultdict(list)
        for block in self.ptx:
            for target in block.targets:
                predecessors[target].append(block.number)

        bodies: dict[int, frozenset[int]] = {}
        for block in self.ptx:
            for head in block.targets:
                if head > block.number:
                    continue
                body, todo = {head, block.number}, [block.number]
                while todo:
                    number = todo.pop()
                    if number != head:
                        todo += [before for before in predecessors[number] if before not in body]
                        body.update(predecessors[number])
                bodies[head] = bodies.get(head, frozenset()) | body

        return {
            head: body
            for head, body in bodies.items()
            if not any(other != head and other in body for other in bodies)
        }

    @cached_property
    def unrolled(self) -> Mapping[int, Mapping[int, UnrolledCopy]]:
        """The unrolled loops by first block: their machine blocks, with the copies of the body in each."""
        return {
            head: self._distribute(self.block_by_number[head], layout)
            for head, layout in self._layouts.items()
            if max(layout.values()) > 1 or len(layout) > 2
        }

    @cached_property
    def peeled(self) -> Mapping[int, tuple[int, int]]:
        """The loops whose first iteration has machine code of its own, before the loop.

        The keys are their first PTX blocks, the values the machine blocks of the first iteration and of the
        others.
        """
        found = {}
        for head, layout in self._layouts.items():
            repeating = [number for number in layout if number in self.code.blocks[number].targets]
            if list(layout.values()) == [1, 1] and len(repeating) == 1:
                [before] = layout.keys() - repeating
                found[head] = before, repeating[0]
        return found

    @cached_property
    def _layouts(self) -> Mapping[int, Mapping[int, int]]:
        """The copies of the body of each innermost loop, by machine block.

        Most instructions of the body have these copies; a loop without such a majority is missing.
        """
        found = {}
        for head, body in self.loops.items():
            blocks = [self.block_by_number[member] for member in body]
            rows = [
                item.row
                for block in blocks
                if block.threads == self.block_by_number[head].threads  # it runs in every iteration
                for item in block.instructions
            ]
            layouts: Counter[_Layout] = Counter()
            for row in rows:
                if self.opcode_of_row[row].startswith(ONE_TO_ONE) and (copies := self._copies(row)):
                    layouts[tuple(sorted(copies.items()))] += 1
            layout = _majority(layouts) if layouts else self._layout_by_length(rows)
            if layout:
                found[head] = dict(layout)
        return found

    def _layout_by_length(self, rows: Sequence[int]) -> _Layout:
        """Return the copies of a loop's body by how many machine instructions its PTX lines, `rows`, became.

        The machine blocks with copies have instructions of most lines. Lines with more machine instructions
        count more. A loop without a block that repeats itself is unrolled completely, one copy in each block.
        """
        placed = {
            row: Counter(
                number
                for number, item in self.machine_of_row.get(row, ())
                if item.op not in TESTS and not item.conditional
            )
            for row in rows
        }
        placed = {row: numbers for row, numbers in placed.items() if numbers}
        lines = Counter(number for numbers in placed.values() for number in numbers)
        holders = {number for number, count in lines.items() if 2 * count > len(placed)}
        layouts: Counter[_Layout] = Counter()
        for numbers in placed.values():
            if holders and holders <= numbers.keys():
                least = min(numbers[number] for number in holders)
                layout = tuple(sorted((number, round(numbers[number] / least)) for number in holders))
                layouts[layout] += numbers.total()
        if any(number in self.code.blocks[number].targets for number in holders):
            return _majority(layouts)
        return tuple((number, 1) for number, _ in _majority(layouts))

    def _copies(self, row: int) -> Counter[int]:
        """Return the machine instructions in each machine block that execute a PTX line.

        They have the same opcode; the assembler may attribute others to the line that serve the loop itself.
        A block can run without its copies if they have predicates, so these count only if all copies do.
        """
        placed = [each for each in self.machine_of_row.get(row, ()) if each[1].op not in PREPARATIONS]
        placed = [each for each in placed if not each[1].conditional] or placed
        if not placed:
            return Counter()
        [(executing, _)] = Counter(item.op for _, item in placed).most_common(1)
        return Counter(number for number, item in placed if item.op == executing)

    @cached_property
    def unrolled_blocks(self) -> frozenset[int]:
        """The numbers of the PTX blocks of all unrolled loops."""
        return frozenset(member for head in self.unrolled for member in self.loops[head])

    def _distribute(self, head: PtxBlock, copies: Mapping[int, int]) -> Mapping[int, UnrolledCopy]:
        """Return the executions of each machine block: the one with most copies runs as often as possible.

        copies: the number of copies of the loop's body in each machine block. If each block is one copy, all
        are estimated to run equally often.
        """
        if max(copies.values()) == 1:
            self.uncounted_loops.add(head.number)
            share = head.warps // len(copies), head.threads // len(copies)
            return {machine: UnrolledCopy(1, *share, *share) for machine in copies}
        distributed: dict[int, UnrolledCopy] = {}
        left = head.warps, head.threads
        for machine, size in sorted(copies.items(), key=lambda item: -item[1]):
            if size == 1:
                distributed[machine] = UnrolledCopy(1, *left, *left)
                break
            warps, threads, *first = self._groups(head, size)
            # Of n iterations in a row, floor(n / size) groups would fit; larger copies have taken some of
            # them.
            for larger in distributed.values():
                warps -= larger.warps * (larger.copies // size)
                threads -= larger.threads * (larger.copies // size)
            distributed[machine] = UnrolledCopy(
                size, warps, threads, *(first if not distributed else (warps, threads))
            )
            left = left[0] - size * warps, left[1] - size * threads
        return distributed

    def _groups(self, head: PtxBlock, size: int) -> tuple[int, int, int, int]:
        """Return the fields of `IterationGroups` for groups of `size` iterations.

        If they were not counted, they are estimated as if all threads ran about the same number of
        iterations.
        """
        if size in head.iteration_groups:
            groups = head.iteration_groups[size]
            return groups.warps, groups.threads, groups.first_warps, groups.first_threads
        if not head.threads:
            return 0, 0, 0, 0

        self.uncounted_loops.add(head.number)
        back = [self.ptx_flow.get((number, head.number), 0) for number in self.loops[head.number]]
        entries = max(head.threads - sum(back), 1)
        iterations, longer = divmod(head.threads, entries)
        threads = (entries - longer) * (iterations // size) + longer * ((iterations + 1) // size)
        first = (entries - longer) * (iterations >= size) + longer * (iterations + 1 >= size)
        lanes = head.threads / max(head.warps, 1)
        return round(threads / lanes), threads, round(first / lanes), first

    def is_part_of_loop(self, machine: int, head: int) -> bool:
        """Return True if most of a machine block comes from the PTX loop with this first block."""
        origins = self.origins[machine]
        return bool(origins) and origins[0][0].number in self.loops[head]

    # -- branches -------------------------------------------------------------------------------

    @cached_property
    def branches(self) -> Sequence[tuple[MachineBlock, PtxBlock, tuple[int, ...]]]:
        """The conditional branches that machine code and PTX have in common.

        Each is a machine block, the PTX block that ends with the same branch, and for each target of the
        machine block the PTX block that it corresponds to.
        """
        branches = []
        for block in self.code.blocks:
            last = block.instructions[-1]
            origin = self.block_of_row.get(last.ptx_line)
            if origin is None or last.op != "BRA" or len(block.targets) != 2 or len(origin.targets) != 2:
                continue
            if origin.instructions[-1].row != last.ptx_line:
                continue
            if sum(item.op == "BRA" for _, item in self.machine_of_row[last.ptx_line]) != 1:
                continue
            if targets := self._matching_targets(block, origin):
                branches.append((block, origin, targets))
        return branches

    def _matching_targets(self, block: MachineBlock, origin: PtxBlock) -> tuple[int, ...]:
        """Return the PTX targets that correspond to the two targets of a machine block; () if ambiguous."""
        first, second = (self._reachable(target, origin.number) for target in origin.targets)
        score = 0
        for sign, target in zip((1, -1), block.targets, strict=True):
            for instruction in self.code.blocks[target].instructions:
                if instruction.ptx_line in self.block_of_row:
                    number = self.block_of_row[instruction.ptx_line].number
                    score += sign * ((number in first - second) - (number in second - first))
        if score == 0:
            return ()
        return origin.targets if score > 0 else origin.targets[::-1]

    def _reachable(self, number: int, start: int) -> set[int]:
        """Return the PTX blocks that are reachable from a block through blocks after `start`."""
        reachable: set[int] = set()
        todo = [number]
        while todo:
            current = todo.pop()
            if current > start and current not in reachable:
                reachable.add(current)
                todo += self.block_by_number[current].targets
        return reachable


def _majority(layouts: Counter[_Layout]) -> _Layout:
    """Return the layout with more than half of the weight; an empty one if there is none."""
    return next((layout for layout, weight in layouts.items() if 2 * weight > layouts.total()), ())
