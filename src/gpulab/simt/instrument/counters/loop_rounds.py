"""The code that counts how often innermost loops go round twice, and four times, in a row.

The assembler unrolls such loops: how often its copies of the body ran follows from these counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.simt.analysis.control_flow import Block
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.instrument.counters.counter_layout import Record, add, population

__all__ = ["GROUPS", "count_rounds", "innermost_loops"]

GROUPS = (2, 4)  # rounds in a row


def innermost_loops(blocks: Sequence[Block]) -> dict[int, frozenset[int]]:
    """The first block of every loop that holds no other, with the blocks that lead into the loop."""
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


def count_rounds(cg: CodegenContext, observed: str, record: Record, block: Block) -> None:
    """At the head of a block: begin to count where it leads into loops, count a round where it begins one."""
    b = cg.b

    def at(offset: int) -> str:
        return b.value(f"getelementptr i8, ptr {observed}, i64 {offset}")

    for place, (head, entries) in enumerate(record.loops.items()):
        if block.number not in entries and block.number != head:
            continue
        warp = b.value(f"mul i32 %warp, {8 * len(record.loops)}")
        state = b.value(f"getelementptr i8, ptr {at(record.rounds_at + 8 * place)}, i32 {warp}")
        if block.number != head:
            b.line(f"store i64 0, ptr {state}")
            continue
        threads = population(cg, cg.mask())
        rounds = b.value(f"add i64 {b.value(f'load i64, ptr {state}')}, 1")
        b.line(f"store i64 {rounds}, ptr {state}")
        done = b.new_label("counted")
        for number, group in enumerate(GROUPS):
            whole, first, next_group = b.new_label("group"), b.new_label("first"), b.new_label("groups")
            rest = b.value(f"and i64 {rounds}, {group - 1}")
            b.branch(b.value(f"icmp eq i64 {rest}, 0"), whole, done)
            b.open(whole)
            counters = record.loops_at + 64 * place + 32 * number
            add(cg, at(counters), "1")
            add(cg, at(counters + 8), threads)
            b.branch(b.value(f"icmp eq i64 {rounds}, {group}"), first, next_group)
            b.open(first)
            add(cg, at(counters + 16), "1")
            add(cg, at(counters + 24), threads)
            b.jump(next_group)
            b.open(next_group)
        b.jump(done)
        b.open(done)
