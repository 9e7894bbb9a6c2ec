"""The counted tier: how often each block of code and each access ran, and what memory had to do for it.

What is counted, for each place that accesses memory (a *site*), over the requests that it made (one for
each warp with at least one active lane):

    global    32-byte sectors: the different ones among a request's active lanes
    shared    wavefronts: of 4-byte elements and smaller ones, the largest number of different 4-byte words
              in one of the 32 banks; elements of 8 and 16 bytes are served to halves and quarters of the
              warp by themselves, whose wavefronts add up (loads to twice as many lanes where they come in
              pairs that ask for the same element); so measured on an H200 with Nsight Compute
    both      the 32 addresses of the first request, and of one that took the most sectors or wavefronts

and, over the launch, the sectors of global memory that were read or written at all: what a cache that
loses nothing would move.

A request takes one sector or wavefront at least; only what it takes beyond that is counted while the
kernel runs, and nothing where the code itself says that there is none. How often a site ran follows from
how often its block of code did, but for sites under a predicate and for generic addresses.

Where a row of lanes touches neighbouring elements, its sectors are groups of neighbouring lanes: the mask
of active lanes, shifted by the row's misalignment, is cut into groups and the groups with a lane counted.
Everything else goes to the functions of counted.ll, which look at each lane's address and remember the
last answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import gcd
from string import Template
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.simt import layout
from gpulab.simt.access import address, shifted
from gpulab.simt.llvm import Value
from gpulab.simt.observe import OBSERVERS, Forms, Observer, Recording, Touch
from gpulab.simt.ptx import Mem
from gpulab.simt.shapes import WARP

if TYPE_CHECKING:
    from gpulab.simt.allocation import Memory
    from gpulab.simt.flow import Block
    from gpulab.simt.launch import Worker
    from gpulab.simt.native import NativeKernel
    from gpulab.simt.values import Access, Values

__all__ = ["SECTOR_BYTES", "Count", "Counting", "CountingObserver", "Picture", "SiteCount"]

SECTOR_BYTES = 32
BANKS = 32

HEAD = 64  # bytes before the counters: how far this worker's maps lie from those in the launch's table

# A block's: executions by warps, their active threads, executions after which the lanes went two ways.
BLOCK_BYTES = 24

# A site's record: words of 64 bits, at these bytes.
EXECUTIONS, THREADS, EXCESS, IDEAL, WORST, LAST = 0, 8, 16, 24, 32, 40
SHARED, LOCAL = 64, 104  # the same for lanes of a generic access that go to shared and to local memory
FIRST_PICTURE = 128
PICTURE_BYTES = 288  # mask, block, warp, units, 32 addresses
WORST_PICTURE = FIRST_PICTURE + PICTURE_BYTES
MEMO = WORST_PICTURE + PICTURE_BYTES  # mask, the answer, up to …
MEMO_LANES = 64  # … 32 numbers that it was for
SHARED_MEMO = MEMO + MEMO_LANES + 8 * WARP
RECORD_BYTES = SHARED_MEMO + MEMO_LANES + 8 * WARP
MAP_PADDING = 16  # bytes behind a map of sectors, which is read in words

READS, WRITES = 1, 2
MATRICES = {"ldmatrix": 1, "stmatrix": 0}  # which operand is the address


@cache
def _runtime() -> str:
    names = {
        "EXCESS": EXCESS, "IDEAL": IDEAL, "WORST": WORST, "SHARED": SHARED, "LOCAL": LOCAL, "MEMO": MEMO,
        "FIRST_PICTURE": FIRST_PICTURE, "WORST_PICTURE": WORST_PICTURE, "MEMO_LANES": MEMO_LANES,
        "SHARED_MEMO": SHARED_MEMO, "MAP_PADDING": MAP_PADDING,
        **{f"SWAPPED_{n}": ", ".join(f"i32 {lane ^ n}" for lane in range(WARP)) for n in (1, 2)},
    }  # fmt: skip
    text = resources.files("gpulab.simt").joinpath("counted.ll").read_text()
    return Template(text).safe_substitute({name: str(value) for name, value in names.items()})


class CountingObserver(Observer):
    """Emits the counting."""

    tier = "counted"

    def __init__(self) -> None:
        self.runtime = _runtime()
        self.parts: dict[tuple[int, int], int] = {}  # accesses made so far by the instruction at a place

    def begin(self, low: Values) -> None:
        self.observed = low.context("observed", "ptr")
        self.head = head_bytes(len(low.flow.blocks))
        low.facts["blocks"] = len(low.flow.blocks)

    def block(self, low: Values, block: Block) -> None:
        threads = str(WARP) if low.full else _population(low, low.mask())
        for offset, by in ((0, "1"), (8, threads)):
            _add(low, self.place(low, HEAD + BLOCK_BYTES * block.number + offset), by)

    def branch(self, low: Values, block: Block, here: str, there: str) -> None:
        b = low.b
        both = [b.value(f"icmp ne i32 {mask}, 0") for mask in (here, there)]
        parts = b.value(f"zext i1 {b.value(f'and i1 {both[0]}, {both[1]}')} to i64")
        _add(low, self.place(low, HEAD + BLOCK_BYTES * block.number + 16), parts)

    def access(self, low: Values, touch: Touch) -> None:
        item = touch.item
        part = self.parts.get((low.here, low.index), 0)
        self.parts[low.here, low.index] = part + 1
        lanes = -1
        if item.op in MATRICES:
            # Each row of 16 bytes is asked for by one lane, and given to several: one access says it all.
            if part:
                return
            count = next(int(p[1:]) for p in item.parts if p in ("x1", "x2", "x4"))
            memory = item.operands[MATRICES[item.op]]
            assert isinstance(memory, Mem)
            where = address(low, memory, touch.space)
            touch = replace(touch, where=Value("i64", "lanes", (low.lanes(where),)))
            lanes = (1 << 8 * count) - 1
        if touch.space == "shared" and item.row in self.forms and touch.action != "updates":
            size, shift = self.forms[item.row]
            if not size:
                return
            touch = replace(touch, where=shifted(low, touch.where, shift), size=size)
        apart = item.predicate is not None or touch.space == "generic"
        low.accesses[touch.site] = replace(
            low.accesses[touch.site], opcode=item.text, block=low.here, index=low.index, part=part, apart=apart,
            width=touch.size,
        )  # fmt: skip
        record = self.place(low, self.head + RECORD_BYTES * touch.site)
        _Site(low, touch, self.observed, record, apart, lanes).count()

    def place(self, low: Values, offset: int) -> str:
        return low.b.value(f"getelementptr i8, ptr {self.observed}, i64 {offset}")


OBSERVERS["counted"] = CountingObserver


def head_bytes(blocks: int) -> int:
    """Where the sites' records begin, behind the blocks'."""
    return HEAD - (-BLOCK_BYTES * blocks // 64) * 64


def _population(low: Values, mask: str) -> str:
    found = low.b.call("llvm.ctpop.i32", "i32", ("i32", mask))
    return low.b.value(f"zext i32 {found} to i64")


def _add(low: Values, place: str, by: str) -> None:
    b = low.b
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {by}')}, ptr {place}")


class _Site:
    """The code that counts one access, put before it.

    observed: the worker's counters; record: those of this site. apart: its executions are counted here
    and not with its block. lanes: bits of the lanes that make requests.
    """

    def __init__(
        self, low: Values, touch: Touch, observed: str, record: str, apart: bool, lanes: int
    ) -> None:
        self.low, self.b, self.touch, self.apart = low, low.b, touch, apart
        self.observed, self.record = observed, record
        self.where, self.size = touch.where, touch.size
        self.mask = low.mask_bits_of(touch.item.predicate)
        if lanes != -1:
            self.mask = self.b.value(f"and i32 {self.mask}, {lanes}")
        self.whole = low.full and touch.item.predicate is None and lanes == -1
        self.rows = self.where.refs if self.where.kind != "lanes" else ()
        self.width = low.width if self.where.kind == "rows" else WARP
        self.stride = self.where.stride if self.where.kind == "rows" else 0
        self.shift = self.size.bit_length() - 1
        # Bytes from the first lane of a row down to the lowest one.
        self.back = self.stride * (self.width - 1) if self.stride < 0 else 0
        self.marks = {"reads": READS, "writes": WRITES}.get(touch.action, READS | WRITES)

    def count(self) -> None:
        b, low = self.b, self.low
        counted = self.touch.space in ("global", "shared", "generic")
        if not counted and not self.apart:
            return
        begin, self.done = b.new_label("count"), b.new_label("counted")
        if self.touch.item.predicate is None:
            b.jump(begin)
        else:
            b.branch(b.value(f"icmp ne i32 {self.mask}, 0"), begin, self.done)
        with low.aside(begin):
            if self.apart and self.touch.space != "generic":
                _add(low, self.at(EXECUTIONS), "1")
                _add(low, self.at(THREADS), _population(low, self.mask))
            if self.touch.space == "global":
                self.sectors()
            elif self.touch.space == "shared":
                self.wavefronts()
            elif self.touch.space == "generic":
                shift, slot = str(max(self.shift, 2)), self.slot()
                self.look("sim_generic", ("i64", shift), ("ptr", slot), ("i32", str(self.marks)))
            else:
                b.jump(self.done)
        b.open(self.done)

    def at(self, offset: int) -> str:
        return self.b.value(f"getelementptr i8, ptr {self.record}, i64 {offset}")

    def slot(self) -> str:
        offset = self.touch.site * layout.SLOT_BYTES
        return self.b.value(f"getelementptr i8, ptr {self.low.slots_base}, i64 {offset}")

    def look(self, function: str, *more: tuple[str, str], counters: Sequence[tuple[str, str]] = ()) -> None:
        """Let a function of counted.ll look at every lane."""
        b, low = self.b, self.low
        b.line(f"store <{WARP} x i64> {low.lanes(self.where)}, ptr {low.scratch}, align 64")
        b.call(
            function, "void", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.record), *counters,
            ("ptr", low.scratch), ("i32", self.mask), *more,
        )  # fmt: skip
        b.jump(self.done)

    def row_masks(self) -> list[str]:
        """The active lanes of each row as the low bits of 64, its lowest address first."""
        b, found = self.b, []
        for number in range(len(self.rows)):
            mask, ty = self.mask, "i32"
            if self.width < WARP:
                ty = f"i{self.width}"
                moved = b.value(f"lshr i32 {mask}, {number * self.width}") if number else mask
                mask = b.value(f"trunc i32 {moved} to {ty}")
            if self.stride < 0:
                mask = b.call(f"llvm.bitreverse.{ty}", ty, (ty, mask))
            found.append(b.value(f"zext {ty} {mask} to i64"))
        return found

    # -- global memory ----------------------------------------------------------------------------

    def sectors(self) -> None:
        b, low = self.b, self.low
        slot = self.slot()
        steps = abs(self.stride)
        neighbours = self.rows and (steps == 0 or SECTOR_BYTES % steps == 0) and len(self.rows) <= 2
        if not neighbours or self.marks == READS | WRITES:
            self.look("sim_sectors", ("ptr", slot), ("i32", str(self.marks)))
            return
        near, other = b.new_label("near"), b.new_label("other")
        base = b.value(f"load i64, ptr {slot}")
        limit = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 8')}")
        offsets, fine = [], ""
        for ref in self.rows if len(set(self.rows)) > 1 else self.rows[:1]:
            offset = b.value(f"sub i64 {ref}, {base}")
            if self.back:
                offset = b.value(f"add i64 {offset}, {self.back}")
            turned = b.call(
                "llvm.fshr.i64", "i64", ("i64", offset), ("i64", offset), ("i64", str(self.shift))
            )
            inside = b.value(f"icmp ult i64 {turned}, {limit}")
            offsets.append(offset)
            fine = b.value(f"and i1 {fine}, {inside}") if fine else inside
        b.branch(fine, near, other, likely=True)
        with low.aside(near):
            masks = self.row_masks()
            if len(offsets) == 1:
                self.rows_at(slot, offsets, [self.merged(masks)], other)
            else:
                # Rows of the same sectors are one row; rows whose sectors are others add up.
                one, two = (b.value(f"lshr i64 {o}, 5") for o in offsets) if not self.stride else offsets
                same, apart = b.new_label("same"), b.new_label("apart")
                b.branch(b.value(f"icmp eq i64 {one}, {two}"), same, apart)
                b.open(same)
                self.rows_at(slot, offsets[:1], [self.merged(masks)], other)
                b.open(apart)
                if self.stride:
                    most = self.width * abs(self.stride) + SECTOR_BYTES
                    distance = b.value(f"sub i64 {two}, {one}")
                    moved = b.value(f"add i64 {distance}, {most - 1}")
                    apart = b.new_label("apart")
                    b.branch(b.value(f"icmp ult i64 {moved}, {2 * most - 1}"), other, apart, likely=False)
                    b.open(apart)
                self.rows_at(slot, offsets, masks, other)
        with low.aside(other):
            self.look("sim_sectors", ("ptr", slot), ("i32", str(self.marks)))

    def merged(self, masks: list[str]) -> str:
        return masks[0] if len(masks) == 1 else self.b.value(f"or i64 {masks[0]}, {masks[1]}")

    def rows_at(self, slot: str, offsets: list[str], masks: list[str], other: str) -> None:
        """Count rows of different sectors, at these offsets into the slot's allocation.

        Those that need more sectors than ever before here are for others to look at.
        """
        b = self.b
        if self.whole:
            groups, units = self.whole_rows(offsets)
        else:
            whole, part, both = b.new_label("whole"), b.new_label("part"), b.new_label("both")
            b.branch(b.value(f"icmp eq i32 {self.mask}, -1"), whole, part)
            b.open(whole)
            all_groups, all_units = self.whole_rows(offsets)
            b.jump(both)
            b.open(part)
            some_groups = [self.groups(m, o) for m, o in zip(masks, offsets, strict=True)]
            some_units = self.sum_of([b.call("llvm.ctpop.i64", "i64", ("i64", g)) for g in some_groups])
            b.jump(both)
            b.open(both)
            groups = [b.phi("i64", (x, whole), (y, part)) for x, y in zip(all_groups, some_groups, strict=True)]
            units = b.phi("i64", (all_units, whole), (some_units, part))
        worst = b.value(f"load i64, ptr {self.at(WORST)}")
        good = b.new_label("good")
        b.branch(b.value(f"icmp ule i64 {units}, {worst}"), good, other, likely=True)
        b.open(good)
        if self.stride or len(offsets) > 1:
            _add(self.low, self.at(EXCESS), b.value(f"sub i64 {units}, 1"))
        self.mark(slot, groups, offsets)

    def sum_of(self, counts: list[str]) -> str:
        return counts[0] if len(counts) == 1 else self.b.value(f"add i64 {counts[0]}, {counts[1]}")

    def whole_rows(self, offsets: list[str]) -> tuple[list[str], str]:
        """Of rows with every lane active: a bit for each sector that each one touches; their number."""
        b = self.b
        if self.stride == 0:
            return ["1"] * len(offsets), str(len(offsets))
        last = abs(self.stride) * (self.width - 1) + self.size - 1
        groups, counts = [], []
        for offset in offsets:
            inside = b.value(f"and i64 {offset}, {SECTOR_BYTES - 1}")
            count = b.value(f"lshr i64 {b.value(f'add i64 {inside}, {last + SECTOR_BYTES}')}, 5")
            groups.append(b.value(f"sub i64 {b.value(f'shl i64 1, {count}')}, 1"))
            counts.append(count)
        return groups, self.sum_of(counts)

    def groups(self, mask: str, offset: str) -> str:
        """A bit for each sector from the row's first one on: whether an active lane is in it."""
        b = self.b
        steps = abs(self.stride)
        if steps == 0:
            return b.value(f"zext i1 {b.value(f'icmp ne i64 {mask}, 0')} to i64")
        lanes = SECTOR_BYTES // steps
        if lanes == 1:
            return mask
        inside = b.value(f"and i64 {offset}, {SECTOR_BYTES - 1}")
        if steps > 1:
            inside = b.value(f"lshr i64 {inside}, {steps.bit_length() - 1}")
        moved = b.value(f"shl i64 {mask}, {inside}")
        if lanes >= 8:
            count = 64 // lanes
            parts = b.value(f"bitcast i64 {moved} to <{count} x i{lanes}>")
            some = b.value(f"icmp ne <{count} x i{lanes}> {parts}, zeroinitializer")
            return b.value(f"zext i{count} {b.value(f'bitcast <{count} x i1> {some} to i{count}')} to i64")
        # Groups of 4 or 2 bits: fold each into its lowest one, then bring those together.
        for step in (1, 2)[: lanes.bit_length() - 1]:
            moved = b.value(f"or i64 {moved}, {b.value(f'lshr i64 {moved}, {step}')}")
        spread, held = lanes, 1
        moved = b.value(f"and i64 {moved}, {_pattern(spread, held)}")
        while spread < 64:
            gap = spread - held
            moved = b.value(f"or i64 {moved}, {b.value(f'lshr i64 {moved}, {gap}')}")
            spread, held = 2 * spread, 2 * held
            moved = b.value(f"and i64 {moved}, {_pattern(spread, held)}")
        return moved

    def mark(self, slot: str, groups: list[str], offsets: list[str]) -> None:
        """Put the sectors of groups into this worker's map; mostly they are there already."""
        b = self.b
        shadow = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 32')}")
        shadow = b.value(f"getelementptr i8, ptr {shadow}, i64 {b.value(f'load i64, ptr {self.observed}')}")
        if self.marks == WRITES:
            size = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 24')}")
            eighth = b.value(f"lshr i64 {size}, 8")
            second = b.value(f"getelementptr i8, ptr {shadow}, i64 {eighth}")
            shadow = b.value(f"getelementptr i8, ptr {second}, i64 {MAP_PADDING}")
        fresh, wanted = "", []
        for group, offset in zip(groups, offsets, strict=True):
            place = b.value(f"getelementptr i8, ptr {shadow}, i64 {b.value(f'lshr i64 {offset}, 8')}")
            number = b.value(f"and i64 {b.value(f'lshr i64 {offset}, 5')}, 7")
            bits = b.value(f"shl i64 {group}, {number}")
            have = b.value(f"load i64, ptr {place}, align 1")
            missing = b.value(f"and i64 {bits}, {b.value(f'xor i64 {have}, -1')}")
            fresh = b.value(f"or i64 {fresh}, {missing}") if fresh else missing
            wanted.append((place, bits))
        new = b.new_label("new")
        b.branch(b.value(f"icmp eq i64 {fresh}, 0"), self.done, new)
        b.open(new)
        for place, bits in wanted:
            have = b.value(f"load i64, ptr {place}, align 1")
            b.line(f"store i64 {b.value(f'or i64 {have}, {bits}')}, ptr {place}, align 1")
        self.fetch_next(slot, offsets)
        b.jump(self.done)

    def fetch_next(self, slot: str, offsets: list[str]) -> None:
        """Ask the host's memory for what comes next, if new sectors go on to come at the same distance.

        The instructions that count stand between one access and the next, so that the processor would
        look for the next one only when this one's data have come.
        """
        b = self.b
        last = self.at(LAST)
        before = b.value(f"load i64, ptr {last}")
        b.line(f"store i64 {offsets[0]}, ptr {last}")
        step = b.value(f"sub i64 {offsets[0]}, {before}")
        host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 16')}")
        b.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        for offset in offsets:
            ahead = b.value(f"add i64 {offset}, {step}")
            place = b.value(f"getelementptr i8, ptr {host}, i64 {ahead}")
            for line in range(0, max(abs(self.stride) * self.width, 1), 64):
                at = b.value(f"getelementptr i8, ptr {place}, i64 {line}") if line else place
                b.line(f"call void @llvm.prefetch.p0(ptr {at}, i32 {int(self.marks == WRITES)}, i32 3, i32 1)")

    # -- shared memory ----------------------------------------------------------------------------

    def wavefronts(self) -> None:
        b, low = self.b, self.low
        worst = b.value(f"load i64, ptr {self.at(WORST)}")
        plain = self.without_conflicts()
        other = b.new_label("other")
        if plain is None:
            b.jump(other)
        else:
            parts = self.parts()
            usual = b.value(f"icmp ule i64 {parts}, {worst}")
            if plain != "true":
                usual = b.value(f"and i1 {usual}, {plain}")
            fast = b.new_label("fast")
            b.branch(usual, fast, other, likely=True)
            with low.aside(fast):
                if parts != "1":
                    more = b.value(f"sub i64 {parts}, 1")
                    _add(low, self.at(EXCESS), more)
                    _add(low, self.at(IDEAL), more)
                b.jump(self.done)
        with low.aside(other):
            self.look(
                "sim_banks",
                ("i64", str(max(self.shift, 2))),
                ("i1", str(self.joins).lower()),
                counters=(("ptr", self.record), ("ptr", self.at(MEMO))),
            )

    @property
    def joins(self) -> bool:
        """Whether lanes that ask for the same element may be served together (see `sim_pairs`)."""
        return self.marks == READS and self.touch.item.op not in MATRICES

    def without_conflicts(self) -> str | None:
        """An i1: whether no two lanes that are served together want different words of one bank.

        None where each lane has to be looked at.
        """
        b = self.b
        if not self.rows:
            return None
        steps, alone = abs(self.stride), len(set(self.rows)) == 1
        if self.size > 4:
            if steps == 0:
                return "true" if alone else None
            if steps != self.size or self.width < 4 * WARP // self.size:
                return None
            whole = not self.joins or self.whole
            return "true" if whole else b.value(f"icmp eq i32 {self.mask}, -1")
        if alone:
            odd = steps % 4 == 0 and gcd(steps // 4, BANKS) == 1
            return "true" if odd or steps in (0, 1, 2) else None
        if len(self.rows) > 2 or steps not in (0, 4):
            return None
        first, second = (b.value(f"lshr i64 {ref}, 2") for ref in self.rows)
        distance = b.value(f"sub i64 {second}, {first}")
        same = b.value(f"icmp eq i64 {distance}, 0")
        banks = b.value(f"and i64 {distance}, {BANKS - 1}")
        apart = f"icmp ne i64 {banks}, 0" if steps == 0 else f"icmp eq i64 {banks}, {self.width}"
        return b.value(f"or i1 {same}, {b.value(apart)}")

    def parts(self) -> str:
        """How many groups of lanes that are served together have an active lane."""
        b = self.b
        count = max(self.size // 4, 1)
        if self.stride == 0 and self.joins:
            count = max(count // 2, 1)
        elif self.joins or self.whole:
            return str(count)
        if count == 1:
            return "1"
        width = WARP // count
        vectors = b.value(f"bitcast i32 {self.mask} to <{count} x i{width}>")
        some = b.value(f"icmp ne <{count} x i{width}> {vectors}, zeroinitializer")
        bits = b.value(f"zext i{count} {b.value(f'bitcast <{count} x i1> {some} to i{count}')} to i64")
        return b.call("llvm.ctpop.i64", "i64", ("i64", bits))


def _pattern(spread: int, held: int) -> int:
    """Ones at the low `held` of every `spread` bits of 64, as LLVM's signed literal."""
    bits = sum(((1 << held) - 1) << at for at in range(0, 64, spread)) & ((1 << 64) - 1)
    return bits - (1 << 64) if bits >> 63 else bits


# -- the host's side ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    """One warp's access: 32 lanes against sectors or banks.

    mask: bit n is lane n, whether it was active. block: the block's number in the grid. warp: the warp's
    number in the block. units: sectors or wavefronts that it took. addresses: by lane, in bytes: device
    addresses, or offsets in the block's shared memory; of inactive lanes they say nothing.
    """

    mask: int
    block: int
    warp: int
    units: int
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """What the requests of one site, to one state space, came to.

    executions: requests, each of a warp with at least one active lane. threads: their active lanes.
    units: sectors (global) or wavefronts (shared); 0 for other spaces. ideal: units without any
    bank conflict (shared); for global memory one for each request.
    """

    executions: int
    threads: int
    units: int
    ideal: int


@dataclass(frozen=True)
class SiteCount:
    """One instruction that accesses memory: what it is, by state space what it did, two pictures."""

    access: Access
    counts: dict[str, Count]
    first: Picture | None
    worst: Picture | None


class Counting(Recording):
    """Counts one launch. Each worker has counters and maps of its own; they are added up when they are asked for.

    forms: see `Observer.forms`; without any, accesses to shared memory are counted as PTX has them.
    """

    tier = "counted"

    def __init__(self, forms: Forms = ()) -> None:
        self.forms = forms

    def prepare(self, native: NativeKernel, shared_bytes: int) -> None:  # noqa: ARG002
        self.native = native
        self.head = head_bytes(native.facts["blocks"])
        self.workers: list[Worker] = []

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        rows = memory.table().copy()
        lengths = (rows[:, 1] >> np.uint64(8)) + np.uint64(MAP_PADDING)
        starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(2 * lengths, dtype=np.uint64)])
        self._map_bytes = int(starts[-1]) + MAP_PADDING
        self._maps = [np.zeros(self._map_bytes, np.uint8)]
        rows[:, 3] = starts[:-1] + np.uint64(self._maps[0].ctypes.data)
        self._spans = [
            (int(base), int(start), int(length))
            for base, start, length in zip(rows[:, 0], starts, lengths, strict=False)
        ]
        return rows

    def attach(self, worker: Worker) -> None:
        size = self.head + RECORD_BYTES * max(len(worker.native.accesses), 1)
        raw = np.zeros(size + 64, np.uint8)
        fresh = raw[-raw.ctypes.data % 64 :][:size]
        before = worker.memory.get("observed")
        if before is None:
            if self.workers:
                self._maps.append(np.zeros(self._map_bytes, np.uint8))
            self.workers.append(worker)
            distance = self._maps[-1].ctypes.data - self._maps[0].ctypes.data
            fresh[:8].view(np.int64)[0] = distance
        else:
            fresh[: len(before)] = before
        worker.memory["observed"] = fresh
        worker["observed"] = fresh.ctypes.data

    def blocks(self) -> npt.NDArray[np.int64]:
        """For each block of PTX, by its number: how often it was executed by a warp; the active threads of
        those; how often the lanes went two ways afterwards.
        """
        count = self.native.facts["blocks"]
        words = [w.memory["observed"][HEAD : HEAD + BLOCK_BYTES * count].view(np.int64) for w in self.workers]
        return np.sum(words, axis=0, dtype=np.int64).reshape(count, 3)

    def touched(self) -> dict[int, tuple[int, int]]:
        """By an allocation's address: how many of its sectors were read, and written, at all."""
        found = {}
        for base, start, length in self._spans:
            read, written = (self._marked(start, length), self._marked(start + length, length))
            if read or written:
                found[base] = (read, written)
        return found

    def _marked(self, start: int, length: int) -> int:
        found = np.bitwise_or.reduce([a_map[start : start + length] for a_map in self._maps])
        return int(np.unpackbits(found[found != 0]).sum(dtype=np.int64))

    def sites(self) -> list[SiteCount]:
        """Every instruction that accesses memory, in the order of the code; the plain code's is the same."""
        blocks = self.blocks()
        places: dict[tuple[int, int, str, int], list[int]] = {}
        for number, access in enumerate(self.native.accesses):
            if access.opcode:
                key = access.block, access.index, access.space, access.part
                places.setdefault(key, []).append(number)
        return [self._site(places[key], blocks[key[0]]) for key in sorted(places)]

    def _site(self, numbers: list[int], block: npt.NDArray[np.int64]) -> SiteCount:
        access = self.native.accesses[numbers[0]]
        records = [self._record(w, n) for w in self.workers for n in numbers]
        words = np.sum([r[: FIRST_PICTURE // 8] for r in records], axis=0)

        def count(offset: int, executions: int, threads: int, served: bool = True) -> Count:
            more, ideal = (int(words[(offset + o) // 8]) for o in (EXCESS, IDEAL))
            units = (executions + more, executions + ideal) if served else (0, 0)
            return Count(executions, threads, *units)

        def own(offset: int) -> tuple[int, int]:
            return int(words[offset // 8]), int(words[offset // 8 + 1])

        if access.space == "generic":
            counts = {
                "global": count(0, *own(0)),
                "shared": count(SHARED, *own(SHARED)),
                "local": Count(*own(LOCAL), 0, 0),
            }
            counts = {space: c for space, c in counts.items() if c.executions}
        else:
            executions, threads = own(0) if access.apart else (int(block[0]), int(block[1]))
            counts = {access.space: count(0, executions, threads, access.space in ("global", "shared"))}
        pictures = [
            (_picture(r[FIRST_PICTURE // 8 :]), _picture(r[WORST_PICTURE // 8 :]))
            for r in records
            if r[WORST // 8]
        ]
        first = min((p for p, _ in pictures), key=lambda p: (p.block, p.warp), default=None)
        worst = min((p for _, p in pictures), key=lambda p: (-p.units, p.block, p.warp), default=None)
        return SiteCount(access, counts, first, worst)

    def _record(self, worker: Worker, number: int) -> npt.NDArray[np.int64]:
        start = self.head + RECORD_BYTES * number
        return worker.memory["observed"][start : start + RECORD_BYTES].view(np.int64)


def _picture(words: npt.NDArray[np.int64]) -> Picture:
    mask, block, warp, units = (int(w) for w in words[:4])
    return Picture(mask & 0xFFFF_FFFF, block, warp, units, tuple(int(w) for w in words[4 : 4 + WARP]))
