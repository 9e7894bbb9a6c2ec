"""The sanitized tier: which thread touched which cell of memory last, and whether it may touch it now.

Each cell of global and of shared memory (as many bytes as the kernel's smallest access there) has a
shadow of four words: when and by whom it was written last, when and by whom it was read last. Time is a
count of the worker's that goes on at every barrier, `__syncwarp`, fence and new block. An access looks at
its cells' shadows, 32 lanes at once: it is fine when the last one was by the same thread, or lies before
the last synchronisation of the two threads (FastTrack's epochs: Flanagan and Freund, PLDI 2009; here with
one clock for a warp, and one more for the lanes within it). Lanes for which that is not plain are handed
to `races.Sanitizing`, which knows the whole rule: counted barriers, fences, equal values.

Cells are numbered from the start of their array; the shadow is four arrays one after the other, so that
a row of lanes reads each of them as one vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.simt import layout
from gpulab.simt.collective import group_by_group
from gpulab.simt.llvm import BITS, Builder, Value, suffix, vector
from gpulab.simt.observe import OBSERVERS, Observer, Touch
from gpulab.simt.ptx import Imm, Instruction, type_size
from gpulab.simt.shapes import WARP

if TYPE_CHECKING:
    from gpulab.simt.values import Values

__all__ = [
    "ACTIONS", "AFTER", "BLOCKS", "HISTORY", "MANY", "PENDING", "SHADOW", "SITES", "SILENT", "SITE_SHIFT", "STATE", "STRONG", "SWAP", "THREADS", "WINDOW",
]  # fmt: skip

# A cell's `who`: the thread in its block, the place in the code, and three flags.
THREADS = 1023
SITE_SHIFT = 10
SITES = (1 << 16) - 1
STRONG = 1 << 26  # an atomic access, or one of another kind that may meet others
MANY = 1 << 27  # of a read: other threads of the block read it too, with nothing between
BLOCKS = 1 << 28  # of a read: threads of other blocks read it too
SWAP = 1 << 29  # a compare-and-swap, which makes up for what a plain read before it saw
AFTER = 1 << 31  # an atomic after a plain write of the same block, which other blocks have not met
SILENT = 1 << 30  # a write of what was there already, which does no harm to a plain read
WINDOW = 2  # times from here on belong to this launch; 1: before it; 0: the host, or nobody

ACTIONS = ("reads", "writes", "updates")
WHAT = {"access": 0, "met": 1, "arrive": 2, "lanes": 3, "copies": 4, "grouped": 5}
PENDING = (1 << 32) - 1  # the time of a write that an asynchronous copy has yet to make
HISTORY = 4  # fences of a thread that are remembered

# Byte offsets of a worker's state.
STATE: dict[str, int] = {}
_END = 0
for _name, _size in (
    ("now", 4), ("start", 4),  # the time; when this block began
    ("nothing", 64),  # a shadow's head for arrays that have none
    ("warp_sync", 4 * 32),  # of each warp: when its lanes last came together
    ("others", 4 * 32),  # … and the time before which it knows what every other warp did
    ("clocks", 4 * 32 * 32),  # … and the same for every other warp by itself
    ("meeting", 4 * 16 * 32),  # of each barrier: what those who came to it know
    # Of each thread: its last fences, its last strong writes, its last atomic access or strong read.
    ("fenced", HISTORY * 4 * 1024), ("announced", HISTORY * 4 * 1024), ("acquired", 4 * 1024),
    ("block_times", 8), ("block_fenced", 8), ("block_announced", 8), ("block_acquired", 8),  # addresses: of each block of the grid
    ("shared_shadow", 8), ("muted", 8),  # addresses: of shared memory's shadow, of a byte for each place
):  # fmt: skip
    _END = -(-_END // min(_size, 8)) * min(_size, 8)
    STATE[_name] = _END
    _END += _size
STATE["end"] = _END

# A shadow: its head, then four arrays of 32-bit words.
SHADOW = {"lowest": 0, "stride": 8, "cells": 64}
ARRAYS = ("write_time", "writer", "read_time", "reader")

RUNTIME = """
define internal ptr @san_at(ptr %ctx, i64 %offset) alwaysinline {
  %state = call i64 @get(ptr %ctx, i64 ${observed})
  %p = inttoptr i64 %state to ptr
  %q = getelementptr i8, ptr %p, i64 %offset
  ret ptr %q
}
define internal i32 @san_tick(ptr %ctx) alwaysinline {
  %p = call ptr @san_at(ptr %ctx, i64 NOW)
  %before = load i32, ptr %p
  %now = add i32 %before, 1
  store i32 %now, ptr %p
  ret i32 %now
}
; Every warp of the block knows all that the others did.
define internal void @san_all_met(ptr %ctx, i32 %now) {
entry:
  %sync = call ptr @san_at(ptr %ctx, i64 WARP_SYNC)
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i32, ptr %sync, i64 %n
  store i32 %now, ptr %p
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 1088
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @sim_block_begins(ptr %ctx) {
  %now = call i32 @san_tick(ptr %ctx)
  %start = call ptr @san_at(ptr %ctx, i64 START)
  store i32 %now, ptr %start
  call void @san_all_met(ptr %ctx, i32 %now)
  %times.p = call ptr @san_at(ptr %ctx, i64 BLOCK_TIMES)
  %times = load ptr, ptr %times.p
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %time = getelementptr i32, ptr %times, i64 %block
  store i32 %now, ptr %time
  ret void
}
define internal void @sim_met(ptr %ctx, i32 %warps, i32 %barrier) {
  %now = call i32 @san_tick(ptr %ctx)
  %all = icmp eq i32 %barrier, -1
  br i1 %all, label %simple, label %some
simple:
  call void @san_all_met(ptr %ctx, i32 %now)
  call void @san_all_came(ptr %ctx, i32 %warps)
  ret void
some:
  call void @san_ask(ptr %ctx, i32 1, i32 %warps, ptr null, i32 0, i32 %barrier, i32 0, ptr null)
  ret void
}
; Threads that have left the kernel do not come to the barrier.
define internal void @san_all_came(ptr %ctx, i32 %warps) {
entry:
  %states.i = call i64 @get(ptr %ctx, i64 ${warps})
  %states = inttoptr i64 %states.i to ptr
  %last = sub i32 %warps, 1
  %last.lanes = load i32, ptr @last_lanes
  br label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w.next, %fine ]
  %access.before = phi i32 [ 0, %entry ], [ %access, %fine ]
  %off = mul i32 %w, 32
  %state = getelementptr i8, ptr %states, i32 %off
  %resume = load i32, ptr %state
  %mask.p = getelementptr i8, ptr %state, i64 12
  %mask = load i32, ptr %mask.p
  %access.p = getelementptr i8, ptr %state, i64 28
  %access.here = load i32, ptr %access.p
  %gone = icmp eq i32 %resume, -1
  %here = select i1 %gone, i32 0, i32 %mask
  %access = select i1 %gone, i32 %access.before, i32 %access.here
  %is.last = icmp eq i32 %w, %last
  %everyone = select i1 %is.last, i32 %last.lanes, i32 -1
  %not.here = xor i32 %here, -1
  %missing = and i32 %everyone, %not.here
  %all = icmp eq i32 %missing, 0
  br i1 %all, label %fine, label %left
fine:
  %w.next = add i32 %w, 1
  %more = icmp ult i32 %w.next, %warps
  br i1 %more, label %warp, label %done
done:
  ret void
left:
  ; The line is that of the barrier where some other warp waits.
  br label %search
search:
  %v = phi i32 [ 0, %left ], [ %v.next, %search.next ]
  %v.off = mul i32 %v, 32
  %v.state = getelementptr i8, ptr %states, i32 %v.off
  %v.resume = load i32, ptr %v.state
  %v.gone = icmp eq i32 %v.resume, -1
  br i1 %v.gone, label %search.next, label %found
search.next:
  %v.next = add i32 %v, 1
  br label %search
found:
  %v.access.p = getelementptr i8, ptr %v.state, i64 28
  %v.access = load i32, ptr %v.access.p
  %access64 = zext i32 %v.access to i64
  call void @sim_fault(ptr %ctx, i32 %w, i64 ${EXITED_THREADS}, i64 %access64, i32 %missing, i64 0)
  ret void
}
define internal void @san_ask(ptr %ctx, i32 %what, i32 %warp, ptr %addresses, i32 %mask, i32 %a, i32 %b, ptr %values) noinline cold {
  %function.i = call i64 @get(ptr %ctx, i64 ${suspect})
  %function = inttoptr i64 %function.i to ptr
  call void %function(ptr %ctx, i32 %what, i32 %warp, ptr %addresses, i32 %mask, i32 %a, i32 %b, ptr %values)
  ret void
}
; Lanes that are not plainly right, unless there is nothing new to be said of this place.
define internal void @san_suspect(ptr %ctx, i32 %warp, ptr %addresses, i32 %mask, i32 %site, i32 %how, ptr %values) noinline cold {
  %muted.p = call ptr @san_at(ptr %ctx, i64 MUTED)
  %muted = load ptr, ptr %muted.p
  %place = getelementptr i8, ptr %muted, i32 %site
  %flag = load i8, ptr %place
  %silent = icmp ne i8 %flag, 0
  br i1 %silent, label %out, label %ask
ask:
  call void @san_ask(ptr %ctx, i32 0, i32 %warp, ptr %addresses, i32 %mask, i32 %site, i32 %how, ptr %values)
  br label %out
out:
  ret void
}
define internal void @san_warp_sync(ptr %ctx, i32 %warp, i32 %here, ptr %masks) noinline {
  %missing = icmp ne ptr %masks, null
  br i1 %missing, label %part, label %all
part:
  %time = call i32 @san_tick(ptr %ctx)
  call void @san_ask(ptr %ctx, i32 3, i32 %warp, ptr %masks, i32 %here, i32 0, i32 0, ptr null)
  ret void
all:
  %now = call i32 @san_tick(ptr %ctx)
  %syncs = call ptr @san_at(ptr %ctx, i64 WARP_SYNC)
  %sync = getelementptr i32, ptr %syncs, i32 %warp
  store i32 %now, ptr %sync
  ret void
}
; The threads of `mask` have made what they did visible (`fenced`), or may see what others made so (`acquired`).
define internal void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 %threads, i64 %blocks, i32 %now, i64 %history) noinline {
  %each.p = call ptr @san_at(ptr %ctx, i64 %threads)
  %first = shl i32 %warp, 5
  %each = getelementptr i32, ptr %each.p, i32 %first
  %one = insertelement <32 x i32> poison, i32 %now, i64 0
  %times = shufflevector <32 x i32> %one, <32 x i32> poison, <32 x i32> zeroinitializer
  %lanes = bitcast i32 %mask to <32 x i1>
  %keeps = icmp ne i64 %history, 0
  br i1 %keeps, label %keep, label %last
keep:
  call void @san_shift(ptr %each, i64 8192, i64 12288, <32 x i1> %lanes)
  call void @san_shift(ptr %each, i64 4096, i64 8192, <32 x i1> %lanes)
  call void @san_shift(ptr %each, i64 0, i64 4096, <32 x i1> %lanes)
  br label %last
last:
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %times, ptr align 4 %each, <32 x i1> %lanes)
  %table.p = call ptr @san_at(ptr %ctx, i64 %blocks)
  %table = load ptr, ptr %table.p
  %block = call i64 @get(ptr %ctx, i64 ${block})
  %entry = getelementptr i32, ptr %table, i64 %block
  store i32 %now, ptr %entry
  ret void
}
define internal void @san_shift(ptr %each, i64 %from, i64 %to, <32 x i1> %lanes) alwaysinline {
  %from.p = getelementptr i8, ptr %each, i64 %from
  %to.p = getelementptr i8, ptr %each, i64 %to
  %times = load <32 x i32>, ptr %from.p, align 4
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %times, ptr align 4 %to.p, <32 x i1> %lanes)
  ret void
}
declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, <32 x i1>)
define internal void @san_fence(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %now = call i32 @san_tick(ptr %ctx)
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 FENCED, i64 BLOCK_FENCED, i32 %now, i64 1)
  br label %out
out:
  ret void
}
define internal void @san_announce(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %now = call i32 @san_tick(ptr %ctx)
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 ANNOUNCED, i64 BLOCK_ANNOUNCED, i32 %now, i64 1)
  br label %out
out:
  ret void
}
define internal void @san_acquire(ptr %ctx, i32 %warp, i32 %mask) noinline {
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %on
on:
  %p = call ptr @san_at(ptr %ctx, i64 NOW)
  %now = load i32, ptr %p
  call void @san_mark(ptr %ctx, i32 %warp, i32 %mask, i64 ACQUIRED, i64 BLOCK_ACQUIRED, i32 %now, i64 0)
  br label %out
out:
  ret void
}
"""
for _name, _at in sorted(STATE.items(), key=lambda item: -len(item[0])):
    RUNTIME = RUNTIME.replace(f"i64 {_name.upper()}", f"i64 {_at}")

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")


class Sanitized(Observer):
    """Emits the look at the shadows before every access to global and shared memory."""

    tier = "sanitized"
    runtime = RUNTIME

    def begin(self, low: Values) -> None:
        sizes: dict[str, set[int]] = {"global": set(), "shared": set()}
        self.flags = bool(low.analysis.spins)  # whether threads may wait for one another's flags
        for item in (i for block in low.flow.blocks for i in block.code):
            self.flags |= item.op in ("membar", "fence")
            for space, size in _touched(item):
                sizes[space].add(size)
        self.granule = {space: min([8, *found]) for space, found in sizes.items()}
        low.facts["granules"] = self.granule
        low.facts["shared"] = low.shared
        self.values_at = low.b.alloca("[64 x i64]", "values")
        self.addresses_at = low.b.alloca("[32 x i64]", "addresses")
        self.state = low.context("observed", "ptr")

    # -- what synchronises ----------------------------------------------------------------------

    def warp_sync(self, low: Values, item: Instruction) -> None:
        if "sync" not in item.parts:
            return  # a form from before Volta, which waits for nobody
        b = low.b
        mask = low.operand(item.operands[-1], "i32")
        self.check_lanes(low, item, mask)
        here = low.mask_bits_of(item.predicate)
        absent = b.value(f"xor i32 {_reduced(low, 'and', mask)}, -1")
        everyone = b.value(f"icmp eq i32 {b.value(f'and i32 {absent}, {here}')}, 0")
        # Where not all lanes meet all others, the host notes which ones do; a shuffle does not order memory.
        if item.op == "bar":
            wide = b.value(f"zext {I32} {low.lanes(mask)} to {I64}")
            b.line(f"store {I64} {wide}, ptr {self.addresses_at}, align 64")
            masks = b.value(f"select i1 {everyone}, ptr null, ptr {self.addresses_at}")
            b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {here}, ptr {masks})")
            return
        full, on = b.new_label("full"), b.new_label("on")
        b.branch(everyone, full, on)
        b.open(full)
        b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {here}, ptr null)")
        b.jump(on)
        b.open(on)

    def check_lanes(self, low: Values, item: Instruction, mask: Value) -> None:
        """Every lane that a mask names has to come with the same mask, the lane itself among them."""
        b = low.b
        here = low.mask_bits_of(item.predicate)
        others = "0"
        for number in sorted(low.analysis.frontier[low.here]):
            if item.op == "bar" and number in _ways_to_sync(low):
                continue  # they may come to a __syncwarp() of their own, which is as good
            others = b.value(f"or i32 {others}, {b.value(f'load i32, ptr {low.waiting[number]}')}")
        named = _reduced(low, "or", mask)
        missing = b.value(f"and i32 {named}, {others}")
        own = b.value(f"shl {I32} splat (i32 1), {low.lane_vector}")
        without = b.value(f"and {I32} {low.lanes(mask)}, {own}")
        without = low.bits_of(b.value(f"icmp eq {I32} {without}, zeroinitializer"))
        without = b.value(f"and i32 {without}, {here}")
        if mask.kind != "uniform":
            missing = b.value(f"or i32 {missing}, {self.unlike(low, mask, here)}")
        access = low.access("names lanes", "warp", 0)
        for kind, lanes in (("mask_without_caller", without), ("missing_lanes", missing)):
            wrong, on = b.new_label("wrong"), b.new_label("on")
            b.branch(b.value(f"icmp ne i32 {lanes}, 0"), wrong, on, likely=False)
            with low.aside(wrong):
                low.fault(kind, access, lanes)
            b.open(on)

    def unlike(self, low: Values, mask: Value, here: str) -> str:
        """The lanes here that another lane's mask names, and that came with another mask than that one."""
        b = low.b
        masks = low.lanes(mask)

        def each(lane: str, result: str) -> tuple[str, str]:
            one = b.value(f"extractelement {I32} {masks}, i32 {lane}")
            same = b.value(f"icmp eq {I32} {masks}, {b.splat('i32', one)}")
            group = b.value(f"and i32 {low.bits_of(same)}, {here}")
            unlike = b.value(f"and i32 {here}, {b.value(f'xor i32 {group}, -1')}")
            strange = b.value(f"and i32 {one}, {unlike}")
            return group, b.value(f"or i32 {result}, {strange}")

        return group_by_group(low, here, "i32", each, "0")

    def barrier(self, low: Values, item: Instruction, expected: str) -> None:
        """PTX counts threads at a barrier by whole warps."""
        b = low.b
        if expected == "0":
            return
        odd = b.value(f"icmp ne i32 {b.value(f'and i32 {expected}, {WARP - 1}')}, 0")
        wrong, on = b.new_label("wrong"), b.new_label("on")
        b.branch(odd, wrong, on, likely=False)
        with low.aside(wrong):
            low.fault("barrier_count", low.access("waits at", "barrier", 0), low.mask(), b.value(f"zext i32 {expected} to i64"))
        b.open(on)

    def fence(self, low: Values, item: Instruction) -> None:
        mask = low.mask_bits_of(item.predicate)
        low.b.line(f"call void @san_fence(ptr %ctx, i32 %warp, i32 {mask})")

    def copies(self, low: Values, item: Instruction) -> None:
        """The groups that may still be on their way afterwards; -1: a group ends here."""
        left = 0
        if "commit_group" in item.parts:
            left = -1
        elif "wait_group" in item.parts and isinstance(item.operands[0], Imm):
            left = int(item.operands[0].value)
        everything = int("wait_group" not in item.parts)
        what = f"i32 {WHAT['grouped']}, i32 %warp, ptr null, i32 {low.mask()}, i32 {left}, i32 {everything}, ptr null"
        low.b.line(f"call void @san_ask(ptr %ctx, {what})")

    def arrive(self, low: Values, barrier: str) -> None:
        what = f"i32 {WHAT['arrive']}, i32 %warp, ptr null, i32 0, i32 {barrier}, i32 0, ptr null"
        low.b.line(f"call void @san_ask(ptr %ctx, {what})")

    # -- accesses -------------------------------------------------------------------------------

    def access(self, low: Values, touch: Touch) -> None:
        if touch.space in ("local", "const"):
            return
        strong = self.is_strong(touch)
        if strong and {"release", "acq_rel"} & set(touch.item.parts) | {touch.item.op} & {"mbarrier"}:
            self.fence(low, touch.item)
        granule = self.granule["shared" if touch.space == "shared" else "global"]
        granule = min(granule, touch.size)
        for part in range(touch.size // granule):
            _Look(self, low, touch, part * granule, granule, strong).emit()
        if touch.item.op == "cp" and touch.action == "writes":
            low.b.line(f"store {I64} {low.lanes(touch.where)}, ptr {self.addresses_at}, align 64")
            mask, how = low.mask_bits_of(touch.item.predicate), f"i32 {touch.site}, i32 {touch.size}"
            what = f"i32 {WHAT['copies']}, i32 %warp, ptr {self.addresses_at}, i32 {mask}, {how}, ptr null"
            low.b.line(f"call void @san_ask(ptr %ctx, {what})")
        for what, when in (("announce", touch.action != "reads"), ("acquire", touch.action != "writes")):
            if strong and when:
                mask = low.mask_bits_of(touch.item.predicate)
                low.b.line(f"call void @san_{what}(ptr %ctx, i32 %warp, i32 {mask})")

    def is_strong(self, touch: Touch) -> bool:
        """Whether accesses of this kind may meet one another: atomics, and those that say so.

        `volatile` in shared memory counts only in a kernel with fences or waiting loops: without them it
        is the old way of writing warp-synchronous code, which needs `__syncwarp` since Volta.
        """
        parts = set(touch.item.parts)
        if touch.action == "updates" or parts & {"relaxed", "acquire", "release"}:
            return True
        if touch.item.op == "mbarrier":
            return True
        return "volatile" in parts and (touch.space != "shared" or self.flags)


def _signed(word: int) -> int:
    """32 bits as LLVM writes them."""
    return word - (1 << 32) if word >> 31 else word


def _reduced(low: Values, how: str, mask: Value) -> str:
    """The masks of all active lanes taken together, with `and` or `or`."""
    if mask.kind == "uniform":
        return mask.ref
    b, neutral = low.b, "splat (i32 -1)" if how == "and" else "zeroinitializer"
    kept = b.value(f"select {I1} {low.mask_lanes()}, {I32} {low.lanes(mask)}, {I32} {neutral}")
    return b.call(f"llvm.vector.reduce.{how}.{suffix(I32)}", "i32", (I32, kept))


def _ways_to_sync(low: Values) -> set[int]:
    """The blocks of code from which there is a way to a `__syncwarp()`."""
    blocks = low.flow.blocks
    found = {b.number for b in blocks if any(i.op == "bar" and "warp" in i.parts for i in b.code)}
    grows = True
    while grows:
        before = len(found)
        found |= {b.number for b in blocks if found & set(b.targets)}
        grows = len(found) > before
    return found


def _touched(item: Instruction) -> list[tuple[str, int]]:
    """The kinds of memory that an instruction touches, and the bytes of an access."""
    if item.op == "cp" and "async" in item.parts:
        return [("global", 4), ("shared", 4)]
    if item.op in ("mbarrier", "ldmatrix", "stmatrix"):
        return [("shared", 8)]
    if item.op not in ("ld", "ldu", "st", "atom", "red") or {"param", "local", "const"} & set(item.parts):
        return []
    count = next((int(p[1:]) for p in item.parts if p in ("v2", "v4", "v8")), 1)
    size = type_size(item.parts[-1]) * count
    if any(p.startswith("shared") for p in item.parts):
        return [("shared", size)]
    return [("global", size)] if "global" in item.parts else [("global", size), ("shared", size)]


def _is_swap(touch: Touch) -> bool:
    """Whether an atomic does no harm to a plain read beside it: what was read is only a first guess."""
    parts = set(touch.item.parts)
    return "cas" in parts or (
        bool({"min", "max"} & parts) and touch.action == "updates" and touch.space != "shared"
    )


class _Look:
    """One access, or one cell's part of it: which cells, how their shadows are reached."""

    def __init__(
        self, observer: Sanitized, low: Values, touch: Touch, offset: int, granule: int, strong: bool
    ) -> None:
        self.observer, self.low, self.b = observer, low, low.b
        self.touch, self.offset, self.granule = touch, offset, granule
        self.strong, self.swap = strong, _is_swap(touch)
        self.who = min(touch.site, SITES) << SITE_SHIFT | STRONG * strong | SWAP * self.swap
        # A write of what is there already changes nothing for others; only global memory's are told apart.
        self.may_be_silent = (
            touch.action == "writes" and touch.space != "shared" and not strong
            and len(touch.values) == 1 and granule == touch.size
        )  # fmt: skip

    def emit(self) -> None:
        b, low, touch = self.b, self.low, self.touch
        mask = low.mask_bits_of(touch.item.predicate)
        base, size, shadow = self.array()
        where = touch.where
        row = where.kind == "rows" and where.stride in (0, touch.size)
        if where.kind != "lanes" and (row or where.kind == "uniform"):
            quick, slow, join = b.new_label("row"), b.new_label("each"), b.new_label("looked")
            places, fine = self.rows(base, size)
            b.branch(fine, quick, slow, likely=True)
            with low.aside(quick):
                form = "row" if where.kind == "rows" and where.stride else "same"
                silent = self.silent_rows(form, places) if self.may_be_silent else ""
                if form == "row" and touch.size != self.granule:
                    lanes = self.lanes_from(places)
                    near = self.call("lanes", mask, shadow, [(I64, lanes), ("i64", size)], silent)
                else:
                    near = self.call(form, mask, shadow, [("i64", place) for place in places], silent)
                near_end = b.label
                b.jump(join)
            with low.aside(slow):
                far = self.each_lane(mask, base, size, shadow)
                far_end = b.label
                b.jump(join)
            b.open(join)
            suspicious = b.phi("i32", (near, near_end), (far, far_end))
        else:
            suspicious = self.each_lane(mask, base, size, shadow)
        ask, on = b.new_label("suspicious"), b.new_label("on")
        b.branch(b.value(f"icmp ne i32 {suspicious}, 0"), ask, on, likely=False)
        with low.aside(ask):
            self.ask(suspicious)
            b.jump(on)
        b.open(on)

    def array(self) -> tuple[str, str, str]:
        """The array that is touched: its first address, its bytes, and its shadow."""
        b, low, state = self.b, self.low, self.observer.state
        if self.touch.space == "shared":
            place = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['shared_shadow']}")
            return "0", str(low.shared_bytes), b.value(f"load ptr, ptr {place}")
        slot = b.value(f"getelementptr i8, ptr {low.slots_base}, i64 {self.touch.site * layout.SLOT_BYTES}")
        words = [
            b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 {at}')}")
            for at in (0, 24, 32)
        ]
        nothing = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['nothing']}")
        none = b.value(f"icmp eq i64 {words[2]}, 0")
        shadow = b.value(f"inttoptr i64 {words[2]} to ptr")
        self.host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 16')}")
        return words[0], words[1], b.value(f"select i1 {none}, ptr {nothing}, ptr {shadow}")

    def rows(self, base: str, size: str) -> tuple[list[str], str]:
        """Offsets of the rows in their array, and whether all of them lie inside it."""
        b, where, low = self.b, self.touch.where, self.low
        span = self.touch.size + (where.stride * (low.width - 1) if where.kind == "rows" else 0)
        last = b.value(f"sub i64 {size}, {span}")
        places, fine = [], b.value(f"icmp sge i64 {last}, 0")
        for ref in where.refs:
            offset = ref if base == "0" else b.value(f"sub i64 {ref}, {base}")
            inside = b.value(f"icmp ule i64 {offset}, {last}")
            aligned = b.value(f"icmp eq i64 {b.value(f'and i64 {offset}, {self.touch.size - 1}')}, 0")
            fine = b.value(f"and i1 {fine}, {b.value(f'and i1 {inside}, {aligned}')}")
            places.append(b.value(f"add i64 {offset}, {self.offset}") if self.offset else offset)
        return places, fine

    def lanes_from(self, places: list[str]) -> str:
        return self.low.lanes(Value("i64", "rows", tuple(places), self.touch.where.stride))

    def each_lane(self, mask: str, base: str, size: str, shadow: str) -> str:
        b = self.b
        offsets = self.low.lanes(self.touch.where)
        if base != "0":
            offsets = b.value(f"sub {I64} {offsets}, {b.splat('i64', base)}")
        if self.offset:
            offsets = b.value(f"add {I64} {offsets}, splat (i64 {self.offset})")
        silent = self.silent_lanes(offsets, size, mask) if self.may_be_silent else ""
        return self.call("lanes", mask, shadow, [(I64, offsets), ("i64", size)], silent)

    # -- writes of what is there already ----------------------------------------------------------

    def written(self) -> tuple[str, str]:
        """What is to be written, as integers: the type of one lane's, and all lanes'."""
        (value,) = self.touch.values
        ty = f"i{BITS[value.ty]}"
        return ty, self.low.lanes(self.low.as_type(value, ty))

    def silent_rows(self, form: str, places: list[str]) -> str:
        b, width = self.b, self.low.width if self.touch.where.kind == "rows" else WARP
        ty, new = self.written()
        pointers = [b.value(f"getelementptr i8, ptr {self.host}, i64 {place}") for place in places]
        if form == "row":
            parts = [b.value(f"load {vector(ty, width)}, ptr {p}, align 1") for p in pointers]
        else:
            singles = [b.value(f"load {ty}, ptr {p}, align 1") for p in pointers]
            parts = [b.splat(ty, one, width) for one in singles]
        there = b.concat(ty, parts, width)
        return self.low.bits_of(b.value(f"icmp eq {vector(ty)} {there}, {new}"))

    def silent_lanes(self, offsets: str, size: str, mask: str) -> str:
        b = self.b
        ty, new = self.written()
        full = vector(ty)
        last = b.value(f"sub i64 {size}, {self.granule}")
        roomy = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
        fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
        inside = b.value(f"and {I1} {b.value(f'and {I1} {fits}, {roomy}')}, {self.low.vector_of_bits(mask)}")
        pointers = b.value(f"getelementptr i8, ptr {self.host}, {I64} {offsets}")
        there = b.call(
            f"llvm.masked.gather.{suffix(full)}.v{WARP}p0", full, (vector("ptr"), pointers), (I1, inside),
            (full, "zeroinitializer"),
        )  # fmt: skip
        same = b.value(f"icmp eq {full} {there}, {new}")
        return self.low.bits_of(b.value(f"and {I1} {same}, {inside}"))

    def ask(self, suspicious: str) -> None:
        """Hand addresses, values and lanes to the host."""
        b, low, observer = self.b, self.low, self.observer
        addresses = low.lanes(self.touch.where)
        if self.offset:
            addresses = b.value(f"add {I64} {addresses}, splat (i64 {self.offset})")
        b.line(f"store {I64} {addresses}, ptr {observer.addresses_at}, align 64")
        values = "null"
        if self.touch.values:
            values = observer.values_at
            for number, value in enumerate(self.touch.values):
                place = b.value(f"getelementptr i8, ptr {values}, i64 {number * WARP * BITS[value.ty] // 8}")
                b.line(f"store {vector(value.ty)} {low.lanes(value)}, ptr {place}, align 1")
        how = (
            ACTIONS.index(self.touch.action)
            | self.strong << 2
            | self.swap << 3
            | self.offset << 8
            | self.granule << 16
        )
        how |= len(self.touch.values) << 24
        b.line(
            f"call void @san_suspect(ptr %ctx, i32 %warp, ptr {observer.addresses_at}, i32 {suspicious}, "
            f"i32 {self.touch.site}, i32 {how}, ptr {values})"
        )

    # -- the function that looks ----------------------------------------------------------------

    def call(self, form: str, mask: str, shadow: str, places: list[tuple[str, str]], silent: str) -> str:
        """Call the function for this form of access; the lanes that are not plainly fine."""
        touch, width = self.touch, self.low.width if self.touch.where.kind == "rows" else WARP
        shared = touch.space == "shared"
        kind = "shared" if shared else "global"
        # Lanes that write one place do no harm where all of them write the same.
        calm = self.strong or (bool(touch.values) and all(v.kind == "uniform" for v in touch.values))
        name = f"san_{form}_{len(places)}_{width}_{touch.action}_{kind}_{self.granule}"
        name += "_strong" * self.strong + "_calm" * calm + "_swap" * self.swap
        arguments = [
            ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.observer.state), ("ptr", shadow), ("i32", mask),
            ("i32", str(self.who)), *places,
        ]  # fmt: skip
        if silent:
            name += "_silent"
            arguments.append(("i32", silent))

        def body(b: Builder, names: list[str]) -> str:
            shadows = _Shadows(
                b,
                names[: len(names) - bool(silent)],
                form,
                width,
                touch.action,
                shared,
                self.granule,
                self.strong,
                calm,
                self.swap,
            )
            shadows.silent = names[-1] if silent else ""
            return shadows.look()

        return self.b.define(name, "i32", arguments, body)


class _Shadows:
    """The body of such a function. Its vectors have an element for each cell: 32 lanes, or rows."""

    def __init__(
        self,
        b: Builder,
        names: list[str],
        form: str,
        width: int,
        action: str,
        shared: bool,
        granule: int,
        strong: bool,
        calm: bool,
        swap: bool,
    ) -> None:
        self.b, self.form, self.width, self.action = b, form, width, action
        self.shared, self.granule, self.strong, self.calm, self.swap = shared, granule, strong, calm, swap
        self.warp, self.state, self.shadow, self.mask, self.site = names[1:6]
        self.places = names[6:]
        self.silent = ""  # lanes that write what is there already
        self.count = len(self.places) if form == "same" else WARP
        self.ty = vector("i32", self.count)
        self.flags = vector("i1", self.count)

    @property
    def may_meet(self) -> bool:
        """Whether lanes of this access may go to one cell without saying so."""
        return self.form == "lanes" or (self.form == "row" and self.width < WARP)

    # -- small words ------------------------------------------------------------------------------

    def op(self, text: str, x: str, y: str) -> str:
        return self.b.value(f"{text} {self.ty} {x}, {y}")

    def both(self, x: str, y: str) -> str:
        return self.b.value(f"and {self.flags} {x}, {y}")

    def either(self, x: str, y: str) -> str:
        return self.b.value(f"or {self.flags} {x}, {y}")

    def no(self, x: str) -> str:
        return self.b.value(f"xor {self.flags} {x}, splat (i1 true)")

    def pick(self, flags: str, x: str, y: str) -> str:
        return self.b.value(f"select {self.flags} {flags}, {self.ty} {x}, {self.ty} {y}")

    def all(self, ref: str) -> str:
        return self.b.splat("i32", ref, self.count)

    def has(self, who: str, flag: int) -> str:
        return self.op("icmp ne", self.op("and", who, f"splat (i32 {_signed(flag)})"), "zeroinitializer")

    def of_state(self, name: str, index: str = "") -> str:
        b = self.b
        place = b.value(f"getelementptr i8, ptr {self.state}, i64 {STATE[name]}")
        if index:
            place = b.value(f"getelementptr i32, ptr {place}, i32 {index}")
        return b.value(f"load i32, ptr {place}")

    # -- the shadows ------------------------------------------------------------------------------

    def reach(self) -> None:
        """Pointers to the cells' first words, and the distance from one array to the next."""
        b = self.b
        place = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['stride']}")
        self.stride = b.value(f"load i64, ptr {place}")
        first = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['cells']}")
        shift = self.granule.bit_length() - 1
        self.inside = self.flags_of_mask()
        if self.form == "lanes":
            offsets, size = self.places
            last = b.value(f"sub i64 {size}, {self.granule}")
            fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
            roomy = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
            aligned = b.value(
                f"icmp eq {I64} {b.value(f'and {I64} {offsets}, splat (i64 {self.granule - 1})')}, zeroinitializer"
            )
            good = self.both(self.both(fits, roomy), aligned)
            self.outside = self.both(self.inside, self.no(good))
            self.inside = self.both(self.inside, good)
            cells = b.value(f"lshr {I64} {offsets}, splat (i64 {shift})")
            self.each = b.value(f"getelementptr i32, ptr {first}, {I64} {cells}")
            return
        self.outside = ""
        cells_of = [
            b.value(f"getelementptr i32, ptr {first}, i64 {b.value(f'lshr i64 {p}, {shift}')}")
            for p in self.places
        ]
        self.rows = cells_of

    def flags_of_mask(self) -> str:
        """Which cells have an active lane."""
        b = self.b
        if self.form != "same":
            return b.value(f"bitcast i32 {self.mask} to {I1}")
        flags = "poison"
        for number in range(self.count):
            some = b.value(f"icmp ne i32 {self.row_mask(number)}, 0")
            flags = b.value(f"insertelement {self.flags} {flags}, i1 {some}, i64 {number}")
        return flags

    def row_mask(self, number: int) -> str:
        b = self.b
        if self.width == WARP:
            return self.mask
        shifted = b.value(f"lshr i32 {self.mask}, {number * self.width}")
        return b.value(f"and i32 {shifted}, {(1 << self.width) - 1}")

    def who_am_i(self) -> None:
        """The threads of the cells; for `same` the row's first active lane, and whether there are more."""
        b = self.b
        first = b.value(f"shl i32 {self.warp}, 5")
        if self.form != "same":
            lanes = "<" + ", ".join(f"i32 {n}" for n in range(WARP)) + ">"
            self.me, self.crowd = self.op("or", self.all(first), lanes), ""
        else:
            me, crowd = "poison", "poison"
            for number in range(self.count):
                part = self.row_mask(number)
                lane = b.value(f"call i32 @llvm.cttz.i32(i32 {part}, i1 false)")
                thread = b.value(f"add i32 {first}, {b.value(f'add i32 {lane}, {number * self.width}')}")
                rest = b.value(f"and i32 {part}, {b.value(f'sub i32 {part}, 1')}")
                more = b.value(f"icmp ne i32 {rest}, 0")
                me = b.value(f"insertelement {self.ty} {me}, i32 {thread}, i64 {number}")
                crowd = b.value(f"insertelement {self.flags} {crowd}, i1 {more}, i64 {number}")
            self.me, self.crowd = me, crowd
        self.mine = self.op("or", self.me, self.all(self.site))

    def load(self, array: int) -> str:
        b = self.b
        if self.form == "lanes":
            return b.call(
                f"llvm.masked.gather.{suffix(I32)}.v{WARP}p0", I32, (vector("ptr"), self.moved(self.each, array)),
                (I1, self.inside), (I32, "zeroinitializer"),
            )  # fmt: skip
        parts = [self.moved_one(row, array) for row in self.rows]
        if self.form == "row":
            each = [b.value(f"load {vector('i32', self.width)}, ptr {p}, align 4") for p in parts]
            return b.concat("i32", each, self.width)
        made = "poison"
        for number, p in enumerate(parts):
            made = b.value(
                f"insertelement {self.ty} {made}, i32 {b.value(f'load i32, ptr {p}')}, i64 {number}"
            )
        return made

    def store(self, array: int, value: str, flags: str) -> None:
        b = self.b
        if self.form == "lanes":
            name = f"llvm.masked.scatter.{suffix(I32)}.v{WARP}p0"
            b.call(name, "void", (I32, value), (vector("ptr"), self.moved(self.each, array)), (I1, flags))
            return
        parts = [self.moved_one(row, array) for row in self.rows]
        width = self.width if self.form == "row" else 1
        for number, p in enumerate(parts):
            full, some = vector("i32", width), vector("i1", width)
            chosen = list(range(number * width, (number + 1) * width))
            one = b.pick("i32", value, self.count, chosen) if len(parts) > 1 else value
            on = b.pick("i1", flags, self.count, chosen) if len(parts) > 1 else flags
            name = f"llvm.masked.store.{suffix(full)}.p0"
            b.declare(name, "void", [full, "ptr", some])
            b.line(f"call void @{name}({full} {one}, ptr align 4 {p}, {some} {on})")

    def moved(self, each: str, array: int) -> str:
        if not array:
            return each
        offset = self.b.value(f"mul i64 {self.stride}, {array}")
        return self.b.value(f"getelementptr i8, {vector('ptr')} {each}, i64 {offset}")

    def moved_one(self, row: str, array: int) -> str:
        if not array:
            return row
        offset = self.b.value(f"mul i64 {self.stride}, {array}")
        return self.b.value(f"getelementptr i8, ptr {row}, i64 {offset}")

    # -- the rule ---------------------------------------------------------------------------------

    def look(self) -> str:
        """Judge and note; the lanes left to the host as 32 bits."""
        b = self.b
        self.reach()
        now, self.start = self.of_state("now"), self.all(self.of_state("start"))
        self.window = self.start if self.shared else f"splat (i32 {WINDOW})"
        self.sync = self.all(self.of_state("warp_sync", self.warp))
        self.others = self.all(self.of_state("others", self.warp))
        self.now = self.all(now)
        written, read, reader = self.load(0), self.load(2), self.load(3)
        self.lowest = self.start
        if not self.shared:
            place = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['lowest']}")
            self.lowest = self.all(b.value(f"load i32, ptr {place}"))
        if self.action == "reads":
            return self.look_at_read(written, read, reader)
        self.who_am_i()
        fine = self.write_is_past(written, self.load(1))
        if self.action == "updates":
            fine = self.both(fine, self.op("icmp uge", written, self.lowest))
        good = self.both(self.both(fine, self.read_is_past(read, reader)), self.inside)
        good = self.note_silent(written, good) if self.silent else self.note_write(good)
        return self.left_over(good)

    def look_at_read(self, written: str, read: str, reader: str) -> str:
        """Most reads are of what others have read just now, and leave nothing to be noted."""
        b = self.b
        known = self.both(self.op("icmp uge", read, self.most()), self.has(reader, MANY))
        if not self.shared:
            known = self.either(known, self.has(reader, BLOCKS))
        calm = self.op("icmp ult", written, self.least() if self.shared else self.window)
        calm = self.both(calm, self.op("icmp uge", written, self.lowest))
        others = self.both(self.inside, self.no(self.both(known, calm)))
        if self.outside:
            others = self.either(others, self.outside)
        work, done = b.new_label("work"), b.new_label("done")
        b.jump("begin")
        b.open("begin")
        flags = b.value(f"bitcast {self.flags} {others} to i{self.count}")
        b.branch(b.value(f"icmp ne i{self.count} {flags}, 0"), work, done)
        b.open(work)
        self.who_am_i()
        fine = self.write_is_past(written, self.load(1))
        fine = self.both(fine, self.op("icmp uge", written, self.lowest))
        good = self.both(fine, self.inside)
        self.note_read(read, reader, good)
        left = self.left_over(good)
        end = b.label
        b.jump(done)
        b.open(done)
        return b.phi("i32", ("0", "begin"), (left, end))

    def left_over(self, good: str) -> str:
        """The lanes that the host has to look at."""
        wrong = self.both(self.inside, self.no(good))
        if self.outside:
            wrong = self.either(wrong, self.outside)
        return self.as_bits(wrong)

    def most(self) -> str:
        return self.pick(self.op("icmp ugt", self.sync, self.others), self.sync, self.others)

    def write_is_past(self, time: str, who: str) -> str:
        """Whether the last write was before this launch, by the same thread, or is ordered before now."""
        old = self.op("icmp ult", time, self.window)
        ours = self.op("icmp uge", time, self.start)
        here = self.both(self.same(who), self.op("icmp ule", time, self.now))  # and not still on its way
        fine = self.either(here, self.before(time, who))
        fine = self.either(old, self.both(ours, fine))
        if self.action == "reads":
            fine = self.either(fine, self.has(who, SWAP | SILENT))
        if not self.strong:
            return fine
        meets = self.has(who, STRONG)
        if not self.shared:
            meets = self.both(meets, self.either(ours, self.no(self.has(who, AFTER))))
            plain = self.both(self.no(old), self.either(self.no(self.has(who, STRONG)), self.has(who, AFTER)))
            after = self.pick(plain, f"splat (i32 {_signed(AFTER)})", "zeroinitializer")
            self.mine = self.op("or", self.mine, after)
        return self.either(fine, meets)

    def same(self, who: str) -> str:
        thread = self.op("and", who, f"splat (i32 {THREADS})")
        same = self.op("icmp eq", thread, self.me)
        return self.both(same, self.no(self.crowd)) if self.crowd else same

    def before(self, time: str, who: str) -> str:
        """Whether a time lies before the last synchronisation with that thread."""
        warp = self.op("lshr", self.op("and", who, f"splat (i32 {THREADS})"), "splat (i32 5)")
        near = self.op("icmp eq", warp, self.all(self.warp))
        return self.op("icmp ult", time, self.pick(near, self.sync, self.others))

    def reads_before(self, time: str, who: str) -> str:
        """The same for a read, which may stand for others too."""
        all_of_them = self.op("icmp ult", time, self.least())
        alone = self.no(self.has(who, MANY))
        return self.either(all_of_them, self.both(alone, self.before(time, who)))

    def least(self) -> str:
        return self.pick(self.op("icmp ult", self.sync, self.others), self.sync, self.others)

    def read_is_past(self, time: str, who: str) -> str:
        """Whether nobody else can be reading what is to be written."""
        if self.swap:
            return "splat (i1 true)"
        old = self.op("icmp ult", time, self.window)
        ours = self.op("icmp uge", time, self.start)
        alone = self.both(self.same(who), self.no(self.has(who, MANY)))
        fine = self.both(ours, self.either(alone, self.reads_before(time, who)))
        fine = self.both(fine, self.no(self.has(who, BLOCKS)))
        fine = self.either(old, fine)
        return self.either(fine, self.has(who, STRONG)) if self.strong else fine

    def note_read(self, time: str, who: str, good: str) -> None:
        """The last reader is this one; others are remembered as flags while they matter."""
        recent = self.op("icmp uge", time, self.window)
        ours = self.op("icmp uge", time, self.start)
        pending = self.both(ours, self.no(self.reads_before(time, who)))
        other_block = self.both(recent, self.no(ours))
        kept = self.either(pending, other_block)
        flags = self.op("and", who, f"splat (i32 {BLOCKS})")
        flags = self.pick(recent, flags, "zeroinitializer")
        flags = self.op("or", flags, self.pick(other_block, f"splat (i32 {BLOCKS})", "zeroinitializer"))
        others = self.either(self.has(who, MANY), self.no(self.same(who)))
        others = self.both(pending, others)
        if self.crowd:
            others = self.either(others, self.crowd)
        flags = self.op("or", flags, self.pick(others, f"splat (i32 {MANY})", "zeroinitializer"))
        mine = self.mine
        if self.strong:
            weak = self.both(kept, self.no(self.has(who, STRONG)))
            mine = self.pick(weak, self.op("and", mine, f"splat (i32 {~STRONG})"), mine)
        made = self.op("or", mine, flags)
        self.store(2, self.now, good)
        self.store(3, made, good)
        if self.may_meet:  # lanes that read the same cell: the last one stands for all of them
            kept_there = self.load(3)
            crowd = self.both(good, self.op("icmp ne", kept_there, made))
            self.store(3, self.op("or", kept_there, f"splat (i32 {MANY})"), crowd)

    def note_write(self, good: str) -> str:
        """The writer is this one; lanes that write the same cell are left to the host."""
        if self.crowd and not self.calm:
            good = self.both(good, self.no(self.crowd))
        self.store(0, self.now, good)
        self.store(1, self.mine, good)
        self.store(2, "zeroinitializer", good)  # whoever comes after this write comes after those reads
        if self.may_meet and not self.calm:
            clash = self.both(good, self.op("icmp ne", self.load(1), self.mine))
            good = self.both(good, self.no(clash))
        return good

    def note_silent(self, time: str, good: str) -> str:
        """As a write where something changes; elsewhere only that the cell has a value."""
        b = self.b
        if self.form == "same":
            some = b.value(f"icmp eq i32 {b.value(f'and i32 {self.silent}, {self.mask}')}, {self.mask}")
            quiet = b.splat("i1", some, self.count)
        else:
            quiet = b.value(f"bitcast i32 {self.silent} to {I1}")
        quiet = self.both(quiet, self.inside)
        first = self.both(quiet, self.op("icmp ult", time, f"splat (i32 {WINDOW})"))
        self.store(0, self.now, first)
        self.store(1, self.op("or", self.mine, f"splat (i32 {SILENT})"), first)
        loud = self.note_write(self.both(good, self.no(quiet)))
        return self.either(loud, quiet)

    def as_bits(self, flags: str) -> str:
        b = self.b
        if self.form != "same":
            return b.value(f"bitcast {I1} {flags} to i32")
        bits = "0"
        for number in range(self.count):
            part = ((1 << self.width) - 1) << number * self.width
            on = b.value(f"extractelement {self.flags} {flags}, i64 {number}")
            bits = b.value(
                f"or i32 {bits}, {b.value(f'select i1 {on}, i32 {part - (1 << 32) if part >> 31 else part}, i32 0')}"
            )
        return b.value(f"and i32 {bits}, {self.mask}")


OBSERVERS["sanitized"] = Sanitized
