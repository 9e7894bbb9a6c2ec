"""Code that counts groups of two and of four consecutive iterations of innermost loops.

The assembler unrolls such loops. The counts give the executions of each copy of the body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import Builder
from gpulab.simt.instrument.counters.counter_layout import (
    LOOP_BYTES,
    CounterLayout,
    add,
    population,
)

__all__ = ["GROUPS", "count_iteration", "count_iterations", "innermost_loops", "waiting_loops"]

GROUPS = (2, 4)  # consecutive iterations


def innermost_loops(blocks: Sequence[Block]) -> dict[int, frozenset[int]]:
    """Return the first block of every loop without an inner loop, and the blocks that lead into the loop."""
    before: dict[int, set[int]] = {block.number: set() for block in blocks}
    for block in blocks:
        for target in block.targets:
            before[target].add(block.number)
    bodies: dict[int, set[int]] = {}
    for block in blocks:
        for head in block.targets:
            if head > block.number:
                continue
            body = bodies.setdefault(head, {head})
            todo = [block.number]
            while todo:
                number = todo.pop()
                if number not in body:
                    body.add(number)
                    todo += before[number]
    return {
        head: frozenset(before[head] - body)
        for head, body in bodies.items()
        if not any(other != head and other in body for other in bodies)
    }


def waiting_loops(blocks: Sequence[Block]) -> list[tuple[int, int, int]]:
    """Return the loops that repeat `mbarrier.try_wait` until it succeeds: first, last and next block.

    A GPU suspends a warp at that instruction until the phase of the barrier is complete (PTX ISA,
    `mbarrier.try_wait`), so that the loop hardly ever repeats. All blocks of the loop execute in each
    repetition, and the next block is entered from this loop only.
    """
    waiting = [b.number for b in blocks if any("try_wait" in item.parts for item in b.code)]
    if not waiting:
        return []
    entries = Counter(target for block in blocks for target in block.targets)
    loops = []
    for end in blocks:
        for first in (target for target in end.targets if target <= end.number):
            body = blocks[first : end.number + 1]
            inside = range(first, end.number + 1)
            leaving = [target for block in body for target in block.targets if target not in inside]
            straight = all(
                [target for target in block.targets if target in inside] == [block.number + 1]
                for block in body[:-1]
            )
            waits = any(number in inside for number in waiting)
            if waits and straight and len(leaving) == 1 and entries[leaving[0]] == 1:
                loops.append((first, end.number, leaving[0]))
    return loops


def count_iterations(cg: CodegenContext, counters: str, layout: CounterLayout, block: Block) -> None:
    """Emit code at the start of a block that resets the count before a loop, or counts an iteration."""
    b = cg.b

    def at(offset: int) -> str:
        return b.value(f"getelementptr i8, ptr {counters}, i64 {offset}")

    for place, (head, entries) in enumerate(layout.loops.items()):
        if block.number not in entries and block.number != head:
            continue
        warp = b.value(f"mul i32 %warp, {8 * len(layout.loops)}")
        state = b.value(f"getelementptr i8, ptr {at(layout.iterations_at + 8 * place)}, i32 {warp}")
        if block.number != head:
            b.line(f"store i64 0, ptr {state}")
            continue
        record = at(layout.loops_at + LOOP_BYTES * place)
        count_iteration(b, state, record, cg.mask())


def count_iteration(b: Builder, state: str, record: str, mask: str) -> None:
    """Emit the count of one iteration.

    `state` points to the iterations since the loop was entered, `record` to the counters of the loop.
    """
    threads = population(b, mask)
    iterations = b.value(f"add i64 {b.value(f'load i64, ptr {state}')}, 1")
    b.line(f"store i64 {iterations}, ptr {state}")
    done = b.new_label("counted")
    for number, group in enumerate(GROUPS):
        whole, first, next_group = b.new_label("group"), b.new_label("first"), b.new_label("groups")
        rest = b.value(f"and i64 {iterations}, {group - 1}")
        b.branch(b.value(f"icmp eq i64 {rest}, 0"), whole, done)
        b.open(whole)
        counts = [
            b.value(f"getelementptr i8, ptr {record}, i64 {LOOP_BYTES // 2 * number + offset}")
            for offset in (0, 8, 16, 24)
        ]
        add(b, counts[0], "1")
        add(b, counts[1], threads)
        b.branch(b.value(f"icmp eq i64 {iterations}, {group}"), first, next_group)
        b.open(first)
        add(b, counts[2], "1")
        add(b, counts[3], threads)
        b.jump(next_group)
        b.open(next_group)
    b.jump(done)
    b.open(done)
