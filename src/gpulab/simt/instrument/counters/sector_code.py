"""Code that counts the sectors of an access to global memory.

If a row of lanes accesses neighbouring elements, each of its sectors belongs to a group of neighbouring
lanes. The mask of active lanes, shifted by the row's misalignment, is divided into these groups, and groups
with an active lane are counted. Other accesses call `sim_sectors`, which uses each lane's address.
"""

from __future__ import annotations

from gpulab.simt.instrument.counters.counter_layout import EXCESS, LAST, MAP_PADDING, SECTOR_BYTES, WORST, add
from gpulab.simt.instrument.counters.site_code import READS, WRITES, SiteCounter

__all__ = ["SectorCounter"]


class SectorCounter(SiteCounter):
    """Counter of an access to global memory."""

    served = True

    def requests(self) -> None:
        b, cg = self.b, self.cg
        home = self.home()
        steps = abs(self.stride)
        neighbours = self.rows and (steps == 0 or SECTOR_BYTES % steps == 0) and len(self.rows) <= 2
        if not neighbours or self.marks == READS | WRITES:
            self.call_runtime("sim_sectors", ("i64", str(self.span)), ("i32", str(self.marks)))
            return
        near, other = b.new_label("near"), b.new_label("other")
        base = b.value(f"load i64, ptr {home}")
        limit = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {home}, i64 8')}")
        offsets, fine = [], ""
        for ref in self.rows if len(set(self.rows)) > 1 else self.rows[:1]:
            offset = b.value(f"sub i64 {ref}, {base}")
            if self.back:
                offset = b.value(f"add i64 {offset}, {self.back}")
            inside = b.value(f"icmp ult i64 {offset}, {limit}")
            offsets.append(offset)
            fine = b.value(f"and i1 {fine}, {inside}") if fine else inside
        b.branch(fine, near, other, likely=True)
        with cg.side_block(near):
            masks = self.row_masks()
            if len(offsets) == 1:
                self.rows_at(home, offsets, [self.merged(masks)], other)
            else:
                # Two rows in the same sectors count as one row; the counts of disjoint rows add up.
                one, two = (b.value(f"lshr i64 {o}, 5") for o in offsets) if not self.stride else offsets
                same, apart = b.new_label("same"), b.new_label("apart")
                b.branch(b.value(f"icmp eq i64 {one}, {two}"), same, apart)
                b.open(same)
                self.rows_at(home, offsets[:1], [self.merged(masks)], other)
                b.open(apart)
                if self.stride:
                    most = self.width * abs(self.stride) + SECTOR_BYTES
                    distance = b.value(f"sub i64 {two}, {one}")
                    moved = b.value(f"add i64 {distance}, {most - 1}")
                    apart = b.new_label("apart")
                    b.branch(b.value(f"icmp ult i64 {moved}, {2 * most - 1}"), other, apart, likely=False)
                    b.open(apart)
                self.rows_at(home, offsets, masks, other)
        with cg.side_block(other):
            self.call_runtime("sim_sectors", ("i64", str(self.span)), ("i32", str(self.marks)))

    def merged(self, masks: list[str]) -> str:
        return masks[0] if len(masks) == 1 else self.b.value(f"or i64 {masks[0]}, {masks[1]}")

    def rows_at(self, home: str, offsets: list[str], masks: list[str], other: str) -> None:
        """Count rows of disjoint sectors at these offsets in the allocation.

        A request with more sectors than any before it at this site branches to `other`, which samples it.
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
            groups = [
                b.phi("i64", (x, whole), (y, part)) for x, y in zip(all_groups, some_groups, strict=True)
            ]
            units = b.phi("i64", (all_units, whole), (some_units, part))
        worst = b.value(f"load i64, ptr {self.at(WORST)}")
        good = b.new_label("good")
        b.branch(b.value(f"icmp ule i64 {units}, {worst}"), good, other, likely=True)
        b.open(good)
        if self.stride or len(offsets) > 1:
            add(b, self.at(EXCESS), b.value(f"sub i64 {units}, 1"))
        self.mark(home, groups, offsets)

    def sum_of(self, counts: list[str]) -> str:
        return counts[0] if len(counts) == 1 else self.b.value(f"add i64 {counts[0]}, {counts[1]}")

    def whole_rows(self, offsets: list[str]) -> tuple[list[str], str]:
        """Return the sectors of rows with all lanes active, as bits for each row, and their number."""
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
        """Return a bit for each sector of a row, set if an active lane accesses it."""
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
        # Groups of 4 or 2 bits: fold each group into its lowest bit, then compress these bits.
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

    def mark(self, home: str, groups: list[str], offsets: list[str]) -> None:
        """Mark the sectors in this worker's map; usually they are marked already."""
        b = self.b
        shadow = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {home}, i64 32')}")
        shadow = b.value(f"getelementptr i8, ptr {shadow}, i64 {b.value(f'load i64, ptr {self.counters}')}")
        if self.marks == WRITES:
            size = b.value(f"load i64, ptr {b.value(f'getelementptr i8, ptr {home}, i64 24')}")
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
        self.fetch_next(home, offsets)
        b.jump(self.done)

    def fetch_next(self, home: str, offsets: list[str]) -> None:
        """Prefetch the data after the next access on the host, assuming a constant distance of accesses.

        The counting code between two accesses is so long that the processor would start the next load only
        after the current one has completed.
        """
        b = self.b
        last = self.at(LAST)
        before = b.value(f"load i64, ptr {last}")
        b.line(f"store i64 {offsets[0]}, ptr {last}")
        step = b.value(f"shl i64 {b.value(f'sub i64 {offsets[0]}, {before}')}, 1")
        host = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {home}, i64 16')}")
        b.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        for offset in offsets:
            ahead = b.value(f"add i64 {offset}, {step}")
            place = b.value(f"getelementptr i8, ptr {host}, i64 {ahead}")
            for line in range(0, max(abs(self.stride) * self.width, 1), 64):
                at = b.value(f"getelementptr i8, ptr {place}, i64 {line}") if line else place
                b.line(
                    f"call void @llvm.prefetch.p0(ptr {at}, i32 {int(self.marks == WRITES)}, i32 3, i32 1)"
                )


def _pattern(spread: int, held: int) -> int:
    """Return 64 bits in which the low `held` of every `spread` bits are set, as a signed literal."""
    bits = sum(((1 << held) - 1) << at for at in range(0, 64, spread)) & ((1 << 64) - 1)
    return bits - (1 << 64) if bits >> 63 else bits
