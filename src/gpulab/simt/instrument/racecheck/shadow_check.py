"""The function that checks and updates the shadow cells of one access of a warp.

It applies the rule of FastTrack (Flanagan and Freund, PLDI 2009) to 32 lanes at once and returns the lanes
whose access it could not prove ordered. A kernel contains one such function for each form of access: "row"
(neighbouring cells), "same" (one cell for each row of lanes), or "lanes" (any cells).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.gather_scatter import gather, scatter
from gpulab.simt.codegen.ir import Builder, suffix, vector
from gpulab.simt.instrument.racecheck.shadow_layout import (
    AFTER_PLAIN,
    LAUNCH_START,
    OTHER_BLOCKS,
    OTHER_LANES,
    OTHER_WARPS,
    READ_TIME,
    READER,
    ROW_BYTES,
    ROW_CELLS,
    SETTLED,
    SETTLED_FOREVER,
    SHADOW,
    SHADOW_ARRAYS,
    SILENT,
    STATE,
    STRONG,
    SWAP,
    THREAD_MASK,
    UPDATE,
    WRITE_TIME,
    WRITER,
    signed,
)

__all__ = ["ShadowCheck"]

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")
ALL = "splat (i1 true)"  # flags of all cells


class ShadowCheck:
    """Emitter of the function's body. Its vectors have one element for each cell: 32, or one for each row.

    Parameters
    ----------
    b : Builder
        Builder of the function.
    names : list of str
        The arguments: context, warp, state, shadow, lane mask, own access word, then the offsets of the
        access in its array (for "lanes" as a vector, followed by the size of the array).
    form : str
        "row", "same" or "lanes".
    width : int
        Lanes of a row.
    action : str
        "reads", "writes" or "updates".
    shared : bool
        The access is to shared memory.
    granule : int
        Bytes of a cell; 0 if `shift` is set to the name of their logarithm.
    strong : bool
        See `shadow_layout.STRONG`.
    harmless : bool
        Writes of several lanes to one cell are harmless, because they are atomic or store the same value.
    swap, update : bool
        See `shadow_layout.SWAP` and `shadow_layout.UPDATE`.
    """

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
        harmless: bool,
        swap: bool,
        update: bool,
    ) -> None:
        self.b, self.form, self.width, self.action = b, form, width, action
        self.shared, self.granule, self.strong, self.harmless = shared, granule, strong, harmless
        self.swap, self.update = swap, update
        self.warp, self.state, self.shadow, self.mask, self.site = names[1:6]
        self.places = names[6:]
        self.shift = str(granule.bit_length() - 1)  # the logarithm of the bytes of a cell
        self.exclusive = ""  # if set, 0 for harmless writes, otherwise -1; it takes the place of `harmless`
        self.silent = ""  # the mask of lanes that store the value that is already there
        self.count = len(self.places) if form == "same" else WARP
        self.ty = vector("i32", self.count)
        self.flags = vector("i1", self.count)

    @property
    def may_collide(self) -> bool:
        """True if several lanes of the access can have the same cell without being grouped as a row."""
        return self.form == "lanes" or (self.form == "row" and self.width < WARP)

    # -- vector operations ------------------------------------------------------------------------

    def op(self, text: str, x: str, y: str) -> str:
        return self.b.value(f"{text} {self.ty} {x}, {y}")

    def and_(self, x: str, y: str) -> str:
        return self.b.value(f"and {self.flags} {x}, {y}")

    def or_(self, x: str, y: str) -> str:
        return self.b.value(f"or {self.flags} {x}, {y}")

    def not_(self, x: str) -> str:
        return self.b.value(f"xor {self.flags} {x}, {ALL}")

    def select(self, flags: str, x: str, y: str) -> str:
        return self.b.value(f"select {self.flags} {flags}, {self.ty} {x}, {self.ty} {y}")

    def splat(self, ref: str) -> str:
        return self.b.splat("i32", ref, self.count)

    def has_flag(self, word: str, flag: int) -> str:
        return self.op("icmp ne", self.op("and", word, f"splat (i32 {signed(flag)})"), "zeroinitializer")

    def load_state(self, name: str, index: str = "") -> str:
        b = self.b
        place = b.value(f"getelementptr i8, ptr {self.state}, i64 {STATE[name]}")
        if index:
            place = b.value(f"getelementptr i32, ptr {place}, i32 {index}")
        return b.value(f"load i32, ptr {place}")

    # -- shadow cells -----------------------------------------------------------------------------

    def locate_cells(self) -> None:
        """Compute pointers to the cells in the first array, and the distance between arrays."""
        b = self.b
        place = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['stride']}")
        self.stride = b.value(f"load i64, ptr {place}")
        first = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['cells']}")
        self.inside = self.active_cells()
        if self.form == "lanes":
            offsets, size = self.places
            granule = b.value(f"shl i64 1, {self.shift}")
            last = b.value(f"sub i64 {size}, {granule}")
            fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
            roomy = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
            low_bits = b.splat("i64", b.value(f"sub i64 {granule}, 1"))
            low_bits = b.value(f"and {I64} {offsets}, {low_bits}")
            aligned = b.value(f"icmp eq {I64} {low_bits}, zeroinitializer")
            good = self.and_(self.and_(fits, roomy), aligned)
            self.outside = self.and_(self.inside, self.not_(good))
            self.inside = self.and_(self.inside, good)
            cells = b.value(f"lshr {I64} {offsets}, {b.splat('i64', self.shift)}")
            self.cells = b.value(f"getelementptr i32, ptr {first}, {I64} {cells}")
            return
        self.outside = ""
        self.row_pointers = [
            b.value(f"getelementptr i32, ptr {first}, i64 {b.value(f'lshr i64 {p}, {self.shift}')}")
            for p in self.places
        ]

    def active_cells(self) -> str:
        """Return flags of the cells that have an active lane."""
        b = self.b
        if self.form == "lanes":
            return b.value(f"bitcast i32 {self.mask} to {I1}")
        if self.form == "row":  # as a comparison of elements of 32 bits, like all other flags
            bits = ", ".join(f"i32 {signed(1 << lane)}" for lane in range(WARP))
            return self.op("icmp ne", self.op("and", self.splat(self.mask), f"<{bits}>"), "zeroinitializer")
        flags = "poison"
        for number in range(self.count):
            some = b.value(f"icmp ne i32 {self.row_mask(number)}, 0")
            flags = b.value(f"insertelement {self.flags} {flags}, i1 {some}, i64 {number}")
        return flags

    def row_mask(self, number: int) -> str:
        """Return the active lanes of a row as its low bits."""
        b = self.b
        if self.width == WARP:
            return self.mask
        shifted = b.value(f"lshr i32 {self.mask}, {number * self.width}")
        return b.value(f"and i32 {shifted}, {(1 << self.width) - 1}")

    def find_threads(self) -> None:
        """Compute the thread of each cell and the access words that this access stores.

        In the form "same", the thread is the first active lane of the row, and `several` says whether more
        lanes are active.
        """
        b = self.b
        first = b.value(f"shl i32 {self.warp}, 5")
        if self.form != "same":
            lanes = "<" + ", ".join(f"i32 {n}" for n in range(WARP)) + ">"
            self.threads, self.several = self.op("or", self.splat(first), lanes), ""
        else:
            threads, several = "poison", "poison"
            for number in range(self.count):
                part = self.row_mask(number)
                lane = b.value(f"call i32 @llvm.cttz.i32(i32 {part}, i1 false)")
                thread = b.value(f"add i32 {first}, {b.value(f'add i32 {lane}, {number * self.width}')}")
                rest = b.value(f"and i32 {part}, {b.value(f'sub i32 {part}, 1')}")
                more = b.value(f"icmp ne i32 {rest}, 0")
                threads = b.value(f"insertelement {self.ty} {threads}, i32 {thread}, i64 {number}")
                several = b.value(f"insertelement {self.flags} {several}, i1 {more}, i64 {number}")
            self.threads, self.several = threads, several
        self.own = self.op("or", self.threads, self.splat(self.site))

    def load(self, array: int) -> str:
        """Load the cells' words of one array of the shadow."""
        b = self.b
        if self.form == "lanes":
            return gather(b, "i32", self.at_array(self.cells, array), self.inside)
        parts = [self.row_at_array(row, array) for row in self.row_pointers]
        if self.form == "row":
            cells = [b.value(f"load {vector('i32', self.width)}, ptr {p}, align 4") for p in parts]
            return b.concat("i32", cells, self.width)
        made = "poison"
        for number, p in enumerate(parts):
            made = b.value(
                f"insertelement {self.ty} {made}, i32 {b.value(f'load i32, ptr {p}')}, i64 {number}"
            )
        return made

    def store(self, array: int, value: str, flags: str) -> None:
        """Store words to one array of the shadow, for the cells whose flag is set."""
        b = self.b
        if self.form == "lanes":
            scatter(b, "i32", self.at_array(self.cells, array), value, flags)
            return
        parts = [self.row_at_array(row, array) for row in self.row_pointers]
        if self.form == "same":  # storing the old word again is cheaper than a branch
            for number, p in enumerate(parts):
                new = b.value(f"extractelement {self.ty} {value}, i64 {number}")
                on = b.value(f"extractelement {self.flags} {flags}, i64 {number}")
                old = b.value(f"load i32, ptr {p}")
                b.line(f"store i32 {b.value(f'select i1 {on}, i32 {new}, i32 {old}')}, ptr {p}")
            return
        width = self.width
        for number, p in enumerate(parts):
            words, mask = vector("i32", width), vector("i1", width)
            lanes = list(range(number * width, (number + 1) * width))
            new = b.pick("i32", value, self.count, lanes) if len(parts) > 1 else value
            if flags != ALL:
                on = b.pick("i1", flags, self.count, lanes) if len(parts) > 1 else flags
                # From a load that is not volatile, LLVM would make a masked store, which takes many times as
                # long on some processors. No other thread uses the shadow.
                old = b.value(f"load volatile {words}, ptr {p}, align 4")
                new = b.value(f"select {mask} {on}, {words} {new}, {words} {old}")
            b.line(f"store {words} {new}, ptr {p}, align 4")

    def at_array(self, cells: str, array: int) -> str:
        if not array:
            return cells
        offset = self.b.value(f"mul i64 {self.stride}, {array}")
        return self.b.value(f"getelementptr i8, {vector('ptr')} {cells}, i64 {offset}")

    def row_at_array(self, row: str, array: int) -> str:
        if not array:
            return row
        offset = self.b.value(f"mul i64 {self.stride}, {array}")
        return self.b.value(f"getelementptr i8, ptr {row}, i64 {offset}")

    # -- rules ------------------------------------------------------------------------------------

    def build(self) -> str:
        """Emit the check; return the lanes that the host has to check, as 32 bits."""
        b = self.b
        self.locate_cells()
        if self.shared or (self.action == "reads" and self.form != "lanes"):
            return self.check_recorded()

        # An array that is not recorded is initialized, and is not expected to be written.
        read_only = b.value(f"getelementptr i8, ptr {self.state}, i64 {STATE['read_only']}")
        return b.either(
            b.value(f"icmp eq ptr {self.shadow}, {read_only}"),
            lambda: self.lane_bits(self.outside) if self.action == "reads" else self.mask,
            self.check_recorded,
        )

    def check_recorded(self) -> str:
        """Emit the check of an array that has a shadow."""
        if self.shared:
            return self.check_cells()
        b = self.b
        flag = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['in_rows']}")
        in_rows, expand, cells = b.new_label("in_rows"), b.new_label("expand"), b.new_label("cells")
        b.branch(b.value(f"icmp eq i32 {b.value(f'load i32, ptr {flag}')}, 0"), cells, in_rows)
        b.open(in_rows)
        is_row = self.form == "row" and self.width == ROW_CELLS and self.action == "writes"
        if is_row and not self.strong and not self.update:
            recorded, done = self.record_row(expand), b.new_label("done")
            b.jump(done)
        else:
            recorded, done = "", ""
            b.jump(expand)
        b.open(expand)
        b.line(f"call void @san_expand_rows(ptr %x0, ptr {self.shadow})")
        b.jump(cells)
        b.open(cells)
        undecided = self.check_cells()
        if not done:
            return undecided
        end = b.label
        b.jump(done)
        b.open(done)
        return b.phi("i32", ("0", recorded), (undecided, end))

    def record_row(self, otherwise: str) -> str:
        """Emit the record of a write to 32 aligned cells that no access has reached; return its label.

        For other cells, the code jumps to the label `otherwise`.
        """
        b = self.b
        cell = b.value(f"lshr i64 {self.places[0]}, {self.granule.bit_length() - 1}")
        aligned, record = b.new_label("aligned"), b.new_label("record")
        rest = b.value(f"and i64 {cell}, {ROW_CELLS - 1}")
        b.branch(b.value(f"icmp eq i64 {rest}, 0"), aligned, otherwise)
        b.open(aligned)
        rows = b.value(f"add i64 {b.value(f'mul i64 {self.stride}, {SHADOW_ARRAYS}')}, {SHADOW['cells']}")
        start = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {rows}")
        number = b.value(f"lshr i64 {cell}, {ROW_CELLS.bit_length() - 1}")
        row = b.value(f"getelementptr [{ROW_BYTES} x i8], ptr {start}, i64 {number}")
        b.branch(b.value(f"icmp eq i32 {b.value(f'load i32, ptr {row}')}, 0"), record, otherwise)
        b.open(record)
        word = b.value(f"or i32 {self.site}, {b.value(f'shl i32 {self.warp}, 5')}")
        for index, value in enumerate((self.load_state("now"), word, self.mask, self.silent or "0")):
            b.line(f"store i32 {value}, ptr {b.value(f'getelementptr i32, ptr {row}, i64 {index}')}")
        return record

    def check_cells(self) -> str:
        """Emit the check of an array whose cells are recorded one by one."""
        b = self.b
        now, self.start = (
            self.load_state("now"),
            self.splat(self.load_state("start" if self.shared else "turn")),
        )
        self.oldest_relevant = self.start if self.shared else self.splat(self.load_state("epoch"))
        self.warp_sync = self.splat(self.load_state("warp_sync", self.warp))
        self.block_sync = self.splat(self.load_state("block_sync", self.warp))
        self.now = self.splat(now)

        written, read = self.load(WRITE_TIME), self.load(READ_TIME)
        self.oldest_valid = self.start
        if not self.shared:
            place = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['oldest_valid']}")
            self.oldest_valid = self.splat(b.value(f"load i32, ptr {place}"))

        self.find_threads()
        if self.action == "reads":
            return self.check_read(written, read)
        if self.action == "writes" and self.form == "row" and not self.shared and not self.update:
            return self.check_first_write(written, read)
        return self.check_write(written, read)

    def check_first_write(self, written: str, read: str) -> str:
        """Emit the check of a write to global memory, with a shorter path for cells without an access."""
        touched = self.or_(
            self.op("icmp uge", written, f"splat (i32 {LAUNCH_START})"),
            self.op("icmp ne", read, "zeroinitializer"),
        )
        touched = self.and_(self.inside, touched)
        return self.b.either(
            self.is_none(touched), self.record_first_write, lambda: self.check_write(written, read)
        )

    def record_first_write(self) -> str:
        """Record a write to cells that no other access of the launch has reached."""
        self.store(WRITE_TIME, self.now, self.inside)
        loud = self.inside
        if self.silent:
            word = self.op("or", self.own, f"splat (i32 {SILENT})")
            self.store(WRITER, word, self.and_(self.inside, self.silent_cells()))
            loud = self.and_(self.inside, self.not_(self.silent_cells()))
        self.store(WRITER, self.own, loud)
        if not self.may_collide or self.harmless:
            return "0"
        return self.report_collisions(self.and_(loud, self.op("icmp ne", self.load(WRITER), self.own)))

    def by_age(self, written: str, read: str, first: Callable[[], str], later: Callable[[], str]) -> str:
        """Return the result of `first` if no cell has been accessed since the last barrier, or of `later`.

        For rows, `first` is emitted for a complete warp, which need not blend its words into the shadow.
        """
        b = self.b
        newest = b.call(f"llvm.umax.{suffix(self.ty)}", self.ty, (self.ty, written), (self.ty, read))
        stale = self.op("icmp uge", newest, self.oldest_sync())
        if self.action != "writes":
            stale = self.or_(stale, self.op("icmp ult", written, self.oldest_valid))
        if self.form != "row":
            stale = self.and_(self.inside, stale)
            if self.outside:
                stale = self.or_(stale, self.outside)
            return self.b.either(self.is_none(stale), first, later)

        def for_all() -> str:
            active, self.inside = self.inside, ALL
            result = first()
            self.inside = active
            return result

        complete = b.value(f"icmp eq i32 {self.mask}, -1")
        return self.b.either(b.value(f"and i1 {complete}, {self.is_none(stale)}"), for_all, later)

    def is_none(self, flags: str) -> str:
        """Return an i1 that is true if no flag is set."""
        b = self.b
        bits = b.value(f"bitcast {self.flags} {flags} to i{self.count}")
        return b.value(f"icmp eq i{self.count} {bits}, 0")

    def check_write(self, written: str, read: str) -> str:
        """Emit the check of a write or an update.

        In shared memory, most writes are the first access to their cell since the last barrier. These take a
        shorter path.
        """
        if not self.shared:
            return self.check_write_in_detail(written, read)
        return self.by_age(
            written,
            read,
            lambda: self.unresolved_lanes(self.record_write(self.inside)),
            lambda: self.check_write_in_detail(written, read),
        )

    def check_write_in_detail(self, written: str, read: str) -> str:
        writer = self.load(WRITER)
        fine = ordered = self.write_is_ordered(written, writer)
        if self.silent and self.shared:  # a write of the value that another thread has written before
            past = self.op("icmp ule", written, self.now)
            fine = self.or_(fine, self.and_(self.silent_cells(), past))
        if self.action == "updates":
            fine = self.and_(fine, self.op("icmp uge", written, self.oldest_valid))
        good = self.and_(self.and_(fine, self.reads_are_ordered(read, self.load(READER))), self.inside)
        unchanged = self.silent and not self.shared
        if unchanged:
            good = self.record_silent_write(written, writer, ordered, good)
        else:
            good = self.record_write(good)
        return self.unresolved_lanes(good)

    def check_read(self, written: str, read: str) -> str:
        """Emit the check of a read.

        In shared memory, most reads are the first access to their cell since the last barrier. These take a
        shorter path.
        """
        if not self.shared:
            return self.check_read_in_detail(written, read)
        return self.by_age(
            written, read, self.record_first_read, lambda: self.check_read_in_detail(written, read)
        )

    def record_first_read(self) -> str:
        """Record a read of cells that no thread has accessed since the last barrier."""
        word = self.own
        if self.several:
            flag = self.select(self.several, f"splat (i32 {OTHER_LANES})", "zeroinitializer")
            word = self.op("or", word, flag)
        self.store_read(word, "", self.inside)
        return "0"

    def check_read_in_detail(self, written: str, read: str) -> str:
        fine = self.write_is_ordered(written, self.load(WRITER))
        fine = self.and_(fine, self.op("icmp uge", written, self.oldest_valid))
        good = self.and_(fine, self.inside)
        self.record_read(written, read, self.load(READER), good)
        return self.unresolved_lanes(good)

    def store_read(self, word: str, settled: str, good: str) -> None:
        """Record the reader; `settled` flags the cells for which further reads need no check, if any."""
        self.store(READ_TIME, self.now, good)
        self.store(READER, word, good)

        if settled:
            # The two times are equal if the last synchronization was one of the whole block.
            by_block = self.op("icmp eq", self.warp_sync, self.block_sync)
            since = self.select(self.and_(settled, by_block), self.block_sync, "zeroinitializer")
            if not self.shared:
                forever = f"splat (i32 {signed(SETTLED_FOREVER)})"
                since = self.select(self.and_(settled, self.has_flag(word, OTHER_BLOCKS)), forever, since)
            self.store(SETTLED, since, good)

        if self.may_collide:  # of several lanes that read one cell, the last one is recorded, with a flag
            self.if_rows_meet(lambda: self.flag_several(word, good), good)

    def flag_several(self, word: str, good: str) -> str:
        """Flag the cells that other lanes of this access have read."""
        stored = self.load(READER)
        several = self.and_(good, self.op("icmp ne", stored, word))
        self.store(READER, self.op("or", stored, f"splat (i32 {OTHER_LANES})"), several)
        return several

    def unresolved_lanes(self, good: str) -> str:
        """Return the lanes that the host has to check."""
        wrong = self.and_(self.inside, self.not_(good))
        if self.outside:
            wrong = self.or_(wrong, self.outside)
        return self.lane_bits(wrong)

    def write_is_ordered(self, time: str, word: str) -> str:
        """Return flags of the cells whose last write cannot race with this access.

        It was made before this launch (or block), by the same thread, or before the last synchronization.
        """
        old = self.op("icmp ult", time, self.oldest_relevant)
        ours = self.op("icmp uge", time, self.start)
        # A pending asynchronous copy has a time in the future.
        own_write = self.and_(self.is_same_thread(word), self.op("icmp ule", time, self.now))
        fine = self.or_(own_write, self.is_synchronized(time, word))
        fine = self.or_(old, self.and_(ours, fine))
        if self.action == "reads":
            fine = self.or_(fine, self.has_flag(word, SWAP | SILENT))

        if not self.strong:
            return fine
        both_strong = self.has_flag(word, STRONG)
        if not self.shared:
            after_plain = self.has_flag(word, AFTER_PLAIN)
            both_strong = self.and_(both_strong, self.or_(ours, self.not_(after_plain)))
            plain = self.or_(self.not_(self.has_flag(word, STRONG)), self.has_flag(word, AFTER_PLAIN))
            plain = self.and_(self.not_(old), plain)
            flag = self.select(plain, f"splat (i32 {signed(AFTER_PLAIN)})", "zeroinitializer")
            self.own = self.op("or", self.own, flag)
        return self.or_(fine, both_strong)

    def is_same_thread(self, word: str) -> str:
        thread = self.op("and", word, f"splat (i32 {THREAD_MASK})")
        same = self.op("icmp eq", thread, self.threads)
        return self.and_(same, self.not_(self.several)) if self.several else same

    def is_synchronized(self, time: str, word: str) -> str:
        """Return flags of the times before the last synchronization with the thread in the access word."""
        warp = self.op("lshr", self.op("and", word, f"splat (i32 {THREAD_MASK})"), "splat (i32 5)")
        near = self.op("icmp eq", warp, self.splat(self.warp))
        return self.op("icmp ult", time, self.select(near, self.warp_sync, self.block_sync))

    def reads_are_synchronized(self, time: str, word: str) -> str:
        """Return flags of the times before the last synchronization with all readers of an access word."""
        all_readers = self.op("icmp ult", time, self.oldest_sync())
        one_warp = self.not_(self.has_flag(word, OTHER_WARPS))
        return self.or_(all_readers, self.and_(one_warp, self.is_synchronized(time, word)))

    def oldest_sync(self) -> str:
        return self.select(
            self.op("icmp ult", self.warp_sync, self.block_sync), self.warp_sync, self.block_sync
        )

    def reads_are_ordered(self, time: str, word: str) -> str:
        """Return flags of the cells whose reads cannot race with this write."""
        if self.swap:
            return ALL
        old = self.op("icmp ult", time, self.oldest_relevant)
        ours = self.op("icmp uge", time, self.start)
        alone = self.and_(
            self.is_same_thread(word), self.not_(self.has_flag(word, OTHER_LANES | OTHER_WARPS))
        )
        fine = self.and_(ours, self.or_(alone, self.reads_are_synchronized(time, word)))
        fine = self.and_(fine, self.not_(self.has_flag(word, OTHER_BLOCKS)))
        fine = self.or_(old, fine)
        return self.or_(fine, self.has_flag(word, STRONG)) if self.strong else fine

    def record_read(self, written: str, time: str, word: str, good: str) -> None:
        """Record this read; earlier readers that still matter are kept as flags."""
        recent = self.op("icmp uge", time, self.oldest_relevant)
        ours = self.op("icmp uge", time, self.start)
        unordered = self.and_(ours, self.not_(self.reads_are_synchronized(time, word)))
        other_block = self.and_(recent, self.not_(ours))
        relevant = self.or_(unordered, other_block)
        flags = self.op("and", word, f"splat (i32 {OTHER_BLOCKS})")
        flags = self.select(recent, flags, "zeroinitializer")
        flag = self.select(other_block, f"splat (i32 {OTHER_BLOCKS})", "zeroinitializer")
        flags = self.op("or", flags, flag)

        others = self.or_(self.has_flag(word, OTHER_LANES), self.not_(self.is_same_thread(word)))
        others = self.and_(unordered, others)
        if self.several:
            others = self.or_(others, self.several)
        flags = self.op("or", flags, self.select(others, f"splat (i32 {OTHER_LANES})", "zeroinitializer"))

        warp = self.op("lshr", self.op("and", word, f"splat (i32 {THREAD_MASK})"), "splat (i32 5)")
        far = self.or_(self.has_flag(word, OTHER_WARPS), self.op("icmp ne", warp, self.splat(self.warp)))
        far = self.and_(unordered, far)
        flags = self.op("or", flags, self.select(far, f"splat (i32 {OTHER_WARPS})", "zeroinitializer"))

        own = self.own
        if self.strong:
            weak = self.and_(relevant, self.not_(self.has_flag(word, STRONG)))
            own = self.select(weak, self.op("and", own, f"splat (i32 {~STRONG})"), own)
        new = self.op("or", own, flags)

        oldest = self.oldest_sync() if self.shared else self.oldest_relevant
        several_warps = OTHER_WARPS if self.shared else OTHER_WARPS | OTHER_BLOCKS
        settled = self.and_(self.op("icmp ult", written, oldest), self.has_flag(new, several_warps))
        self.store_read(new, settled, good)

    def record_write(self, good: str) -> str:
        """Record this write; of lanes that write one cell, all but one are passed to the host."""
        if self.several and not self.harmless:
            excluded = self.several
            if self.exclusive:
                is_exclusive = self.b.value(f"icmp ne i32 {self.exclusive}, 0")
                excluded = self.and_(excluded, self.b.splat("i1", is_exclusive, self.count))
            good = self.and_(good, self.not_(excluded))
        self.store(WRITE_TIME, self.now, good)
        self.store(WRITER, self.own, good)
        self.store(SETTLED, "zeroinitializer", good)
        self.store(
            READ_TIME, "zeroinitializer", good
        )  # what is ordered after this write is ordered after those reads
        if self.may_collide and not self.harmless:
            good = self.if_rows_meet(lambda: self.without_collisions(good), good)
        return good

    def without_collisions(self, good: str) -> str:
        """Report the lanes whose cell another lane of this access has written, and exclude them."""
        collided = self.and_(good, self.op("icmp ne", self.load(WRITER), self.own))
        if self.exclusive:
            collided = self.and_(collided, self.b.value(f"bitcast i32 {self.exclusive} to {I1}"))
        self.report_collisions(collided)
        return self.and_(good, self.not_(collided))

    def if_rows_meet(self, emit: Callable[[], str], otherwise: str) -> str:
        """Emit code that runs if two rows may have a cell in common; return its result or `otherwise`."""
        b = self.b
        if self.form != "row":
            return emit()
        span = self.width * self.granule
        meet = "false"
        for first, second in combinations(self.places, 2):
            distance = b.value(f"add i64 {b.value(f'sub i64 {first}, {second}')}, {span - 1}")
            meet = b.value(f"or i1 {meet}, {b.value(f'icmp ult i64 {distance}, {2 * span - 1}')}")
        meeting, apart, before = b.new_label("meeting"), b.new_label("apart"), b.label
        b.branch(meet, meeting, apart)
        b.open(meeting)
        result = emit()
        end = b.label
        b.jump(apart)
        b.open(apart)
        return b.phi(self.flags, (otherwise, before), (result, end))

    def report_collisions(self, collided: str) -> str:
        """Store the lanes whose cell another lane of this access has written, and return them."""
        lanes = self.lane_bits(collided)
        place = self.b.value(f"getelementptr i8, ptr {self.state}, i64 {STATE['collisions']}")
        self.b.line(f"store i32 {lanes}, ptr {place}")
        return lanes

    def silent_cells(self) -> str:
        """Return flags of the cells that keep their value in this write."""
        b = self.b
        if self.form != "same":
            return b.value(f"bitcast i32 {self.silent} to {I1}")
        all_lanes = b.value(f"icmp eq i32 {b.value(f'and i32 {self.silent}, {self.mask}')}, {self.mask}")
        return b.splat("i1", all_lanes, self.count)

    def record_silent_write(self, time: str, word: str, ordered: str, good: str) -> str:
        """Record a write; of one that does not change the value, only what later accesses may race with.

        That is an update, or the write that initializes the cell.
        """
        quiet = self.and_(self.silent_cells(), self.inside)
        loud = self.and_(good, self.not_(quiet))
        free = self.op("icmp ult", time, f"splat (i32 {LAUNCH_START})")
        if self.update:
            free = self.or_(self.op("icmp ult", time, self.oldest_relevant), self.has_flag(word, SILENT))
            quiet = self.and_(quiet, self.or_(ordered, self.not_(self.has_flag(word, UPDATE))))
        first = self.and_(quiet, free)
        word = self.op("or", self.own, f"splat (i32 {SILENT})")
        self.store(WRITE_TIME, self.now, first)
        self.store(WRITER, word, first)
        self.store(SETTLED, "zeroinitializer", first)

        if self.update and self.several:
            quiet = self.and_(quiet, self.not_(self.several))
        elif self.update and self.may_collide:
            collided = self.and_(first, self.op("icmp ne", self.load(WRITER), word))
            quiet = self.and_(quiet, self.not_(collided))
        return self.or_(self.record_write(loud), quiet)

    def lane_bits(self, flags: str) -> str:
        """Return flags of cells as a mask of lanes."""
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
