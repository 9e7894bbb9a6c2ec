"""Emitter of the check of one access: it locates the shadow cells and calls a `ShadowCheck` function.

An access whose addresses are affine or uniform over the lanes has a fast path for the case that all rows
lie inside their array. Otherwise each lane's address is checked on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.gather_scatter import gather
from gpulab.simt.codegen.ir import BITS, Builder, Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.racecheck.shadow_check import ShadowCheck
from gpulab.simt.instrument.racecheck.shadow_layout import (
    ACTIONS,
    MAX_SITE,
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

__all__ = ["AccessCheck", "CheckBuffers"]

I1, I32, I64 = vector("i1"), vector("i32"), vector("i64")


@dataclass(frozen=True)
class CheckBuffers:
    """Pointers of a warp function: the worker's state, and buffers for the arguments of callbacks.

    `values` has 512 bytes, 16 for each lane; `addresses` has 8 bytes for each lane.
    """

    state: str
    values: str
    addresses: str


class AccessCheck:
    """The check of one access, or of one part of it if the access is larger than a cell."""

    def __init__(
        self,
        buffers: CheckBuffers,
        cg: CodegenContext,
        access: MemoryAccess,
        offset: int,
        granule: int,
        strong: bool,
        update: bool,
    ) -> None:
        self.buffers, self.cg, self.b = buffers, cg, cg.b
        self.access, self.offset, self.granule = access, offset, granule
        self.strong, self.update = strong, update
        self.swap = "cas" in access.item.parts
        self.access_word = min(access.site, MAX_SITE) << SITE_SHIFT | STRONG * strong | SWAP * self.swap
        self.access_word |= UPDATE * update

        # A write of the value that is already there is harmless. In shared memory only one value for all
        # lanes is compared, as of a loop in which every thread fills the whole array.
        uniform = access.address.kind == "uniform" and all(v.kind == "uniform" for v in access.values)
        self.may_be_silent = (
            access.action == "writes" and (access.space != "shared" or uniform) and not strong
            and len(access.values) == 1 and granule == access.size
        )  # fmt: skip

    def emit(self) -> None:
        b, cg, access = self.b, self.cg, self.access
        address, mask = access.address, cg.mask_bits(access.item.predicate)
        base, size, shadow = self.array()

        contiguous = address.kind == "affine" and address.stride in (0, access.size)
        if contiguous or address.kind == "uniform":
            quick, slow, join = b.new_label("row"), b.new_label("each"), b.new_label("checked")
            offsets, inside = self.row_offsets(base, size)
            b.branch(inside, quick, slow, likely=True)
            with cg.side_block(quick):
                undecided = self.check_rows(offsets, size, shadow, mask)
                quick_end = b.label
                b.jump(join)
            with cg.side_block(slow):
                undecided_lanes = self.check_lanes(mask, base, size, shadow)
                slow_end = b.label
                b.jump(join)
            b.open(join)
            undecided = b.phi("i32", (undecided, quick_end), (undecided_lanes, slow_end))
        else:
            undecided = self.check_lanes(mask, base, size, shadow)

        report, on = b.new_label("undecided"), b.new_label("on")
        b.branch(b.value(f"icmp ne i32 {undecided}, 0"), report, on, likely=False)
        with cg.side_block(report):
            self.report(undecided)
            b.jump(on)
        b.open(on)

    # -- rows -----------------------------------------------------------------------------------

    def check_rows(self, offsets: list[str], size: str, shadow: str, mask: str) -> str:
        """Check an access whose rows are inside their array; return the undecided lanes."""
        b, access = self.b, self.access
        form = "row" if access.address.kind == "affine" and access.address.stride else "same"
        silent = self.silent_rows(form, offsets) if self.may_be_silent else ""
        whole_read = access.action == "reads" and access.size == self.granule

        if whole_read:
            mask = self.unsettled_lanes(form, offsets, shadow, mask)
            work, start, after = b.new_label("work"), b.label, b.new_label("settled")
            b.branch(b.value(f"icmp ne i32 {mask}, 0"), work, after)
            b.open(work)

        if form == "row" and access.size != self.granule:
            lanes = self.cg.to_vector(Value("i64", "affine", tuple(offsets), access.address.stride))
            undecided = self.call("lanes", mask, shadow, [(I64, lanes), ("i64", size)], silent)
        else:
            undecided = self.call(form, mask, shadow, [("i64", offset) for offset in offsets], silent)

        if whole_read:
            end = b.label
            b.jump(after)
            b.open(after)
            undecided = b.phi("i32", ("0", start), (undecided, end))
        return undecided

    def unsettled_lanes(self, form: str, offsets: list[str], shadow: str, mask: str) -> str:
        """Return the lanes whose read has to be recorded; most reads repeat those of other lanes."""
        b, cg = self.b, self.cg
        width = cg.width if self.access.address.kind == "affine" else WARP
        times = []
        for name in ("warp_sync", "block_sync"):
            table = b.value(f"getelementptr i8, ptr {self.buffers.state}, i64 {STATE[name]}")
            times.append(b.value(f"load i32, ptr {b.value(f'getelementptr i32, ptr {table}, i32 %warp')}"))
        by_block = b.value(f"icmp eq i32 {times[0]}, {times[1]}")
        key = b.value(f"select i1 {by_block}, i32 {times[1]}, i32 1")  # no barrier has the time 1

        first = b.value(f"getelementptr i8, ptr {shadow}, i64 {SHADOW['cells']}")
        shift = self.granule.bit_length() - 1
        numbers = [b.value(f"lshr i64 {offset}, {shift}") for offset in offsets]
        cells = [b.value(f"getelementptr i32, ptr {first}, i64 {number}") for number in numbers]

        forever = signed(SETTLED_FOREVER)
        if form == "row":
            parts = [b.value(f"load {vector('i32', width)}, ptr {cell}, align 4") for cell in cells]
            settled = b.concat("i32", parts, width)
            skip = b.value(f"icmp eq {I32} {settled}, {b.splat('i32', key)}")
            if self.access.space != "shared":
                always = b.value(f"icmp eq {I32} {settled}, splat (i32 {forever})")
                skip = b.value(f"or {I1} {skip}, {always}")
            return b.value(f"and i32 {mask}, {b.value(f'xor i32 {cg.pack_mask(skip)}, -1')}")

        lanes = "0"
        for number, cell in enumerate(cells):
            settled = b.value(f"load i32, ptr {cell}")
            skip = b.value(f"icmp eq i32 {settled}, {key}")
            if self.access.space != "shared":
                skip = b.value(f"or i1 {skip}, {b.value(f'icmp eq i32 {settled}, {forever}')}")
            part = signed((1 << width) - 1 << number * width)
            lanes = b.value(f"or i32 {lanes}, {b.value(f'select i1 {skip}, i32 0, i32 {part}')}")
        return b.value(f"and i32 {mask}, {lanes}")

    def row_offsets(self, base: str, size: str) -> tuple[list[str], str]:
        """Return the offsets of the rows in their array, and a flag that all are inside and aligned."""
        b, address, cg = self.b, self.access.address, self.cg
        span = self.access.size + (address.stride * (cg.width - 1) if address.kind == "affine" else 0)
        last = b.value(f"sub i64 {size}, {span}")
        offsets, good = [], b.value(f"icmp sge i64 {last}, 0")
        for ref in address.refs:
            offset = ref if base == "0" else b.value(f"sub i64 {ref}, {base}")
            inside = b.value(f"icmp ule i64 {offset}, {last}")
            aligned = b.value(f"icmp eq i64 {b.value(f'and i64 {offset}, {self.access.size - 1}')}, 0")
            good = b.value(f"and i1 {good}, {b.value(f'and i1 {inside}, {aligned}')}")
            offsets.append(b.value(f"add i64 {offset}, {self.offset}") if self.offset else offset)
        return offsets, good

    # -- single lanes ---------------------------------------------------------------------------

    def check_lanes(self, mask: str, base: str, size: str, shadow: str) -> str:
        """Check each lane's address on its own; return the undecided lanes."""
        b = self.b
        offsets = self.cg.to_vector(self.access.address)
        if base != "0":
            offsets = b.value(f"sub {I64} {offsets}, {b.splat('i64', base)}")
        if self.offset:
            offsets = b.value(f"add {I64} {offsets}, splat (i64 {self.offset})")
        silent = self.silent_lanes(offsets, size, mask) if self.may_be_silent else ""
        return self.call("lanes", mask, shadow, [(I64, offsets), ("i64", size)], silent)

    def array(self) -> tuple[str, str, str]:
        """Return the accessed array: its first address, its size in bytes and the address of its shadow."""
        b, cg, state = self.b, self.cg, self.buffers.state
        if self.access.space == "shared":
            pointer = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['shared_shadow']}")
            if self.may_be_silent:
                self.host = cg.load_field("shared", "ptr")
            return "0", cg.constant("i64", "shared_bytes"), b.value(f"load ptr, ptr {pointer}")

        slot = b.value(
            f"getelementptr i8, ptr {cg.site_caches}, i64 {self.access.site * layout.SITE_CACHE_BYTES}"
        )
        base, size, shadow = (
            b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 {at}')}")
            for at in (0, 24, 32)
        )
        no_shadow = b.value(f"getelementptr i8, ptr {state}, i64 {STATE['no_shadow']}")
        is_null = b.value(f"icmp eq i64 {shadow}, 0")
        shadow = b.value(f"inttoptr i64 {shadow} to ptr")
        self.host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {slot}, i64 16')}")
        return base, size, b.value(f"select i1 {is_null}, ptr {no_shadow}, ptr {shadow}")

    # -- silent writes --------------------------------------------------------------------------

    def stored_values(self) -> tuple[str, str]:
        """Return the values to be stored as integers: the type of a lane's value, and the vector."""
        (value,) = self.access.values
        ty = f"i{BITS[value.ty]}"
        return ty, self.cg.to_vector(self.cg.as_type(value, ty))

    def silent_rows(self, form: str, offsets: list[str]) -> str:
        """Return the lanes that store the value that is already there, for rows inside their array."""
        b, width = self.b, self.cg.width if self.access.address.kind == "affine" else WARP
        ty, new = self.stored_values()
        pointers = [b.value(f"getelementptr i8, ptr {self.host}, i64 {offset}") for offset in offsets]
        if form == "row":
            parts = [b.value(f"load {vector(ty, width)}, ptr {p}, align 1") for p in pointers]
        else:
            elements = [b.value(f"load {ty}, ptr {p}, align 1") for p in pointers]
            parts = [b.splat(ty, element, width) for element in elements]
        old = b.concat(ty, parts, width)
        return self.cg.pack_mask(b.value(f"icmp eq {vector(ty)} {old}, {new}"))

    def silent_lanes(self, offsets: str, size: str, mask: str) -> str:
        """Return the lanes that store the value that is already there, for any offsets."""
        b = self.b
        ty, new = self.stored_values()
        last = b.value(f"sub i64 {size}, {self.granule}")
        large_enough = b.splat("i1", b.value(f"icmp sge i64 {last}, 0"))
        fits = b.value(f"icmp ule {I64} {offsets}, {b.splat('i64', last)}")
        fits = b.value(f"and {I1} {fits}, {large_enough}")
        inside = b.value(f"and {I1} {fits}, {self.cg.unpack_mask(mask)}")
        pointers = b.value(f"getelementptr i8, ptr {self.host}, {I64} {offsets}")
        old = gather(b, ty, pointers, inside)
        same = b.value(f"icmp eq {vector(ty)} {old}, {new}")
        return self.cg.pack_mask(b.value(f"and {I1} {same}, {inside}"))

    # -- calls ----------------------------------------------------------------------------------

    def report(self, undecided: str) -> None:
        """Pass the addresses, values and lanes to the host."""
        b, cg, access = self.b, self.cg, self.access
        addresses = cg.to_vector(access.address)
        if self.offset:
            addresses = b.value(f"add {I64} {addresses}, splat (i64 {self.offset})")
        b.line(f"store {I64} {addresses}, ptr {self.buffers.addresses}, align 64")

        values = "null"
        if access.values:
            values = self.buffers.values
            for number, value in enumerate(access.values):
                pointer = b.value(
                    f"getelementptr i8, ptr {values}, i64 {number * WARP * BITS[value.ty] // 8}"
                )
                b.line(f"store {vector(value.ty)} {cg.to_vector(value)}, ptr {pointer}, align 1")

        description = ACTIONS.index(access.action) | self.strong << 2 | self.swap << 3 | self.update << 4
        description |= self.offset << 8 | self.granule << 16 | len(access.values) << 24
        b.line(
            f"call void @san_report(ptr %ctx, i32 %warp, ptr {self.buffers.addresses}, i32 {undecided}, "
            f"i32 {access.site}, i32 {description}, ptr {values})"
        )

    def call(self, form: str, mask: str, shadow: str, offsets: list[tuple[str, str]], silent: str) -> str:
        """Call the check function for this form of access; return the undecided lanes."""
        access, width = self.access, self.cg.width if self.access.address.kind == "affine" else WARP
        shared = access.space == "shared"
        # Lanes that write to one cell are harmless if all of them store the same value.
        harmless = self.strong or (bool(access.values) and all(v.kind == "uniform" for v in access.values))
        name = f"san_{form}_{len(offsets)}_{width}_{access.action}_{'shared' if shared else 'global'}"
        name += f"_{self.granule}" + "_strong" * self.strong + "_harmless" * harmless
        name += "_swap" * self.swap + "_update" * self.update
        arguments = [
            ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.buffers.state), ("ptr", shadow), ("i32", mask),
            ("i32", str(self.access_word)), *offsets,
        ]  # fmt: skip
        if silent:
            name += "_silent"
            arguments.append(("i32", silent))

        def body(b: Builder, names: list[str]) -> str:
            check = ShadowCheck(
                b,
                names[: len(names) - bool(silent)],
                form,
                width,
                access.action,
                shared,
                self.granule,
                self.strong,
                harmless,
                self.swap,
                self.update,
            )
            check.silent = names[-1] if silent else ""
            return check.build()

        return self.b.define(name, "i32", arguments, body)
