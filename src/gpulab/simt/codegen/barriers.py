"""Barriers of a block (`bar`, `barrier`) and convergence of a warp at `.sync` instructions."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.basic_blocks import Block, synchronized_lanes
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import check, handles
from gpulab.simt.codegen.ir import Value
from gpulab.simt.codegen.suspension import (
    BARRIER,
    BLOCKED,
    EXPECTED,
    SITE,
    SuspendPoint,
    restore,
    suspend,
    switch_lanes,
    warp_state,
)
from gpulab.simt.ptx.syntax import Imm, Instruction, Operand

__all__ = ["barrier", "converge", "resume_after_barrier"]


def barrier(cg: CodegenContext, block: Block, point: SuspendPoint) -> None:
    """Emit the barrier that ends a block: suspend the warp until all expected threads have arrived."""
    b = cg.b
    item = block.barrier
    assert item is not None
    check(item)
    mask = cg.mask()
    past = cg.analysis.past[block.number]
    for number in sorted(cg.analysis.frontier[block.number]):
        others = b.value(f"load i32, ptr {cg.suspended[number]}")
        diverged, converged = b.new_label("diverged"), b.new_label("converged")
        b.branch(b.value(f"icmp ne i32 {others}, 0"), diverged, converged, likely=False)
        with cg.side_block(diverged):
            if number not in past and not _waits(cg.flow.blocks[number]):  # they may still arrive, or exit
                switch_lanes(cg, block.number, mask, number, others)
            else:
                cg.fail("divergent_barrier", "barrier", others)
        b.open(converged)

    which, expected = _operands(cg, item)
    site = cg.barrier_sites[point.number] = cg.add_site("waits at", "barrier", 0)
    cg.instrumentation.on_barrier(cg, expected, site)
    if "red" in item.parts:
        _vote(cg, item, mask, which)
    fields = {} if point.complete else {BARRIER: which, BLOCKED: "1", EXPECTED: expected}
    for offset, value in (fields | {SITE: str(site)}).items():
        b.line(f"store i32 {value}, ptr {warp_state(cg, offset)}")
    suspend(cg, point, mask)


def _waits(block: Block) -> bool:
    """Return True if lanes that are suspended at the start of a block wait at its barrier."""
    return block.end == "barrier" and not block.code


def resume_after_barrier(cg: CodegenContext, point: SuspendPoint) -> None:
    """Restore the warp after a barrier and continue."""
    restore(cg, point)
    if point.barrier is not None and "red" in point.barrier.parts:
        _collect_votes(cg, point.barrier)
    cg.b.jump(f"block{point.target}")


def converge(cg: CodegenContext, block: Block) -> None:
    """Run suspended lanes that the `.sync` instruction of a block names and that can still reach it."""
    b = cg.b
    assert block.warp_sync is not None
    named = cg.combine_masks("or", cg.operand(synchronized_lanes(block.warp_sync), "i32"))
    past = cg.analysis.past[block.number]
    for number in sorted(cg.analysis.frontier[block.number] - past - {block.number}):
        others = b.value(f"load i32, ptr {cg.suspended[number]}")
        missing = b.value(f"and i32 {others}, {named}")
        diverged, converged = b.new_label("diverged"), b.new_label("converged")
        b.branch(b.value(f"icmp ne i32 {missing}, 0"), diverged, converged, likely=False)
        with cg.side_block(diverged):
            switch_lanes(cg, block.number, cg.mask(), number, others)
        b.open(converged)


def _operands(cg: CodegenContext, item: Instruction) -> tuple[str, str]:
    """Return a barrier's number, and the number of threads that it expects; 0 for all remaining ones."""
    operands = list(item.operands)
    if "red" in item.parts:
        operands = operands[1:-1]
    number = operands[0] if operands else Imm(0)
    count = operands[1] if len(operands) > 1 else Imm(0)
    which = cg.b.value(f"and i32 {_uniform(cg, item, number)}, 15")
    return which, _uniform(cg, item, count)


def _uniform(cg: CodegenContext, item: Instruction, operand: Operand) -> str:
    value = cg.operand(operand, "i32")
    if value.kind != "uniform":
        raise UnsupportedInstruction(item.text, item.line, "a barrier that differs between threads of a warp")
    return value.ref


# -- bar.red ------------------------------------------------------------------------------------


def _vote_counters(cg: CodegenContext, which: str) -> str:
    """Return a pointer to a barrier's counters; see `votes` in `layout.FIELDS`."""
    b = cg.b
    offset = b.value(f"mul i32 {which}, 32")
    return b.value(f"getelementptr i8, ptr {cg.load_field('votes', 'ptr')}, i32 {offset}")


def _vote(cg: CodegenContext, item: Instruction, mask: str, which: str) -> None:
    """Add the warp's threads, and those whose predicate is true, to the counters of a `bar.red`."""
    b = cg.b
    flags = cg.pack_mask(cg.to_vector(cg.operand(item.operands[-1], "i1")))
    counters = _vote_counters(cg, which)
    for offset, lanes in ((0, b.value(f"and i32 {flags}, {mask}")), (8, mask)):
        count = b.value(f"zext i32 {b.call('llvm.ctpop.i32', 'i32', ('i32', lanes))} to i64")
        counter = b.value(f"getelementptr i8, ptr {counters}, i64 {offset}")
        before = b.value(f"load i64, ptr {counter}")
        b.line(f"store i64 {b.value(f'add i64 {before}, {count}')}, ptr {counter}")


def _collect_votes(cg: CodegenContext, item: Instruction) -> None:
    """Assign the result of a `bar.red`, which is the same for all participating threads."""
    b = cg.b
    counters = _vote_counters(cg, b.value(f"load i32, ptr {warp_state(cg, BARRIER)}"))
    pointers = [b.value(f"getelementptr i8, ptr {counters}, i64 {offset}") for offset in (16, 24)]
    true, total = (b.value(f"load i64, ptr {pointer}") for pointer in pointers)
    if "popc" in item.parts:
        value = Value("i32", "uniform", (b.value(f"trunc i64 {true} to i32"),))
    elif "or" in item.parts:
        value = Value("i1", "uniform", (b.value(f"icmp ne i64 {true}, 0"),))
    else:
        value = Value("i1", "uniform", (b.value(f"icmp eq i64 {true}, {total}"),))
    cg.assign(item.operands[0], value)
    cg.cache.clear()


@handles("bar{.cta}.sync", "barrier{.cta}.sync{.aligned}")
@handles("bar{.cta}.red.and|or.pred", "barrier{.cta}.red{.aligned}.and|or.pred")
@handles("bar{.cta}.red.popc.u32", "barrier{.cta}.red{.aligned}.popc.u32")
@handles("barrier.cluster.arrive{.release|relaxed}{.aligned}", "barrier.cluster.wait{.acquire}{.aligned}")
def block_barrier(cg: CodegenContext, item: Instruction) -> None:
    """Emit nothing: a barrier ends its basic block and is emitted by `barrier`.

    A block is a cluster of its own, so that `barrier.cluster.wait` is a barrier of the block, and
    `barrier.cluster.arrive`, which precedes it, needs no code.
    """


@handles("bar.warp.sync", "bar{.cta}.arrive", "barrier{.cta}.arrive{.aligned}")
def arrive(cg: CodegenContext, item: Instruction) -> None:
    """Emit `bar.arrive`, which adds a warp to a counter, or `bar.warp.sync`, which needs no code."""
    if "arrive" not in item.parts:
        cg.synchronize_warp(item)
        return
    b = cg.b
    which, _ = _operands(cg, item)
    cg.instrumentation.on_arrive(cg, which)
    counter = b.value(f"getelementptr i64, ptr {cg.load_field('arrivals', 'ptr')}, i32 {which}")
    before = b.value(f"load i64, ptr {counter}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {WARP}')}, ptr {counter}")
