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

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.analysis.pointer_origins import stored_parameters
from gpulab.simt.codegen.addressing import AddressCheck
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.codegen.special_registers import GRID_BARRIER
from gpulab.simt.instructions.collective import group_by_group
from gpulab.simt.instructions.matrix_fragments import accessed_fragment
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.instrument.racecheck.access_check import check_access
from gpulab.simt.instrument.racecheck.loaded_values import is_extremum, is_update, used_values
from gpulab.simt.instrument.racecheck.read_groups import ReadGroups
from gpulab.simt.instrument.racecheck.shadow_layout import CALLBACKS, STATE
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Reg, type_size
from gpulab.simt.runtime.layout import GRID_BARRIER_OFFSET

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["RacecheckInstrumentation"]

I32, I64 = vector("i32"), vector("i64")


def _runtime() -> str:
    text = resources.files("gpulab.simt.instrument.racecheck").joinpath("racecheck.ll").read_text()
    names = {name: str(at) for name, at in STATE.items()}
    names |= {name.upper(): str(CALLBACKS[name]) for name in ("turn", "expand_rows")}
    return Template(text).safe_substitute(names)


class RacecheckInstrumentation(Instrumentation):
    """Instrumentation that checks every access to global and shared memory against its shadow.

    It adds to the kernel's metadata:

    - `granules`: bytes of a cell in global and in shared memory,
    - `shared`: offsets of the shared variables,
    - `blocks`: for each basic block its targets, whether it ends in a barrier, the positions of
      `__syncwarp()` in it, and whether it is in a branch that only some lanes take; None if several calls
      share the code of a function,
    - `spins`: whether the kernel has loops that wait for other threads,
    - `updates`: pairs of access sites (read, write) that read and then write the same element,
    - `guesses`: access sites of `atomicMin` and `atomicMax`, and of reads whose value these verify,
    - `stored`: see `stored_parameters`.
    """

    tier = "racecheck"
    has_compact_code = True
    runtime = _runtime()

    def on_entry(self, cg: CodegenContext) -> None:
        sizes: dict[str, set[int]] = {"global": set(), "shared": set()}
        self.uses_flags = bool(cg.analysis.spin_loops)  # threads may wait for flags of other threads
        self.syncs_grid = False
        has_extrema = False
        for item in (i for block in cg.flow.blocks for i in block.code):
            has_extrema |= is_extremum(item)
            self.syncs_grid |= any(isinstance(o, Reg) and o.name in GRID_BARRIER for o in item.operands)
            self.uses_flags |= item.op in ("membar", "fence")
            for space, size in _accessed(item):
                sizes[space].add(size)
        self.granule = {space: min([8, *used]) for space, used in sizes.items()}

        self.used = used_values(cg.flow.blocks) if has_extrema else None
        self.reads: dict[tuple[int, Mem], tuple[int, int]] = {}  # (block, address) -> (index, site)
        self.update_sites: set[int] = set()  # plain writes of a value that depends on the element's old one
        cg.metadata |= {
            "granules": self.granule,
            "shared": cg.launch_constants.shared,
            "blocks": _synchronization(cg),
            "spins": bool(cg.analysis.spin_loops),
            "updates": [],
            "guesses": [],
            "stored": stored_parameters(cg.flow, cg.parameter_offsets()[0]),
        }
        self.state = state = cg.load_field("recorded", "ptr")
        self.groups = ReadGroups()
        self.read_only = cg.b.value(f"getelementptr i8, ptr {state}, i64 {STATE['read_only']}")
        self.addresses = cg.b.value(f"getelementptr i8, ptr {state}, i64 {STATE['addresses']}")

    # -- synchronization ------------------------------------------------------------------------

    def on_warp_sync(self, cg: CodegenContext, item: Instruction) -> None:
        if "sync" not in item.parts:
            return  # a form from before Volta, which does not synchronize
        b = cg.b
        mask = cg.operand(item.operands[-1], "i32")
        self.check_lanes(cg, item, mask)
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

    def check_lanes(self, cg: CodegenContext, item: Instruction, mask: Value) -> None:
        """Emit a fault unless every lane of a mask is active with the same mask, the lane itself included."""
        b = cg.b
        active = cg.mask_bits(item.predicate)
        suspended = "0"
        for number in sorted(cg.analysis.frontier[cg.block_number]):
            if item.op == "bar" and number in _blocks_before_warp_sync(cg):
                continue  # these lanes may reach another __syncwarp(), which is allowed
            suspended = b.value(f"or i32 {suspended}, {b.value(f'load i32, ptr {cg.suspended[number]}')}")
        named = cg.combine_masks("or", mask)
        missing = b.value(f"and i32 {named}, {suspended}")

        own = b.value(f"shl {I32} splat (i32 1), {cg.lane_vector}")
        without = b.value(f"and {I32} {cg.to_vector(mask)}, {own}")
        without = cg.pack_mask(b.value(f"icmp eq {I32} {without}, zeroinitializer"))
        without = b.value(f"and i32 {without}, {active}")
        if mask.kind != "uniform":
            missing = b.value(f"or i32 {missing}, {self.lanes_with_other_masks(cg, mask, active)}")

        site = cg.add_site("names lanes", "warp", 0)
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

    def on_barrier(self, cg: CodegenContext, expected: str) -> None:
        """Emit a fault if the thread count of a barrier is not a multiple of the warp size."""
        b = cg.b
        if expected == "0":
            return
        odd = b.value(f"icmp ne i32 {b.value(f'and i32 {expected}, {WARP - 1}')}, 0")
        wrong, on = b.new_label("wrong"), b.new_label("on")
        b.branch(odd, wrong, on, likely=False)
        with cg.side_block(wrong):
            count = b.value(f"zext i32 {expected} to i64")
            cg.fault("barrier_count", cg.add_site("waits at", "barrier", 0), cg.mask(), count)
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
        self.describe_site(cg, access)
        if not self.syncs_grid or access.space == "shared" or not self.is_strong(access):
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
        strong = self.is_strong(access)
        if strong and {"release", "acq_rel"} & set(item.parts) | {item.op} & {"mbarrier"}:
            self.on_fence(cg, item)

        granule = min(self.granule["shared" if access.space == "shared" else "global"], access.size)
        whole_read = access.action == "reads" and not strong and granule == access.size
        grouped = whole_read and access.space == "shared" and not self.compact
        if not (grouped and self.groups.check(cg, access)):
            update = access.site in self.update_sites
            with self.unless_read_only(cg, access):
                for part in range(access.size // granule):
                    check_access(cg, access, self.state, part * granule, granule, strong, update)

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
        by_lane = self.compact or access.address.kind == "varying"
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

    def describe_site(self, cg: CodegenContext, access: MemoryAccess) -> None:
        """Record the position of the access in the code, and its part in an update or a guess."""
        block, index = cg.block_number, cg.instruction_index
        cg.sites[access.site] = replace(
            cg.sites[access.site], opcode=access.item.op, block=block, index=index
        )

        if self.used is not None and (
            is_extremum(access.item)
            or (access.item.op == "ld" and self.used.isdisjoint(basic_blocks.writes(access.item)))
        ):
            cg.metadata["guesses"].append(access.site)
        address = next((o for o in access.item.operands if isinstance(o, Mem)), None)
        if address is None or access.item.op not in ("ld", "st"):
            return
        if access.action == "reads":
            self.reads[block, address] = (index, access.site)
        elif (block, address) in self.reads:
            start, read = self.reads[block, address]
            code = cg.flow.blocks[block].code[start : index + 1]
            changed = {name for item in code[1:-1] for name in basic_blocks.writes(item)}
            if changed.intersection(basic_blocks.registers_of((address,))):
                return
            if is_update(code):
                self.update_sites.add(access.site)
            if access.site in self.update_sites or cg.sites[read].line == cg.sites[access.site].line:
                cg.metadata["updates"].append([read, access.site])

    def is_strong(self, access: MemoryAccess) -> bool:
        """Return True for accesses that do not race with one another, such as atomic operations.

        `volatile` in shared memory counts only in a kernel with fences or waiting loops: without them it is
        the warp-synchronous style from before Volta, which needs `__syncwarp()` today.
        """
        parts = set(access.item.parts)
        if access.action == "updates" or parts & {"relaxed", "acquire", "release"}:
            return True
        if access.item.op == "mbarrier":
            return True
        return "volatile" in parts and (access.space != "shared" or self.uses_flags)


def _synchronization(cg: CodegenContext) -> list[list[object]] | None:
    """Return each block's targets, whether it ends in a barrier, its `__syncwarp()`s, and if lanes skip it.

    A function body that several calls share has paths from one call to the return of another, which cannot
    be executed; the result is None for kernels with such bodies.
    """
    labels = (item for item in cg.flat.body if isinstance(item, str))
    if any(label.endswith(":enter") and "@" not in label for label in labels):
        return None
    partial = _partial_blocks(cg)
    return [
        [
            list(block.targets),
            block.end == "barrier",
            [at for at, item in enumerate(block.code) if item.op == "bar" and "warp" in item.parts],
            block.number in partial,
        ]
        for block in cg.flow.blocks
    ]


def _partial_blocks(cg: CodegenContext) -> set[int]:
    """Return the blocks in which lanes of a warp may be missing, because they wait or have exited."""
    blocks, analysis = cg.flow.blocks, cg.analysis
    partial = {block.number for block in blocks if analysis.frontier[block.number]}
    pending = [n for n in analysis.divergent if analysis.exits.intersection(blocks[n].targets)]
    while pending:
        targets = set(blocks[pending.pop()].targets) - partial - analysis.exits
        partial |= targets
        pending.extend(targets)
    return partial


def _blocks_before_warp_sync(cg: CodegenContext) -> set[int]:
    """Return the blocks from which a path leads to a `__syncwarp()`."""
    blocks = cg.flow.blocks
    reached = {b.number for b in blocks if any(i.op == "bar" and "warp" in i.parts for i in b.code)}
    grows = True
    while grows:
        before = len(reached)
        reached |= {b.number for b in blocks if reached & set(b.targets)}
        grows = len(reached) > before
    return reached


def _accessed(item: Instruction) -> list[tuple[str, int]]:
    """Return the state spaces that an instruction accesses, each with the bytes of the access."""
    if item.op == "cp" and "async" in item.parts:
        return [("global", 4), ("shared", 4)]
    if item.op in ("mbarrier", "ldmatrix", "stmatrix"):
        return [("shared", 8)]
    size = 0
    if item.op == "wmma" and item.parts[1] in ("load", "store"):
        fragment, layout = accessed_fragment(item)
        size = min(access.size for access in fragment.accesses(layout))
    elif item.op not in ("ld", "ldu", "st", "atom", "red") or {"param", "local", "const"} & set(item.parts):
        return []
    if not size:
        count = next((int(p[1:]) for p in item.parts if p in ("v2", "v4", "v8")), 1)
        size = type_size(item.parts[-1]) * count
    if any(p.startswith("shared") for p in item.parts):
        return [("shared", size)]
    return [("global", size)] if "global" in item.parts else [("global", size), ("shared", size)]


INSTRUMENTATIONS["racecheck"] = RacecheckInstrumentation
