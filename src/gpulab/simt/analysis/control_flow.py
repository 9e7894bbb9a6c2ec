"""Building the control-flow graph of a kernel and ordering its blocks.

Blocks are numbered in *running order*: every loop is contiguous, and inside it a block comes after its
predecessors. Divergent lanes that run in this order reconverge at the first block they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.basic_blocks import Block, ControlFlow, is_warp_sync, with_code
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.syntax import Imm, Instruction, Reg, Sym

__all__ = ["blocks_past", "blocks_without_path", "build_control_flow", "predecessors"]

Edges = dict[int, tuple[int, ...]]


def build_control_flow(flat: FlatFunction, split_at_warp_sync: bool = False) -> ControlFlow:
    """Divide a kernel without calls into basic blocks, in running order.

    Parameters
    ----------
    flat : FlatFunction
        The kernel.
    split_at_warp_sync : bool
        Also start a block at instructions that wait for lanes of their warp, so that lanes can be suspended
        there.
    """
    return _Builder(flat, split_at_warp_sync).build()


class _Builder:
    def __init__(self, flat: FlatFunction, split_at_warp_sync: bool) -> None:
        self.flat, self.split_at_warp_sync = flat, split_at_warp_sync
        self.blocks: list[Block] = []
        self.labels: dict[str, int] = {}
        self.pending: list[tuple[Block, str]] = []  # blocks whose first target is a label
        # Functions that several calls share are part of the body, see `ptx.inlining`.
        self.functions: dict[str, int] = {}  # label of a shared function -> its first block
        self.calls: list[tuple[int, str]] = []  # (calling block, label of the function)
        self.returns: dict[int, int] = {}  # calling block -> block after the call

    def build(self) -> ControlFlow:
        self.split()
        for block, label in self.pending:
            if label not in self.labels:
                raise UnsupportedInstruction(f"bra {label}", block.line, "a label that is not defined")
            block.targets = (self.labels[label], *block.targets)
        self.blocks = self.in_running_order()
        return with_code(self.blocks, set(self.flat.registers))

    def start(self) -> Block:
        block = Block(len(self.blocks))
        self.blocks.append(block)
        return block

    def split(self) -> None:
        """Divide the body at labels, branches, barriers and exits."""
        block = self.start()
        open_block = True
        for item in [*self.flat.body, Instruction(("ret",), (), None, 0)]:
            if isinstance(item, str):
                block, open_block = self.label(item, block, open_block), True
                continue
            if not open_block:  # unreachable code; dropped when the blocks are ordered
                block, open_block = self.start(), True

            block.line = item.line or block.line
            if item.op == "bra":
                block, open_block = self.branch(block, item)
            elif item.op == "brx":
                block, open_block = self.switch(block, item), False
            elif item.op in ("ret", "exit", "trap"):
                block = self.guarded(block, item)
                block.end, block.last = "trap" if item.op == "trap" else "exit", item
                open_block = False
                if item.predicate is not None:
                    block, open_block = self.blocks[block.number + 1], True
            elif item.op in ("bar", "barrier") and "warp" not in item.parts and "arrive" not in item.parts:
                block = self.barrier(block, item)
            elif self.split_at_warp_sync and is_warp_sync(item) and item.predicate is None:
                following = self.start()
                block.end, block.targets = "jump", (following.number,)
                block = following
                block.line, block.warp_sync = item.line, item
                block.code.append(item)
            else:
                block.code.append(item)

    def label(self, name: str, block: Block, open_block: bool) -> Block:
        """Start a block at a label; `block` falls through to it if it is open."""
        following = self.start()
        if _is_function_label(name):
            self.functions[name] = following.number
        if name.startswith("return@"):
            callers = (c for c, _ in self.calls if c not in self.returns)
            self.returns.update(dict.fromkeys(callers, following.number))
        if open_block:
            block.end, block.targets = "jump", (following.number,)
        self.labels[name] = following.number
        return following

    def branch(self, block: Block, item: Instruction) -> tuple[Block, bool]:
        """End a block with a branch; return the block for the code that follows and if it is reachable."""
        block.last = item
        target = item.operands[0]
        assert isinstance(target, Sym)
        self.pending.append((block, target.name))
        if _is_function_label(target.name):
            self.calls.append((block.number, target.name))
        if item.predicate is None:
            block.end = "jump"
            return block, False
        block.end, block.condition = "branch", item.predicate
        return self.fall_through(block), True

    def fall_through(self, block: Block) -> Block:
        following = self.start()
        block.targets = (following.number,)
        return following

    def guarded(self, block: Block, item: Instruction) -> Block:
        """Return the block for an instruction that ends it: a block of its own if it has a predicate."""
        if item.predicate is None:
            return block
        inner, after = self.start(), self.start()
        block.end, block.condition, block.targets = "branch", item.predicate, (inner.number, after.number)
        inner.line = item.line
        return inner

    def barrier(self, block: Block, item: Instruction) -> Block:
        """End a block with a barrier; return the next.

        The barrier has a block of its own, and the code after it starts another one, so that a suspended
        warp can resume at either.
        """
        if item.predicate is not None:
            block = self.guarded(block, item)
            after = self.blocks[block.number + 1]
        else:
            following = self.start()
            block.end, block.targets = "jump", (following.number,)
            block, after = following, self.start()
        block.line = item.line
        block.end, block.barrier, block.targets = "barrier", item, (after.number,)
        block.last = item
        return after

    def switch(self, block: Block, item: Instruction) -> Block:
        """Expand `brx.idx index, table` to a chain of comparisons; the last entry needs none."""
        index, table = item.operands
        assert isinstance(table, Sym)
        labels = self.flat.tables[table.name]
        block.last = item
        for number, label in enumerate(labels):
            self.pending.append((block, label))
            block.line = item.line
            if number == len(labels) - 1:
                block.end = "jump"
                break
            hit = Reg(f"{table.name}.{block.number}")
            self.flat.registers[hit.name] = "pred"
            block.code.append(Instruction(("setp", "eq", "u32"), (hit, index, Imm(number)), None, item.line))
            block.end, block.condition = "branch", hit
            block = self.fall_through(block)
        return block

    def in_running_order(self) -> list[Block]:
        """Return the reachable blocks, renumbered.

        Functions that several calls share come before the kernel's own code, callees before callers. A call
        counts as an edge to its return address, so that the path through a shared function from one call to
        the return of another does not turn everything between them into a loop.
        """
        edges = {b.number: b.targets for b in self.blocks}
        reached, work = {0}, [0]
        while work:
            for target in edges[work.pop()]:
                if target not in reached:
                    reached.add(target)
                    work.append(target)

        interprocedural = {*self.functions.values(), *self.returns.values()}
        local = {n: tuple(t for t in targets if t not in interprocedural) for n, targets in edges.items()}
        for caller, back in self.returns.items():
            local[caller] += (back,)

        order: list[int] = []
        for start in self.callees_first():
            order = order or [0]  # the entry block, which no function returns to
            _append_in_order([n for n in self.extent(start) if n in reached], {start}, local, local, order)
        own = [n for n in self.extent(0) if n in reached and n not in order]
        _append_in_order(own, set(local[0]) if order else {0}, local, local, order)

        number = {old: new for new, old in enumerate(order)}
        for old in order:
            self.blocks[old].number = number[old]
            self.blocks[old].targets = tuple(number[t] for t in self.blocks[old].targets)
        return [self.blocks[old] for old in order]

    def callees_first(self) -> list[int]:
        """Return the first blocks of the shared functions, callees before their callers."""
        order: list[int] = []
        seen: set[int] = set()

        def visit(start: int) -> None:
            if start in seen:
                return
            seen.add(start)
            for caller, label in self.calls:
                if caller in self.extent(start):
                    visit(self.functions[label])
            order.append(start)

        for start in sorted(self.functions.values()):
            visit(start)
        return order

    def extent(self, start: int) -> range:
        """Return the blocks of the shared function that begins at `start`, or of the kernel for 0."""
        return range(start, min((s for s in self.functions.values() if s > start), default=len(self.blocks)))


def _is_function_label(name: str) -> bool:
    return name.endswith(":enter") and "@" not in name


def blocks_past(blocks: list[Block], edges: dict[int, list[int]], barrier: int) -> frozenset[int]:
    """Return the blocks from which no lane can still reach the barrier that ends a block.

    They can be reached from the barrier by increasing block numbers, and the kernel's end can be reached from
    them without passing the barrier. Lanes elsewhere may still reach it, or exit; so may lanes that have
    passed it and are suspended inside a loop, while others are an iteration ahead. `edges` are the
    `predecessors` of the blocks.
    """
    after = {barrier}
    for block in blocks[barrier:]:  # numbers increase along the path, so one pass is enough
        if block.number in after:
            after |= {t for t in block.targets if t > block.number}

    successors = {b.number: list(b.targets) for b in blocks}

    can_end = _reachable([b.number for b in blocks if b.end == "exit"], edges, barrier)
    bypassing = _reachable([0], successors, barrier)
    returning = _reachable(edges.get(barrier, []), edges, barrier)
    return frozenset((after & can_end) - (returning - bypassing) - {barrier})


def blocks_without_path(blocks: list[Block], edges: dict[int, list[int]], number: int) -> frozenset[int]:
    """Return the other blocks from which no path leads to a block; see `blocks_past` for `edges`."""
    reaching = _reachable(edges.get(number, []), edges, number)
    return frozenset(b.number for b in blocks) - reaching - {number}


def predecessors(blocks: list[Block]) -> dict[int, list[int]]:
    """Return the blocks that may continue at each block."""
    edges: dict[int, list[int]] = {}
    for block in blocks:
        for target in block.targets:
            edges.setdefault(target, []).append(block.number)
    return edges


def _reachable(start: list[int], edges: dict[int, list[int]], excluded: int) -> set[int]:
    """Return the nodes that can be reached from `start` without passing `excluded`."""
    reached = set(start) - {excluded}
    work = list(reached)
    while work:
        for number in edges.get(work.pop(), ()):
            if number != excluded and number not in reached:
                reached.add(number)
                work.append(number)
    return reached


def _append_in_order(
    nodes: list[int], heads: set[int], edges: Edges, all_edges: Edges, order: list[int]
) -> None:
    """Append `nodes` to `order` with loops contiguous and predecessors first."""
    candidates = set(nodes)
    for component in _components(sorted(nodes, key=lambda n: (n not in heads, n)), edges):
        first = component[0]
        if len(component) == 1 and first not in edges[first]:
            order.append(first)
            continue

        # The loop's head is its lowest entry; the rest is ordered without the edges back to it.
        members = set(component)
        entered = {t for n in candidates - members for t in edges[n] if t in members} | (heads & members)
        entered |= {t for n in order for t in all_edges[n] if t in members}
        head = min(entered or members)
        order.append(head)
        rest = sorted(members - {head})
        if rest:
            inner = {n: tuple(t for t in edges[n] if t != head) for n in rest}
            _append_in_order(rest, {t for t in edges[head] if t in members}, inner, all_edges, order)


def _components(nodes: list[int], edges: Edges) -> list[list[int]]:
    """Return the strongly connected components in topological order (Tarjan's algorithm, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[list[int]] = []
    inside = set(nodes)
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)

        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in inside:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(edges[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    components.append(component)
    return components[::-1]
