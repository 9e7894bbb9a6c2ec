"""Emitter of the check of one access: a call of a function that all accesses of the same form share.

The function locates the shadow cells, applies `ShadowCheck` and passes the lanes that it cannot decide to the
host. An access whose addresses are affine or uniform over the lanes has a fast path for the case that all
rows lie inside their array. Otherwise each lane's address is checked on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.addressing import add_offset
from gpulab.simt.codegen.gather_scatter import gather
from gpulab.simt.codegen.ir import BITS, Builder, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.racecheck.barrier_intervals import Record, RecordedCheck, leave_interval
from gpulab.simt.instrument.racecheck.race_facts import is_silent, stores_one_value
from gpulab.simt.instrument.racecheck.shadow_check import ShadowCheck
from gpulab.simt.instrument.racecheck.shadow_layout import (
    ACTIONS,
    MAX_SITE,
    RECORD_ROWS,
    SETTLED_FOREVER,
    SHADOW,
    SITE_SHIFT,
    STATE,
    STRONG,
    SWAP,
    UPDATE,
    signed,
)
from gpulab.simt.runtime import layout

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["AccessForm", "AccessFunction", "check_access"]

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")


@dataclass(frozen=True)
class AccessForm(RecordedCheck):
    """The properties of an access on which the code of its check depends.

    Attributes
    ----------
    kind : str
        "uniform", "affine" or "varying": the address, over the lanes.
    rows, width, stride : int
        Number of rows of lanes, lanes of a row, and bytes between two lanes of an affine address.
    action : str
        "reads", "writes" or "updates".
    space : str
        "shared" or "global", which includes generic addresses.
    size, offset, granule : int
        Bytes of each lane's access, and the part of it that is checked: its first byte and its size.
    strong, swap, update : bool
        See `shadow_layout.STRONG`, `shadow_layout.SWAP` and `shadow_layout.UPDATE`.
    stored : tuple of str
        Types of the elements that each lane stores.
    harmless : bool
        See `ShadowCheck`.
    silent : bool
        Writes of the value that is already there are recognized.
    """

    kind: str
    rows: int
    width: int
    stride: int
    action: str
    space: str
    size: int
    offset: int
    granule: int
    strong: bool
    swap: bool
    update: bool
    stored: tuple[str, ...]
    harmless: bool
    silent: bool

    @classmethod
    def of(
        cls,
        cg: CodegenContext,
        access: MemoryAccess,
        offset: int,
        granule: int,
        strong: bool = False,
        update: bool = False,
    ) -> AccessForm:
        """Return the form of an access, of which the `granule` bytes from `offset` on are checked."""
        address, shared = access.address, access.space == "shared"
        by_lane = address.kind == "varying"
        return cls(
            kind="varying" if by_lane else address.kind,
            rows=1 if by_lane else len(address.refs),
            width=cg.width if address.kind == "affine" and not by_lane else WARP,
            stride=0 if by_lane else address.stride,
            action=access.action,
            space="shared" if shared else "global",
            size=granule if by_lane else access.size,
            offset=0 if by_lane else offset,
            granule=granule,
            strong=strong,
            swap="cas" in access.item.parts,
            update=update,
            stored=tuple(f"i{BITS[value.ty]}" for value in access.values),
            harmless=strong or stores_one_value(access),
            silent=not strong and is_silent(access, granule),
        )

    @property
    def flags(self) -> int:
        """The flags in the access word."""
        return STRONG * self.strong | SWAP * self.swap | UPDATE * self.update

    @property
    def name(self) -> str:
        """The name of the function."""
        stride = f"{'m' * (self.stride < 0)}{abs(self.stride)}"
        parts = [self.kind, self.rows, self.width, stride, self.action, self.space, self.size, self.offset]
        names = ("strong", "swap", "update", "harmless", "silent")
        parts += [self.granule, *self.stored, *(name for name in names if getattr(self, name))]
        return "_".join(["san_access", *map(str, parts)])

    def description(self, offset: int) -> str:
        """Return the argument that describes an access, and its part at `offset`, to function and host."""
        word = ACTIONS.index(self.action) | self.strong << 2 | self.swap << 3 | self.update << 4
        return str(word | offset << 8 | self.granule << 16 | len(self.stored) << 24)

    def value_places(self, b: Builder, state: str) -> list[str]:
        """Return pointers to the elements to be stored in the worker's state, each of all lanes."""
        places, at = [], STATE["values"]
        for ty in self.stored:
            places.append(b.value(f"getelementptr i8, ptr {state}, i64 {at}"))
            at += WARP * BITS[ty] // 8
        return places

    @property
    def is_recorded(self) -> bool:
        """True if an access can be part of a barrier interval that is repeated, see `barrier_intervals`."""
        in_rows = self.space == "shared" and self.kind != "varying" and self.rows <= RECORD_ROWS
        return in_rows and not self.strong and not self.silent

    @property
    def parameters(self) -> list[str]:
        """The types of the parameters of the function; see `AccessFunction`."""
        addresses = [I64] if self.kind == "varying" else ["i64"] * self.rows
        return ["ptr", *["i32"] * 4, *addresses, *map(vector, self.stored)]

    def call(self, b: Builder, arguments: Sequence[str]) -> None:
        """Emit a call of the function that checks an access, unless the access repeats an earlier one."""
        if self.is_recorded:
            self.call_unless_repeated(b, arguments)
            return
        if self.space == "shared":
            leave_interval(b, arguments[0])
        self.call_check(b, arguments)

    def call_check(self, b: Builder, arguments: Sequence[str]) -> None:
        defined = _defined(self, jit.has_gather())
        b.functions.update(defined.functions)
        b.declared |= defined.declared
        actual = zip(self.parameters, arguments, strict=True)
        b.line(f"call void @{self.name}({', '.join(f'{ty} {value}' for ty, value in actual)})")

    def record(self, b: Builder, again: str, arguments: Sequence[str]) -> Record:
        _, warp, site, mask, _, *rest = arguments
        return Record(again, b.value(f"zext i32 {site} to i64"), warp, mask, rest[: self.rows])

    def arguments(self, b: Builder, record: Record) -> list[str]:
        site = b.value(f"trunc i64 {record.key} to i32")
        values = ["zeroinitializer"] * len(self.stored)  # only a report contains them
        return [record.warp, site, record.mask, self.description(self.offset), *record.rows, *values]


@lru_cache(maxsize=256)
def _defined(form: AccessForm, _gathers: bool) -> Builder:
    """Return a builder that has defined the function of a form."""
    b = Builder()

    def body(b: Builder, names: list[str]) -> str:
        return AccessFunction(b, names, form).build()

    b.add_function(form.name, "void", form.parameters, body)
    return b


def check_access(
    cg: CodegenContext,
    access: MemoryAccess,
    offset: int,
    granule: int,
    strong: bool,
    update: bool,
) -> None:
    """Emit the check of an access, or of one part of it if the access is larger than a cell."""
    b, form = cg.b, AccessForm.of(cg, access, offset, granule, strong, update)
    mask, description = cg.mask_bits(access.item.predicate), form.description(offset)
    addresses = list(access.address.refs)
    if form.kind == "varying":
        addresses = [cg.to_vector(add_offset(cg, access.address, offset))]
    values = [
        cg.to_vector(cg.as_type(value, ty)) for ty, value in zip(form.stored, access.values, strict=True)
    ]
    form.call(b, ["%ctx", "%warp", str(access.site), mask, description, *addresses, *values])


class AccessFunction:
    """Emitter of the function that checks the accesses of one form.

    Its arguments are the context, the warp, the access site, the active lanes, a description for the host,
    the address of each row (or of all lanes, as a vector), and the bits of the elements to be stored.
    """

    def __init__(self, b: Builder, names: list[str], form: AccessForm) -> None:
        self.b, self.form = b, form
        _, self.warp, self.site, self.mask, self.description, *rest = names
        self.addresses, self.values = rest[: form.rows], rest[form.rows :]

    def build(self) -> str:
        """Emit the body, which has no result."""
        b, form = self.b, self.form
        self.prepare()
        self.word = b.value(f"shl i32 {self.site}, {SITE_SHIFT}")
        most = MAX_SITE << SITE_SHIFT
        self.word = b.call("llvm.umin.i32", "i32", ("i32", self.word), ("i32", str(most)))
        self.word = b.value(f"or i32 {self.word}, {form.flags}")

        in_rows = form.kind == "uniform" or (form.kind == "affine" and form.stride in (0, form.size))
        self.report_undecided(self.check_rows_or_lanes() if in_rows else self.check_lanes())
        return ""

    def check_rows_or_lanes(self) -> str:
        """Check the access by rows if they are inside their array, otherwise lane by lane."""
        offsets, inside = self.row_offsets()
        return self.b.either(inside, lambda: self.check_recorded_rows(offsets), self.check_lanes, likely=True)

    def report_undecided(self, undecided: str) -> None:
        """Emit the report of the undecided lanes, if there are any."""
        b = self.b
        report, on = b.new_label("undecided"), b.new_label("on")
        b.branch(b.value(f"icmp ne i32 {undecided}, 0"), report, on, likely=False)
        b.open(report)
        self.report(undecided)
        b.jump(on)
        b.open(on)

    def prepare(self) -> None:
        """Load the worker's state and locate the array."""
        form = self.form
        self.state = self.load_field("recorded")
        self.shift = str(form.granule.bit_length() - 1)  # the logarithm of the bytes of a cell
        self.locate_array()

    def locate_again(self, slot: str) -> None:
        """Emit a search of the array if the site has accessed another one before, or none."""
        b, again, located = self.b, self.b.new_label("again"), self.b.new_label("located")
        first = self.addresses[0]
        if self.form.kind == "varying":
            lane = b.call("llvm.cttz.i32", "i32", ("i32", self.mask), ("i1", "false"))
            lane = b.value(f"and i32 {lane}, {WARP - 1}")
            first = b.value(f"extractelement {I64} {first}, i32 {lane}")
        offset = b.value(f"sub i64 {first}, {b.value(f'load i64, ptr {slot}')}")
        size = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 24')}")
        b.branch(b.value(f"icmp ult i64 {offset}, {size}"), located, again, likely=True)
        b.open(again)
        b.line(f"call void @san_locate(ptr %x0, ptr {slot}, i64 {first})")
        b.jump(located)
        b.open(located)

    def load_field(self, name: str) -> str:
        """Load a pointer from the worker's context."""
        place = self.b.value(f"getelementptr i8, ptr %x0, i64 {layout.field(name)}")
        return self.b.value(f"load ptr, ptr {place}")

    def at_state(self, name: str) -> str:
        """Return a pointer to a field of the worker's state."""
        return self.b.value(f"getelementptr i8, ptr {self.state}, i64 {STATE[name]}")

    def locate_array(self) -> None:
        """Load the first address, the size in bytes, the shadow and the host address of the array."""
        b = self.b
        if self.form.space == "shared":
            self.base, self.size = "0", b.value("load i64, ptr @shared_bytes")
            self.shadow = b.value(f"load ptr, ptr {self.at_state('shared_shadow')}")
            self.host = self.load_field("shared") if self.form.silent else ""
            return
        start = b.value(f"mul i32 {self.site}, {layout.SITE_CACHE_BYTES}")
        slot = b.value(f"getelementptr i8, ptr {self.load_field('site_caches')}, i32 {start}")
        self.locate_again(slot)
        self.base, self.size, shadow = (
            b.value(f"load {ty}, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 {at}')}")
            for at, ty in ((0, "i64"), (24, "i64"), (32, "ptr"))
        )
        is_null = b.value(f"icmp eq ptr {shadow}, null")
        self.shadow = b.value(f"select i1 {is_null}, ptr {self.at_state('no_shadow')}, ptr {shadow}")
        self.host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 16')}")

    # -- rows -----------------------------------------------------------------------------------

    def row_offsets(self) -> tuple[list[str], str]:
        """Return the offsets of the rows in their array, and a flag that all are inside and aligned."""
        form = self.form
        span = form.size + form.stride * (form.width - 1)
        return self.offsets_of_rows(str(span), str(form.size - 1), str(form.offset))

    def offsets_of_rows(self, span: str, low_bits: str, moved: str) -> tuple[list[str], str]:
        """Return what `row_offsets` does, for rows of `span` bytes.

        low_bits: the bits of an aligned address that are 0; moved: bytes that are added to the offsets.
        """
        b = self.b
        last = b.value(f"sub i64 {self.size}, {span}")
        offsets, good = [], b.value(f"icmp sge i64 {last}, 0")
        for ref in self.addresses:
            offset = ref if self.base == "0" else b.value(f"sub i64 {ref}, {self.base}")
            inside = b.value(f"icmp ule i64 {offset}, {last}")
            aligned = b.value(f"icmp eq i64 {b.value(f'and i64 {offset}, {low_bits}')}, 0")
            good = b.value(f"and i1 {good}, {b.value(f'and i1 {inside}, {aligned}')}")
            offsets.append(offset if moved == "0" else b.value(f"add i64 {offset}, {moved}"))
        return offsets, good

    def check_recorded_rows(self, offsets: list[str]) -> str:
        """Check an access whose rows are inside their array; reads of an array that is not recorded pass."""
        b = self.b
        if self.form.space == "shared" or self.form.action != "reads":
            return self.check_rows(offsets)
        recorded, start, after = b.new_label("recorded"), b.label, b.new_label("passed")
        b.branch(b.value(f"icmp eq ptr {self.shadow}, {self.at_state('read_only')}"), after, recorded)
        b.open(recorded)
        undecided = self.check_rows(offsets)
        end = b.label
        b.jump(after)
        b.open(after)
        return b.phi("i32", ("0", start), (undecided, end))

    def check_rows(self, offsets: list[str]) -> str:
        """Check an access whose rows are inside their array; return the undecided lanes."""
        b, form = self.b, self.form
        row = "row" if form.kind == "affine" and form.stride else "same"
        silent = self.silent_rows(row, offsets) if form.silent else ""
        if row == "row" and form.size != form.granule:
            lanes = (I64, self.lanes_of_rows(offsets))
            return self.call_check("lanes", self.mask, [lanes, ("i64", self.size)], silent)

        mask = self.mask
        whole_read = form.action == "reads" and form.size == form.granule
        if whole_read:
            mask = self.unsettled_lanes(row, offsets)
            work, start, after = b.new_label("work"), b.label, b.new_label("settled")
            b.branch(b.value(f"icmp ne i32 {mask}, 0"), work, after)
            b.open(work)
        undecided = self.call_check(row, mask, [("i64", offset) for offset in offsets], silent)
        if whole_read:
            end = b.label
            b.jump(after)
            b.open(after)
            undecided = b.phi("i32", ("0", start), (undecided, end))
        return undecided

    def sync_times(self) -> tuple[str, str]:
        """Load the times of the warp's last synchronization: of its lanes, and with all other warps."""
        b = self.b
        first, second = (
            b.value(
                f"load i32, ptr {b.value(f'getelementptr i32, ptr {self.at_state(name)}, i32 {self.warp}')}"
            )
            for name in ("warp_sync", "block_sync")
        )
        return first, second

    def settled_key(self) -> str:
        """Return the word of `SETTLED` that stands for cells whose further reads need no record."""
        b = self.b
        warp_sync, block_sync = self.sync_times()
        by_block = b.value(f"icmp eq i32 {warp_sync}, {block_sync}")
        return b.value(f"select i1 {by_block}, i32 {block_sync}, i32 1")  # no barrier has the time 1

    def settled_cells(self, offsets: list[str]) -> list[str]:
        """Return pointers to the words of `SETTLED` of the first cell of each row."""
        b = self.b
        first = b.value(f"getelementptr i8, ptr {self.shadow}, i64 {SHADOW['cells']}")
        numbers = [b.value(f"lshr i64 {offset}, {self.shift}") for offset in offsets]
        return [b.value(f"getelementptr i32, ptr {first}, i64 {number}") for number in numbers]

    def unsettled_rows(self, key: str, offsets: list[str]) -> str:
        """Return the lanes of rows of neighbouring cells whose reads have to be recorded, if active."""
        b, form = self.b, self.form
        cells = self.settled_cells(offsets)
        parts = [b.value(f"load {vector('i32', form.width)}, ptr {cell}, align 4") for cell in cells]
        return self.unsettled(b.concat("i32", parts, form.width), key)

    def unsettled(self, settled: str, key: str) -> str:
        """Return the lanes whose word of `SETTLED` does not say that further reads need no record."""
        b = self.b
        skip = b.value(f"icmp eq {I32} {settled}, {b.splat('i32', key)}")
        if self.form.space != "shared":
            always = b.value(f"icmp eq {I32} {settled}, splat (i32 {signed(SETTLED_FOREVER)})")
            skip = b.value(f"or {I1} {skip}, {always}")
        return b.value(f"xor i32 {self.bits(skip)}, -1")

    def unsettled_lanes(self, row: str, offsets: list[str]) -> str:
        """Return the lanes whose read has to be recorded; most reads repeat those of other lanes."""
        b, form, key = self.b, self.form, self.settled_key()
        if row == "row":
            return b.value(f"and i32 {self.mask}, {self.unsettled_rows(key, offsets)}")
        lanes = "0"
        for number, cell in enumerate(self.settled_cells(offsets)):
            settled = b.value(f"load i32, ptr {cell}")
            skip = b.value(f"icmp eq i32 {settled}, {key}")
            if form.space != "shared":
                always = b.value(f"icmp eq i32 {settled}, {signed(SETTLED_FOREVER)}")
                skip = b.value(f"or i1 {skip}, {always}")
            part = signed((1 << form.width) - 1 << number * form.width)
            lanes = b.value(f"or i32 {lanes}, {b.value(f'select i1 {skip}, i32 0, i32 {part}')}")
        return b.value(f"and i32 {self.mask}, {lanes}")

    def call_check(self, kind: str, mask: str, offsets: list[tuple[str, str]], silent: str) -> str:
        """Call the `ShadowCheck` of these offsets; return the undecided lanes."""
        form = self.form
        width = WARP if kind == "lanes" else form.width
        parts = [kind, len(offsets), width, form.action, form.space, form.granule]
        flags = {"strong": form.strong, "harmless": form.harmless, "swap": form.swap, "update": form.update}
        names = [name for name, is_set in flags.items() if is_set]
        name = "_".join(["san", *map(str, parts), *names]) + "_silent" * bool(silent)
        arguments = [
            ("ptr", "%x0"), ("i32", self.warp), ("ptr", self.state), ("ptr", self.shadow), ("i32", mask),
            ("i32", self.word), *offsets, *([("i32", silent)] if silent else []),
        ]  # fmt: skip

        def body(b: Builder, names: list[str]) -> str:
            check = ShadowCheck(
                b, names[: len(names) - bool(silent)], kind, width, form.action, form.space == "shared",
                form.granule, form.strong, form.harmless, form.swap, form.update,
            )  # fmt: skip
            check.silent = names[-1] if silent else ""
            return check.build()

        return self.b.define(name, "i32", arguments, body)

    # -- single lanes ---------------------------------------------------------------------------

    def check_lanes(self) -> str:
        """Check each lane's address on its own; return the undecided lanes."""
        offsets = self.lane_offsets()
        silent = self.silent_lanes(offsets) if self.form.silent else ""
        return self.call_check("lanes", self.mask, [(I64, offsets), ("i64", self.size)], silent)

    def lane_offsets(self) -> str:
        """Return the offsets of all lanes in the array, as a vector."""
        b, form = self.b, self.form
        offsets = self.addresses[0] if form.kind == "varying" else self.lanes_of_rows(self.addresses)
        if self.base != "0":
            offsets = b.value(f"sub {I64} {offsets}, {b.splat('i64', self.base)}")
        if form.offset:
            offsets = b.value(f"add {I64} {offsets}, splat (i64 {form.offset})")
        return offsets

    def lanes_of_rows(self, rows: list[str]) -> str:
        """Return the address or the offset of every lane as a vector."""
        b, form = self.b, self.form
        order = [lane // form.width for lane in range(WARP)]
        made = "poison"
        for number, ref in enumerate(rows):
            made = b.value(f"insertelement {I64} {made}, i64 {ref}, i64 {number}")
        steps = ", ".join(f"i64 {lane % form.width * form.stride}" for lane in range(WARP))
        return b.value(f"add {I64} {b.pick('i64', made, WARP, order)}, <{steps}>")

    # -- silent writes --------------------------------------------------------------------------

    def silent_rows(self, row: str, offsets: list[str]) -> str:
        """Return the lanes that store the value that is already there, for rows inside their array."""
        b, width = self.b, self.form.width
        (ty,), (new,) = self.form.stored, self.values
        pointers = [b.value(f"getelementptr i8, ptr {self.host}, i64 {offset}") for offset in offsets]
        if row == "row":
            parts = [b.value(f"load {vector(ty, width)}, ptr {p}, align 1") for p in pointers]
        else:
            elements = [b.value(f"load {ty}, ptr {p}, align 1") for p in pointers]
            parts = [b.splat(ty, element, width) for element in elements]
        old = b.concat(ty, parts, width)
        return self.bits(b.value(f"icmp eq {vector(ty)} {old}, {new}"))

    def silent_lanes(self, offsets: str) -> str:
        """Return the lanes that store the value that is already there, for any offsets."""
        b = self.b
        (ty,), (new,) = self.form.stored, self.values
        last = b.value(f"sub i64 {self.size}, {b.value(f'shl i64 1, {self.shift}')}")
        large_enough = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
        fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
        fits = b.value(f"and {I1} {fits}, {large_enough}")
        inside = b.value(f"and {I1} {fits}, {b.value(f'bitcast i32 {self.mask} to {I1}')}")
        pointers = b.value(f"getelementptr i8, ptr {self.host}, {I64} {offsets}")
        old = gather(b, ty, pointers, inside)
        same = b.value(f"icmp eq {vector(ty)} {old}, {new}")
        return self.bits(b.value(f"and {I1} {same}, {inside}"))

    def bits(self, flags: str) -> str:
        """Return flags of lanes as a mask of 32 bits."""
        return self.b.value(f"bitcast {I1} {flags} to i32")

    # -- report ---------------------------------------------------------------------------------

    def report(self, undecided: str) -> None:
        """Pass the addresses, values and lanes to the host."""
        b, form, addresses = self.b, self.form, self.at_state("addresses")
        places = form.value_places(b, self.state)
        lanes = self.addresses[0] if form.kind == "varying" else self.lanes_of_rows(self.addresses)
        if form.offset:
            lanes = b.value(f"add {I64} {lanes}, splat (i64 {form.offset})")
        b.line(f"store {I64} {lanes}, ptr {addresses}, align 8")
        for ty, value, place in zip(form.stored, self.values, places, strict=True):
            b.line(f"store {vector(ty)} {value}, ptr {place}, align 1")
        b.line(
            f"call void @san_report(ptr %x0, i32 {self.warp}, ptr {addresses}, i32 {undecided}, "
            f"i32 {self.site}, i32 {self.description}, ptr {places[0] if places else 'null'})"
        )
