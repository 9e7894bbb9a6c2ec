"""Code that counts one access to memory: its executions and, in derived classes, its traffic."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.counters.counter_layout import EXECUTIONS, HOME, THREADS, add, population

__all__ = ["READS", "WRITES", "GenericCounter", "SiteCounter"]

READS, WRITES = 1, 2  # flags for the sector maps in which an access is marked


class SiteCounter:
    """Emitter of the code that counts one access; the code precedes the access.

    Parameters
    ----------
    counters : str
        Pointer to the worker's counters.
    record : str
        Pointer to the counters of this site.
    apart : bool
        Executions are counted here and not taken from the basic block.
    """

    served = False  # True in classes that count traffic in addition to executions

    def __init__(
        self, cg: CodegenContext, access: MemoryAccess, counters: str, record: str, apart: bool
    ) -> None:
        self.cg, self.b, self.access, self.apart = cg, cg.b, access, apart
        self.counters, self.record = counters, record
        self.where, self.size = access.address, access.size
        self.mask = cg.mask_bits(access.item.predicate)
        self.whole = cg.all_active and access.item.predicate is None
        self.rows = self.where.refs if self.where.kind != "varying" else ()
        self.width = cg.width if self.where.kind == "affine" else WARP
        self.stride = self.where.stride if self.where.kind == "affine" else 0
        self.shift = self.size.bit_length() - 1
        # Distance in bytes from the first lane of a row to the lane with the lowest address.
        self.back = self.stride * (self.width - 1) if self.stride < 0 else 0
        self.marks = {"reads": READS, "writes": WRITES}.get(access.action, READS | WRITES)

    def count(self) -> None:
        """Emit the code."""
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
                add(b, self.at(EXECUTIONS), "1")
                add(b, self.at(THREADS), population(b, self.mask))
            self.requests()
        b.open(self.done)

    def requests(self) -> None:
        """Emit the code that counts traffic; it ends with a jump to `done`. This class counts none."""
        self.b.jump(self.done)

    def at(self, offset: int) -> str:
        """Return a pointer to a field of the site's record."""
        return self.b.value(f"getelementptr i8, ptr {self.record}, i64 {offset}")

    def home(self) -> str:
        """Return a pointer to the site's home, the allocation of its first request."""
        return self.at(HOME)

    @property
    def span(self) -> int:
        """Bytes from the first lane's element in a row to the end of the last one's."""
        return self.size + abs(self.stride) * (self.width - 1) if self.rows else self.size

    def call_runtime(
        self, function: str, *more: tuple[str, str], counters: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Call a function of counters.ll, which uses the address of every lane."""
        b, cg = self.b, self.cg
        b.line(f"store <{WARP} x i64> {cg.to_vector(self.where)}, ptr {cg.scratch}, align 64")
        b.call(
            function, "void", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.record), *counters,
            ("ptr", cg.scratch), ("i32", self.mask), *more,
        )  # fmt: skip
        b.jump(self.done)

    def row_masks(self) -> list[str]:
        """Return the active lanes of each row as the low bits of an i64, lowest address first."""
        b, masks = self.b, []
        for number in range(len(self.rows)):
            mask, ty = self.mask, "i32"
            if self.width < WARP:
                ty = f"i{self.width}"
                moved = b.value(f"lshr i32 {mask}, {number * self.width}") if number else mask
                mask = b.value(f"trunc i32 {moved} to {ty}")
            if self.stride < 0:
                mask = b.call(f"llvm.bitreverse.{ty}", ty, (ty, mask))
            masks.append(b.value(f"zext {ty} {mask} to i64"))
        return masks


class GenericCounter(SiteCounter):
    """Counter of an access by generic addresses; each lane is counted for the state space of its address."""

    served = True

    def requests(self) -> None:
        shift = str(max(self.shift, 2))
        self.call_runtime("sim_generic", ("i64", shift), ("i64", str(self.span)), ("i32", str(self.marks)))
