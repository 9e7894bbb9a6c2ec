"""Execution counts of machine blocks, derived from the execution counts of PTX blocks.

1. The flow of threads is conserved: as many leave a block as enter it. Each edge of the control flow graph is
   an unknown, each block gives an equation.
2. No thread takes the slow path of a division or square root.
3. The copies of an unrolled loop's body share the iterations: as many as fit run in the largest copy, the
   rest in smaller ones. If the first iteration has machine code of its own, a thread with more than one
   enters the loop once.
4. A load, store, barrier or shuffle is executed by exactly the threads of its PTX block. Their number is
   therefore the thread count of the machine block that contains it, unless the instruction has a predicate.
5. What is still undetermined follows from branches that both codes have, and then from the other instructions
   of a block. The assembler may have moved these, so PTX blocks with more instructions in a machine block
   count first, and equations that contradict earlier ones are dropped.

The equations for warps are the same with two exceptions: lanes that diverge at a branch turn one execution by
a warp into two, and only a `BSYNC` joins them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from operator import add

from gpulab.compiler.sass.flow_equations import END, Equation, FlowGraph
from gpulab.compiler.sass.ptx_matching import PtxMatch
from gpulab.compiler.sass.sass_code import MachineBlock, MachineInstruction

__all__ = ["MachineFlow"]

# Machine instructions that are executed by exactly the threads that the PTX sends there (rule 4).
ANCHORS = frozenset(
    ("LD", "LDG", "LDS", "LDL", "LDSM", "LDGSTS", "ST", "STG", "STS", "STL", "BAR", "ATOM", "ATOMG", "ATOMS")
) | frozenset(("RED", "REDG", "SHFL", "VOTE", "MATCH", "MEMBAR", "HMMA", "NANOSLEEP", "SYNCS"))
# PTX instructions that the assembler turns into a sequence with predicates of its own.
SEQUENCES = ("div.", "rem.", "sqrt.", "rsqrt.", "rcp.", "ex2.", "lg2.", "sin.", "cos.", "tanh.", "cvt.")
WARP = 32
ENDS = ("EXIT", "RET", "BPT", "KILL")
SINK = -2  # target of the edge whose count is the number of warps that continue in a block


def after_sync(number: int) -> int:
    """Return the node of the warps that continue in a block, after its BSYNC if it has one."""
    return -3 - number


class MachineFlow:
    """Thread and warp counts of every machine block.

    Attributes
    ----------
    threads, warps : list of int
        Executions of each block, by active threads and by warps.
    estimated_lines : set of int
        Source lines whose counts are estimates.
    slow_rows : set of int
        PTX lines of the calls of slow paths, which are counted as if no thread took them.
    """

    def __init__(self, match: PtxMatch) -> None:
        self.match, self.blocks = match, match.code.blocks
        self.edges = [(block.number, target) for block in self.blocks for target in block.targets]
        self.edges += [
            (block.number, END)
            for block in self.blocks
            if block.instructions[-1].op in ENDS or not block.targets
        ]
        self.estimated_lines: set[int] = set()
        self.slow_rows: set[int] = set()
        self._turns = frozenset(block.number for block in self.blocks if _takes_turns(block))
        self._full_sums = list(self._sums_of_full_warps())
        self._thread_graph = self._thread_equations()
        self.threads = [self._threads_of(block) for block in self.blocks]
        self._warp_graph = self._warp_equations()
        self.warps = [self._warps_of(block) for block in self.blocks]
        self._last_syncs = [  # the offset of the last BSYNC of each block, or -1
            max((item.offset for item in block.instructions if item.op == "BSYNC"), default=-1)
            for block in self.blocks
        ]

    # -- threads --------------------------------------------------------------------------------

    def _thread_equations(self) -> FlowGraph:
        graph = FlowGraph(self.edges)
        for block in self.blocks:
            equation = graph.out(block.number) - graph.into(block.number)
            for caller in self.blocks:
                if caller.calls == block.number:
                    equation -= graph.out(caller.number)
            graph.add(equation.equal_to(self.match.ptx[0].threads if block.number == 0 else 0.0))
        for number in self._slow_paths():
            graph.add(graph.out(number))
        graph.propagate_zeros(0)

        for equation in self._loop_equations(graph):
            graph.add(equation)
        for start, end, full_warps in self._full_sums:
            graph.add(graph.edge(start, end, WARP * full_warps))
        graph.propagate_zeros(0)

        for equation, line in self._anchor_equations(graph):
            if not graph.add(equation):  # rule 4 does not hold for this instruction
                self.estimated_lines.add(line)
        graph.propagate_zeros(0)

        for equations in (self._branch_equations(graph), self._origin_equations(graph)):
            for equation in equations:
                graph.add(equation)
            graph.propagate_zeros(0)
        return graph

    def _slow_paths(self) -> Iterator[int]:
        """Yield the blocks of slow paths.

        They call a subroutine that only some operands need, or make an exchange between lanes in parts if not
        all lanes of the warp have arrived.
        """
        for block in self.blocks:
            if block.instructions[-1].opcode.startswith("BRA.DIV"):
                yield block.targets[-1]
            if block.calls is not None and self._can_be_avoided(block):
                self.slow_rows.add(block.instructions[-1].ptx_line)
                yield block.number

    def _can_be_avoided(self, call: MachineBlock) -> bool:
        """Return True if threads can take another way to where they continue after a call.

        The blocks that only follow the call, such as one that copies its result, belong to it.
        """
        own, last = {call.number}, call
        while len(last.targets) == 1 and last.targets[0] not in own:
            last = self.blocks[last.targets[0]]
            if len(self._predecessors(last)) > 1:
                break
            own.add(last.number)

        reached = {call.number}
        todo = [target for block in self._predecessors(call) for target in block.targets]
        while todo:
            number = todo.pop()
            if number not in reached:
                reached.add(number)
                todo += self.blocks[number].targets
        return last is not call and last.number in reached

    def _predecessors(self, block: MachineBlock) -> list[MachineBlock]:
        return [other for other in self.blocks if block.number in other.targets]

    def _sums_of_full_warps(self) -> Iterator[tuple[int, int, int]]:
        """Yield the edges that only warps without an inactive lane take, and how many do.

        Such a warp adds up what its lanes add to an element, and one lane makes the atomic operation. Not
        more warps are taken for full than the lanes of the PTX block prove.
        """
        for block in self.blocks:
            row = block.instructions[-1].ptx_line
            if not self.match.opcode_of_row.get(row, "").startswith("atom") or len(block.targets) < 2:
                continue
            if not any(item.op == "VOTE" and item.ptx_line == row for item in block.instructions):
                continue
            origin = self.match.block_of_row[row]
            full = max(origin.threads - (WARP - 1) * origin.warps, 0)
            if full < (origin.threads - origin.warps) // (WARP - 1):
                self.estimated_lines.add(block.instructions[-1].line)
            for target in block.targets:
                if any(i.op == "SHFL" and i.ptx_line == row for i in self.blocks[target].instructions):
                    yield block.number, target, full

    def _loop_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        for head, (before, machine) in self.match.peeled.items():
            origin = self.match.block_by_number[head]
            yield (graph.out(before) + graph.out(machine)).equal_to(origin.threads)
            if 2 in origin.iteration_groups:  # the first of two or more iterations enters the loop
                entries = graph.into(machine) - graph.edge(machine, machine)
                yield entries.equal_to(origin.iteration_groups[2].first_threads)

        for head, copies in self.match.unrolled.items():
            for machine, copy in copies.items():
                yield graph.out(machine, copy.threads)
                if self._repeats(machine, head):
                    yield graph.edge(machine, machine, copy.threads - copy.first_threads)

            # The assembler tests again whether the loop runs at all. The PTX has tested it before, so no
            # thread skips the loop here.
            for block in self.blocks:
                inside = [target for target in block.targets if self.match.is_part_of_loop(target, head)]
                if len(inside) == 2 and not self.match.is_part_of_loop(block.number, head):
                    for target in inside:
                        if target in copies or set(self.blocks[target].targets) <= set(copies):
                            yield graph.edge(block.number, target)

    def _repeats(self, machine: int, head: int) -> bool:
        """Return True if a block with copies of a PTX loop's body branches back to itself for that loop.

        A block with instructions from outside of the loop contains all of its iterations; the branch belongs
        to the loop around it.
        """
        block = self.blocks[machine]
        origins = {
            self.match.block_of_row[item.ptx_line].number
            for item in block.instructions
            if item.op in ANCHORS and item.ptx_line in self.match.block_of_row
        }
        return machine in block.targets and origins <= self.match.loops[head]

    def _anchor_equations(self, graph: FlowGraph) -> Iterator[tuple[Equation, int]]:
        """Yield the equations of rule 4, each with its source line."""
        for row_number, made in self.match.machine_of_row.items():
            origin = self.match.block_of_row[row_number]
            if origin.number in self.match.unrolled_blocks:
                continue  # one wide load can replace the loads of several iterations
            # Others prepare the operands of an operation on an mbarrier.
            placed = [each for each in made if each[1].op == "SYNCS"] or made
            if all(item.op in ANCHORS and not item.conditional for _, item in placed):
                # Several instructions in one block are parts of one access, so each block counts once.
                blocks = {number for number, _ in placed}
                equation = reduce(add, (graph.out(number) for number in blocks))
                yield equation.equal_to(origin.threads), placed[0][1].line

    def _branch_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        for block, origin, ptx_targets in self.match.branches:
            yield graph.out(block.number, origin.threads)
            for target, ptx_target in zip(block.targets, ptx_targets, strict=True):
                if (origin.number, ptx_target) in self.match.ptx_flow:
                    threads = self.match.ptx_flow[origin.number, ptx_target]
                    yield graph.edge(block.number, target, threads)

    def _origin_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        """Yield the equations of the PTX blocks that a machine block was made from, most reliable first."""
        candidates = [
            (count, number, origin)
            for number, origins in enumerate(self.match.origins)
            for origin, count in origins
        ]
        for _, number, origin in sorted(candidates, key=lambda candidate: -candidate[0]):
            if origin.number not in self.match.unrolled_blocks:
                yield graph.out(number, origin.threads)

    def _threads_of(self, block: MachineBlock) -> int:
        value = self._thread_graph.value(self._thread_graph.out(block.number))
        if value is not None and value >= 0:
            return value
        self._mark_estimated(block)
        return 0

    def _edge_threads(self, start: int, end: int) -> int | None:
        """Return the threads that took an edge, or None if undetermined."""
        return self._thread_graph.value(self._thread_graph.edge(start, end))

    # -- warps ----------------------------------------------------------------------------------

    def _warp_equations(self) -> FlowGraph:
        graph = FlowGraph([*self.edges, *((after_sync(block.number), SINK) for block in self.blocks)])
        rules = (
            self._warp_conservation,
            self._reconvergence_equations,
            self._warp_loop_equations,
            self._warp_branch_equations,
            self._warp_origin_equations,
            self._last_instruction_equations,
        )
        for rule in rules:
            for equation in rule(graph):
                graph.add(equation)
        return graph

    def _warp_conservation(self, graph: FlowGraph) -> Iterator[Equation]:
        """Yield the equations of the conservation of warps.

        A block without BSYNC continues with as many warps as enter it, and leaves with as many as continue
        unless they diverge or exit.
        """
        for start, end in self.edges:
            if self._edge_threads(start, end) == 0:
                yield graph.edge(start, end)
        for block in self.blocks:
            if self.threads[block.number] == 0:
                yield graph.out(after_sync(block.number))
            elif not _has_sync(block):
                equation = graph.out(after_sync(block.number)) - graph.into(block.number)
                for caller in self.blocks:
                    if caller.calls == block.number:
                        equation -= graph.out(after_sync(caller.number))
                yield equation.equal_to(self.match.ptx[0].warps if block.number == 0 else 0.0)
            exits = (block.number, END) in self.edges and self._edge_threads(block.number, END) != 0
            if not exits and not self._diverges(block):
                yield graph.out(block.number) - graph.out(after_sync(block.number))

    def _reconvergence_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        for sync, branch in self._reconvergences():
            if self.threads[sync] == self.threads[branch]:
                yield graph.out(after_sync(sync)) - graph.out(after_sync(branch))

    def _warp_loop_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        for head, (before, machine) in self.match.peeled.items():
            origin = self.match.block_by_number[head]
            both = graph.out(after_sync(before)) + graph.out(after_sync(machine))
            yield both.equal_to(origin.warps)
            if 2 in origin.iteration_groups:
                entries = graph.into(machine) - graph.edge(machine, machine)
                yield entries.equal_to(origin.iteration_groups[2].first_warps)

        for head, copies in self.match.unrolled.items():
            for machine, copy in copies.items():
                yield graph.out(after_sync(machine), copy.warps)
                if self._repeats(machine, head):
                    yield graph.edge(machine, machine, copy.warps - copy.first_warps)

    def _warp_branch_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        """Yield the equations of branches that only full warps take, and of those that the PTX has too."""
        for start, end, full_warps in self._full_sums:
            yield graph.edge(start, end, full_warps)

        in_degree = Counter(target for block in self.match.ptx for target in dict.fromkeys(block.targets))
        for block, _, ptx_targets in self.match.branches:
            for target, ptx_target in zip(block.targets, ptx_targets, strict=True):
                entered = self.match.block_by_number[ptx_target]
                if in_degree[ptx_target] == 1 and self.match.is_counted(entered):
                    yield graph.edge(block.number, target, entered.warps)

    def _warp_origin_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        """Yield the equations of PTX blocks with as many threads as a machine block that was made from them.

        Blocks with a BSYNC come first, because conservation does not determine them, and then the PTX blocks
        with the most instructions in a machine block.
        """
        candidates = [
            (_has_sync(block), count, block.number, origin)
            for block in self.blocks
            for origin, count in self.match.origins[block.number]
            if origin.threads == self.threads[block.number]
        ]
        for _, _, number, origin in sorted(candidates, key=lambda candidate: (-candidate[0], -candidate[1])):
            yield graph.out(after_sync(number), origin.warps)

    def _last_instruction_equations(self, graph: FlowGraph) -> Iterator[Equation]:
        """Yield the equations of the PTX block with the last instruction, and of divergence after it."""
        for block in self.blocks:
            last = self.match.block_of_row.get(block.instructions[-1].ptx_line)
            if last is not None and last.threads == self.threads[block.number]:
                yield graph.out(after_sync(block.number), last.warps)
            if self._diverges(block) and (divergences := self._divergences(block)) is not None:
                equation = graph.out(block.number) - graph.out(after_sync(block.number))
                yield equation.equal_to(divergences)

    def _reconvergences(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of blocks (of a BSYNC and its BSSY): the same threads continue in both."""
        block_at = {item.offset: block.number for block in self.blocks for item in block.instructions}
        for block in self.blocks:
            for item in block.instructions:
                if item.op == "BSSY" and item.targets and item.targets[0] in block_at:
                    yield block_at[item.targets[0]], block.number

    def _diverges(self, block: MachineBlock) -> bool:
        """Return True if threads take different edges after this block."""
        return sum(self._edge_threads(block.number, target) != 0 for target in block.targets) > 1

    def _divergences(self, block: MachineBlock) -> int | None:
        """Return how often lanes diverged after a block, from the PTX branch with the same thread counts."""
        origin = self.match.block_of_row.get(block.instructions[-1].ptx_line)
        if origin is not None and len(origin.targets) == 2 and origin.divergences == 0:
            return 0

        edges = sorted(self._edge_threads(block.number, target) or 0 for target in block.targets)
        candidates = set()
        for other in self.match.ptx:
            if len(other.targets) != 2 or other.threads != self.threads[block.number]:
                continue
            ptx_edges = sorted(
                self.match.ptx_flow.get((other.number, target), -1) for target in other.targets
            )
            if ptx_edges == edges:
                if other is origin:
                    return other.divergences
                candidates.add(other.divergences)
        return candidates.pop() if len(candidates) == 1 else None

    def _warps_of(self, block: MachineBlock) -> int:
        value = self._warp_graph.value(self._warp_graph.out(after_sync(block.number)))
        if value is not None and value >= 0:
            return value

        # Estimate: its warps have as many active lanes as those of the PTX block that it was made from.
        self._mark_estimated(block)
        origins = self.match.origins[block.number]
        origin = origins[0][0] if origins else self.match.ptx[0]
        return -(-self.threads[block.number] * origin.warps // max(origin.threads, 1))

    def _arriving_warps(self, block: MachineBlock) -> int:
        """Return the warps that enter a block; its BSYNC may join them to fewer, which continue in it."""
        if block.number == 0 or self.threads[block.number] == 0:
            return self.warps[block.number]
        value = self._warp_graph.value(self._warp_graph.into(block.number))
        if value is None or value < 0:
            self._mark_estimated(block)
            return self.warps[block.number]
        return value

    def _mark_estimated(self, block: MachineBlock) -> None:
        self.estimated_lines.update(item.line for item in block.instructions if item.line)

    # -- instructions ---------------------------------------------------------------------------

    def executed(self, block: MachineBlock, instruction: MachineInstruction) -> tuple[int, int, int]:
        """Return the warps, threads, and threads with a true predicate that executed an instruction."""
        warps, threads = self.warps[block.number], self.threads[block.number]
        if instruction.offset <= self._last_syncs[block.number]:
            warps = self._arriving_warps(block)
        if block.number in self._turns:  # each active lane has a turn, in which all of them execute the block
            together = round(threads * threads / max(warps, 1))
            by_one_lane = instruction.conditional and instruction.op != "ELECT"
            return threads, together, threads if by_one_lane else together
        return warps, threads, min(max(self._threads_on(block, instruction, threads), 0), threads)

    def _threads_on(self, block: MachineBlock, instruction: MachineInstruction, threads: int) -> int:
        if instruction.predicate in ("", "@PT", "@UPT"):
            return threads
        if instruction.op in ("EXIT", "RET"):
            return self._edge_threads(block.number, END) or 0
        if instruction.op in ("BRA", "JMP") and len(block.targets) > 1:
            return self._edge_threads(block.number, block.targets[-1]) or 0

        row = instruction.ptx_line
        origin = self.match.block_of_row.get(row)
        if origin is None:
            return threads
        if origin.threads >= threads and self.match.opcode_of_row[row].startswith(SEQUENCES):
            return 0  # it handles special operands only

        # The assembler replaced a branch around a PTX block by predicates, or a selection between two values:
        # they are true for the threads that need the result, less those of copies without a predicate.
        selected = self.match.selected.get(row)
        needed = origin.threads
        if selected is not None and not self._selects(selected.row):
            needed = selected.threads
        copies = [
            (number, item.conditional)
            for number, item in self.match.machine_of_row[row]
            if item.opcode == instruction.opcode
        ]
        if origin.number not in self.match.unrolled_blocks:
            copies = list(dict.fromkeys(copies))
        certain, total = (
            sum(self.threads[number] for number, conditional in copies if conditional is wanted)
            for wanted in (False, True)
        )
        return round((needed - certain) * threads / max(total, 1))

    def _selects(self, row: int) -> bool:
        """Return True if the machine code has an instruction for a selection in PTX."""
        return any(item.op in ("SEL", "FSEL") for _, item in self.match.machine_of_row.get(row, ()))


def _has_sync(block: MachineBlock) -> bool:
    return any(item.op == "BSYNC" for item in block.instructions)


def _takes_turns(block: MachineBlock) -> bool:
    """Return True if a block repeats until each active lane has been elected once.

    An instruction on uniform registers, such as UBLKCP for a bulk copy, executes for one lane at a time.
    """
    return block.number in block.targets and any(item.op == "ELECT" for item in block.instructions)
