"""Barriers: a warp leaves its registers behind, hands control back, and finds them again.

What is alive behind a barrier has a place in the warp's save area; the loop over the block's warps
(`runtime.ll`) calls the warp again when all of them have come to a barrier or to their end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import UnsupportedInstruction
from gpulab.simt import flow, layout
from gpulab.simt.layout import SLICE
from gpulab.simt.llvm import BITS, Value, vector
from gpulab.simt.ptx import Imm, Instruction
from gpulab.simt.shapes import WARP

if TYPE_CHECKING:
    from gpulab.simt.lower import Lowering

__all__ = ["barrier", "collect", "plan_saved", "restore"]


def plan_saved(low: Lowering, barriers: list[flow.Block]) -> None:
    """A place in the warp's save area for every register alive behind a barrier."""
    alive: set[str] = set()
    for block in barriers:
        alive |= low.flow.live_in[block.targets[0]]
    at = 0
    for name in sorted(alive):
        ty, shape = low.register_type(name), low.shape(name)
        low.saved_at[name] = at
        if shape.kind == "lanes":
            at += 4 if ty == "i1" else WARP * BITS[ty] // 8
        else:
            at += 8 * (low.rows if shape.kind == "rows" else 1)
        at = -(-at // 8) * 8
    low.saved_bytes = -(-at // 64) * 64


def saved_address(low: Lowering) -> str:
    b = low.b
    base = low.context("saved", "ptr")
    offset = b.value(f"mul i64 {b.value('zext i32 %warp to i64')}, {low.saved_bytes}")
    return b.value(f"getelementptr i8, ptr {base}, i64 {offset}")


def save(low: Lowering, target: int) -> None:
    b = low.b
    area = saved_address(low)
    for name in sorted(low.flow.live_in[target]):
        value = low.read(name)
        for number, ref in enumerate(value.refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {low.saved_at[name] + 8 * number}")
            if value.kind == "lanes" and value.ty == "i1":
                b.line(f"store i32 {low.bits_of(ref)}, ptr {place}, align 4")
            else:
                ty = vector(value.ty) if value.kind == "lanes" else value.ty
                b.line(f"store {ty} {ref}, ptr {place}, align 1")


def restore(low: Lowering, target: int) -> None:
    b = low.b
    area = saved_address(low)
    for name in sorted(low.flow.live_in[target]):
        ty, shape = low.register_type(name), low.shape(name)
        slot = low.slot(name)
        for number, ref in enumerate(slot.refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {low.saved_at[name] + 8 * number}")
            if shape.kind == "lanes" and ty == "i1":
                loaded = low.vector_of_bits(b.value(f"load i32, ptr {place}, align 4"))
                b.line(f"store {vector('i1')} {loaded}, ptr {ref}")
            else:
                full = vector(ty) if shape.kind == "lanes" else ty
                loaded = b.value(f"load {full}, ptr {place}, align 1")
                b.line(f"store {full} {loaded}, ptr {ref}")
    # All lanes that have not left are behind the barrier together; who left is in the state.
    mask = b.value(f"load i32, ptr {state_field(low, 12)}")
    b.line(f"store i32 {mask}, ptr {low.mask_slot}")


def state_field(low: Lowering, offset: int) -> str:
    """A warp's state: (i32 resume, i32 -, i32 -, i32 mask, i64 used, …), 32 bytes."""
    b = low.b
    number = b.value("zext i32 %warp to i64")
    scaled = b.value(f"mul i64 {number}, 32")
    base = b.value(f"getelementptr i8, ptr {low.context('warps', 'ptr')}, i64 {scaled}")
    return b.value(f"getelementptr i8, ptr {base}, i64 {offset}")


def barrier(low: Lowering, block: flow.Block) -> None:
    b = low.b
    item = block.barrier
    assert item is not None
    check(item)
    frontier = low.analysis.frontier[block.number]
    mask = low.mask()
    if frontier:
        waiting = "0"
        for number in sorted(frontier):
            waiting = b.value(f"or i32 {waiting}, {b.value(f'load i32, ptr {low.waiting[number]}')}")
        apart, together = b.new_label("apart"), b.new_label("together")
        b.branch(b.value(f"icmp ne i32 {waiting}, 0"), apart, together, likely=False)
        b.open(apart)
        low.fail("divergent_barrier", "barrier", waiting)
        b.open(together)
    target = block.targets[0]
    if "red" in item.parts:
        contribute(low, item, mask)
    save(low, target)
    b.line(f"store i32 {mask}, ptr {state_field(low, 12)}")
    used = state_field(low, 16)
    left = b.value(f"load i64, ptr {low.fuel_slot}")
    spent = b.value(f"sub i64 {SLICE}, {left}")
    total = b.value(f"add i64 {b.value(f'load i64, ptr {used}')}, {spent}")
    b.line(f"store i64 {total}, ptr {used}")
    access = low.access("waits at", "barrier", 0)
    over, fine = b.new_label("over"), b.new_label("fine")
    b.branch(b.value(f"icmp ugt i64 {total}, {low.context('budget')}"), over, fine, likely=False)
    b.open(over)
    low.fault("budget", access, mask)
    b.open(fine)
    b.line(f"ret i32 {target}")


def check(item: Instruction) -> None:
    barrier_id = item.operands[0] if item.operands else Imm(0)
    reduces = "red" in item.parts
    if reduces:
        barrier_id = item.operands[1]
    counted = len(item.operands) > (3 if reduces else 1)
    if "arrive" in item.parts or counted or barrier_id != Imm(0):
        raise UnsupportedInstruction(item.text, item.line, "barriers other than __syncthreads()")


def contribute(low: Lowering, item: Instruction, mask: str) -> None:
    """`bar.red`: add this warp's threads, and those whose predicate holds, to the block's counts."""
    b = low.b
    flags = low.bits_of(low.lanes(low.operand(item.operands[-1], "i1")))
    for name, lanes in (("voted", b.value(f"and i32 {flags}, {mask}")), ("voters", mask)):
        count = b.value(f"zext i32 {b.call('llvm.ctpop.i32', 'i32', ('i32', lanes))} to i64")
        total = b.value(f"add i64 {low.context(name)}, {count}")
        b.line(f"store i64 {total}, ptr {b.value(f'getelementptr i8, ptr %ctx, i64 {layout.field(name)}')}")


def collect(low: Lowering, item: Instruction) -> None:
    """The result of a `bar.red`, the same for every thread of the block."""
    b = low.b
    yes = low.context("yes")
    if "popc" in item.parts:
        value = Value("i32", "uniform", (b.value(f"trunc i64 {yes} to i32"),))
    elif "or" in item.parts:
        value = Value("i1", "uniform", (b.value(f"icmp ne i64 {yes}, 0"),))
    else:
        value = Value("i1", "uniform", (b.value(f"icmp eq i64 {yes}, {low.context('asked')}"),))
    low.assign(item.operands[0], value)
    low.cache.clear()
