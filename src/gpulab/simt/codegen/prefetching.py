"""Prefetching the rows that the next iteration of a loop loads or stores.

Successive iterations of a loop over rows or planes access memory that is far apart, so that the prefetcher
of the host's processor does not find the pattern. An iteration of all lanes is also too long for the
processor to start the loads of the next one early; in a loop with a barrier, all warps of the block run
before it. An access to a row is therefore followed by a prefetch of the row of the next iteration, if the
address increases by the same amount each time.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from gpulab.simt.analysis.basic_blocks import Block, writes
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, Reg

__all__ = ["LoopStep", "loop_steps", "prefetch_next_rows"]

LINE_BYTES = 64  # bytes of a line of the host's caches


@dataclass(frozen=True)
class LoopStep:
    """The increase of a register in each iteration of a loop: a register or a constant, times a factor."""

    operand: Operand
    factor: int = 1


def loop_steps(blocks: Sequence[Block]) -> dict[int, dict[str, LoopStep]]:
    """Return the steps of registers by name, for each block of a loop."""
    last: dict[int, int] = {}
    for block in blocks:
        for head in block.targets:
            if head <= block.number:
                last[head] = block.number

    steps: dict[int, dict[str, LoopStep]] = {}
    for head in sorted(last):  # an inner loop replaces the loop around it
        body = blocks[head : last[head] + 1]
        steps |= dict.fromkeys(range(head, last[head] + 1), _steps(body))
    return steps


def _steps(body: Sequence[Block]) -> dict[str, LoopStep]:
    """Return the registers that a loop writes once and that increase by the same amount each time."""
    written: dict[str, list[Instruction]] = {}
    for item in (item for block in body for item in block.code):
        for name in writes(item):
            written.setdefault(name, []).append(item)
    once = {name: items[0] for name, items in written.items() if len(items) == 1 and _is_integer(items[0])}

    steps: dict[str, LoopStep] = {}
    for name, item in once.items():
        if item.op == "add" and _is(item.operands[1], name) and _is_unchanged(item.operands[2], written):
            steps[name] = LoopStep(item.operands[2])
    for name, item in once.items():  # in the order of the program
        if name not in steps and (step := _derived(item, steps, written)):
            steps[name] = step
    return steps


def _derived(item: Instruction, steps: Mapping[str, LoopStep], written: Container[str]) -> LoopStep | None:
    """Return the step of a result: a sum with an unchanged value, or a product with a constant."""
    if item.op not in ("add", "mul", "shl"):
        return None
    first, second = item.operands[1:3]
    if item.op == "add" and _is_unchanged(first, written):
        first, second = second, first
    step = steps.get(first.name) if isinstance(first, Reg) else None
    if step is None:
        return None
    if item.op == "add":
        return step if _is_unchanged(second, written) else None
    if not isinstance(second, Imm):
        return None
    number = int(second.value)
    return replace(step, factor=step.factor * (number if item.op == "mul" else 1 << (number & 63)))


def _is_integer(item: Instruction) -> bool:
    return item.predicate is None and item.parts[-1][:1] in ("s", "u", "b")


def _is(operand: Operand, name: str) -> bool:
    return isinstance(operand, Reg) and operand.name == name


def _is_unchanged(operand: Operand, written: Container[str]) -> bool:
    return isinstance(operand, Imm) or (isinstance(operand, Reg) and operand.name not in written)


def prefetch_next_rows(
    cg: CodegenContext, memory: Operand, pointers: Sequence[str], row_bytes: int, *, writes: bool = False
) -> None:
    """Prefetch the rows that an access reads or writes in the next iteration.

    `pointers` are host pointers to the present rows. A line is prefetched once in a basic block, as if the
    register of the address were the start of a line.
    """
    b = cg.b
    if cg.quickly or not (isinstance(memory, Mem) and isinstance(memory.base, Reg)):
        return

    if cg.loop_steps is None:
        cg.loop_steps = loop_steps(cg.flow.blocks)
    step = cg.loop_steps.get(cg.block_number, {}).get(memory.base.name)
    distance = _distance(cg, step) if step else ""
    if not distance:
        return

    offset = memory.offset if isinstance(memory.offset, int) else 0
    lines = range(offset // LINE_BYTES, (offset + row_bytes - 1) // LINE_BYTES + 1)
    prefetched = cg.prefetched.setdefault((cg.block_number, memory.base.name), set())

    for pointer in dict.fromkeys(pointers):
        for line in lines:
            if line in prefetched:
                continue
            following = b.value(f"getelementptr i8, ptr {pointer}, i64 {distance}")
            if distance_to_line := max(line * LINE_BYTES - offset, 0):
                following = b.value(f"getelementptr i8, ptr {following}, i64 {distance_to_line}")
            b.call(
                "llvm.prefetch.p0", "void",
                ("ptr", following), ("i32", str(int(writes))), ("i32", "3"), ("i32", "1"),
            )  # fmt: skip
    prefetched.update(lines)


def _distance(cg: CodegenContext, step: LoopStep) -> str:
    """Return a step as an i64; "" if lanes have different ones, or if it is shorter than a cache line."""
    if isinstance(step.operand, Imm):
        number = int(step.operand.value) * step.factor
        return _as_i64(number) if abs(number) >= LINE_BYTES else ""
    assert isinstance(step.operand, Reg)
    value = cg.read(step.operand.name)
    if value.kind != "uniform" or value.ty not in ("i32", "i64"):
        return ""
    wide = value.ref if value.ty == "i64" else cg.b.value(f"sext i32 {value.ref} to i64")
    return cg.b.value(f"mul i64 {wide}, {_as_i64(step.factor)}")


def _as_i64(number: int) -> str:
    return str((number + (1 << 63)) % (1 << 64) - (1 << 63))
