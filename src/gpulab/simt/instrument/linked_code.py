"""The instrumentation of unoptimised code: its hooks call functions that a tier's library defines."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.ir import BITS, Value, vector
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import Instrumentation
from gpulab.simt.instrument.counters.counter_code import counted_facts, counted_rows
from gpulab.simt.instrument.counters.loop_code import innermost_loops
from gpulab.simt.instrument.counters.select_code import lanes_with_first
from gpulab.simt.instrument.counters.slow_path_code import FORMS, slow_path
from gpulab.simt.instrument.linked_functions import (
    FACTS,
    FUNCTIONS,
    RUNTIME_FUNCTIONS,
    AccessKind,
    access_function,
    signature,
)
from gpulab.simt.instrument.racecheck.race_facts import (
    RaceFacts,
    is_silent,
    stores_one_value,
    suspended_lanes,
)
from gpulab.simt.instrument.racecheck.shadow_layout import ACTIONS, CALLBACKS
from gpulab.simt.ptx.syntax import Imm, Instruction

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["LinkedInstrumentation"]

I32, I64 = vector("i32"), vector("i64")


def _runtime() -> str:
    # The functions are in the same object file when the code is loaded, which makes calls short.
    declared = [f"declare dso_local {signature(name)}" for name in FUNCTIONS | RUNTIME_FUNCTIONS]
    text = resources.files("gpulab.simt.runtime").joinpath("linked.ll").read_text(encoding="utf-8")
    return "\n".join([*declared, text])


class LinkedInstrumentation(Instrumentation):
    """Hooks that call the functions of `linked_functions`.

    The metadata of the code contains those of each tier, by its name.
    """

    checks_by_call = True
    runtime = _runtime()

    def on_entry(self, cg: CodegenContext) -> None:
        self.races = RaceFacts(cg)
        self.loops = innermost_loops(cg.flow.blocks)
        self.words = cg.b.alloca("[128 x i64]", "words")  # arguments of hooks, such as elements to store
        self.rows = counted_rows(cg.flow.blocks)
        counted = counted_facts(cg.flow.blocks, self.loops, self.rows)
        cg.metadata |= {"values": {}, "racecheck": self.races.metadata, "counters": counted}

    # -- control flow ---------------------------------------------------------------------------

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        self.call(cg, "tier_block", "%ctx", str(block.number), cg.mask())
        for number, (head, entries) in enumerate(self.loops.items()):
            if block.number == head:
                self.call(cg, "tier_iteration", "%ctx", "%warp", str(number), cg.mask())
            elif block.number in entries:
                self.call(cg, "tier_loop", "%ctx", "%warp", str(number))

    def on_branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        self.call(cg, "tier_branch", "%ctx", str(block.number), here, there)

    # -- arithmetic -----------------------------------------------------------------------------

    def on_division(self, cg: CodegenContext, item: Instruction) -> None:
        form = slow_path(item)
        if form is None:
            return
        self.store_elements(cg, [cg.operand(operand, form.ty) for operand in item.operands[1:]])
        numbers = str(FORMS.index(form)), str(self.rows.index(item.row))
        self.call(cg, "tier_division", "%ctx", *numbers, cg.mask_bits(item.predicate), self.words)

    def on_selection(self, cg: CodegenContext, item: Instruction) -> None:
        if item.row in self.rows:
            number = str(self.rows.index(item.row))
            self.call(cg, "tier_selection", "%ctx", number, lanes_with_first(cg, item))

    # -- synchronization ------------------------------------------------------------------------

    def on_warp_sync(self, cg: CodegenContext, item: Instruction, site: int) -> None:
        suspended = suspended_lanes(cg, item)
        self.store_lanes(cg, cg.operand(item.operands[-1], "i32"), self.words)
        arguments = (
            "%ctx", "%warp", str(site), cg.mask(), cg.mask_bits(item.predicate), suspended,
            str(item.op == "bar").lower(), self.words,
        )  # fmt: skip
        cg.end_unless(self.call(cg, "tier_warp_sync", *arguments))

    def on_barrier(self, cg: CodegenContext, expected: str, site: int) -> None:
        if expected != "0":
            cg.end_unless(self.call(cg, "tier_barrier", "%ctx", "%warp", str(site), cg.mask(), expected))

    def on_fence(self, cg: CodegenContext, item: Instruction) -> None:
        self.call(cg, "tier_fence", "%ctx", "%warp", cg.mask_bits(item.predicate))

    def on_arrive(self, cg: CodegenContext, barrier: str) -> None:
        self.event(cg, "arrive", "0", barrier)

    def on_async_copy(self, cg: CodegenContext, item: Instruction) -> None:
        """Emit the event with the number of groups that may still be pending; -1 commits a group."""
        pending = 0
        if "commit_group" in item.parts:
            pending = -1
        elif "wait_group" in item.parts and isinstance(item.operands[0], Imm):
            pending = int(item.operands[0].value)
        self.event(cg, "copy_group", cg.mask(), str(pending), str(int("wait_group" not in item.parts)))

    def on_bulk_copy(self, cg: CodegenContext, target: str, size: str, barrier: str) -> None:
        for number, word in enumerate((target, size, barrier)):
            place = cg.b.value(f"getelementptr i64, ptr {self.words}, i64 {number}")
            cg.b.line(f"store i64 {word}, ptr {place}")
        self.event(cg, "bulk_copy")

    def on_phase_test(self, cg: CodegenContext, item: Instruction, barrier: Value) -> None:
        self.store_lanes(cg, barrier, self.words)
        self.event(cg, "phase_test", cg.mask_bits(item.predicate))

    def event(self, cg: CodegenContext, event: str, mask: str = "0", a: str = "0", b: str = "0") -> None:
        self.call(cg, "tier_event", "%ctx", str(CALLBACKS[event]), "%warp", self.words, mask, a, b)

    # -- accesses -------------------------------------------------------------------------------

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        item, address = access.item, access.address
        if access.space in ("local", "const") and item.predicate is None:
            return

        self.races.describe(cg, access)
        by_lane = address.kind == "varying" or bool(address.stride)
        strong = self.races.is_strong(access)
        swap, update = "cas" in item.parts, access.site in self.races.update_sites
        kind = AccessKind(access.action, strong, swap, update)
        name = access_function(kind, access.space, 0 if by_lane else len(address.refs))

        self.store_elements(cg, access.values)
        facts = self.facts(cg, access, kind)
        rows = (address.refs * 2)[:2] if address.kind != "varying" else ("0", "0")
        if address.kind == "varying":
            cg.store_lanes(address, cg.scratch)
            cg.in_scratch = address
        elif len(address.refs) <= 2 or len(set(address.refs)) == 1:
            facts += FACTS["IN_ROWS"]
        else:
            self.store_lanes(cg, address, cg.scratch)
        self.call(
            cg, name, "%ctx", "%warp", str(access.site), cg.mask_bits(item.predicate), str(facts), *rows,
            str(address.stride), cg.scratch, self.words,
        )  # fmt: skip

    def facts(self, cg: CodegenContext, access: MemoryAccess, kind: AccessKind) -> int:
        """Return the facts about an access, see `linked_functions`."""
        item, address, races = access.item, access.address, self.races
        if access.space in ("local", "const"):
            return FACTS["APART"]

        granule, strong = races.cell_bytes(access), kind.strong
        flags = {
            "STRONG": strong,
            "SWAP": kind.swap,
            "UPDATE": kind.update,
            "HARMLESS": strong or stores_one_value(access),
            "APART": cg.sites[access.site].apart,
            "PAIRS_LANES": access.action == "reads" and item.op != "ldmatrix",
            "GENERIC": access.space == "generic",
            "SILENT": not strong and is_silent(access, granule),
            "SETTLES": address.kind == "affine"
            and access.action == "reads"
            and granule == access.size == address.stride,
            "FENCES": races.fences(access),
            "PUBLISHES": strong and access.action != "reads",
            "ACQUIRES": strong and access.action != "writes",
            "ARRIVES": "mbarrier" in item.parts and access.action == "updates",
            "COPIES": item.op == "cp" and "bulk" not in item.parts and access.action == "writes",
        }

        word = ACTIONS.index(access.action) + granule * FACTS["GRANULE"] + access.size * FACTS["SIZE"]
        width = cg.width if address.kind == "affine" else WARP
        word += len(access.values) * FACTS["ELEMENTS"] + width * FACTS["WIDTH"]
        return word + sum(FACTS[name] for name, is_set in flags.items() if is_set)

    # -- calls ----------------------------------------------------------------------------------

    def call(self, cg: CodegenContext, name: str, *arguments: str) -> str:
        """Emit a call of a function; return its result."""
        result, parameters = FUNCTIONS[name]
        types = [parameter.split()[0] for parameter in parameters.split(", ")]
        return cg.b.call(name, result, *zip(types, arguments, strict=True))

    def store_elements(self, cg: CodegenContext, values: Iterable[Value]) -> None:
        """Store the bits of values to `words`: an array of 32 lanes for each."""
        at = 0
        for value in values:
            bits = cg.as_type(value, f"i{BITS[value.ty]}")
            self.store_lanes(cg, bits, cg.b.value(f"getelementptr i8, ptr {self.words}, i64 {at}"))
            at += 4 * BITS[value.ty]

    def store_lanes(self, cg: CodegenContext, value: Value, pointer: str) -> None:
        """Store the 32 lanes of a value to an array, which only the tier's functions read."""
        bits = BITS[value.ty]
        if value.kind == "varying" or bits not in (32, 64):
            cg.store_lanes(value, pointer)
            return
        width = WARP if value.kind == "uniform" else cg.width
        for number, ref in enumerate(value.refs):
            start = pointer
            if number:
                start = cg.b.value(f"getelementptr i8, ptr {pointer}, i64 {number * width * bits // 8}")
            self.call(cg, f"tier_spread_{bits}", start, ref, str(value.stride), str(width))
