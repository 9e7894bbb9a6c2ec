"""Suspending and resuming a warp, and entering the fallback code.

A warp is suspended at a barrier, and in a *spin loop*, which waits for another thread. It saves its live
registers and returns the number of the suspend point. The scheduler (`run_blocks` in runtime.ll) calls it
again with that number: after a barrier when all threads have arrived, in a spin loop after the other warps
have run. In a spin loop, lanes also yield to suspended lanes of their own warp, as on Volta and later (CUDA
C++ Programming Guide, "Independent Thread Scheduling").

The *fallback* code of a kernel keeps every register in a vector. A warp continues there if a 32-bit integer
wraps around between the lanes of a row, so that it is not affine. The fallback code is compiled when it is
first needed. Registers are handed over in the *canonical* form: each one as a vector of 64-bit words.

The scheduler keeps 32 bytes per warp: (i32 resume, i32 barrier, i32 blocked, i32 mask, i32 fuel, i32 slices,
i32 expected, i32 site). `fuel` is what is left of the time slice, and `slices` counts the earlier ones. At a
*complete* barrier, a plain `__syncthreads()` at which all lanes of the warp are known to be active, the warp
stores its fuel and its site only, and the same call runs the next warp (see `warp_loop`). If all warps of a
block arrive at the same complete barrier, they continue at once. Otherwise the scheduler stores the other
fields (`sim_hold`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import BITS, Value, vector
from gpulab.simt.ptx.syntax import Imm, Instruction
from gpulab.simt.runtime.layout import COMPLETE, FALLBACK, PATIENCE

__all__ = [
    "SuspendPoint",
    "arrive",
    "enter_fallback",
    "leave",
    "locate_save_area",
    "locate_state",
    "plan_suspension",
    "restore",
    "resume",
    "save_before_loop",
    "save_registers",
    "saved_register",
    "suspend",
    "switch_lanes",
    "warp_state",
    "yield_lanes",
]

# Byte offsets in a warp's state. A warp that is not at a barrier keeps the block that ran last in EXPECTED.
RESUME, BARRIER, BLOCKED, MASK, FUEL, SLICES, EXPECTED, SITE = range(0, 32, 4)
STATE_BYTES = 32
DONE, FAULT = -1, -2  # results of a warp's function in place of a suspend point


@dataclass(frozen=True)
class SuspendPoint:
    """A point at which a warp can be suspended, or at which it enters the fallback code.

    Attributes
    ----------
    number : int
        The value that the warp function returns there, and is called with to resume.
    target : int
        Block at which the warp resumes.
    live : tuple of str
        Registers to restore.
    saved : tuple of str
        Those of them to save; the save area has the current values of the others.
    suspended : tuple of int
        Blocks whose masks of suspended lanes are saved.
    barrier : Instruction or None
        The barrier, if this is one.
    index : int or None
        For an entry of the fallback code, the instruction of the block at which the warp resumes.
    """

    number: int
    target: int
    live: tuple[str, ...]
    saved: tuple[str, ...]
    suspended: tuple[int, ...] = ()
    barrier: Instruction | None = None
    index: int | None = None

    @property
    def complete(self) -> bool:
        """The point is a complete barrier."""
        return COMPLETE <= self.number < FALLBACK


def plan_suspension(cg: CodegenContext) -> list[SuspendPoint]:
    """Return the kernel's suspend points, and lay out the save area."""
    points = _fallback_entries(cg) if cg.fallback else []
    # A barrier's number has the same low bits in both codes, because warps of a block may wait in either.
    first = 1 + (2 * FALLBACK - len(points) if cg.fallback else 0)
    if not cg.fallback and not cg.uses_dispatcher:
        cg.saved_before_loop = _saved_before_loops(cg)
    changed = _changed_at_barriers(cg)
    for block in cg.flow.blocks:
        if block.end == "barrier":
            (target,) = block.targets
            live = tuple(sorted(cg.flow.live_in[target]))
            saved = live if cg.fallback else tuple(n for n in live if n in changed[block.number])
            number = first + len(points) + (COMPLETE if _is_complete(cg, block) else 0)
            points.append(SuspendPoint(number, target, live, saved, (), block.barrier))
    for head in sorted(cg.analysis.spin_loops):
        live = tuple(sorted(cg.flow.live_in[head] | cg.analysis.preserved[head]))
        suspended = tuple(sorted(cg.analysis.frontier[head]))
        points.append(SuspendPoint(first + len(points), head, live, live, suspended))

    cg.canonical_at, cg.canonical_bytes = _canonical_layout(cg)
    if cg.fallback:
        cg.saved_at, cg.saved_bytes = cg.canonical_at, cg.canonical_bytes
        return points

    at = 4 * len(cg.flow.blocks) if any(p.suspended for p in points) else 0
    for name in sorted({name for p in points for name in p.live}):
        ty, shape = cg.register_type(name), cg.shape(name)
        at = -(-at // 8) * 8
        cg.saved_at[name] = at
        if shape.kind == "varying":
            at += 4 if ty == "i1" else WARP * BITS[ty] // 8
        else:
            at += 8 * (cg.rows_per_warp if shape.kind == "affine" else 1)
    cg.saved_bytes = -(-at // 64) * 64
    return points


def _is_complete(cg: CodegenContext, block: basic_blocks.Block) -> bool:
    """Return True if the barrier of a block is complete, as described at the top of the module."""
    item = block.barrier
    assert item is not None
    return (
        not cg.fallback
        and not cg.analysis.spin_loops
        and cg.is_full(block.number)
        and "red" not in item.parts
        and item.operands in ((), (Imm(0),))
    )


def _fallback_entries(cg: CodegenContext) -> list[SuspendPoint]:
    """Return the entries of the fallback code, one before every instruction that widens an integer."""
    points = []
    for (number, index), site in cg.flow.widening_sites.items():
        blocks, registers = _handed_over(cg, number, index)
        saved, suspended = tuple(sorted(registers)), tuple(sorted(blocks))
        points.append(SuspendPoint(FALLBACK + site, number, saved, saved, suspended, None, index))
    return points


def _saved_before_loops(cg: CodegenContext) -> dict[int, tuple[str, ...]]:
    """Return registers to save on the way to a loop, by the loop's first block.

    A barrier of the loop then need not save them: they do not change in the loop, or only after this barrier,
    as sums that are accumulated between the second barrier and the end of the loop.
    """
    blocks = cg.flow.blocks
    suspended = set().union(*cg.analysis.frontier)
    live: dict[int, list[tuple[int, frozenset[str]]]] = {}  # registers to save at each barrier of a loop
    for head in {n for block in blocks for n in block.targets if n <= block.number} - suspended:
        last = max(block.number for block in blocks if head in block.targets)
        live[head] = [
            (block.number, cg.flow.live_in[block.targets[0]] & cg.flow.live_in[head])
            for block in blocks[head : last + 1]
            if block.end == "barrier"
        ]
    if not any(live.values()):
        return {}

    cg.saved_before_loop = {
        head: tuple(set().union(*(names for _, names in barriers))) for head, barriers in live.items()
    }
    changed = _changed_at_barriers(cg)
    return {
        head: tuple(sorted(set().union(*(names - changed[number] for number, names in barriers))))
        for head, barriers in live.items()
    }


def _changed_at_barriers(cg: CodegenContext) -> dict[int, set[str]]:
    """Return for each block with a barrier the registers that may have changed since they were saved."""
    blocks = cg.flow.blocks
    barriers = [(b.number, b.targets[0], b.barrier) for b in blocks if b.barrier is not None]
    if not barriers:
        return {}

    names = list(cg.flat.registers)
    bits = {name: 1 << number for number, name in enumerate(names)}  # sets as integers: there are large ones

    def set_of(members: Iterable[str]) -> int:
        return reduce(or_, (bits.get(name, 0) for name in members), 0)

    saved = {head: set_of(members) for head, members in cg.saved_before_loop.items()}
    restored = {number: set_of(cg.flow.live_in[target]) for number, target, _ in barriers}
    written = {number: set_of(basic_blocks.writes(barrier)) for number, _, barrier in barriers}
    changed = [set_of(name for item in block.code for name in basic_blocks.writes(item)) for block in blocks]
    entering = [(1 << len(names)) - 1, *(0 for _ in blocks[1:])]
    pending = {block.number for block in blocks}
    while pending:
        for block in blocks:  # in the order of the code, so that a block comes after most of its predecessors
            number = block.number
            if number not in pending:
                continue
            pending.remove(number)
            changed[number] |= entering[number]

            sent = dict.fromkeys((*block.targets, *cg.analysis.frontier[number]), changed[number])
            if block.end != "barrier":
                for target in block.targets:
                    if target > number:
                        sent[target] = changed[number] & ~saved.get(target, 0)
            elif block.targets[0] not in cg.analysis.frontier[number]:
                sent[block.targets[0]] = changed[number] & ~restored[number] | written[number]
            for other, registers in sent.items():
                if registers & ~entering[other]:
                    entering[other] |= registers
                    pending.add(other)
    return {
        number: {name for name, bit in bits.items() if bit & changed[number]} for number, _, _ in barriers
    }


def _canonical_layout(cg: CodegenContext) -> tuple[dict[str, int], int]:
    """Return the offset of each register in the canonical form, the same in both codes, and its size."""
    names: set[str] = set().union(*cg.flow.live_in)
    registers = set(cg.flat.registers)
    for number, index in cg.flow.widening_sites:
        names |= basic_blocks.live_before(cg.flow, registers, cg.flow.blocks[number], index)
    start = -(-4 * len(cg.flow.blocks) // 64) * 64
    return {name: start + 256 * n for n, name in enumerate(sorted(names))}, start + 256 * len(names)


def locate_state(cg: CodegenContext, warp: str = "%warp") -> str:
    """Return a pointer to the state of a warp."""
    b = cg.b
    at = b.value(f"mul i64 {b.value(f'zext i32 {warp} to i64')}, {STATE_BYTES}")
    return b.value(f"getelementptr i8, ptr {cg.load_field('warps', 'ptr')}, i64 {at}")


def warp_state(cg: CodegenContext, offset: int) -> str:
    """Return a pointer to a field of the warp's state."""
    return cg.b.value(f"getelementptr i8, ptr {cg.warp_state}, i64 {offset}")


# -- saving and restoring registers -------------------------------------------------------------


def _area(cg: CodegenContext, field: str, bytes_per_warp: int, warp: str = "%warp") -> str:
    b = cg.b
    offset = b.value(f"mul i64 {b.value(f'zext i32 {warp} to i64')}, {bytes_per_warp}")
    return b.value(f"getelementptr i8, ptr {cg.load_field(field, 'ptr')}, i64 {offset}")


def locate_save_area(cg: CodegenContext, warp: str = "%warp") -> str:
    """Return a pointer to the save area of a warp."""
    return _area(cg, "canonical" if cg.fallback else "saved", cg.saved_bytes, warp)


def _save(cg: CodegenContext, point: SuspendPoint) -> None:
    _save_suspended_masks(cg, cg.save_area, point.suspended)
    save_registers(cg, point.saved)
    save_fuel(cg)


def save_fuel(cg: CodegenContext) -> None:
    """Store what is left of the time slice of the warp."""
    b = cg.b
    b.line(f"store i32 {b.value(f'load i32, ptr {cg.fuel_slot}')}, ptr {warp_state(cg, FUEL)}")


def restore_fuel(cg: CodegenContext) -> None:
    """Continue the time slice of the warp."""
    cg.b.line(f"store i32 {cg.b.value(f'load i32, ptr {warp_state(cg, FUEL)}')}, ptr {cg.fuel_slot}")


def save_before_loop(cg: CodegenContext, block: int, head: int) -> None:
    """Save the registers that do not change in a loop, on the way from a block to its first one."""
    names = cg.saved_before_loop.get(head)
    if not names or head <= block:
        return
    label = cg.b.new_label("enters")
    cg.b.jump(label)
    with cg.side_block(label):
        save_registers(cg, names)


def save_registers(cg: CodegenContext, names: tuple[str, ...]) -> None:
    """Store registers to the save area."""
    b = cg.b
    for name in names:
        value = cg.read(name)
        for number, ref in enumerate(value.refs[:1] if cg.shape(name).common else value.refs):
            pointer = b.value(f"getelementptr i8, ptr {cg.save_area}, i64 {cg.saved_at[name] + 8 * number}")
            if value.kind == "varying" and value.ty == "i1":
                b.line(f"store i32 {cg.pack_mask(ref)}, ptr {pointer}, align 4")
            else:
                ty = vector(value.ty) if value.kind == "varying" else value.ty
                b.line(f"store {ty} {ref}, ptr {pointer}, align 1")


def _save_suspended_masks(cg: CodegenContext, area: str, blocks: tuple[int, ...]) -> None:
    b = cg.b
    for block in blocks:
        mask = b.value(f"load i32, ptr {cg.suspended[block]}")
        b.line(f"store i32 {mask}, ptr {b.value(f'getelementptr i8, ptr {area}, i64 {4 * block}')}, align 4")


def restore(cg: CodegenContext, point: SuspendPoint) -> None:
    """Restore a warp's registers and masks from its save area."""
    b = cg.b
    for block in point.suspended:
        place = b.value(f"getelementptr i8, ptr {cg.save_area}, i64 {4 * block}")
        mask = b.value(f"load i32, ptr {place}, align 4")
        b.line(f"store i32 {mask}, ptr {cg.suspended[block]}")
    for name in point.live:
        slot, value = cg.slot(name), saved_register(cg, name)
        full = vector(slot.ty) if slot.kind == "varying" else slot.ty
        for pointer, ref in dict(zip(slot.refs, value.refs, strict=True)).items():
            b.line(f"store {full} {ref}, ptr {pointer}")
    mask = "-1" if point.complete else b.value(f"load i32, ptr {warp_state(cg, MASK)}")
    b.line(f"store i32 {mask}, ptr {cg.mask_slot}")


def saved_register(cg: CodegenContext, name: str) -> Value:
    """Load a register from the save area."""
    b, ty, shape = cg.b, cg.register_type(name), cg.shape(name)
    rows = cg.rows_per_warp if shape.kind == "affine" else 1
    refs = []
    for number in range(1 if shape.common else rows):
        pointer = b.value(f"getelementptr i8, ptr {cg.save_area}, i64 {cg.saved_at[name] + 8 * number}")
        if shape.kind == "varying" and ty == "i1":
            refs.append(cg.unpack_mask(b.value(f"load i32, ptr {pointer}, align 4")))
        else:
            full = vector(ty) if shape.kind == "varying" else ty
            refs.append(b.value(f"load {full}, ptr {pointer}, align 1"))
    return Value(ty, shape.kind, tuple(refs * rows if shape.common else refs), shape.stride)


def enter_fallback(cg: CodegenContext) -> None:
    """Continue in the fallback code at the current instruction, which is executed there."""
    here = cg.block_number, cg.instruction_index
    number = FALLBACK + cg.flow.widening_sites[here]
    if cg.quickly:  # registers stay in their stack slots, so that all entries can share code
        cg.leaving[here] = str(number), cg.b.label
        cg.b.jump("leave")
        return
    suspended, registers = _handed_over(cg, *here)
    _hand_over(cg, suspended, registers, cg.mask())
    cg.b.line(f"ret i32 {number}")


def leave(cg: CodegenContext) -> None:
    """Emit the code with which warps enter the fallback code at the instructions in `cg.leaving`."""
    cg.invalidate_cache()
    cg.b.open("leave")
    number = cg.b.phi("i32", *cg.leaving.values())
    entries = [_handed_over(cg, *here) for here in cg.leaving]
    suspended = frozenset().union(*(blocks for blocks, _ in entries))
    registers = frozenset().union(*(names for _, names in entries))
    _hand_over(cg, suspended, registers, cg.mask_now())
    cg.b.line(f"ret i32 {number}")


def _handed_over(cg: CodegenContext, number: int, index: int) -> tuple[frozenset[int], frozenset[str]]:
    """Return what the fallback code needs at an instruction: blocks with suspended lanes, and registers."""
    live = basic_blocks.live_before(cg.flow, set(cg.flat.registers), cg.flow.blocks[number], index)
    return frozenset(cg.analysis.frontier[number]), live | cg.analysis.preserved[number]


def _hand_over(cg: CodegenContext, suspended: Collection[int], registers: Collection[str], mask: str) -> None:
    """Store masks and registers in the canonical form."""
    b = cg.b
    area = _area(cg, "canonical", cg.canonical_bytes)
    cg.store_field("wraps", "0")
    size = 4 * len(cg.flow.blocks)
    b.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    b.line(f"call void @llvm.memset.p0.i64(ptr {area}, i8 0, i64 {size}, i1 false)")
    _save_suspended_masks(cg, area, tuple(sorted(suspended)))

    for name in sorted(registers):
        value = cg.read(name)
        pointer = b.value(f"getelementptr i8, ptr {area}, i64 {cg.canonical_at[name]}")
        if value.ty == "i1":
            bits = (
                b.value(f"sext i1 {value.ref} to i32") if value.kind == "uniform" else cg.pack_mask(value.ref)
            )
            b.line(f"store i32 {bits}, ptr {pointer}, align 4")
        else:
            cg.store_lanes(value, pointer)

    b.line(f"store i32 {mask}, ptr {warp_state(cg, MASK)}")
    save_fuel(cg)


# -- suspending and resuming --------------------------------------------------------------------


def suspend(cg: CodegenContext, point: SuspendPoint, mask: str) -> None:
    """Save the warp and return to the scheduler."""
    b = cg.b
    _save(cg, point)
    if not point.complete:
        b.line(f"store i32 {mask}, ptr {warp_state(cg, MASK)}")
    if point.complete:
        arrive(cg, point, "%warp")
    else:
        b.line(f"ret i32 {point.number}")


def arrive(cg: CodegenContext, point: SuspendPoint, warp: str) -> None:
    """Continue with the next warp, after this one has arrived at a complete barrier."""
    cg.arrivals.append((str(point.number), warp, cg.warp_state, cg.b.label))
    cg.b.jump("arrived")


def resume(cg: CodegenContext, point: SuspendPoint) -> None:
    """Restore a warp at a suspend point, or at an entry of the fallback code, and continue."""
    restore(cg, point)
    if point.suspended and cg.independent and point.index is None:
        _rotate_lanes(cg, point)
    cg.b.jump(f"block{point.target}" if point.index is None else f"at{point.number}")


def _rotate_lanes(cg: CodegenContext, point: SuspendPoint) -> None:
    """Run suspended lanes, if there are any, in place of those of a spin loop.

    Blocks take turns in the order of their numbers. If the lowest block always ran, lanes of two spin loops
    could alternate and never run the lanes that both wait for.
    """
    b = cg.b
    last = warp_state(cg, EXPECTED)
    turn = b.value(f"load i32, ptr {last}")
    masks = {block: b.value(f"load i32, ptr {cg.suspended[block]}") for block in point.suspended}
    labels = {block: b.new_label("chosen") for block in point.suspended}
    for after_turn in (True, False):
        for block, mask in masks.items():
            runs = b.value(f"icmp ne i32 {mask}, 0")
            if after_turn:
                runs = b.value(f"and i1 {runs}, {b.value(f'icmp slt i32 {turn}, {block}')}")
            others = b.new_label("others")
            b.branch(runs, labels[block], others)
            b.open(others)

    none = b.new_label("none")
    b.line(f"store i32 0, ptr {last}")
    b.jump(none)
    for block, label in labels.items():
        b.open(label)
        b.line(f"store i32 {block}, ptr {last}")
        switch_lanes(cg, point.target, cg.mask_now(), block, masks[block])
    b.open(none)


def switch_lanes(cg: CodegenContext, block: int, mask: str, other: int, other_mask: str) -> None:
    """Suspend the active lanes at `block` and run those that are suspended at `other`."""
    b = cg.b
    b.line(f"store i32 {mask}, ptr {cg.suspended[block]}")
    b.line(f"store i32 0, ptr {cg.suspended[other]}")
    b.line(f"store i32 {other_mask}, ptr {cg.mask_slot}")
    b.jump(f"block{other}")


def yield_lanes(cg: CodegenContext, point: SuspendPoint) -> None:
    """Suspend the warp at the end of every `PATIENCE`-th iteration of a spin loop.

    The branches back to a loop share the code that suspends the warp.
    """
    b = cg.b
    left = b.value(f"sub i64 {b.value(f'load i64, ptr {cg.patience_slot}')}, 1")
    b.line(f"store i64 {left}, ptr {cg.patience_slot}")
    stop, on = f"yields{point.number}", b.new_label("on")
    b.branch(b.value(f"icmp slt i64 {left}, 0"), stop, on, likely=False)
    if point.number not in cg.yielding:
        cg.yielding.add(point.number)
        with cg.side_block(stop):
            cg.invalidate_cache()
            b.line(f"store i64 {PATIENCE}, ptr {cg.patience_slot}")
            suspend(cg, point, cg.mask_now())
    b.open(on)
