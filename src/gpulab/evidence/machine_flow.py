"""How often each block of machine code ran, from how often each block of its PTX did.

1. Threads flow through blocks as water does: as many leave a block as come in. Every jump is one unknown,
   every block one equation.
2. A load, store, barrier or shuffle of a PTX block is executed by just the threads of that block. The
   machine's copies of it, one or (in a loop that the assembler unrolled) several, therefore add up to the
   block's count. Copies under a predicate say nothing about the block they stand in, so they are left out.
3. The way into the slow case of a division or a square root is taken by no thread.
4. In a loop that was unrolled, the copies share the rounds as the assembler has it: as many as fit go to the
   large copy, the rest to the smaller ones.
5. What is open after that is filled from branches and from the other instructions of a block. The
   assembler may have moved those, so the ones that most others of their block agree with count first, and
   what contradicts what is known already is dropped.

Warps are the same but for two things: lanes that part at a branch make two warps' executions of one, and only
a `BSYNC` makes one of them again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpulab.compiler.sass import MachineBlock, MachineCode, MachineInstruction
from gpulab.evidence.machine import PtxBlock

__all__ = ["MachineFlow"]

# Instructions that a GPU executes for just the threads that the program sends there.
ANCHORS = frozenset(
    ("LD", "LDG", "LDS", "LDL", "LDSM", "LDGSTS", "ST", "STG", "STS", "STL", "BAR", "ATOM", "ATOMG", "ATOMS")
) | frozenset(("RED", "REDG", "SHFL", "VOTE", "MATCH", "MEMBAR", "HMMA", "NANOSLEEP"))
# PTX that becomes one machine instruction: such lines tell how many copies of a loop's body there are.
ONE_TO_ONE = ("fma.", "add.f", "add.rn.f", "sub.f", "mul.f", "mul.rn.f", "ld.global", "st.", "shfl.", "ex2.")
TOLERANCE = 1e-6

END = -1  # where edges lead on which threads end
OPEN = -2

Row = npt.NDArray[np.float64]


class Equations:
    """Linear equations `row[:-1] @ x == row[-1]`, taken up one by one."""

    def __init__(self, unknowns: int) -> None:
        self.rows = np.zeros((0, unknowns + 1))
        self.pivots: list[int] = []

    def _rest(self, row: Row) -> Row:
        """What is left of a row when all that is known is taken out of it."""
        rest = row - row[self.pivots] @ self.rows if self.pivots else row.copy()
        rest[np.abs(rest) < TOLERANCE] = 0.0
        return rest

    def add(self, row: Row) -> bool:
        """Take up one more; False, and nothing changes, when it contradicts what is known."""
        rest = self._rest(row)
        if not rest[:-1].any():
            return bool(abs(rest[-1]) < 0.5)
        pivot = int(np.argmax(np.abs(rest[:-1])))
        rest /= rest[pivot]
        self.rows = np.vstack([self.rows - np.outer(self.rows[:, pivot], rest), rest])
        self.pivots.append(pivot)
        return True

    def value(self, row: Row) -> float | None:
        """`row[:-1] @ x` where the equations determine it."""
        rest = self._rest(row)
        return None if rest[:-1].any() else float(-rest[-1])


class Graph:
    """Jumps between blocks as unknowns; an edge to -1 is where threads end."""

    def __init__(self, edges: Sequence[tuple[int, int]]) -> None:
        self.edges = list(edges)
        self.equations = Equations(len(edges))

    def row(self, edges: Iterable[int], value: float = 0.0) -> Row:
        row = np.zeros(len(self.edges) + 1)
        np.add.at(row, list(edges), 1.0)
        row[-1] = value
        return row

    def out(self, number: int, value: float = 0.0) -> Row:
        return self.row((i for i, (start, _) in enumerate(self.edges) if start == number), value)

    def into(self, number: int, value: float = 0.0) -> Row:
        return self.row((i for i, (_, end) in enumerate(self.edges) if end == number), value)

    def edge(self, start: int, end: int, value: float = 0.0) -> Row:
        return self.row((i for i, edge in enumerate(self.edges) if edge == (start, end)), value)

    def close(self, numbers: Iterable[int]) -> None:
        """Where nothing comes in, nothing goes out, and the other way round: no count is negative."""
        todo = set(numbers)
        while found := {n for n in todo if self.is_zero(self.out(n)) or self.is_zero(self.into(n))}:
            todo -= found
            for index, (start, end) in enumerate(self.edges):
                if start in found or (end in found and end != 0):
                    self.equations.add(self.row([index]))

    def is_zero(self, row: Row) -> bool:
        value = self.equations.value(row)
        return row[:-1].any() and value is not None and abs(value) < 0.5


def behind(number: int) -> int:
    """The node that holds what goes on in a block, behind its BSYNC; and the way back from that node."""
    return -3 - number


def ptx_edges(blocks: Sequence[PtxBlock]) -> Mapping[tuple[int, int], int]:
    """Threads that went from one PTX block to another, where the counts of the blocks determine it."""
    edges = [(block.number, target) for block in blocks for target in dict.fromkeys(block.targets)]
    graph = Graph(edges)
    for block in blocks:
        if block.targets:
            graph.equations.add(graph.out(block.number, block.threads))
        if block is not blocks[0]:
            graph.equations.add(graph.into(block.number, block.threads))
    values = {edge: graph.equations.value(graph.edge(*edge)) for edge in edges}
    return {edge: round(value) for edge, value in values.items() if value is not None}


def innermost_loops(blocks: Sequence[PtxBlock]) -> Mapping[int, frozenset[int]]:
    """The first block of every loop that holds no other, with all blocks of the loop."""
    before = defaultdict(list)
    for block in blocks:
        for target in block.targets:
            before[target].append(block.number)
    found: dict[int, frozenset[int]] = {}
    for block in blocks:
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
    return {h: body for h, body in found.items() if not any(o != h and o in body for o in found)}


class MachineFlow:
    """Solves for threads and warps of every machine block; `doubts` says what stayed open."""

    def __init__(self, code: MachineCode, blocks: Sequence[PtxBlock]) -> None:
        self.code, self.ptx = code, blocks
        self.by_number = {block.number: block for block in blocks}
        self.home = {one.row: block for block in blocks for one in block.instructions}
        self.doubts: list[str] = []
        edges = []
        for block in code.blocks:
            edges += [(block.number, target) for target in block.targets]
            if block.instructions[-1].op in ("EXIT", "RET", "BPT", "KILL") or not block.targets:
                edges.append((block.number, END))
        self.edges = edges
        self.loops = innermost_loops(blocks)
        self.homes = [self.votes(block) for block in code.blocks]
        self.thread_graph = self.solve_threads()
        self.threads = [self.known(self.thread_graph, block.number, "threads") for block in code.blocks]
        self.warp_graph = self.solve_warps()
        self.warps = [self.known(self.warp_graph, behind(block.number), "warps") for block in code.blocks]

    def known(self, graph: Graph, node: int, what: str) -> int:
        value = graph.equations.value(graph.out(node))
        number = node if node >= 0 else behind(node)
        if value is None or value < -0.5:
            self.doubts.append(f"{what} of machine block {number}: {value}")
            if what == "warps":  # as full as those of the PTX that it is made of
                home = self.homes[number][0][0] if self.homes[number] else self.ptx[0]
                return -(-self.threads[number] * home.warps // max(home.threads, 1))
            return 0
        return round(value)

    def votes(self, block: MachineBlock) -> list[tuple[PtxBlock, int]]:
        """PTX blocks that a machine block may be made of, the one with most of its instructions first."""
        votes = Counter(
            self.home[one.ptx_line].number
            for one in block.instructions
            if not one.conditional and one.ptx_line in self.home
        )
        return [(self.by_number[number], count) for number, count in votes.most_common()]

    # -- threads --------------------------------------------------------------------------------

    def solve_threads(self) -> Graph:
        graph = Graph(self.edges)
        add = graph.equations.add
        numbers = [block.number for block in self.code.blocks]
        for block in self.code.blocks:
            row = graph.out(block.number) - graph.into(block.number)
            for caller in self.code.blocks:
                if caller.calls == block.number:
                    row -= graph.out(caller.number)
            row[-1] = self.ptx[0].threads if block.number == 0 else 0.0
            add(row)
        for number in self.slow_cases():
            add(graph.out(number))
        graph.close(numbers)
        for rows in (self.unrolled(graph), self.anchors(graph), self.branches(graph), self.others(graph)):
            for row in rows:
                add(row)
            graph.close(numbers)
        return graph

    def slow_cases(self) -> Iterator[int]:
        """Blocks that call a subroutine which only some numbers need."""
        for block in self.code.blocks:
            if block.calls is not None:
                before = [one for one in self.code.blocks if block.number in one.targets]
                if any(len(one.targets) > 1 for one in before):  # it can be gone around: it was tested for
                    yield block.number

    @cached_property
    def places(self) -> Mapping[int, list[tuple[int, MachineInstruction]]]:
        """By PTX line: the machine's copies of it, with their blocks."""
        found = defaultdict(list)
        for block in self.code.blocks:
            for one in block.instructions:
                if one.ptx_line in self.home:
                    found[one.ptx_line].append((block.number, one))
        return found

    @cached_property
    def unrolled_copies(self) -> Mapping[int, dict[int, int]]:
        """By the first block of an unrolled PTX loop: machine block -> copies of the loop's body in it."""
        found: dict[int, dict[int, int]] = {}
        for head, body in self.loops.items():
            distributions: Counter[tuple[tuple[int, int], ...]] = Counter()
            for member in body:
                block = self.by_number[member]
                if block.threads != self.by_number[head].threads:
                    continue
                for one in block.instructions:
                    copies = self.places.get(one.row, [])
                    if one.opcode.startswith(ONE_TO_ONE):
                        distributions[tuple(sorted(Counter(number for number, _ in copies).items()))] += 1
            distributions.pop((), None)
            if distributions:
                [(best, count)] = distributions.most_common(1)
                if max(copies for _, copies in best) > 1 and 2 * count > distributions.total():
                    found[head] = dict(best)
        return found

    @cached_property
    def unrolled_members(self) -> frozenset[int]:
        """The PTX blocks of all unrolled loops."""
        return frozenset(member for head in self.unrolled_copies for member in self.loops[head])

    def is_made_of(self, machine: int, head: int) -> bool:
        """Whether most of a machine block comes from the loop with this first block."""
        votes = self.homes[machine]
        return bool(votes) and votes[0][0].number in self.loops[head]

    def unrolled(self, graph: Graph) -> Iterator[Row]:
        for number, copies in self.unrolled_copies.items():
            home = self.by_number[number]
            for machine, (_, threads, _, first) in self.shares(home, copies).items():
                yield graph.out(machine, threads)
                if machine in self.code.blocks[machine].targets:
                    yield graph.edge(machine, machine, threads - first)
            # A guard of the assembler's own, for a loop of no round at all: the PTX has gone around it.
            for block in self.code.blocks:
                inside = [target for target in block.targets if self.is_made_of(target, number)]
                if len(inside) == 2 and not self.is_made_of(block.number, number):
                    for target in inside:
                        if target in copies or set(self.code.blocks[target].targets) <= set(copies):
                            yield graph.edge(block.number, target)

    def shares(self, home: PtxBlock, copies: Mapping[int, int]) -> dict[int, tuple[int, int, int, int]]:
        """Rounds of each machine block that holds copies of a loop's body: (warps, threads, first ones)."""
        found: dict[int, tuple[int, int, int, int]] = {}
        left = home.warps, home.threads
        larger: list[tuple[int, int, int]] = []
        for machine, size in sorted(copies.items(), key=lambda one: -one[1]):
            if size == 1:
                found[machine] = (*left, *left)
                break
            if size in home.rounds:
                some = home.rounds[size]
                warps, threads, *first = some.warps, some.threads, some.first_warps, some.first_threads
            else:
                self.doubts.append(
                    f"the rounds of an unrolled loop (PTX block {home.number}) were not counted"
                )
                warps, threads = home.warps // size, home.threads // size
                first = [warps, threads]
            # Of n rounds, floor(n / size) would fit; those that larger copies took are not there.
            for more, more_warps, more_threads in larger:
                warps, threads = warps - more_warps * (more // size), threads - more_threads * (more // size)
            found[machine] = (warps, threads, *(first if not larger else (warps, threads)))
            larger.append((size, warps, threads))
            left = left[0] - size * warps, left[1] - size * threads
        return found

    def anchors(self, graph: Graph) -> Iterator[Row]:
        for line, found in self.places.items():
            if self.home[line].number in self.unrolled_members:
                continue  # of these, one wide load can stand for several
            if all(one.op in ANCHORS and not one.conditional for _, one in found):
                row = sum(graph.out(number) for number, _ in found)
                row[-1] = self.home[line].threads
                yield row

    @cached_property
    def shared_branches(self) -> list[tuple[MachineBlock, PtxBlock, tuple[int, int]]]:
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
            if (targets := self.matched(block, home)) is not None:
                found.append((block, home, targets))
        return found

    def matched(self, block: MachineBlock, home: PtxBlock) -> tuple[int, int] | None:
        """Which ways of a PTX branch the two targets of a machine block are; None where that is not plain."""
        first, second = (self.ahead(target, home.number) for target in home.targets)
        score = 0
        for sign, target in zip((1, -1), block.targets, strict=True):
            for one in self.code.blocks[target].instructions:
                if one.ptx_line in self.home:
                    number = self.home[one.ptx_line].number
                    score += sign * ((number in first - second) - (number in second - first))
        if score == 0:
            return None
        return home.targets if score > 0 else home.targets[::-1]

    def ahead(self, number: int, start: int) -> set[int]:
        """PTX blocks that can be reached from one without going back before `start`."""
        seen, todo = set(), [number]
        while todo:
            here = todo.pop()
            if here > start and here not in seen:
                seen.add(here)
                todo += self.by_number[here].targets
        return seen

    def branches(self, graph: Graph) -> Iterator[Row]:
        known = ptx_edges(self.ptx)
        for block, home, targets in self.shared_branches:
            yield graph.out(block.number, home.threads)
            for target, stands_for in zip(block.targets, targets, strict=True):
                if (home.number, stands_for) in known:
                    yield graph.edge(block.number, target, known[home.number, stands_for])

    def others(self, graph: Graph) -> Iterator[Row]:
        proposals = [
            (count, number, home) for number, votes in enumerate(self.homes) for home, count in votes
        ]
        for _, number, home in sorted(proposals, key=lambda one: -one[0]):
            if home.number not in self.unrolled_members:
                yield graph.out(number, home.threads)

    # -- warps ----------------------------------------------------------------------------------

    def solve_warps(self) -> Graph:
        """As for threads; here a node of its own, see `behind`, holds the warps that go on in a block."""
        graph = Graph([*self.edges, *((behind(block.number), OPEN) for block in self.code.blocks)])
        add = graph.equations.add
        for index, (start, end) in enumerate(self.edges):
            if end != END and self.thread_count(start, end) == 0:
                add(graph.row([index]))
        for block in self.code.blocks:
            if self.threads[block.number] == 0:
                add(graph.out(behind(block.number)))
            elif not any(one.op == "BSYNC" for one in block.instructions):
                row = graph.out(behind(block.number)) - graph.into(block.number)
                for caller in self.code.blocks:
                    if caller.calls == block.number:
                        row -= graph.out(behind(caller.number))
                row[-1] = self.ptx[0].warps if block.number == 0 else 0.0
                add(row)
            if block.instructions[-1].op != "EXIT" and not self.splits(block):
                add(graph.out(block.number) - graph.out(behind(block.number)))
        for block, waiting in self.meetings():
            if self.threads[block] == self.threads[waiting]:
                add(graph.out(behind(block)) - graph.out(behind(waiting)))
        for number, copies in self.unrolled_copies.items():
            for machine, (warps, _, first, _) in self.shares(self.by_number[number], copies).items():
                add(graph.out(behind(machine), warps))
                if machine in self.code.blocks[machine].targets:
                    add(graph.edge(machine, machine, warps - first))
        before = Counter(target for block in self.ptx for target in dict.fromkeys(block.targets))
        for block, _, targets in self.shared_branches:
            for target, stands_for in zip(block.targets, targets, strict=True):
                if before[stands_for] == 1:
                    add(graph.edge(block.number, target, self.by_number[stands_for].warps))
        proposals = [
            (any(one.op == "BSYNC" for one in block.instructions), count, block.number, home)
            for block in self.code.blocks
            for home, count in self.homes[block.number]
            if home.threads == self.threads[block.number]
        ]
        for _, _, number, home in sorted(proposals, key=lambda one: (-one[0], -one[1])):
            add(graph.out(behind(number), home.warps))
        for block in self.code.blocks:
            home = self.home.get(block.instructions[-1].ptx_line)
            if home is not None and home.threads == self.threads[block.number]:
                add(graph.out(behind(block.number), home.warps))
            if self.splits(block) and home is not None and len(home.targets) == 2:
                add(self.with_value(graph.out(block.number) - graph.out(behind(block.number)), home.parted))
        return graph

    def meetings(self) -> Iterator[tuple[int, int]]:
        """Blocks whose BSYNC ends what another block's BSSY began: where the same threads go on together."""
        at = {one.offset: block.number for block in self.code.blocks for one in block.instructions}
        for block in self.code.blocks:
            for one in block.instructions:
                if one.op == "BSSY" and one.targets and one.targets[0] in at:
                    yield at[one.targets[0]], block.number

    @staticmethod
    def with_value(row: Row, value: float) -> Row:
        row[-1] = value
        return row

    def thread_count(self, start: int, end: int) -> int | None:
        value = self.thread_graph.equations.value(self.thread_graph.edge(start, end))
        return None if value is None else round(value)

    def splits(self, block: MachineBlock) -> bool:
        """Whether threads go two ways behind this block."""
        return sum(self.thread_count(block.number, target) != 0 for target in block.targets) > 1

    def warps_in(self, number: int) -> int:
        """Warps that arrive at a block: where lanes wait for each other, more than go on."""
        value = self.warp_graph.equations.value(self.warp_graph.into(number))
        return self.warps[number] if value is None or number == 0 else round(value)

    # -- instructions ---------------------------------------------------------------------------

    def executed(self, block: MachineBlock, one: MachineInstruction) -> tuple[int, int, int]:
        """(warps, threads, threads whose predicate held) of one instruction."""
        warps, threads = self.warps[block.number], self.threads[block.number]
        waits = next((other.offset for other in block.instructions if other.op == "BSYNC"), -1)
        if one.offset <= waits and threads:
            warps = self.warps_in(block.number)
        if one.predicate in ("", "@PT", "@UPT"):
            return warps, threads, threads
        home = self.home.get(one.ptx_line)
        if one.op == "EXIT":
            value = self.thread_graph.equations.value(self.thread_graph.edge(block.number, END))
            return warps, threads, round(value or 0)
        if one.op in ("BRA", "JMP") and len(block.targets) > 1:
            value = self.thread_graph.equations.value(self.thread_graph.edge(block.number, block.targets[-1]))
            return warps, threads, round(value or 0)
        if home is None:
            return warps, threads, threads
        # The block of PTX it comes from was made part of this one; its threads are those it is on for.
        everywhere = sum(self.threads[number] for number, _ in self.places[one.ptx_line])
        if home.threads < everywhere:
            return warps, threads, round(home.threads * threads / everywhere)
        return warps, threads, 0  # a predicate of the assembler's own: for numbers out of the ordinary
