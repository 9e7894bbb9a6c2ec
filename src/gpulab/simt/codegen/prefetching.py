"""Prefetching the rows that the next iteration of a loop loads.

In a loop with a barrier, all warps of the block run before the next iteration, which is too far ahead for the
host's processor to start its loads early. A load of a row is therefore followed by a prefetch of the row of
the next iteration, if the address increases by the same amount each time.
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
    """Return the steps of registers by name, for each block of a loop with a barrier."""
    last: dict[int, int] = {}
    for block in blocks:
        for head in block.targets:
            if head <= block.number:
                last[head] = block.number

    steps: dict[int, dict[str, LoopStep]] = {}
    for head in sorted(last):  # an inner loop replaces the loop around it
        body = blocks[head : last[head] + 1]
        found = _steps(body) if any(block.end == "barrier" for block in body) else {}
        steps |= dict.fromkeys(range(head, last[head] + 1), found)
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
    cg: CodegenContext, item: Instruction, pointers: Sequence[str], row_bytes: int
) -> None:
    """Prefetch the rows that a load reads in the next iteration, given host pointers to the present ones."""
    b, memory = cg.b, item.operands[1]
    if not (isinstance(memory, Mem) and isinstance(memory.base, Reg)):
        return
    if cg.loop_steps is None:
        cg.loop_steps = loop_steps(cg.flow.blocks)
    step = cg.loop_steps.get(cg.block_number, {}).get(memory.base.name)
    distance = _distance(cg, step) if step else ""
    if not distance:
        return
    for pointer in dict.fromkeys(pointers):
        for line in range(0, row_bytes, LINE_BYTES):
            following = b.value(f"getelementptr i8, ptr {pointer}, i64 {distance}")
            if line:
                following = b.value(f"getelementptr i8, ptr {following}, i64 {line}")
            b.call("llvm.prefetch.p0", "void", ("ptr", following), ("i32", "0"), ("i32", "3"), ("i32", "1"))


def _distance(cg: CodegenContext, step: LoopStep) -> str:
    """Return a step as an i64; "" if lanes have different ones."""
    if isinstance(step.operand, Imm):
        return _as_i64(int(step.operand.value) * step.factor)
    assert isinstance(step.operand, Reg)
    value = cg.read(step.operand.name)
    if value.kind != "uniform" or value.ty not in ("i32", "i64"):
        return ""
    wide = value.ref if value.ty == "i64" else cg.b.value(f"sext i32 {value.ref} to i64")
    return cg.b.value(f"mul i64 {wide}, {_as_i64(step.factor)}")


def _as_i64(number: int) -> str:
    return str((number + (1 << 63)) % (1 << 64) - (1 << 63))
