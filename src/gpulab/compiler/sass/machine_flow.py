"""How often each block of machine code ran, from how often each block of its PTX did.

1. Threads flow through blocks as water does: as many leave a block as come in. Every jump is one unknown,
   every block one equation.
2. The way into the slow case of a division or a square root is taken by no thread.
3. In a loop that the assembler unrolled, the copies share the rounds as it has it: as many as fit go to the
   large copy, the rest to the smaller ones.
4. A load, store, barrier or shuffle of a PTX block is executed by just the threads of that block, so these
   are the threads of the machine block it stands in, too. Instructions under a predicate say nothing about
   the block they stand in.
5. What is open after that is filled from branches that both codes have, and then from the other
   instructions of a block. The assembler may have moved those, so the PTX block that most of them come from
   counts first, and what contradicts what is known already is dropped.

Warps are the same but for two things: lanes that part at a branch make two warps' executions of one, and only
a `BSYNC` makes one of them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from gpulab.compiler.sass.disassembly import MachineBlock, MachineInstruction
from gpulab.compiler.sass.flow_equations import END, Graph, Row, with_value
from gpulab.compiler.sass.ptx_matching import Match

__all__ = ["MachineFlow"]

# Instructions that a GPU executes for just the threads that the program sends there.
ANCHORS = frozenset(
    ("LD", "LDG", "LDS", "LDL", "LDSM", "LDGSTS", "ST", "STG", "STS", "STL", "BAR", "ATOM", "ATOMG", "ATOMS")
) | frozenset(("RED", "REDG", "SHFL", "VOTE", "MATCH", "MEMBAR", "HMMA", "NANOSLEEP"))
# PTX of which the assembler makes a sequence with predicates of its own.
SEQUENCES = ("div.", "rem.", "sqrt.", "rsqrt.", "rcp.", "ex2.", "lg2.", "sin.", "cos.", "tanh.", "cvt.")
ENDS = ("EXIT", "RET", "BPT", "KILL")
OPEN = -2


def behind(number: int) -> int:
    """The node that holds the warps that go on in a block, behind its BSYNC if it has one."""
    return -3 - number


class MachineFlow:
    """Threads and warps of every machine block.

    doubtful: lines whose counts are estimates. has_slow_cases: whether rule 2 was needed.
    """

    def __init__(self, match: Match) -> None:
        self.match, self.blocks = match, match.code.blocks
        self.edges = [(block.number, target) for block in self.blocks for target in block.targets]
        self.edges += [
            (block.number, END)
            for block in self.blocks
            if block.instructions[-1].op in ENDS or not block.targets
        ]
        self.doubtful: set[int] = set()
        slow = list(self._slow_cases())
        self.has_slow_cases = bool(slow)
        self._thread_graph = self._threads_of_jumps(slow)
        self.threads = [self._known_threads(block) for block in self.blocks]
        self._warp_graph = self._warps_of_jumps()
        self.warps = [self._known_warps(block) for block in self.blocks]

    # -- threads --------------------------------------------------------------------------------

    def _threads_of_jumps(self, slow: list[int]) -> Graph:
        graph = Graph(self.edges)
        for block in self.blocks:
            row = graph.out(block.number) - graph.into(block.number)
            for caller in self.blocks:
                if caller.calls == block.number:
                    row -= graph.out(caller.number)
            graph.add(with_value(row, self.match.ptx[0].threads if block.number == 0 else 0.0))
        for number in slow:
            graph.add(graph.out(number))
        graph.close(0)
        for row in self._loops(graph):
            graph.add(row)
        graph.close(0)
        for row, line in self._anchors(graph):
            if not graph.add(row):  # the machine does not do what is assumed of it here
                self.doubtful.add(line)
        graph.close(0)
        for rows in (self._branches(graph), self._others(graph)):
            for row in rows:
                graph.add(row)
            graph.close(0)
        return graph

    def _slow_cases(self) -> Iterator[int]:
        """Blocks that call a subroutine which only some numbers need."""
        for block in self.blocks:
            if block.calls is not None:
                before = [one for one in self.blocks if block.number in one.targets]
                if any(len(one.targets) > 1 for one in before):  # it can be gone around: it was tested for
                    yield block.number

    def _loops(self, graph: Graph) -> Iterator[Row]:
        for head, shares in self.match.unrolled.items():
            for machine, share in shares.items():
                yield graph.out(machine, share.threads)
                if machine in self.blocks[machine].targets:
                    yield graph.edge(machine, machine, share.threads - share.first_threads)
            # The assembler's own guard, for a loop of no round at all: the PTX has gone around it.
            for block in self.blocks:
                inside = [target for target in block.targets if self.match.is_made_of(target, head)]
                if len(inside) == 2 and not self.match.is_made_of(block.number, head):
                    for target in inside:
                        if target in shares or set(self.blocks[target].targets) <= set(shares):
                            yield graph.edge(block.number, target)

    def _anchors(self, graph: Graph) -> Iterator[tuple[Row, int]]:
        """With the line of the source."""
        for line, found in self.match.places.items():
            home = self.match.home[line]
            if home.number in self.match.unrolled_members:
                continue  # of these, one wide load can stand for several
            if all(one.op in ANCHORS and not one.conditional for _, one in found):
                blocks = {number for number, _ in found}  # in one block, several are parts of one access
                row = np.sum([graph.out(number) for number in blocks], axis=0)
                yield with_value(row, home.threads), found[0][1].line

    def _branches(self, graph: Graph) -> Iterator[Row]:
        for block, home, ways in self.match.branches:
            yield graph.out(block.number, home.threads)
            for target, way in zip(block.targets, ways, strict=True):
                if (home.number, way) in self.match.ptx_flow:
                    yield graph.edge(block.number, target, self.match.ptx_flow[home.number, way])

    def _others(self, graph: Graph) -> Iterator[Row]:
        proposals = [
            (count, number, home) for number, votes in enumerate(self.match.homes) for home, count in votes
        ]
        for _, number, home in sorted(proposals, key=lambda one: -one[0]):
            if home.number not in self.match.unrolled_members:
                yield graph.out(number, home.threads)

    def _known_threads(self, block: MachineBlock) -> int:
        value = self._thread_graph.value(self._thread_graph.out(block.number))
        if value is not None and value >= 0:
            return value
        self._doubt(block)
        return 0

    def _jumps(self, start: int, end: int) -> int | None:
        """Threads that took one jump."""
        return self._thread_graph.value(self._thread_graph.edge(start, end))

    # -- warps ----------------------------------------------------------------------------------

    def _warps_of_jumps(self) -> Graph:
        match = self.match
        graph = Graph([*self.edges, *((behind(block.number), OPEN) for block in self.blocks)])
        for start, end in self.edges:
            if self._jumps(start, end) == 0:
                graph.add(graph.edge(start, end))
        for block in self.blocks:
            if self.threads[block.number] == 0:
                graph.add(graph.out(behind(block.number)))
            elif not _waits(block):
                row = graph.out(behind(block.number)) - graph.into(block.number)
                for caller in self.blocks:
                    if caller.calls == block.number:
                        row -= graph.out(behind(caller.number))
                graph.add(with_value(row, match.ptx[0].warps if block.number == 0 else 0.0))
            some_end = (block.number, END) in self.edges and self._jumps(block.number, END) != 0
            if not some_end and not self._splits(block):
                graph.add(graph.out(block.number) - graph.out(behind(block.number)))
        for meeting, parting in self._meetings():
            if self.threads[meeting] == self.threads[parting]:
                graph.add(graph.out(behind(meeting)) - graph.out(behind(parting)))
        for shares in match.unrolled.values():
            for machine, share in shares.items():
                graph.add(graph.out(behind(machine), share.warps))
                if machine in self.blocks[machine].targets:
                    graph.add(graph.edge(machine, machine, share.warps - share.first_warps))
        ways_in = Counter(target for block in match.ptx for target in dict.fromkeys(block.targets))
        for block, _, ways in match.branches:
            for target, way in zip(block.targets, ways, strict=True):
                if ways_in[way] == 1:
                    graph.add(graph.edge(block.number, target, match.by_number[way].warps))
        proposals = [
            (_waits(block), count, block.number, home)
            for block in self.blocks
            for home, count in match.homes[block.number]
            if home.threads == self.threads[block.number]
        ]
        for _, _, number, home in sorted(proposals, key=lambda one: (-one[0], -one[1])):
            graph.add(graph.out(behind(number), home.warps))
        for block in self.blocks:
            last = match.home.get(block.instructions[-1].ptx_line)
            if last is not None and last.threads == self.threads[block.number]:
                graph.add(graph.out(behind(block.number), last.warps))
            if self._splits(block) and (parted := self._parted(block)) is not None:
                row = graph.out(block.number) - graph.out(behind(block.number))
                graph.add(with_value(row, parted))
        return graph

    def _meetings(self) -> Iterator[tuple[int, int]]:
        """Blocks whose BSYNC ends what another block's BSSY began: the same threads go on together."""
        at = {one.offset: block.number for block in self.blocks for one in block.instructions}
        for block in self.blocks:
            for one in block.instructions:
                if one.op == "BSSY" and one.targets and one.targets[0] in at:
                    yield at[one.targets[0]], block.number

    def _splits(self, block: MachineBlock) -> bool:
        """Whether threads go two ways behind this block."""
        return sum(self._jumps(block.number, target) != 0 for target in block.targets) > 1

    def _parted(self, block: MachineBlock) -> int | None:
        """How often lanes parted behind a machine block: as behind the PTX branch that splits alike."""
        home = self.match.home.get(block.instructions[-1].ptx_line)
        if home is not None and len(home.targets) == 2 and home.parted == 0:
            return 0
        ways = sorted(self._jumps(block.number, target) or 0 for target in block.targets)
        found = set()
        for one in self.match.ptx:
            if len(one.targets) != 2 or one.threads != self.threads[block.number]:
                continue
            if sorted(self.match.ptx_flow.get((one.number, target), -1) for target in one.targets) == ways:
                if one is home:
                    return one.parted
                found.add(one.parted)
        return found.pop() if len(found) == 1 else None

    def _known_warps(self, block: MachineBlock) -> int:
        value = self._warp_graph.value(self._warp_graph.out(behind(block.number)))
        if value is not None and value >= 0:
            return value
        self._doubt(block)  # and take its warps to be as full as those of the PTX that it is made of
        votes = self.match.homes[block.number]
        home = votes[0][0] if votes else self.match.ptx[0]
        return -(-self.threads[block.number] * home.warps // max(home.threads, 1))

    def _arrivals(self, block: MachineBlock) -> int:
        """Warps that come to a block: where lanes wait for each other, more than go on."""
        if block.number == 0 or self.threads[block.number] == 0:
            return self.warps[block.number]
        value = self._warp_graph.value(self._warp_graph.into(block.number))
        if value is None or value < 0:
            self._doubt(block)
            return self.warps[block.number]
        return value

    def _doubt(self, block: MachineBlock) -> None:
        self.doubtful.update(one.line for one in block.instructions if one.line)

    # -- instructions ---------------------------------------------------------------------------

    def executed(self, block: MachineBlock, one: MachineInstruction) -> tuple[int, int, int]:
        """(warps, threads, threads whose predicate held) of one instruction."""
        warps, threads = self.warps[block.number], self.threads[block.number]
        if any(other.op == "BSYNC" and one.offset <= other.offset for other in block.instructions):
            warps = self._arrivals(block)
        return warps, threads, min(max(self._threads_on(block, one, threads), 0), threads)

    def _threads_on(self, block: MachineBlock, one: MachineInstruction, threads: int) -> int:
        if one.predicate in ("", "@PT", "@UPT"):
            return threads
        if one.op in ("EXIT", "RET"):
            return self._jumps(block.number, END) or 0
        if one.op in ("BRA", "JMP") and len(block.targets) > 1:
            return self._jumps(block.number, block.targets[-1]) or 0
        home = self.match.home.get(one.ptx_line)
        if home is None:
            return threads
        if home.threads >= threads and self.match.opcode[one.ptx_line].startswith(SEQUENCES):
            return 0  # for numbers out of the ordinary
        # A block of PTX was made part of this one: its threads are those that the predicate is on for.
        copies = [number for number, other in self.match.places[one.ptx_line] if other.opcode == one.opcode]
        if home.number not in self.match.unrolled_members:
            copies = list(dict.fromkeys(copies))
        everywhere = sum(self.threads[number] for number in copies)
        return round(home.threads * threads / max(everywhere, 1))


def _waits(block: MachineBlock) -> bool:
    return any(one.op == "BSYNC" for one in block.instructions)
