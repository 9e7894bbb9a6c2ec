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
from typing import TYPE_CHECKING

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis import control_flow
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import Values, handles
from gpulab.simt.codegen.ir import BITS, Value, vector
from gpulab.simt.ptx.forms import check
from gpulab.simt.ptx.syntax import Imm, Instruction, Operand
from gpulab.simt.runtime.layout import PATIENCE, PLAIN, SLICE

if TYPE_CHECKING:
    from gpulab.simt.codegen.lowering import Lowering

__all__ = ["Pause", "barrier", "change_over", "give_way", "plan", "resume"]

RESUME, BARRIER, BLOCKED, MASK, USED, EXPECTED, ACCESS = 0, 4, 8, 12, 16, 24, 28  # fields of the state


@dataclass(frozen=True)
class Pause:
    """A place where a warp can stop. `number` is what it returns; it goes on at block `target`.

    alive: registers to keep. waiting: blocks whose waiting lanes are kept too.
    """

    number: int
    target: int
    alive: tuple[str, ...]
    waiting: tuple[int, ...] = ()
    barrier: Instruction | None = None
    index: int | None = None  # of the plain code: the instruction of the block to go on with


def plan(low: Lowering) -> list[Pause]:
    """Every place where the kernel can stop or be entered; gives each register a place to be saved."""
    pauses = _entries(low) if low.plain else []
    # A barrier has the same low bits in both codes: warps of one block may wait there in either.
    first = 1 + (2 * PLAIN - len(pauses) if low.plain else 0)
    for block in low.flow.blocks:
        if block.end == "barrier":
            (target,) = block.targets
            alive = tuple(sorted(low.flow.live_in[target]))
            pauses.append(Pause(first + len(pauses), target, alive, (), block.barrier))
    for head in sorted(low.analysis.spins):
        alive = tuple(sorted(low.flow.live_in[head] | low.analysis.keep[head]))
        waiting = tuple(sorted(low.analysis.frontier[head]))
        pauses.append(Pause(first + len(pauses), head, alive, waiting))
    low.canonical_at, low.canonical_bytes = _canonical(low)
    if low.plain:
        low.saved_at, low.saved_bytes = low.canonical_at, low.canonical_bytes
        return pauses
    at = 4 * len(low.flow.blocks) if any(p.waiting for p in pauses) else 0
    for name in sorted({name for p in pauses for name in p.alive}):
        ty, shape = low.register_type(name), low.shape(name)
        at = -(-at // 8) * 8
        low.saved_at[name] = at
        if shape.kind == "lanes":
            at += 4 if ty == "i1" else WARP * BITS[ty] // 8
        else:
            at += 8 * (low.rows if shape.kind == "rows" else 1)
    low.saved_bytes = -(-at // 64) * 64
    return pauses


def _entries(low: Lowering) -> list[Pause]:
    """Where the plain code is entered: before every instruction that widens."""
    found = []
    registers = set(low.flat.registers)
    for (number, index), place in control_flow.widenings(low.flow.blocks).items():
        alive = control_flow.alive_before(low.flow, registers, low.flow.blocks[number], index)
        kept = tuple(sorted(alive | low.analysis.keep[number]))
        waiting = tuple(sorted(low.analysis.frontier[number]))
        found.append(Pause(PLAIN + place, number, kept, waiting, None, index))
    return found


def _canonical(low: Lowering) -> tuple[dict[str, int], int]:
    """Where each register lies in the canonical form: the same in both codes of a kernel."""
    names: set[str] = set().union(*low.flow.live_in)
    registers = set(low.flat.registers)
    for number, index in control_flow.widenings(low.flow.blocks):
        names |= control_flow.alive_before(low.flow, registers, low.flow.blocks[number], index)
    start = -(-4 * len(low.flow.blocks) // 64) * 64
    return {name: start + 256 * n for n, name in enumerate(sorted(names))}, start + 256 * len(names)


def _area(low: Lowering, field: str, stride: int) -> str:
    b = low.b
    offset = b.value(f"mul i64 {b.value('zext i32 %warp to i64')}, {stride}")
    return b.value(f"getelementptr i8, ptr {low.context(field, 'ptr')}, i64 {offset}")


def _own_area(low: Lowering) -> str:
    return _area(low, "canonical" if low.plain else "saved", low.saved_bytes)


def _state(low: Lowering, offset: int) -> str:
    b = low.b
    at = b.value(f"mul i64 {b.value('zext i32 %warp to i64')}, 32")
    base = b.value(f"getelementptr i8, ptr {low.context('warps', 'ptr')}, i64 {at}")
    return b.value(f"getelementptr i8, ptr {base}, i64 {offset}")


def _save(low: Lowering, pause: Pause) -> None:
    b = low.b
    area = _own_area(low)
    _save_waiting(low, area, pause.waiting)
    for name in pause.alive:
        value = low.read(name)
        for number, ref in enumerate(value.refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {low.saved_at[name] + 8 * number}")
            if value.kind == "lanes" and value.ty == "i1":
                b.line(f"store i32 {low.bits_of(ref)}, ptr {place}, align 4")
            else:
                ty = vector(value.ty) if value.kind == "lanes" else value.ty
                b.line(f"store {ty} {ref}, ptr {place}, align 1")


def _save_waiting(low: Lowering, area: str, blocks: tuple[int, ...]) -> None:
    b = low.b
    for block in blocks:
        mask = b.value(f"load i32, ptr {low.waiting[block]}")
        b.line(f"store i32 {mask}, ptr {b.value(f'getelementptr i8, ptr {area}, i64 {4 * block}')}, align 4")


def change_over(low: Values) -> None:
    """Leave this code before the instruction at hand and go on with it in the plain code."""
    if TYPE_CHECKING:
        assert isinstance(low, Lowering)
    b = low.b
    block = low.flow.blocks[low.here]
    area = _area(low, "canonical", low.canonical_bytes)
    low.set_context("wraps", "0")
    size = 4 * len(low.flow.blocks)
    b.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    b.line(f"call void @llvm.memset.p0.i64(ptr {area}, i8 0, i64 {size}, i1 false)")
    _save_waiting(low, area, tuple(sorted(low.analysis.frontier[low.here])))
    alive = control_flow.alive_before(low.flow, set(low.flat.registers), block, low.index)
    for name in sorted(alive | low.analysis.keep[low.here]):
        value = low.read(name)
        place = b.value(f"getelementptr i8, ptr {area}, i64 {low.canonical_at[name]}")
        if value.ty == "i1":
            bits = (
                b.value(f"sext i1 {value.ref} to i32") if value.kind == "uniform" else low.bits_of(value.ref)
            )
            b.line(f"store i32 {bits}, ptr {place}, align 4")
        else:
            low.spread(value, place)
    b.line(f"store i32 {low.mask()}, ptr {_state(low, MASK)}")
    b.line(f"ret i32 {PLAIN + control_flow.widenings(low.flow.blocks)[low.here, low.index]}")


def _restore(low: Lowering, pause: Pause) -> None:
    b = low.b
    area = _own_area(low)
    for block in pause.waiting:
        mask = b.value(f"load i32, ptr {b.value(f'getelementptr i8, ptr {area}, i64 {4 * block}')}, align 4")
        b.line(f"store i32 {mask}, ptr {low.waiting[block]}")
    for name in pause.alive:
        ty, shape = low.register_type(name), low.shape(name)
        for number, ref in enumerate(low.slot(name).refs):
            place = b.value(f"getelementptr i8, ptr {area}, i64 {low.saved_at[name] + 8 * number}")
            if shape.kind == "lanes" and ty == "i1":
                loaded = low.vector_of_bits(b.value(f"load i32, ptr {place}, align 4"))
                b.line(f"store {vector('i1')} {loaded}, ptr {ref}")
            else:
                full = vector(ty) if shape.kind == "lanes" else ty
                b.line(f"store {full} {b.value(f'load {full}, ptr {place}, align 1')}, ptr {ref}")
    b.line(f"store i32 {b.value(f'load i32, ptr {_state(low, MASK)}')}, ptr {low.mask_slot}")


def _stop(low: Lowering, pause: Pause, mask: str, access: int) -> None:
    """Save everything, count what was executed, and hand control back."""
    b = low.b
    _save(low, pause)
    b.line(f"store i32 {mask}, ptr {_state(low, MASK)}")
    used = _state(low, USED)
    spent = b.value(f"sub i64 {SLICE}, {b.value(f'load i64, ptr {low.fuel_slot}')}")
    total = b.value(f"add i64 {b.value(f'load i64, ptr {used}')}, {spent}")
    b.line(f"store i64 {total}, ptr {used}")
    over, fine = b.new_label("over"), b.new_label("fine")
    b.branch(b.value(f"icmp ugt i64 {total}, {low.context('budget')}"), over, fine, likely=False)
    with low.aside(over):
        low.fault("budget", access, mask)
    b.open(fine)
    b.line(f"ret i32 {pause.number}")


def resume(low: Lowering, pause: Pause) -> None:
    """What stands behind the entry of a warp that goes on."""
    b = low.b
    _restore(low, pause)
    if pause.barrier is not None and "red" in pause.barrier.parts:
        _collect(low, pause.barrier)
    if pause.waiting and low.independent and pause.index is None:
        _let_others_run(low, pause)
    b.jump(f"block{pause.target}" if pause.index is None else f"at{pause.number}")


def _let_others_run(low: Lowering, pause: Pause) -> None:
    """Lanes that wait elsewhere go first; those of the waiting loop wait meanwhile.

    Each place has its turn, in the order of the blocks: lanes may wait in several loops for one that
    waits in none, and the lowest of them would come back here before it had run.
    """
    b = low.b
    last = _state(low, EXPECTED)  # of a warp at no barrier: the place that had its turn last time
    turn = b.value(f"load i32, ptr {last}")
    masks = {block: b.value(f"load i32, ptr {low.waiting[block]}") for block in pause.waiting}
    chosen = {block: b.new_label("first") for block in pause.waiting}
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
        _hand_over(low, pause.target, low.mask_now(), block, masks[block])
    b.open(nobody)


def _hand_over(low: Lowering, here: int, mask: str, there: int, waiting: str) -> None:
    """The lanes that run wait at block `here` from now on, and those that wait at `there` run."""
    b = low.b
    b.line(f"store i32 {mask}, ptr {low.waiting[here]}")
    b.line(f"store i32 0, ptr {low.waiting[there]}")
    b.line(f"store i32 {waiting}, ptr {low.mask_slot}")
    b.jump(f"block{there}")


def give_way(low: Lowering, pause: Pause) -> None:
    """At the end of a waiting loop's round: after some rounds, let others run."""
    b = low.b
    left = b.value(f"sub i64 {b.value(f'load i64, ptr {low.patience_slot}')}, 1")
    b.line(f"store i64 {left}, ptr {low.patience_slot}")
    stop, on = b.new_label("gives_way"), b.new_label("on")
    b.branch(b.value(f"icmp slt i64 {left}, 0"), stop, on, likely=False)
    with low.aside(stop):
        access = low.loop_access(pause.target)
        b.line(f"store i64 {PATIENCE}, ptr {low.patience_slot}")
        _stop(low, pause, low.mask_now(), access)
    b.open(on)


# -- barriers -----------------------------------------------------------------------------------


def barrier(low: Lowering, block: control_flow.Block, pause: Pause) -> None:
    """`bar.sync`, `bar.red`: wait for the block, or for as many threads as are named."""
    b = low.b
    item = block.barrier
    assert item is not None
    check(item)
    mask = low.mask()
    frontier = low.analysis.frontier[block.number]
    past = low.past[block.number]
    for number in sorted(frontier):
        waiting = b.value(f"load i32, ptr {low.waiting[number]}")
        apart, together = b.new_label("apart"), b.new_label("together")
        b.branch(b.value(f"icmp ne i32 {waiting}, 0"), apart, together, likely=False)
        with low.aside(apart):
            if number not in past:  # they may come here or leave: let them run
                _hand_over(low, block.number, mask, number, waiting)
            else:
                low.fail("divergent_barrier", "barrier", waiting)
        b.open(together)
    where, expected = _operands(low, item)
    low.observer.barrier(low, expected)
    access = low.access("waits at", "barrier", 0)
    if "red" in item.parts:
        _contribute(low, item, mask, where)
    for offset, value in ((BARRIER, where), (BLOCKED, "1"), (EXPECTED, expected), (ACCESS, str(access))):
        b.line(f"store i32 {value}, ptr {_state(low, offset)}")
    _stop(low, pause, mask, access)


def gather(low: Lowering, block: control_flow.Block) -> None:
    """Before an instruction that waits for lanes of the warp: those that may still come are let run first."""
    b = low.b
    assert block.meeting is not None
    wanted = low.lanes_named("or", low.operand(block.meeting.operands[-1], "i32"))
    past = low.past[block.number]
    for number in sorted(low.analysis.frontier[block.number] - past - {block.number}):
        waiting = b.value(f"load i32, ptr {low.waiting[number]}")
        missing = b.value(f"and i32 {waiting}, {wanted}")
        apart, together = b.new_label("apart"), b.new_label("together")
        b.branch(b.value(f"icmp ne i32 {missing}, 0"), apart, together, likely=False)
        with low.aside(apart):
            _hand_over(low, block.number, low.mask(), number, waiting)
        b.open(together)


def _operands(low: Values, item: Instruction) -> tuple[str, str]:
    """A barrier's number, and how many threads it waits for (0: all that have not left)."""
    operands = list(item.operands)
    if "red" in item.parts:
        operands = operands[1:-1]
    number = operands[0] if operands else Imm(0)
    count = operands[1] if len(operands) > 1 else Imm(0)
    which = low.b.value(f"and i32 {_uniform(low, item, number)}, 15")
    return which, _uniform(low, item, count)


def _uniform(low: Values, item: Instruction, operand: Operand) -> str:
    value = low.operand(operand, "i32")
    if value.kind != "uniform":
        raise UnsupportedInstruction(item.text, item.line, "a barrier that differs between threads of a warp")
    return value.ref


def _votes(low: Values, where: str) -> str:
    """The counts of a barrier: (voted, voters, yes, asked)."""
    b = low.b
    offset = b.value(f"mul i32 {where}, 32")
    return b.value(f"getelementptr i8, ptr {low.context('votes', 'ptr')}, i32 {offset}")


def _contribute(low: Values, item: Instruction, mask: str, where: str) -> None:
    """`bar.red`: add this warp's threads, and those whose predicate holds, to the barrier's counts."""
    b = low.b
    flags = low.bits_of(low.lanes(low.operand(item.operands[-1], "i1")))
    votes = _votes(low, where)
    for offset, lanes in ((0, b.value(f"and i32 {flags}, {mask}")), (8, mask)):
        count = b.value(f"zext i32 {b.call('llvm.ctpop.i32', 'i32', ('i32', lanes))} to i64")
        place = b.value(f"getelementptr i8, ptr {votes}, i64 {offset}")
        before = b.value(f"load i64, ptr {place}")
        b.line(f"store i64 {b.value(f'add i64 {before}, {count}')}, ptr {place}")


def _collect(low: Lowering, item: Instruction) -> None:
    """The result of a `bar.red`, the same for every thread that came to it."""
    b = low.b
    votes = _votes(low, b.value(f"load i32, ptr {_state(low, BARRIER)}"))
    places = [b.value(f"getelementptr i8, ptr {votes}, i64 {offset}") for offset in (16, 24)]
    yes, asked = (b.value(f"load i64, ptr {place}") for place in places)
    if "popc" in item.parts:
        value = Value("i32", "uniform", (b.value(f"trunc i64 {yes} to i32"),))
    elif "or" in item.parts:
        value = Value("i1", "uniform", (b.value(f"icmp ne i64 {yes}, 0"),))
    else:
        value = Value("i1", "uniform", (b.value(f"icmp eq i64 {yes}, {asked}"),))
    low.assign(item.operands[0], value)
    low.cache.clear()


@handles("bar{.cta}.sync", "barrier{.cta}.sync{.aligned}")
@handles("bar{.cta}.red.and|or.pred", "barrier{.cta}.red{.aligned}.and|or.pred")
@handles("bar{.cta}.red.popc.u32", "barrier{.cta}.red{.aligned}.popc.u32")
def meet(low: Values, item: Instruction) -> None:
    """A barrier for the block ends a block of code, and is made there (see `barrier`)."""


@handles("bar.warp.sync", "bar{.cta}.arrive", "barrier{.cta}.arrive{.aligned}")
def arrive(low: Values, item: Instruction) -> None:
    """`bar.arrive` counts the warp's threads and goes on; `bar.warp.sync` finds its lanes together."""
    if "arrive" not in item.parts:
        low.observer.warp_sync(low, item)
        return
    b = low.b
    where, _ = _operands(low, item)
    low.observer.arrive(low, where)
    place = b.value(f"getelementptr i64, ptr {low.context('arrivals', 'ptr')}, i32 {where}")
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {WARP}')}, ptr {place}")
