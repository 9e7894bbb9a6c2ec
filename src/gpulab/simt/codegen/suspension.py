"""Where a warp stops and goes on later: at barriers, and in loops that wait for another thread.

A warp leaves what is alive in its save area and hands control back with the number of the place; the
loop over the block's warps (`run_blocks` in runtime.ll) calls it again with that number, behind a
barrier when everybody has come to it, in a waiting loop after the other warps have run. In a waiting
loop lanes give way to lanes of their own warp too, as threads do since Volta (CUDA C++ Programming
Guide, "Independent Thread Scheduling").

There is a third place: an integer that wraps around between the lanes of a row. The warp then goes
on in the *plain* code of the same kernel, in which every register is lanes; it is made when it is first
needed. Registers change over in the canonical form: each one as a vector of 64-bit words.

A warp's state is (i32 resume, i32 barrier, i32 blocked, i32 mask, i64 used, i32 expected, i32 access).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import check, handles
from gpulab.simt.codegen.ir import BITS, Value, vector
from gpulab.simt.ptx.syntax import Imm, Instruction, Operand
from gpulab.simt.runtime.layout import FALLBACK, PATIENCE, SLICE

__all__ = ["SuspendPoint", "barrier", "enter_fallback", "plan", "resume", "yield_lanes"]

RESUME, BARRIER, BLOCKED, MASK, USED, EXPECTED, ACCESS = 0, 4, 8, 12, 16, 24, 28  # fields of the state


@dataclass(frozen=True)
class SuspendPoint:
    """A place where a warp can stop. `number` is what it returns; it goes on at block `target`.

    live: registers to keep. waiting: blocks whose waiting lanes are kept too.
    """

    number: int
    target: int
    live: tuple[str, ...]
    suspended: tuple[int, ...] = ()
    barrier: Instruction | None = None
    index: int | None = None  # of the plain code: the instruction of the block to go on with


def plan(cg: CodegenContext) -> list[SuspendPoint]:
    """Every place where the kernel can stop or be entered; gives each register a place to be saved."""
    suspend_points = _entries(cg) if cg.fallback else []
    # A barrier has the same low bits in both codes: warps of one block may wait there in either.
    first = 1 + (2 * FALLBACK - len(suspend_points) if cg.fallback else 0)
    for block in cg.flow.blocks:
        if block.end == "barrier":
            (target,) = block.targets
            alive = tuple(sorted(cg.flow.live_in[target]))
            suspend_points.append(SuspendPoint(first + len(suspend_points), target, alive, (), block.barrier))
    for head in sorted(cg.analysis.spin_loops):
        alive = tuple(sorted(cg.flow.live_in[head] | cg.analysis.preserved[head]))
        waiting = tuple(sorted(cg.analysis.frontier[head]))
        suspend_points.append(SuspendPoint(first + len(suspend_points), head, alive, waiting))
    cg.canonical_at, cg.canonical_bytes = _canonical(cg)
    if cg.fallback:
        cg.saved_at, cg.saved_bytes = cg.canonical_at, cg.canonical_bytes
        return suspend_points
    at = 4 * len(cg.flow.blocks) if any(p.suspended for p in suspend_points) else 0
    for name in sorted({name for p in suspend_points for name in p.live}):
        ty, shape = cg.register_type(name), cg.shape(name)
        at = -(-at // 8) * 8
        cg.saved_at[name] = at
        if shape.kind == "varying":
            at += 4 if ty == "i1" else WARP * BITS[ty] // 8
        else:
            at += 8 * (cg.rows_per_warp if shape.kind == "affine" else 1)
    cg.saved_bytes = -(-at // 64) * 64
    return suspend_points


def _entries(cg: CodegenContext) -> list[SuspendPoint]:
    """Where the plain code is entered: before every instruction that widens."""
    found = []
    registers = set(cg.flat.registers)
    for (number, index), place in basic_blocks.widening_sites(cg.flow.blocks).items():
        alive = basic_blocks.live_before(cg.flow, registers, cg.flow.blocks[number], index)
        kept = tuple(sorted(alive | cg.analysis.preserved[number]))
        waiting = tuple(sorted(cg.analysis.frontier[number]))
        found.append(SuspendPoint(FALLBACK + place, number, kept, waiting, None, index))
    return found


def _canonical(cg: CodegenContext) -> tuple[dict[str, int], int]:
    """Where each register lies in the canonical form: the same in both codes of a kernel."""
    names: set[str] = set().union(*cg.flow.live_in)
    registers = set(cg.flat.registers)
    for number, index in basic_blocks.widening_sites(cg.flow.blocks):
        names |= basic_blocks.live_before(cg.flow, registers, cg.flow.blocks[number], index)
    start = -(-4 * len(cg.flow.blocks) // 64) * 64
    return {name: start + 256 * n for n, name in enumerate(sorted(names))}, start + 256 * len(names)


def _area(cg: CodegenContext, field: str, stride: int) -> str:
    b = cg.b
    offset = b.value(f"mul i64 {b.value('zext i32 %warp to i64')}, {stride}")
    return b.value(f"getelementptr i8, ptr {cg.load_field(field, 'ptr')}, i64 {offset}")


def _own_area(cg: CodegenContext) -> str:
    return _area(cg, "canonical" if cg.fallback else "saved", cg.saved_bytes)


def _state(cg: CodegenContext, offset: int) -> str:
    b = cg.b
    at = b.value(f"mul i64 {b.value('zext i32 %warp to i64')}, 32")
    base = b.value(f"getelementptr i8, ptr {cg.load_field('warps', 'ptr')}, i64 {at}")
    return b.value(f"getelementptr i8, ptr {base}, i64 {offset}")


def _save(cg: CodegenContext, point: SuspendPoint) -> None:
    b = cg.b
    area = _own_area(cg)
    _save_suspended(cg, area, point.suspended)
    for name in point.live:
        value = cg.read(name)
        for number, ref in enumerate(value.refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {cg.saved_at[name] + 8 * number}")
            if value.kind == "varying" and value.ty == "i1":
                b.line(f"store i32 {cg.pack_mask(ref)}, ptr {place}, align 4")
            else:
                ty = vector(value.ty) if value.kind == "varying" else value.ty
                b.line(f"store {ty} {ref}, ptr {place}, align 1")


def _save_suspended(cg: CodegenContext, area: str, blocks: tuple[int, ...]) -> None:
    b = cg.b
    for block in blocks:
        mask = b.value(f"load i32, ptr {cg.suspended[block]}")
        b.line(f"store i32 {mask}, ptr {b.value(f'getelementptr i8, ptr {area}, i64 {4 * block}')}, align 4")


def enter_fallback(cg: CodegenContext) -> None:
    """Leave this code before the instruction at hand and go on with it in the plain code."""
    b = cg.b
    block = cg.flow.blocks[cg.block_number]
    area = _area(cg, "canonical", cg.canonical_bytes)
    cg.store_field("wraps", "0")
    size = 4 * len(cg.flow.blocks)
    b.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    b.line(f"call void @llvm.memset.p0.i64(ptr {area}, i8 0, i64 {size}, i1 false)")
    _save_suspended(cg, area, tuple(sorted(cg.analysis.frontier[cg.block_number])))
    alive = basic_blocks.live_before(cg.flow, set(cg.flat.registers), block, cg.instruction_index)
    for name in sorted(alive | cg.analysis.preserved[cg.block_number]):
        value = cg.read(name)
        place = b.value(f"getelementptr i8, ptr {area}, i64 {cg.canonical_at[name]}")
        if value.ty == "i1":
            bits = (
                b.value(f"sext i1 {value.ref} to i32") if value.kind == "uniform" else cg.pack_mask(value.ref)
            )
            b.line(f"store i32 {bits}, ptr {place}, align 4")
        else:
            cg.store_lanes(value, place)
    b.line(f"store i32 {cg.mask()}, ptr {_state(cg, MASK)}")
    site = basic_blocks.widening_sites(cg.flow.blocks)[cg.block_number, cg.instruction_index]
    b.line(f"ret i32 {FALLBACK + site}")


def _restore(cg: CodegenContext, point: SuspendPoint) -> None:
    b = cg.b
    area = _own_area(cg)
    for block in point.suspended:
        mask = b.value(f"load i32, ptr {b.value(f'getelementptr i8, ptr {area}, i64 {4 * block}')}, align 4")
        b.line(f"store i32 {mask}, ptr {cg.suspended[block]}")
    for name in point.live:
        ty, shape = cg.register_type(name), cg.shape(name)
        for number, ref in enumerate(cg.slot(name).refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {cg.saved_at[name] + 8 * number}")
            if shape.kind == "varying" and ty == "i1":
                loaded = cg.unpack_mask(b.value(f"load i32, ptr {place}, align 4"))
                b.line(f"store {vector('i1')} {loaded}, ptr {ref}")
            else:
                full = vector(ty) if shape.kind == "varying" else ty
                b.line(f"store {full} {b.value(f'load {full}, ptr {place}, align 1')}, ptr {ref}")
    b.line(f"store i32 {b.value(f'load i32, ptr {_state(cg, MASK)}')}, ptr {cg.mask_slot}")


def _suspend(cg: CodegenContext, point: SuspendPoint, mask: str, access: int) -> None:
    """Save everything, count what was executed, and hand control back."""
    b = cg.b
    _save(cg, point)
    b.line(f"store i32 {mask}, ptr {_state(cg, MASK)}")
    used = _state(cg, USED)
    spent = b.value(f"sub i64 {SLICE}, {b.value(f'load i64, ptr {cg.fuel_slot}')}")
    total = b.value(f"add i64 {b.value(f'load i64, ptr {used}')}, {spent}")
    b.line(f"store i64 {total}, ptr {used}")
    over, fine = b.new_label("over"), b.new_label("fine")
    b.branch(b.value(f"icmp ugt i64 {total}, {cg.load_field('budget')}"), over, fine, likely=False)
    with cg.side_block(over):
        cg.fault("budget", access, mask)
    b.open(fine)
    b.line(f"ret i32 {point.number}")


def resume(cg: CodegenContext, point: SuspendPoint) -> None:
    """What stands behind the entry of a warp that goes on."""
    b = cg.b
    _restore(cg, point)
    if point.barrier is not None and "red" in point.barrier.parts:
        _collect(cg, point.barrier)
    if point.suspended and cg.independent and point.index is None:
        _rotate_lanes(cg, point)
    b.jump(f"block{point.target}" if point.index is None else f"at{point.number}")


def _rotate_lanes(cg: CodegenContext, point: SuspendPoint) -> None:
    """Lanes that wait elsewhere go first; those of the waiting loop wait meanwhile.

    Each place has its turn, in the order of the blocks: lanes may wait in several loops for one that
    waits in none, and the lowest of them would come back here before it had run.
    """
    b = cg.b
    last = _state(cg, EXPECTED)  # of a warp at no barrier: the place that had its turn last time
    turn = b.value(f"load i32, ptr {last}")
    masks = {block: b.value(f"load i32, ptr {cg.suspended[block]}") for block in point.suspended}
    chosen = {block: b.new_label("first") for block in point.suspended}
    for later in (True, False):
        for block, mask in masks.items():
            runs = b.value(f"icmp ne i32 {mask}, 0")
            if later:
                runs = b.value(f"and i1 {runs}, {b.value(f'icmp slt i32 {turn}, {block}')}")
            others = b.new_label("others")
            b.branch(runs, chosen[block], others)
            b.open(others)
    nobody = b.new_label("nobody")
    b.line(f"store i32 0, ptr {last}")
    b.jump(nobody)
    for block, label in chosen.items():
        b.open(label)
        b.line(f"store i32 {block}, ptr {last}")
        _switch_lanes(cg, point.target, cg.mask_now(), block, masks[block])
    b.open(nobody)


def _switch_lanes(cg: CodegenContext, here: int, mask: str, there: int, waiting: str) -> None:
    """The lanes that run wait at block `here` from now on, and those that wait at `there` run."""
    b = cg.b
    b.line(f"store i32 {mask}, ptr {cg.suspended[here]}")
    b.line(f"store i32 0, ptr {cg.suspended[there]}")
    b.line(f"store i32 {waiting}, ptr {cg.mask_slot}")
    b.jump(f"block{there}")


def yield_lanes(cg: CodegenContext, point: SuspendPoint) -> None:
    """At the end of a waiting loop's round: after some rounds, let others run."""
    b = cg.b
    left = b.value(f"sub i64 {b.value(f'load i64, ptr {cg.patience_slot}')}, 1")
    b.line(f"store i64 {left}, ptr {cg.patience_slot}")
    stop, on = b.new_label("gives_way"), b.new_label("on")
    b.branch(b.value(f"icmp slt i64 {left}, 0"), stop, on, likely=False)
    with cg.side_block(stop):
        access = cg.loop_site(point.target)
        b.line(f"store i64 {PATIENCE}, ptr {cg.patience_slot}")
        _suspend(cg, point, cg.mask_now(), access)
    b.open(on)


# -- barriers -----------------------------------------------------------------------------------


def barrier(cg: CodegenContext, block: basic_blocks.Block, point: SuspendPoint) -> None:
    """`bar.sync`, `bar.red`: wait for the block, or for as many threads as are named."""
    b = cg.b
    item = block.barrier
    assert item is not None
    check(item)
    mask = cg.mask()
    frontier = cg.analysis.frontier[block.number]
    past = cg.past[block.number]
    for number in sorted(frontier):
        waiting = b.value(f"load i32, ptr {cg.suspended[number]}")
        apart, together = b.new_label("apart"), b.new_label("together")
        b.branch(b.value(f"icmp ne i32 {waiting}, 0"), apart, together, likely=False)
        with cg.side_block(apart):
            if number not in past:  # they may come here or leave: let them run
                _switch_lanes(cg, block.number, mask, number, waiting)
            else:
                cg.fail("divergent_barrier", "barrier", waiting)
        b.open(together)
    where, expected = _operands(cg, item)
    cg.instrumentation.on_barrier(cg, expected)
    access = cg.add_site("waits at", "barrier", 0)
    if "red" in item.parts:
        _contribute(cg, item, mask, where)
    for offset, value in ((BARRIER, where), (BLOCKED, "1"), (EXPECTED, expected), (ACCESS, str(access))):
        b.line(f"store i32 {value}, ptr {_state(cg, offset)}")
    _suspend(cg, point, mask, access)


def converge(cg: CodegenContext, block: basic_blocks.Block) -> None:
    """Before an instruction that waits for lanes of the warp: those that may still come are let run first."""
    b = cg.b
    assert block.warp_sync is not None
    wanted = cg.combine_masks("or", cg.operand(block.warp_sync.operands[-1], "i32"))
    past = cg.past[block.number]
    for number in sorted(cg.analysis.frontier[block.number] - past - {block.number}):
        waiting = b.value(f"load i32, ptr {cg.suspended[number]}")
        missing = b.value(f"and i32 {waiting}, {wanted}")
        apart, together = b.new_label("apart"), b.new_label("together")
        b.branch(b.value(f"icmp ne i32 {missing}, 0"), apart, together, likely=False)
        with cg.side_block(apart):
            _switch_lanes(cg, block.number, cg.mask(), number, waiting)
        b.open(together)


def _operands(cg: CodegenContext, item: Instruction) -> tuple[str, str]:
    """A barrier's number, and how many threads it waits for (0: all that have not left)."""
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


def _vote_counters(cg: CodegenContext, where: str) -> str:
    """The counts of a barrier: (voted, voters, yes, asked)."""
    b = cg.b
    offset = b.value(f"mul i32 {where}, 32")
    return b.value(f"getelementptr i8, ptr {cg.load_field('votes', 'ptr')}, i32 {offset}")


def _contribute(cg: CodegenContext, item: Instruction, mask: str, where: str) -> None:
    """`bar.red`: add this warp's threads, and those whose predicate holds, to the barrier's counts."""
    b = cg.b
    flags = cg.pack_mask(cg.to_vector(cg.operand(item.operands[-1], "i1")))
    votes = _vote_counters(cg, where)
    for offset, lanes in ((0, b.value(f"and i32 {flags}, {mask}")), (8, mask)):
        count = b.value(f"zext i32 {b.call('llvm.ctpop.i32', 'i32', ('i32', lanes))} to i64")
        place = b.value(f"getelementptr i8, ptr {votes}, i64 {offset}")
        before = b.value(f"load i64, ptr {place}")
        b.line(f"store i64 {b.value(f'add i64 {before}, {count}')}, ptr {place}")


def _collect(cg: CodegenContext, item: Instruction) -> None:
    """The result of a `bar.red`, the same for every thread that came to it."""
    b = cg.b
    votes = _vote_counters(cg, b.value(f"load i32, ptr {_state(cg, BARRIER)}"))
    places = [b.value(f"getelementptr i8, ptr {votes}, i64 {offset}") for offset in (16, 24)]
    yes, asked = (b.value(f"load i64, ptr {place}") for place in places)
    if "popc" in item.parts:
        value = Value("i32", "uniform", (b.value(f"trunc i64 {yes} to i32"),))
    elif "or" in item.parts:
        value = Value("i1", "uniform", (b.value(f"icmp ne i64 {yes}, 0"),))
    else:
        value = Value("i1", "uniform", (b.value(f"icmp eq i64 {yes}, {asked}"),))
    cg.assign(item.operands[0], value)
    cg.cache.clear()


@handles("bar{.cta}.sync", "barrier{.cta}.sync{.aligned}")
@handles("bar{.cta}.red.and|or.pred", "barrier{.cta}.red{.aligned}.and|or.pred")
@handles("bar{.cta}.red.popc.u32", "barrier{.cta}.red{.aligned}.popc.u32")
def meet(cg: CodegenContext, item: Instruction) -> None:
    """A barrier for the block ends a block of code, and is made there (see `barrier`)."""


@handles("bar.warp.sync", "bar{.cta}.arrive", "barrier{.cta}.arrive{.aligned}")
def arrive(cg: CodegenContext, item: Instruction) -> None:
    """`bar.arrive` counts the warp's threads and goes on; `bar.warp.sync` finds its lanes together."""
    if "arrive" not in item.parts:
        cg.instrumentation.on_warp_sync(cg, item)
        return
    b = cg.b
    where, _ = _operands(cg, item)
    cg.instrumentation.on_arrive(cg, where)
    place = b.value(f"getelementptr i64, ptr {cg.load_field('arrivals', 'ptr')}, i32 {where}")
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {WARP}')}, ptr {place}")
