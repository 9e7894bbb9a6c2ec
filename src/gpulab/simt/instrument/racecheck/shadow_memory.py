"""The shadow of memory: what a worker's state holds, what each cell remembers, and the function that looks.

FastTrack's rule (Flanagan and Freund, PLDI 2009) for 32 lanes at once. The functions here are part of a
sanitized kernel's code; each is made for one form of access: a row of neighbouring cells, one cell for a
row of lanes, or any cells.
"""

from __future__ import annotations

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.gather_scatter import gather, scatter
from gpulab.simt.codegen.ir import Builder, suffix, vector

__all__ = [
    "ACTIONS",
    "AFTER",
    "ALWAYS",
    "ARRAYS",
    "BLOCKS",
    "CALM",
    "HISTORY",
    "MANY",
    "PENDING",
    "READ",
    "READER",
    "SHADOW",
    "SILENT",
    "SITES",
    "SITE_SHIFT",
    "STATE",
    "STRONG",
    "SWAP",
    "THREADS",
    "WARPS",
    "WHAT",
    "WINDOW",
    "WRITER",
    "WRITTEN",
    "Shadows",
    "signed",
]

# A cell's `who`: the thread in its block, the place in the code, and three flags.
THREADS = 1023
SITE_SHIFT = 10
SITES = (1 << 16) - 1
STRONG = 1 << 26  # an atomic access, or one of another kind that may meet others
MANY = 1 << 27  # of a read: other threads of the warp read it too, with nothing between …
BLOCKS = 1 << 28  # of a read: threads of other blocks read it too
SWAP = 1 << 29  # a compare-and-swap, which makes up for what a plain read before it saw
AFTER = 1 << 31  # an atomic after a plain write of the same block, which other blocks have not met
SILENT = 1 << 30  # a write of what was there already, which does no harm to a plain read
WARPS = SILENT  # … of a read: those of other warps too
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
    # Addresses of tables: of each block of the grid …
    ("block_times", 8), ("block_fenced", 8), ("block_announced", 8), ("block_acquired", 8),
    ("shared_shadow", 8), ("muted", 8),  # addresses: of shared memory's shadow, of a byte for each place
):  # fmt: skip
    _END = -(-_END // min(_size, 8)) * min(_size, 8)
    STATE[_name] = _END
    _END += _size
STATE["end"] = _END

# A shadow: its head, then arrays of 32-bit words. `calm` is the time of the barrier since which one more read
# of the cell changes nothing (the last write is ordered for all, several threads have read it), or ALWAYS.
SHADOW = {"lowest": 0, "stride": 8, "cells": 64}
CALM, WRITTEN, WRITER, READ, READER = range(5)
ARRAYS = 5
ALWAYS = (1 << 32) - 1

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")


class Shadows:
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
        return self.op("icmp ne", self.op("and", who, f"splat (i32 {signed(flag)})"), "zeroinitializer")

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
            low_bits = b.value(f"and {I64} {offsets}, splat (i64 {self.granule - 1})")
            aligned = b.value(f"icmp eq {I64} {low_bits}, zeroinitializer")
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
            return gather(b, "i32", self.moved(self.each, array), self.inside)
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
            scatter(b, "i32", self.moved(self.each, array), value, flags)
            return
        parts = [self.moved_one(row, array) for row in self.rows]
        if self.form == "same":  # a word that stays as it is costs less than a branch around it
            for number, p in enumerate(parts):
                one = b.value(f"extractelement {self.ty} {value}, i64 {number}")
                on = b.value(f"extractelement {self.flags} {flags}, i64 {number}")
                old = b.value(f"load i32, ptr {p}")
                b.line(f"store i32 {b.value(f'select i1 {on}, i32 {one}, i32 {old}')}, ptr {p}")
            return
        width = self.width
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
        written, read, reader = self.load(WRITTEN), self.load(READ), self.load(READER)
        self.cgest = self.start
        if not self.shared:
            place = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['lowest']}")
            self.cgest = self.all(b.value(f"load i32, ptr {place}"))
        if self.action == "reads":
            return self.look_at_read(written, read, reader)
        self.who_am_i()
        fine = self.write_is_past(written, self.load(WRITER))
        if self.action == "updates":
            fine = self.both(fine, self.op("icmp uge", written, self.cgest))
        good = self.both(self.both(fine, self.read_is_past(read, reader)), self.inside)
        good = self.note_silent(written, good) if self.silent else self.note_write(good)
        return self.left_over(good)

    def look_at_read(self, written: str, read: str, reader: str) -> str:
        """Judge and note a read; in shared memory most are the first ones since the block's last barrier."""
        b = self.b
        self.who_am_i()
        if not self.shared:
            return self.read_with_care(written, read, reader)
        least = self.least()
        fresh = self.both(self.op("icmp ult", written, least), self.op("icmp uge", written, self.cgest))
        fresh = self.both(fresh, self.op("icmp ult", read, least))
        stale = self.both(self.inside, self.no(fresh))
        if self.outside:
            stale = self.either(stale, self.outside)
        bits = b.value(f"bitcast {self.flags} {stale} to i{self.count}")
        first, careful, done = b.new_label("first"), b.new_label("careful"), b.new_label("done")
        b.branch(b.value(f"icmp eq i{self.count} {bits}, 0"), first, careful)
        b.open(first)
        made = self.mine
        if self.crowd:
            made = self.op("or", made, self.pick(self.crowd, f"splat (i32 {MANY})", "zeroinitializer"))
        self.keep_read(made, "", self.inside)
        b.jump(done)
        b.open(careful)
        left = self.read_with_care(written, read, reader)
        end = b.label
        b.jump(done)
        b.open(done)
        return b.phi("i32", ("0", first), (left, end))

    def read_with_care(self, written: str, read: str, reader: str) -> str:
        fine = self.write_is_past(written, self.load(WRITER))
        fine = self.both(fine, self.op("icmp uge", written, self.cgest))
        good = self.both(fine, self.inside)
        self.note_read(written, read, reader, good)
        return self.left_over(good)

    def keep_read(self, made: str, calm: str, good: str) -> None:
        """Write down who has read. calm: where one more read since that barrier changes nothing, if any."""
        self.store(READ, self.now, good)
        self.store(READER, made, good)
        if calm:
            met = self.op("icmp eq", self.sync, self.others)  # the last to synchronise was the whole block
            since = self.pick(self.both(calm, met), self.others, "zeroinitializer")
            if not self.shared:
                always = f"splat (i32 {signed(ALWAYS)})"
                since = self.pick(self.both(calm, self.has(made, BLOCKS)), always, since)
            self.store(CALM, since, good)
        if self.may_meet:  # lanes that read the same cell: the last one stands for all of them
            kept_there = self.load(READER)
            crowd = self.both(good, self.op("icmp ne", kept_there, made))
            self.store(READER, self.op("or", kept_there, f"splat (i32 {MANY})"), crowd)

    def left_over(self, good: str) -> str:
        """The lanes that the host has to look at."""
        wrong = self.both(self.inside, self.no(good))
        if self.outside:
            wrong = self.either(wrong, self.outside)
        return self.as_bits(wrong)

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
            after = self.pick(plain, f"splat (i32 {signed(AFTER)})", "zeroinitializer")
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
        alone = self.no(self.has(who, WARPS))
        return self.either(all_of_them, self.both(alone, self.before(time, who)))

    def least(self) -> str:
        return self.pick(self.op("icmp ult", self.sync, self.others), self.sync, self.others)

    def read_is_past(self, time: str, who: str) -> str:
        """Whether nobody else can be reading what is to be written."""
        if self.swap:
            return "splat (i1 true)"
        old = self.op("icmp ult", time, self.window)
        ours = self.op("icmp uge", time, self.start)
        alone = self.both(self.same(who), self.no(self.has(who, MANY | WARPS)))
        fine = self.both(ours, self.either(alone, self.reads_before(time, who)))
        fine = self.both(fine, self.no(self.has(who, BLOCKS)))
        fine = self.either(old, fine)
        return self.either(fine, self.has(who, STRONG)) if self.strong else fine

    def note_read(self, written: str, time: str, who: str, good: str) -> None:
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
        warp = self.op("lshr", self.op("and", who, f"splat (i32 {THREADS})"), "splat (i32 5)")
        far = self.either(self.has(who, WARPS), self.op("icmp ne", warp, self.all(self.warp)))
        far = self.both(pending, far)
        flags = self.op("or", flags, self.pick(far, f"splat (i32 {WARPS})", "zeroinitializer"))
        mine = self.mine
        if self.strong:
            weak = self.both(kept, self.no(self.has(who, STRONG)))
            mine = self.pick(weak, self.op("and", mine, f"splat (i32 {~STRONG})"), mine)
        made = self.op("or", mine, flags)
        least = self.least() if self.shared else self.window
        crowded = WARPS if self.shared else WARPS | BLOCKS
        calm = self.both(self.op("icmp ult", written, least), self.has(made, crowded))
        self.keep_read(made, calm, good)

    def note_write(self, good: str) -> str:
        """The writer is this one; lanes that write the same cell are left to the host."""
        if self.crowd and not self.calm:
            good = self.both(good, self.no(self.crowd))
        self.store(WRITTEN, self.now, good)
        self.store(WRITER, self.mine, good)
        self.store(CALM, "zeroinitializer", good)
        self.store(READ, "zeroinitializer", good)  # whoever comes after this write comes after those reads
        if self.may_meet and not self.calm:
            clash = self.both(good, self.op("icmp ne", self.load(WRITER), self.mine))
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
        self.store(WRITTEN, self.now, first)
        self.store(WRITER, self.op("or", self.mine, f"splat (i32 {SILENT})"), first)
        self.store(CALM, "zeroinitializer", first)
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
            chosen = b.value(f"select i1 {on}, i32 {signed(part)}, i32 0")
            bits = b.value(f"or i32 {bits}, {chosen}")
        return b.value(f"and i32 {bits}, {self.mask}")


def signed(word: int) -> int:
    """32 bits as LLVM writes them."""
    return word - (1 << 32) if word >> 31 else word
