"""The code that counts one access to memory: how often it ran, and what a space adds to that."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.counters.counter_layout import EXECUTIONS, THREADS, add, population
from gpulab.simt.runtime import layout

__all__ = ["READS", "WRITES", "GenericSite", "Site"]

READS, WRITES = 1, 2  # which maps of sectors an access is marked in


class Site:
    """The code that counts one access, put before it.

    observed: the worker's counters; record: those of this site. apart: its executions are counted here
    and not with its block. lanes: bits of the lanes that make requests.
    """

    served = False  # whether there is something to count besides its executions

    def __init__(
        self, cg: CodegenContext, access: MemoryAccess, observed: str, record: str, apart: bool, lanes: int
    ) -> None:
        self.cg, self.b, self.access, self.apart = cg, cg.b, access, apart
        self.observed, self.record = observed, record
        self.where, self.size = access.address, access.size
        self.mask = cg.mask_bits(access.item.predicate)
        if lanes != -1:
            self.mask = self.b.value(f"and i32 {self.mask}, {lanes}")
        self.whole = cg.all_active and access.item.predicate is None and lanes == -1
        self.rows = self.where.refs if self.where.kind != "varying" else ()
        self.width = cg.width if self.where.kind == "affine" else WARP
        self.stride = self.where.stride if self.where.kind == "affine" else 0
        self.shift = self.size.bit_length() - 1
        # Bytes from the first lane of a row down to the lowest one.
        self.back = self.stride * (self.width - 1) if self.stride < 0 else 0
        self.marks = {"reads": READS, "writes": WRITES}.get(access.action, READS | WRITES)

    def count(self) -> None:
        b, cg = self.b, self.cg
        if not self.served and not self.apart:
            return
        begin, self.done = b.new_label("count"), b.new_label("counted")
        if self.access.item.predicate is None:
            b.jump(begin)
        else:
            b.branch(b.value(f"icmp ne i32 {self.mask}, 0"), begin, self.done)
        with cg.side_block(begin):
            if self.apart and self.access.space != "generic":
                add(cg, self.at(EXECUTIONS), "1")
                add(cg, self.at(THREADS), population(cg, self.mask))
            self.requests()
        b.open(self.done)

    def requests(self) -> None:
        """What memory does for it; ends with a jump to `done`. Here: nothing that is counted."""
        self.b.jump(self.done)

    def at(self, offset: int) -> str:
        return self.b.value(f"getelementptr i8, ptr {self.record}, i64 {offset}")

    def slot(self) -> str:
        offset = self.access.site * layout.SITE_CACHE_BYTES
        return self.b.value(f"getelementptr i8, ptr {self.cg.site_caches}, i64 {offset}")

    def look(self, function: str, *more: tuple[str, str], counters: Sequence[tuple[str, str]] = ()) -> None:
        """Let a function of counted.ll look at every lane."""
        b, cg = self.b, self.cg
        b.line(f"store <{WARP} x i64> {cg.to_vector(self.where)}, ptr {cg.scratch}, align 64")
        b.call(
            function, "void", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.record), *counters,
            ("ptr", cg.scratch), ("i32", self.mask), *more,
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


class GenericSite(Site):
    """By generic addresses: each lane counts to the space where it goes."""

    served = True

    def requests(self) -> None:
        shift, slot = str(max(self.shift, 2)), self.slot()
        self.look("sim_generic", ("i64", shift), ("ptr", slot), ("i32", str(self.marks)))
