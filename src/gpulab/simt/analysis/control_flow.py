"""Control flow of a kernel: blocks in running order, and which registers are alive where.

Blocks are numbered so that every loop is contiguous and, inside it, a block comes after the blocks
that lead to it; lanes that part then meet again at the first block they have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.ptx.inlining import FlatFunction
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, Reg, Sym, Vec

__all__ = [
    "Block",
    "ControlFlow",
    "build_control_flow",
    "has_result",
    "is_warp_sync",
    "live_before",
    "reads",
    "registers_of",
    "widening_sites",
    "with_code",
    "writes",
]  # fmt: skip

# Instructions whose first operand is not a destination.
NO_RESULT = {
    "st", "red", "bra", "brx", "ret", "exit", "trap", "membar", "fence", "call", "prefetch", "prefetchu",
    "nanosleep", "brkpt", "pmevent", "discard", "applypriority", "griddepcontrol", "cp", "setmaxnreg",
    "stmatrix", "touch", "skip",
}  # fmt: skip


@dataclass
class Block:
    """Straight-line code and how it ends.

    end: `jump` (targets: next), `branch` (taken, not taken; `condition` decides), `barrier`
    (targets: where the warp goes on; `barrier` is the instruction), `exit` or `trap`.
    meeting: the first instruction, where it waits for lanes of the warp. last: the one that ends the block,
    where there is one.
    """

    number: int
    code: list[Instruction] = field(default_factory=list)
    end: str = "exit"
    targets: tuple[int, ...] = ()
    condition: Reg | None = None
    barrier: Instruction | None = None
    warp_sync: Instruction | None = None
    line: int = 0
    last: Instruction | None = None


@dataclass
class ControlFlow:
    """The blocks of a kernel, in running order, with the registers alive at each one's start."""

    blocks: list[Block]
    live_in: list[frozenset[str]]


def registers_of(operands: Iterable[Operand]) -> Iterator[str]:
    """The names of the registers in operands, those of addresses and vectors too."""
    for operand in operands:
        if isinstance(operand, Reg):
            yield operand.name
        elif isinstance(operand, Mem):
            yield from registers_of((operand.base,))
        elif isinstance(operand, Vec):
            yield from registers_of(operand.parts)


def has_result(item: Instruction) -> bool:
    if item.op in ("bar", "barrier"):
        return "red" in item.parts
    if item.op == "mbarrier":
        return not {"init", "inval"} & set(item.parts)
    return item.op not in NO_RESULT


def writes(item: Instruction) -> tuple[str, ...]:
    """The registers an instruction assigns."""
    if item.call is not None:
        return tuple(f"{name}+0" for name in item.call.results)
    if not has_result(item) or not item.operands:
        return ()
    return tuple(registers_of(item.operands[:1]))


def reads(item: Instruction) -> tuple[str, ...]:
    """The registers an instruction needs; under a predicate that includes what it may leave as it is."""
    found = list(registers_of(item.operands[1:] if has_result(item) else item.operands))
    if item.call is not None:
        found += [f"{name}+0" for name in item.call.arguments]
    if item.predicate is not None:
        found += [item.predicate.name, *writes(item)]
    return tuple(found)


def build_control_flow(flat: FlatFunction, split_at_warp_sync: bool = False) -> ControlFlow:
    """Cut a flat body into blocks, put them in running order, and find what is alive where.

    split_at_warp_sync: also cut before instructions that wait for lanes of their warp, so that lanes can be
    suspended there.
    """
    return _Builder(flat, split_at_warp_sync).flow()


def with_code(blocks: list[Block], registers: set[str]) -> ControlFlow:
    """The same blocks with other code. registers: all that the kernel has."""
    return ControlFlow(blocks, _liveness(blocks, registers))


def is_warp_sync(item: Instruction) -> bool:
    """Whether an instruction waits for the lanes of the mask that is its last operand."""
    if item.op in ("shfl", "vote", "match", "redux", "elect"):
        return "sync" in item.parts
    return item.op == "bar" and "warp" in item.parts


class _Builder:
    def __init__(self, flat: FlatFunction, split_at_warp_sync: bool) -> None:
        self.flat, self.split_at_warp_sync = flat, split_at_warp_sync
        self.blocks: list[Block] = []
        self.labels: dict[str, int] = {}
        self.pending: list[tuple[Block, str]] = []  # blocks whose first target is a label still to come
        self.bodies: dict[str, int] = {}  # bodies that several calls share: label -> first block
        self.calls: list[tuple[int, str]] = []  # (the block that calls, the body's label)
        self.returns: dict[int, int] = {}  # the block that calls -> where it goes on afterwards

    def flow(self) -> ControlFlow:
        self.cut()
        for block, label in self.pending:
            if label not in self.labels:
                raise UnsupportedInstruction(f"bra {label}", block.line, "a label that is not there")
            block.targets = (self.labels[label], *block.targets)
        self.blocks = self.in_running_order()
        return with_code(self.blocks, set(self.flat.registers))

    def start(self) -> Block:
        block = Block(len(self.blocks))
        self.blocks.append(block)
        return block

    def cut(self) -> None:
        block = self.start()
        open_block = True
        for item in [*self.flat.body, Instruction(("ret",), (), None, 0)]:
            if isinstance(item, str):
                following = self.start()
                if item.endswith(":enter") and "@" not in item:
                    self.bodies[item] = following.number
                if item.startswith("return@"):
                    calling = (c for c, _ in self.calls if c not in self.returns)
                    self.returns.update(dict.fromkeys(calling, following.number))
                if open_block:
                    block.end, block.targets = "jump", (following.number,)
                self.labels[item] = following.number
                block, open_block = following, True
                continue
            if not open_block:  # nothing leads here; it is dropped when the blocks are ordered
                block, open_block = self.start(), True
            block.line = item.line or block.line
            if item.op == "bra":
                block.last = item
                target = item.operands[0]
                assert isinstance(target, Sym)
                self.pending.append((block, target.name))
                if target.name.endswith(":enter") and "@" not in target.name:
                    self.calls.append((block.number, target.name))
                if item.predicate is None:
                    block.end, open_block = "jump", False
                else:
                    block.end, block.condition = "branch", item.predicate
                    block.targets, block = self.next_targets()
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

    def next_targets(self) -> tuple[tuple[int, ...], Block]:
        following = self.start()
        return (following.number,), following

    def guarded(self, block: Block, item: Instruction) -> Block:
        """For `@p ret` and `@p bar`: a block of its own behind a branch on `p`."""
        if item.predicate is None:
            return block
        inner, after = self.start(), self.start()
        block.end, block.condition, block.targets = "branch", item.predicate, (inner.number, after.number)
        inner.line = item.line
        return inner

    def barrier(self, block: Block, item: Instruction) -> Block:
        """A barrier is a block of its own, so that a warp can come back to it; so is what follows."""
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
        """`brx.idx index, table` as a chain of comparisons; the last entry needs none."""
        index, table = item.operands
        assert isinstance(table, Sym)
        labels = self.flat.tables[table.name]
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
            block.targets, block = self.next_targets()
        return block

    def in_running_order(self) -> list[Block]:
        """Renumber. Bodies that calls share come before the kernel's own code, and those they call before.


        A call counts as a step to where it returns to, so that the way through a body from one call to
        the return of another does not make a loop of everything between them.
        """
        edges = {b.number: b.targets for b in self.blocks}
        reached, work = {0}, [0]
        while work:
            for target in edges[work.pop()]:
                if target not in reached:
                    reached.add(target)
                    work.append(target)
        apart = {*self.bodies.values(), *self.returns.values()}
        steps = {n: tuple(t for t in targets if t not in apart) for n, targets in edges.items()}
        for calling, back in self.returns.items():
            steps[calling] += (back,)
        order: list[int] = []
        for start in self.callees_first():
            order = order or [0]  # the kernel's first block, which nothing leads back to here
            _place([n for n in self.part(start) if n in reached], {start}, steps, steps, order)
        own = [n for n in self.part(0) if n in reached and n not in order]
        _place(own, set(steps[0]) if order else {0}, steps, steps, order)
        number = {old: new for new, old in enumerate(order)}
        for old in order:
            self.blocks[old].number = number[old]
            self.blocks[old].targets = tuple(number[t] for t in self.blocks[old].targets)
        return [self.blocks[old] for old in order]

    def callees_first(self) -> list[int]:
        """The first blocks of the shared bodies; one that calls another comes behind it."""
        found: list[int] = []
        seen: set[int] = set()

        def visit(start: int) -> None:
            if start in seen:
                return
            seen.add(start)
            for calling, label in self.calls:
                if calling in self.part(start):
                    visit(self.bodies[label])
            found.append(start)

        for start in sorted(self.bodies.values()):
            visit(start)
        return found

    def part(self, start: int) -> range:
        """The blocks of the shared body that begins at `start`; of the kernel itself for 0."""
        return range(start, min((s for s in self.bodies.values() if s > start), default=len(self.blocks)))


def blocks_past(blocks: list[Block], barrier: int) -> frozenset[int]:
    """Blocks where lanes can only be when they have not come, and will not come, to the barrier of a block.

    They lie behind it (on a way on which numbers grow), and there is a way from them to the end without
    it. Lanes that wait elsewhere may still come to it, or leave the kernel; and so may lanes that have been
    there and wait inside a loop for their next round, while others are a round ahead of them.
    """
    behind = {barrier}
    for block in blocks[barrier:]:  # numbers grow on the way, so one pass will do
        if block.number in behind:
            behind |= {t for t in block.targets if t > block.number}
    before: dict[int, list[int]] = {}
    for block in blocks:
        for target in block.targets:
            before.setdefault(target, []).append(block.number)
    ends = _reached([b.number for b in blocks if b.end == "exit"], before, barrier)
    around = _reached([0], {b.number: list(b.targets) for b in blocks}, barrier)  # without having been there
    again = _reached(before.get(barrier, []), before, barrier)
    return frozenset((behind & ends) - (again - around) - {barrier})


def _reached(start: list[int], steps: dict[int, list[int]], but: int) -> set[int]:
    """Where steps from `start` lead that do not go through the block `but`."""
    found = set(start) - {but}
    work = list(found)
    while work:
        for number in steps.get(work.pop(), ()):
            if number != but and number not in found:
                found.add(number)
                work.append(number)
    return found


def _components(nodes: list[int], edges: dict[int, tuple[int, ...]]) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
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
                    found.append(component)
    return found[::-1]


Edges = dict[int, tuple[int, ...]]


def _place(nodes: list[int], heads: set[int], edges: Edges, all_edges: Edges, order: list[int]) -> None:
    """Append `nodes` to `order`: loops contiguous, predecessors first."""
    inside_of = set(nodes)
    for component in _components(sorted(nodes, key=lambda n: (n not in heads, n)), edges):
        first = component[0]
        if len(component) == 1 and first not in edges[first]:
            order.append(first)
            continue
        members = set(component)
        entered = {t for n in inside_of - members for t in edges[n] if t in members} | (heads & members)
        entered |= {t for n in order for t in all_edges[n] if t in members}
        head = min(entered or members)
        order.append(head)
        rest = sorted(members - {head})
        if rest:
            inner = {n: tuple(t for t in edges[n] if t != head) for n in rest}
            _place(rest, {t for t in edges[head] if t in members}, inner, all_edges, order)


def _liveness(blocks: list[Block], registers: set[str]) -> list[frozenset[str]]:
    needed: list[set[str]] = []
    assigned: list[set[str]] = []
    for block in blocks:
        need: set[str] = set()
        done: set[str] = set()
        code = block.code + ([block.barrier] if block.barrier else [])
        for item in code:
            need |= (set(reads(item)) & registers) - done
            done |= set(writes(item)) & registers
        if block.condition is not None and block.condition.name not in done:
            need.add(block.condition.name)
        needed.append(need)
        assigned.append(done)
    live = [set(n) for n in needed]
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out: set[str] = set()
            for target in block.targets:
                out |= live[target]
            now = needed[block.number] | (out - assigned[block.number])
            if now != live[block.number]:
                live[block.number] = now
                changed = True
    return [frozenset(s) for s in live]


def widens(item: Instruction) -> bool:
    """Whether an instruction extends a 32-bit integer to 64 bits (rows must not wrap around there)."""
    if item.op in ("mul", "mad"):
        return "wide" in item.parts and item.parts[-1] in ("s32", "u32")
    return item.op == "cvt" and item.parts[-2:] in tuple(
        (a, b) for a in ("s64", "u64") for b in ("s32", "u32")
    )


def widening_sites(blocks: list[Block]) -> dict[tuple[int, int], int]:
    """Every place (block, index) that widens, numbered."""
    places = [(b.number, i) for b in blocks for i, item in enumerate(b.code) if widens(item)]
    return {place: number for number, place in enumerate(places)}


def live_before(flow: ControlFlow, registers: set[str], block: Block, index: int) -> frozenset[str]:
    """The registers that are still needed when instruction `index` of a block is about to run."""
    alive = set().union(*(flow.live_in[t] for t in block.targets))
    if block.condition is not None:
        alive.add(block.condition.name)
    for item in reversed(block.code[index:]):
        alive = alive - set(writes(item)) | set(reads(item))
    return frozenset(alive & registers)
