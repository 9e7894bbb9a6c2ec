"""The racecheck instrumentation: hooks that track synchronization and check every access.

Each cell of global and shared memory (as many bytes as the kernel's smallest access there) has a shadow
that records the last write and the last read: their times, threads and access sites. Time is a counter of
the worker that advances at every barrier, `__syncwarp()`, fence and start of a block. An access is ordered
if the previous one is by the same thread or is earlier than the last synchronization of the two threads.
This is the rule of FastTrack (Flanagan and Freund, PLDI 2009), here with one clock for each warp and one
for the lanes of a warp. `ShadowCheck` applies it to 32 lanes at once. Lanes that it cannot decide are
passed to `RacecheckRecorder`, which implements the complete rule: partial barriers, fences, equal values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import AddressCheck
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instructions.collective import group_by_group
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.instrument.linked_functions import (
    ACCESSES,
    FACTS,
    OTHER_ACCESS,
    empty_functions,
)
from gpulab.simt.instrument.racecheck.access_check import check_access
from gpulab.simt.instrument.racecheck.barrier_intervals import PHASES
from gpulab.simt.instrument.racecheck.linked_check import linked_checks
from gpulab.simt.instrument.racecheck.race_facts import RaceFacts, suspended_lanes
from gpulab.simt.instrument.racecheck.read_groups import ReadGroups
from gpulab.simt.instrument.racecheck.shadow_layout import (
    CALLBACKS,
    MAX_INTERVALS,
    RECORD_BYTES,
    STATE,
)
from gpulab.simt.ptx.syntax import Imm, Instruction
from gpulab.simt.runtime.layout import GRID_BARRIER_OFFSET, SITE_CACHE_BYTES

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["RacecheckInstrumentation"]

I32, I64 = vector("i32"), vector("i64")


@cache
def _text(name: str) -> str:
    """Return a file of this package with numbers in place of names."""
    text = resources.files("gpulab.simt.instrument.racecheck").joinpath(name).read_text(encoding="utf-8")
    names = STATE | {event.upper(): number for event, number in CALLBACKS.items()} | FACTS
    names |= {"EVENTS": sum(FACTS[name] for name in ("ARRIVES", "COPIES", "PUBLISHES", "ACQUIRES"))}
    names |= PHASES | {"RECORD_BYTES": RECORD_BYTES, "MAX_INTERVALS": MAX_INTERVALS}
    names |= {"GRID_BARRIER_OFFSET": GRID_BARRIER_OFFSET, "SITE_CACHE_BYTES": SITE_CACHE_BYTES}
    lanes = ", ".join(f"i32 {lane}" for lane in range(WARP))
    return Template(text).safe_substitute({name: str(number) for name, number in names.items()}, LANES=lanes)


class RacecheckInstrumentation(Instrumentation):
    """Instrumentation that checks every access to global and shared memory against its shadow."""

    tier = "racecheck"
    runtime = _text("racecheck.ll") + _text("intervals.ll")

    def library(self, names: Collection[str]) -> list[str]:
        accesses = [name for name in ACCESSES if name in names]
        counted = (
            "tier_block",
            "tier_branch",
            "tier_loop",
            "tier_iteration",
            "tier_division",
            "tier_selection",
        )
        empty = empty_functions((*counted, OTHER_ACCESS))
        files = [_text(name) for name in ("racecheck_linked.ll", "read_only.ll")]
        return [self.runtime, *files, empty, *linked_checks(accesses)]

    def on_entry(self, cg: CodegenContext) -> None:
        self.facts = RaceFacts(cg)
        cg.metadata |= self.facts.metadata
        state = cg.load_field("recorded", "ptr")
        self.groups = ReadGroups()
        self.read_only = cg.b.value(f"getelementptr i8, ptr {state}, i64 {STATE['read_only']}")
        self.addresses = cg.b.value(f"getelementptr i8, ptr {state}, i64 {STATE['addresses']}")

    # -- synchronization ------------------------------------------------------------------------

    def on_warp_sync(self, cg: CodegenContext, item: Instruction, site: int) -> None:
        b = cg.b
        mask = cg.operand(item.operands[-1], "i32")
        self.check_lanes(cg, item, mask, site)
        active = cg.mask_bits(item.predicate)
        absent = b.value(f"xor i32 {cg.combine_masks('and', mask)}, -1")
        complete = b.value(f"icmp eq i32 {b.value(f'and i32 {absent}, {active}')}, 0")

        # If some masks are partial, the host records which lanes synchronize with which. That holds for
        # __syncwarp() only, because a shuffle does not order memory accesses.
        if item.op == "bar":
            masks = b.value(f"zext {I32} {cg.to_vector(mask)} to {I64}")
            b.line(f"store {I64} {masks}, ptr {self.addresses}, align 64")
            masks = b.value(f"select i1 {complete}, ptr null, ptr {self.addresses}")
            b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {active}, ptr {masks})")
            return
        full, on = b.new_label("full"), b.new_label("on")
        b.branch(complete, full, on)
        b.open(full)
        b.line(f"call void @san_warp_sync(ptr %ctx, i32 %warp, i32 {active}, ptr null)")
        b.jump(on)
        b.open(on)

    def check_lanes(self, cg: CodegenContext, item: Instruction, mask: Value, site: int) -> None:
        """Emit a fault unless every lane of a mask is active with the same mask, the lane itself included."""
        b = cg.b
        active = cg.mask_bits(item.predicate)
        suspended = suspended_lanes(cg, item)
        named = cg.combine_masks("or", mask)
        missing = b.value(f"and i32 {named}, {suspended}")

        own = b.value(f"shl {I32} splat (i32 1), {cg.lane_vector}")
        without = b.value(f"and {I32} {cg.to_vector(mask)}, {own}")
        without = cg.pack_mask(b.value(f"icmp eq {I32} {without}, zeroinitializer"))
        without = b.value(f"and i32 {without}, {active}")
        if mask.kind != "uniform":
            missing = b.value(f"or i32 {missing}, {self.lanes_with_other_masks(cg, mask, active)}")

        for kind, lanes in (("mask_without_caller", without), ("missing_lanes", missing)):
            wrong, on = b.new_label("wrong"), b.new_label("on")
            b.branch(b.value(f"icmp ne i32 {lanes}, 0"), wrong, on, likely=False)
            with cg.side_block(wrong):
                cg.fault(kind, site, lanes)
            b.open(on)

    def lanes_with_other_masks(self, cg: CodegenContext, mask: Value, active: str) -> str:
        """Return the active lanes that the mask of another lane contains and whose own mask differs."""
        b = cg.b
        masks = cg.to_vector(mask)

        def each(lane: str, result: str) -> tuple[str, str]:
            current = b.value(f"extractelement {I32} {masks}, i32 {lane}")
            same = b.value(f"icmp eq {I32} {masks}, {b.splat('i32', current)}")
            group = b.value(f"and i32 {cg.pack_mask(same)}, {active}")
            others = b.value(f"and i32 {active}, {b.value(f'xor i32 {group}, -1')}")
            wrong = b.value(f"and i32 {current}, {others}")
            return group, b.value(f"or i32 {result}, {wrong}")

        return group_by_group(cg, active, "i32", each, "0")

    def on_barrier(self, cg: CodegenContext, expected: str, site: int) -> None:
        """Emit a fault if the thread count of a barrier is not a multiple of the warp size."""
        b = cg.b
        if expected == "0":
            return
        odd = b.value(f"icmp ne i32 {b.value(f'and i32 {expected}, {WARP - 1}')}, 0")
        wrong, on = b.new_label("wrong"), b.new_label("on")
        b.branch(odd, wrong, on, likely=False)
        with cg.side_block(wrong):
            count = b.value(f"zext i32 {expected} to i64")
            cg.fault("barrier_count", site, cg.mask(), count)
        b.open(on)

    def on_fence(self, cg: CodegenContext, item: Instruction) -> None:
        mask = cg.mask_bits(item.predicate)
        cg.b.line(f"call void @san_fence(ptr %ctx, i32 %warp, i32 {mask})")

    def on_async_copy(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit a callback with the number of groups that may still be pending; -1 commits a group."""
        pending = 0
        if "commit_group" in item.parts:
            pending = -1
        elif "wait_group" in item.parts and isinstance(item.operands[0], Imm):
            pending = int(item.operands[0].value)
        everything = int("wait_group" not in item.parts)
        arguments = f"i32 %warp, ptr null, i32 {cg.mask()}, i32 {pending}, i32 {everything}, ptr null"
        cg.b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS['copy_group']}, {arguments})")

    def on_bulk_copy(self, cg: CodegenContext, target: str, size: str, barrier: str) -> None:
        b = cg.b
        for number, word in enumerate((target, size, barrier)):
            place = b.value(f"getelementptr i64, ptr {self.addresses}, i64 {number}")
            b.line(f"store i64 {word}, ptr {place}")
        arguments = f"i32 %warp, ptr {self.addresses}, i32 0, i32 0, i32 0, ptr null"
        b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS['bulk_copy']}, {arguments})")

    def on_phase_test(self, cg: CodegenContext, item: Instruction, barrier: Value) -> None:
        self.report_mbarrier(cg, item, barrier, "phase_test")

    def report_mbarrier(self, cg: CodegenContext, item: Instruction, barrier: Value, event: str) -> None:
        """Pass the offsets of the `mbarrier` objects of all lanes to the host."""
        b, mask = cg.b, cg.mask_bits(item.predicate)
        b.line(f"store {I64} {cg.to_vector(barrier)}, ptr {self.addresses}, align 64")
        arguments = f"i32 %warp, ptr {self.addresses}, i32 {mask}, i32 0, i32 0, ptr null"
        b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS[event]}, {arguments})")

    def on_arrive(self, cg: CodegenContext, barrier: str) -> None:
        arguments = f"i32 %warp, ptr null, i32 0, i32 {barrier}, i32 0, ptr null"
        cg.b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS['arrive']}, {arguments})")

    # -- accesses -------------------------------------------------------------------------------

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        if access.space in ("local", "const"):
            return
        self.facts.describe(cg, access)
        if not self.facts.syncs_grid or access.space == "shared" or not self.facts.is_strong(access):
            self.check_access(cg, access)
            return

        b = cg.b
        barrier, usual, done = b.new_label("grid_barrier"), b.new_label("usual"), b.new_label("accessed")
        b.branch(self.accesses_grid_barrier(cg, access), barrier, usual)
        with cg.side_block(barrier):
            if access.action == "updates":
                arguments = "i32 %warp, ptr null, i32 0, i32 0, i32 0, ptr null"
                b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS['grid_barrier']}, {arguments})")
            b.jump(done)
        with cg.side_block(usual):
            self.check_access(cg, access)
            b.jump(done)
        b.open(done)

    def accesses_grid_barrier(self, cg: CodegenContext, access: MemoryAccess) -> str:
        """Return an i1 that is true if a lane accesses the barrier of the grid, which the host tracks."""
        b = cg.b
        place = b.value(f"add i64 {cg.load_field('grid_barrier')}, {GRID_BARRIER_OFFSET}")
        same = b.value(f"icmp eq {I64} {cg.to_vector(access.address)}, {b.splat('i64', place)}")
        lanes = b.value(f"and i32 {cg.pack_mask(same)}, {cg.mask_bits(access.item.predicate)}")
        return b.value(f"icmp ne i32 {lanes}, 0")

    def check_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        """Emit the check of an access, and the synchronization that it implies."""
        item, b = access.item, cg.b
        strong = self.facts.is_strong(access)
        if self.facts.fences(access):
            self.on_fence(cg, item)

        granule = self.facts.cell_bytes(access)
        whole_read = access.action == "reads" and not strong and granule == access.size
        grouped = whole_read and access.space == "shared"
        if not (grouped and self.groups.check(cg, access)):
            update = access.site in self.facts.update_sites
            with self.unless_read_only(cg, access):
                for part in range(access.size // granule):
                    check_access(cg, access, part * granule, granule, strong, update)

        if "mbarrier" in item.parts and access.action == "updates":
            self.report_mbarrier(cg, item, access.address, "mbarrier_arrival")
        if item.op == "cp" and "bulk" not in item.parts and access.action == "writes":
            b.line(f"store {I64} {cg.to_vector(access.address)}, ptr {self.addresses}, align 64")
            mask = cg.mask_bits(item.predicate)
            arguments = f"ptr {self.addresses}, i32 {mask}, i32 {access.site}, i32 {access.size}, ptr null"
            b.line(f"call void @san_callback(ptr %ctx, i32 {CALLBACKS['copy']}, i32 %warp, {arguments})")
        for event, happens in (("publish", access.action != "reads"), ("acquire", access.action != "writes")):
            if strong and happens:
                b.line(f"call void @san_{event}(ptr %ctx, i32 %warp, i32 {cg.mask_bits(item.predicate)})")

    @contextmanager
    def unless_read_only(self, cg: CodegenContext, access: MemoryAccess) -> Iterator[None]:
        """Emit code that a read of an array that is not recorded skips, if its rows are in that array."""
        by_lane = access.address.kind == "varying"
        if access.action != "reads" or access.space == "shared" or by_lane:
            yield
            return
        b = cg.b
        check = AddressCheck(cg, access.address, "global", access.size, access.site, access.item.predicate)
        check.load_bounds()
        _, inside = check.check_rows()
        shadow = b.value(f"load ptr, ptr {b.value(f'getelementptr i8, ptr {check.slot}, i64 32')}")
        passes = b.value(f"icmp eq ptr {shadow}, {self.read_only}")
        recorded, on = b.new_label("recorded"), b.new_label("passed")
        b.branch(b.value(f"and i1 {inside}, {passes}"), on, recorded)
        with cg.side_block(recorded):
            yield
            b.jump(on)
        b.open(on)


INSTRUMENTATIONS["racecheck"] = RacecheckInstrumentation
