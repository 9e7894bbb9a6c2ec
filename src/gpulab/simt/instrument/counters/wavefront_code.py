"""Code that counts the wavefronts of an access to shared memory.

Rows of lanes that cannot have a bank conflict take the smallest number of wavefronts. Other accesses call
`sim_banks`, which uses each lane's address.
"""

from __future__ import annotations

from math import gcd

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.instrument.counters.counter_layout import EXCESS, IDEAL, MEMO, WORST, add
from gpulab.simt.instrument.counters.site_code import READS, SiteCounter

__all__ = ["WavefrontCounter"]

BANKS = 32


class WavefrontCounter(SiteCounter):
    """Counter of an access to shared memory."""

    served = True

    def requests(self) -> None:
        b, cg = self.b, self.cg
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
            with cg.side_block(fast):
                if parts != "1":
                    more = b.value(f"sub i64 {parts}, 1")
                    add(b, self.at(EXCESS), more)
                    add(b, self.at(IDEAL), more)
                b.jump(self.done)
        with cg.side_block(other):
            self.call_runtime(
                "sim_banks",
                ("i64", str(max(self.shift, 2))),
                ("i1", str(self.pairs_lanes).lower()),
                counters=(("ptr", self.record), ("ptr", self.at(MEMO))),
            )

    @property
    def pairs_lanes(self) -> bool:
        """True if pairs of lanes that read the same element are served together (see `sim_pairs`)."""
        return self.marks == READS and self.access.item.op != "ldmatrix"

    @property
    def groups(self) -> int:
        """Number of groups of lanes that are served one after the other if rows have no bank conflict."""
        count = max(self.size // 4, 1)
        return max(count // 2, 1) if self.stride == 0 and self.pairs_lanes else count

    def without_conflicts(self) -> str | None:
        """Return an i1 that is true if no two lanes access different words of one bank in a wavefront.

        The result is None if that depends on each lane's address.
        """
        b = self.b
        if not self.rows:
            return None
        steps, alone = abs(self.stride), len(set(self.rows)) == 1
        if self.size > 4:
            if steps == 0:  # no group of lanes reads more than one element
                return "true" if alone or self.width * self.groups >= WARP else None
            if steps != self.size or self.width < 4 * WARP // self.size:
                return None
            whole = not self.pairs_lanes or self.whole
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
        """Return the number of groups of lanes, served one after the other, that have an active lane."""
        b, count = self.b, self.groups
        if self.whole or (self.stride and self.pairs_lanes):
            return str(count)
        if count == 1:
            return "1"
        width = WARP // count
        vectors = b.value(f"bitcast i32 {self.mask} to <{count} x i{width}>")
        some = b.value(f"icmp ne <{count} x i{width}> {vectors}, zeroinitializer")
        bits = b.value(f"zext i{count} {b.value(f'bitcast <{count} x i1> {some} to i{count}')} to i64")
        return b.call("llvm.ctpop.i64", "i64", ("i64", bits))
