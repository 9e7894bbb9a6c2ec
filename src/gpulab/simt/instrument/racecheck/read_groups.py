"""Checks of several reads of shared memory at once.

An unrolled loop reads shared memory at constant distances from one register: `[%r1]`, `[%r1+64]`, …. No other
thread runs between these reads, so that their order has no effect on what the race detector finds. One call
checks all of them at the first one. If it cannot accept all, it checks each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from gpulab.simt.analysis.basic_blocks import is_warp_sync, writes
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.ir import Builder, suffix, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.racecheck.access_check import AccessForm, AccessFunction
from gpulab.simt.instrument.racecheck.barrier_intervals import Record, RecordedCheck, leave_interval
from gpulab.simt.instrument.racecheck.shadow_layout import (
    MAX_SITE,
    OTHER_LANES,
    OTHER_WARPS,
    READ_TIME,
    READER,
    SETTLED,
    SHADOW,
    SITE_SHIFT,
    THREAD_MASK,
    WRITE_TIME,
)
from gpulab.simt.ptx.syntax import Instruction, Mem, Reg

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["ReadGroup", "ReadGroups"]

HEAD_WORDS = 3  # 64-bit words of a table before those of the reads
RUNS = (32, 16, 8, 4)  # numbers of neighbouring cells that one vector checks


@dataclass
class ReadGroup:
    """Reads that one call checks.

    Attributes
    ----------
    name : str
        The table in generated code: the number of reads, the smallest and the largest distance in bytes; the
        distance from the first read and the access site of each read, in the order of the program; then the
        sites in access words, in the order of the addresses.
    first : int
        Index of the first instruction in its basic block.
    offsets : dict
        Bytes from the first read, by index of the instruction.
    run : int
        Number of neighbouring cells that the reads access, the same one in all lanes of a row; 0 for reads of
        whole rows.
    sites : dict
        Access sites, by index of the instruction.
    apart : bool
        No two reads access the same cell of a row.
    """

    name: str
    first: int
    offsets: dict[int, int]
    run: int
    sites: dict[int, int] = field(default_factory=dict)
    apart: bool = False

    def add(self, index: int, site: int) -> str:
        """Add a site; return the definition of the table when it is complete, otherwise ""."""
        self.sites[index] = site
        if len(self.sites) < len(self.offsets):
            return ""
        distances = self.offsets.values()
        words = [len(self.offsets), min(distances), max(distances)]
        words += [word for i in sorted(self.offsets) for word in (self.offsets[i], self.sites[i])]
        by_offset = sorted(self.offsets, key=lambda index: self.offsets[index])
        sites = [min(self.sites[index], MAX_SITE) << SITE_SHIFT for index in by_offset]
        parts = [("i64", words), ("i32", sites)]
        types = [f"[{len(part)} x {ty}]" for ty, part in parts]
        values = [f"[{', '.join(f'{ty} {word}' for word in part)}]" for ty, part in parts]
        fields = ", ".join(f"{ty} {value}" for ty, value in zip(types, values, strict=True))
        return f"@{self.name} = internal constant {{ {', '.join(types)} }} {{ {fields} }}"


class ReadGroups:
    """The groups of a kernel."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], ReadGroup] = {}  # by block and index of an instruction
        self.searched: set[tuple[int, int]] = set()

    def check(self, cg: CodegenContext, access: MemoryAccess) -> bool:
        """Emit the check of the group that an access belongs to; return False if there is none."""
        place = cg.block_number, cg.instruction_index
        if place not in self.searched:
            for found in self._groups(cg, access):
                self.found |= dict.fromkeys(((place[0], index) for index in found.offsets), found)
        group = self.found.get(place)
        if group is None:
            return False
        if group.first == place[1]:
            self._call(cg, access, group)
        if table := group.add(place[1], access.site):
            cg.b.functions[group.name] = table
        return True

    def _groups(self, cg: CodegenContext, access: MemoryAccess) -> Iterator[ReadGroup]:
        block, first = cg.block_number, cg.instruction_index
        kind, stride = access.address.kind, access.address.stride
        if kind not in ("uniform", "affine") or stride not in (0, access.size):
            return
        offsets = dict(_reads_from(cg.flow.blocks[block].code, first))
        self.searched |= {(block, index) for index in offsets}
        if stride:
            if len(offsets) > 1 and len(set(offsets.values())) == len(offsets):
                apart = _distance(offsets.values()) >= cg.width * stride
                yield ReadGroup(f"san_reads_{block}_{first}", first, offsets, 0, apart=apart)
            return
        for indices in _runs(offsets, access.size):
            start = min(indices)
            relative = {index: offsets[index] - offsets[start] for index in indices}
            yield ReadGroup(f"san_reads_{block}_{start}", start, relative, len(indices))

    def _call(self, cg: CodegenContext, access: MemoryAccess, group: ReadGroup) -> None:
        form = GroupForm(AccessForm.of(cg, access, 0, access.size), group.run, group.apart)
        mask = cg.mask_bits(access.item.predicate)
        form.call(cg.b, ["%ctx", "%warp", f"@{group.name}", mask, *access.address.refs])


@dataclass(frozen=True)
class GroupForm(RecordedCheck):
    """The properties of a group on which the code of its check depends: the form of its reads, and others.

    See `ReadGroup` for `run` and `apart`.
    """

    read: AccessForm
    run: int
    apart: bool

    @property
    def name(self) -> str:
        """The name of the function."""
        read = self.read
        parts = ("san_group", read.kind, read.rows, read.width, read.stride, read.size, self.run)
        return "_".join(map(str, parts)) + "_apart" * self.apart

    @property
    def parameters(self) -> list[str]:
        """The types of the parameters of the function; see `GroupFunction`."""
        return ["ptr", "i32", "ptr", "i32", *["i64"] * self.read.rows]

    def call(self, b: Builder, arguments: Sequence[str]) -> None:
        """Emit a call of the function that checks a group, unless the group repeats an earlier one."""
        if self.read.is_recorded:
            self.call_unless_repeated(b, arguments)
            return
        leave_interval(b, arguments[0])
        self.call_check(b, arguments)

    def call_check(self, b: Builder, arguments: Sequence[str]) -> None:
        def body(b: Builder, names: list[str]) -> str:
            return GroupFunction(b, names, self).build()

        b.define(self.name, "void", list(zip(self.parameters, arguments, strict=True)), body)

    def record(self, b: Builder, again: str, arguments: Sequence[str]) -> Record:
        _, warp, table, mask, *rows = arguments
        return Record(again, b.value(f"ptrtoint ptr {table} to i64"), warp, mask, rows)

    def arguments(self, b: Builder, record: Record) -> list[str]:
        return [record.warp, b.value(f"inttoptr i64 {record.key} to ptr"), record.mask, *record.rows]


class GroupFunction:
    """Emitter of the function that checks a group.

    Its arguments are the context, the warp, the table, the active lanes, and the address of each row of the
    first read.
    """

    def __init__(self, b: Builder, names: list[str], form: GroupForm) -> None:
        self.b, self.form, self.run, self.apart = b, form.read, form.run, form.apart
        self.warp, self.table, self.mask = names[1:4]
        self.addresses = names[4:]

    def build(self) -> str:
        """Emit the body, which has no result."""
        b = self.b
        self.count, self.low, self.high = (
            b.value(f"load i64, ptr {b.value(f'getelementptr i64, ptr {self.table}, i64 {number}')}")
            for number in range(HEAD_WORDS)
        )

        # The span of all reads is inside the array if that of the lowest and that of the highest one is.
        self.access = AccessFunction(b, ["%x0", self.warp, "0", self.mask, "0", *self.addresses], self.form)
        self.access.prepare()

        each, inside, done = b.new_label("each"), b.new_label("inside"), b.new_label("done")
        good = "true"
        for offset in (self.low, self.high):
            self.access.addresses = [b.value(f"add i64 {ref}, {offset}") for ref in self.addresses]
            good = b.value(f"and i1 {good}, {self.access.row_offsets()[1]}")
        b.branch(good, inside, each, likely=True)

        b.open(inside)
        if self.run:
            self.check_run(each, done)
        else:
            self.check_rows(each, done)
        b.open(each)
        self.check_each(done)
        b.open(done)
        return ""

    # -- whole rows -----------------------------------------------------------------------------

    def check_rows(self, each: str, done: str) -> None:
        """Emit a jump to `done` if no read has to be recorded any more, otherwise to `each`.

        Most reads repeat those of other lanes. Those of the first warp that reads the cells after a barrier,
        and of the second one, are recorded here, if all its lanes are active and read one row.
        """
        b = self.b
        self.access.addresses = self.addresses
        key = self.access.settled_key()
        complete = b.value(f"icmp eq i32 {self.mask}, -1")
        for other in self.addresses[1:]:
            complete = b.value(f"and i1 {complete}, {b.value(f'icmp eq i64 {other}, {self.addresses[0]}')}")
        alone, several, unsettled = b.new_label("alone"), b.new_label("several"), b.new_label("unsettled")
        b.branch(complete, alone, several, likely=True)
        b.open(several)
        settled = self.are_settled(self.addresses, key, self.mask)
        b.branch(settled, done, each)
        b.open(alone)
        settled = self.are_settled(self.addresses[:1], key, "-1")
        b.branch(settled, done, unsettled if self.apart else each)
        if not self.apart:
            return

        b.open(unsettled)
        warp_sync, block_sync = self.access.sync_times()
        first, not_first = b.new_label("first"), b.new_label("not_first")
        second, test = b.new_label("second"), b.new_label("test")
        b.branch(b.value(f"icmp eq i32 {warp_sync}, {block_sync}"), test, each)
        b.open(test)
        self.locate_row(block_sync)
        b.branch(self.are_unread(), first, not_first)
        b.open(first)
        self.record_row(OTHER_LANES if self.form.rows > 1 else 0, "")
        b.jump(done)
        b.open(not_first)
        b.branch(self.are_read_by_one(), second, each)
        b.open(second)
        self.record_row(OTHER_LANES | OTHER_WARPS, block_sync)
        b.jump(done)

    def for_each(self, start: list[str], body: Callable[[str, list[str]], list[str]]) -> list[str]:
        """Emit a loop over the reads that carries vectors of a row's cells; return their last values.

        `body` gets the number of a read and the values so far, and returns the instructions that compute the
        next ones.
        """
        b, ty = self.b, vector("i32", self.form.width)
        loop, end, entry = b.new_label("loop"), b.new_label("end"), b.label
        index, following = b.name("index"), b.name("next")
        carried, results = [b.name("carried") for _ in start], [b.name("result") for _ in start]
        b.jump(loop)
        b.open(loop)
        b.line(f"{index} = phi i64 [ 0, %{entry} ], [ {following}, %{loop} ]")
        for name, value, result in zip(carried, start, results, strict=True):
            b.line(f"{name} = phi {ty} [ {value}, %{entry} ], [ {result}, %{loop} ]")
        for result, instruction in zip(results, body(index, carried), strict=True):
            b.line(f"{result} = {instruction}")
        b.line(f"{following} = add i64 {index}, 1")
        b.branch(b.value(f"icmp ult i64 {following}, {self.count}"), loop, end)
        b.open(end)
        return results

    def are_settled(self, rows: list[str], key: str, lanes: str) -> str:
        """Return an i1: whether no read by these lanes has to be recorded any more."""
        b, width = self.b, self.form.width
        ty, keys = vector("i32", width), b.splat("i32", key, width)

        def differences(index: str, so_far: list[str]) -> list[str]:
            offset = self.member(index, 0)
            cells = self.access.settled_cells([b.value(f"add i64 {row}, {offset}") for row in rows])
            words = [b.value(f"load {ty}, ptr {cell}, align 4") for cell in cells]
            words = [b.value(f"xor {ty} {word}, {keys}") for word in words]
            return [f"or {ty} {one}, {two}" for one, two in zip(words, so_far, strict=True)]

        found = b.concat("i32", self.for_each(["zeroinitializer"] * len(rows), differences), width)
        count = width * len(rows)
        different = b.value(f"icmp ne {vector('i32', count)} {found}, zeroinitializer")
        bits = b.value(f"bitcast {vector('i1', count)} {different} to i{count}")
        return b.value(f"icmp eq i{count} {b.value(f'and i{count} {bits}, {lanes}')}, 0")

    def locate_row(self, sync: str) -> None:
        """Compute what the checks of a row use: times as vectors, and the distance of the arrays."""
        b, width = self.b, self.form.width
        self.sync = b.splat("i32", sync, width)
        self.start, self.now = (
            b.splat("i32", b.value(f"load i32, ptr {self.access.at_state(name)}"), width)
            for name in ("start", "now")
        )
        self.stride = b.value(
            f"load i64, ptr {b.value(f'getelementptr i8, ptr {self.access.shadow}, i64 8')}"
        )
        first = b.value(f"shl i32 {self.warp}, 5")
        lanes = ", ".join(f"i32 {WARP - width + lane}" for lane in range(width))  # of the last row
        self.threads = b.value(f"or {vector('i32', width)} {b.splat('i32', first, width)}, <{lanes}>")
        self.warps = b.splat("i32", first, width)

    def row_word(self, index: str, array: int) -> str:
        """Return a pointer to the words of an array of the shadow for the row of a read."""
        b, shift = self.b, self.form.size.bit_length() - 1
        cell = b.value(
            f"lshr i64 {b.value(f'add i64 {self.addresses[0]}, {self.member(index, 0)}')}, {shift}"
        )
        first = b.value(f"getelementptr i8, ptr {self.access.shadow}, i64 {SHADOW['cells']}")
        start = b.value(f"getelementptr i32, ptr {first}, i64 {cell}")
        return b.value(f"getelementptr i8, ptr {start}, i64 {b.value(f'mul i64 {self.stride}, {array}')}")

    def are_unread(self) -> str:
        """Return an i1: whether all last writes are ordered and no read has followed the last barrier."""

        def extremes(index: str, so_far: list[str]) -> list[str]:
            written, read = (self.load_row(index, array) for array in (WRITE_TIME, READ_TIME))
            newest = self.b.value(self.extreme("umax", written, read))
            return [self.extreme("umax", newest, so_far[0]), self.extreme("umin", written, so_far[1])]

        newest, oldest = self.for_each(["zeroinitializer", "splat (i32 -1)"], extremes)
        return self.all(f"icmp ult {{}} {newest}, {self.sync}", f"icmp uge {{}} {oldest}, {self.start}")

    def are_read_by_one(self) -> str:
        """Return an i1: whether all last writes are ordered and another warp has read all cells since."""
        b, ty = self.b, vector("i32", self.form.width)

        def extremes(index: str, so_far: list[str]) -> list[str]:
            written, read, reader = (self.load_row(index, array) for array in (WRITE_TIME, READ_TIME, READER))
            warp = b.value(f"and {ty} {reader}, splat (i32 {THREAD_MASK - (WARP - 1)})")
            distance = b.value(f"xor {ty} {warp}, {self.warps}")
            kinds = ("umax", "umin", "umin", "umin")
            values = zip(kinds, (written, written, read, distance), so_far, strict=True)
            return [self.extreme(kind, value, before) for kind, value, before in values]

        newest, oldest, read, distance = self.for_each(["zeroinitializer", *["splat (i32 -1)"] * 3], extremes)
        return self.all(
            f"icmp ult {{}} {newest}, {self.sync}", f"icmp uge {{}} {oldest}, {self.start}",
            f"icmp uge {{}} {read}, {self.sync}", f"icmp ne {{}} {distance}, zeroinitializer",
        )  # fmt: skip

    def load_row(self, index: str, array: int) -> str:
        ty = vector("i32", self.form.width)
        return self.b.value(f"load {ty}, ptr {self.row_word(index, array)}, align 4")

    def extreme(self, kind: str, one: str, two: str) -> str:
        """Return an instruction for the smaller ("umin") or larger ("umax") word of each cell."""
        ty = vector("i32", self.form.width)
        name = f"llvm.{kind}.{suffix(ty)}"
        self.b.declare(name, ty, [ty, ty])
        return f"call {ty} @{name}({ty} {one}, {ty} {two})"

    def all(self, *comparisons: str) -> str:
        """Return an i1 that is true if all comparisons hold for all cells."""
        b, width = self.b, self.form.width
        flags = vector("i1", width)
        hold = "splat (i1 true)"
        for text in comparisons:
            hold = b.value(f"and {flags} {hold}, {b.value(text.format(vector('i32', width)))}")
        return b.value(f"icmp eq i{width} {b.value(f'bitcast {flags} {hold} to i{width}')}, -1")

    def record_row(self, flags: int, settled: str) -> None:
        """Emit the record of all reads, by the last row of lanes; `settled` is the word of `SETTLED`."""
        b, width = self.b, self.form.width
        ty = vector("i32", width)

        def record(index: str, _: list[str]) -> list[str]:
            site = b.value(f"trunc i64 {self.member(index, 1)} to i32")
            site = b.call("llvm.umin.i32", "i32", ("i32", site), ("i32", str(MAX_SITE)))
            word = b.value(f"or i32 {b.value(f'shl i32 {site}, {SITE_SHIFT}')}, {flags}")
            words = b.value(f"or {ty} {b.splat('i32', word, width)}, {self.threads}")
            b.line(f"store {ty} {self.now}, ptr {self.row_word(index, READ_TIME)}, align 4")
            b.line(f"store {ty} {words}, ptr {self.row_word(index, READER)}, align 4")
            if settled:
                b.line(f"store {ty} {self.sync}, ptr {self.row_word(index, SETTLED)}, align 4")
            return []

        self.for_each([], record)

    # -- neighbouring cells ---------------------------------------------------------------------

    def check_run(self, each: str, done: str) -> None:
        """Emit the check of reads of neighbouring cells, each by all lanes of a row.

        The cells are usually those that no other thread has accessed since the last barrier.
        """
        b, run = self.b, self.run
        ty, flags = vector("i32", run), vector("i1", run)
        access = self.access
        warp_sync, block_sync = access.sync_times()
        oldest = b.call("llvm.umin.i32", "i32", ("i32", warp_sync), ("i32", block_sync))
        oldest_sync = b.splat("i32", oldest, run)
        start, now = (
            b.splat("i32", b.value(f"load i32, ptr {access.at_state(name)}"), run)
            for name in ("start", "now")
        )
        stride = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {access.shadow}, i64 8')}")
        rows = [self.first_cell(ref) for ref in self.addresses]
        arrays = [
            [
                b.value(f"getelementptr i8, ptr {row}, i64 {b.value(f'mul i64 {stride}, {array}')}")
                for row in rows
            ]
            for array in (WRITE_TIME, READ_TIME, READER)
        ]
        good = "splat (i1 true)"
        for written_at, read_at in zip(*arrays[:2], strict=True):
            written = b.value(f"load {ty}, ptr {written_at}, align 4")
            read = b.value(f"load {ty}, ptr {read_at}, align 4")
            for text in (
                f"icmp ult {ty} {written}, {oldest_sync}", f"icmp uge {ty} {written}, {start}",
                f"icmp ult {ty} {read}, {oldest_sync}",
            ):  # fmt: skip
                good = b.value(f"and {flags} {good}, {b.value(text)}")
        fresh = b.value(f"icmp eq i{run} {b.value(f'bitcast {flags} {good} to i{run}')}, -1")
        lanes = [self.row_lanes(number) for number in range(self.form.rows)]
        for part in lanes:
            fresh = b.value(f"and i1 {fresh}, {b.value(f'icmp ne i32 {part}, 0')}")
        first, settled = b.new_label("first"), b.new_label("settled")
        b.branch(fresh, first, settled)

        b.open(first)
        place = b.value(f"getelementptr i64, ptr {self.table}, i64 {HEAD_WORDS + 2 * run}")
        sites = b.value(f"load {ty}, ptr {place}, align 4")
        for part, read_at, reader_at in zip(lanes, *arrays[1:], strict=True):
            b.line(f"store {ty} {now}, ptr {read_at}, align 4")
            word = b.splat("i32", self.reader(part), run)
            b.line(f"store {ty} {b.value(f'or {ty} {sites}, {word}')}, ptr {reader_at}, align 4")
        b.jump(done)

        b.open(settled)
        key = b.splat("i32", access.settled_key(), run)
        good = "splat (i1 true)"
        for row in rows:
            times = b.value(f"load {ty}, ptr {row}, align 4")
            good = b.value(f"and {flags} {good}, {b.value(f'icmp eq {ty} {times}, {key}')}")
        bits = b.value(f"bitcast {flags} {good} to i{run}")
        b.branch(b.value(f"icmp eq i{run} {bits}, -1"), done, each)

    def first_cell(self, address: str) -> str:
        """Return a pointer to the `SETTLED` word of the lowest cell of a row."""
        b, shift = self.b, self.form.size.bit_length() - 1
        cell = b.value(f"lshr i64 {b.value(f'add i64 {address}, {self.low}')}, {shift}")
        first = b.value(f"getelementptr i8, ptr {self.access.shadow}, i64 {SHADOW['cells']}")
        assert SETTLED == 0
        return b.value(f"getelementptr i32, ptr {first}, i64 {cell}")

    def row_lanes(self, number: int) -> str:
        """Return the active lanes of a row."""
        width = self.form.width
        if width == 32:
            return self.mask
        lanes = (1 << width) - 1 << number * width
        return self.b.value(f"and i32 {self.mask}, {lanes - (1 << 32) if lanes >> 31 else lanes}")

    def reader(self, lanes: str) -> str:
        """Return the access word of a read by these lanes, without its site."""
        b = self.b
        lane = b.call("llvm.cttz.i32", "i32", ("i32", lanes), ("i1", "false"))
        thread = b.value(f"or i32 {b.value(f'shl i32 {self.warp}, 5')}, {lane}")
        rest = b.value(f"and i32 {lanes}, {b.value(f'sub i32 {lanes}, 1')}")
        several = b.value(f"icmp ne i32 {rest}, 0")
        return b.value(f"or i32 {thread}, {b.value(f'select i1 {several}, i32 {OTHER_LANES}, i32 0')}")

    # -- each on its own ------------------------------------------------------------------------

    def check_each(self, done: str) -> None:
        """Emit a loop that checks each read on its own."""
        b = self.b
        entry, loop = b.new_label("start"), b.new_label("read")
        index, following = b.name("index"), b.name("next")
        b.jump(entry)
        b.open(entry)
        b.jump(loop)
        b.open(loop)
        b.line(f"{index} = phi i64 [ 0, %{entry} ], [ {following}, %{loop} ]")
        offset, site = self.member(index, 0), b.value(f"trunc i64 {self.member(index, 1)} to i32")
        rows = [b.value(f"add i64 {ref}, {offset}") for ref in self.addresses]
        self.form.call_check(b, ["%x0", self.warp, site, self.mask, self.form.description(0), *rows])
        b.line(f"{following} = add i64 {index}, 1")
        b.branch(b.value(f"icmp ult i64 {following}, {self.count}"), loop, done)

    def member(self, index: str, word: int) -> str:
        """Load the offset (word 0) or the site (word 1) of a read from the table."""
        b = self.b
        place = b.value(f"add i64 {b.value(f'shl i64 {index}, 1')}, {HEAD_WORDS + word}")
        return b.value(f"load i64, ptr {b.value(f'getelementptr i64, ptr {self.table}, i64 {place}')}")


def _reads_from(code: list[Instruction], first: int) -> Iterator[tuple[int, int]]:
    """Yield the index and the distance of each read that may be checked together with that at `first`."""
    load = code[first]
    memory = load.operands[1]
    if load.op != "ld" or not isinstance(memory, Mem) or not isinstance(memory.offset, int):
        return
    fixed = {o.name for o in (memory.base, load.predicate) if isinstance(o, Reg)}
    for index in range(first, len(code)):
        item = code[index]
        if item.parts == load.parts and item.predicate == load.predicate:
            other = item.operands[1]
            if isinstance(other, Mem) and other.base == memory.base and isinstance(other.offset, int):
                yield index, other.offset - memory.offset
        elif _orders_accesses(item):
            return
        if fixed.intersection(writes(item)):
            return


def _orders_accesses(item: Instruction) -> bool:
    """Return True for an instruction that writes memory or synchronizes threads."""
    if item.op in (
        "st",
        "atom",
        "red",
        "bar",
        "barrier",
        "membar",
        "fence",
        "mbarrier",
        "cp",
        "call",
        "wmma",
    ):
        return True
    return (
        item.call is not None
        or is_warp_sync(item)
        or {"acquire", "volatile", "relaxed"} & set(item.parts) != set()
    )


def _runs(offsets: dict[int, int], size: int) -> Iterator[list[int]]:
    """Yield indices of reads of neighbouring cells; the number of each is one of `RUNS`."""
    at = {offset: index for index, offset in offsets.items()}
    if len(at) < len(offsets):
        return  # two reads of one cell
    left = sorted(at)
    while left:
        length = next((n for n in RUNS if left[:n] == [left[0] + k * size for k in range(n)]), 1)
        if length > 1:
            yield [at[offset] for offset in left[:length]]
        left = left[length:]


def _distance(offsets: Iterable[int]) -> int:
    """Return the smallest distance between two offsets."""
    return min(after - before for before, after in pairwise(sorted(offsets)))
