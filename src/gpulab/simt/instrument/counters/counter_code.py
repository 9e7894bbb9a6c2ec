"""The counters instrumentation: executions of basic blocks and accesses, and their memory traffic.

For each access site, the counters sum over its requests (one for each warp with at least one active lane):

    global    32-byte sectors: the distinct sectors of the active lanes
    shared    wavefronts: for elements of up to 4 bytes, the largest number of distinct 4-byte words in one
              of the 32 banks; elements of 8 and 16 bytes are served to halves and quarters of the warp, whose
              wavefronts add up (loads: to twice as many lanes if pairs of lanes read the same element). This
              was measured with Nsight Compute on an H200.
    both      the 32 addresses of the first request, and of a request with the most sectors or wavefronts

Some instructions have a counter of their own (see `CounterLayout.rows`).
The launch as a whole has the number of distinct sectors of global memory that were read and written, which
is the traffic of a cache without capacity misses.

Every request takes at least one sector or wavefront. Generated code counts only the excess, and only if
there can be any. The executions of a site follow from those of its basic block, except for predicated
instructions and generic addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template
from typing import Any

from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import add_offset
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import Builder
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.instrument.counters import counter_layout
from gpulab.simt.instrument.counters.counter_layout import (
    BLOCK_BYTES,
    HEAD,
    RECORD_BYTES,
    CounterLayout,
    add,
    population,
)
from gpulab.simt.instrument.counters.loop_code import (
    count_iteration,
    count_iterations,
    innermost_loops,
    waiting_loops,
)
from gpulab.simt.instrument.counters.sector_code import SectorCounter
from gpulab.simt.instrument.counters.select_code import lanes_with_first, selections
from gpulab.simt.instrument.counters.site_code import GenericCounter, SiteCounter
from gpulab.simt.instrument.counters.slow_path_code import (
    count_slow_path,
    linked_function,
    slow_path,
)
from gpulab.simt.instrument.counters.wavefront_code import WavefrontCounter
from gpulab.simt.instrument.linked_functions import (
    ACCESSES,
    FACTS,
    OTHER_ACCESS,
    empty_functions,
    signature,
)
from gpulab.simt.ptx.syntax import Instruction

__all__ = ["CounterInstrumentation", "counted_facts", "counted_rows"]

SITE_COUNTERS = {"global": SectorCounter, "shared": WavefrontCounter, "generic": GenericCounter}


@cache
def _text(name: str) -> str:
    """Return a file of this package with numbers in place of names."""
    names = {name: str(value) for name, value in vars(counter_layout).items() if isinstance(value, int)}
    names |= {name: str(value) for name, value in FACTS.items()}
    for n in (1, 2):
        names[f"SWAPPED_{n}"] = ", ".join(f"i32 {lane ^ n}" for lane in range(WARP))
    text = resources.files("gpulab.simt.instrument.counters").joinpath(name).read_text(encoding="utf-8")
    return Template(text).safe_substitute(names)


class CounterInstrumentation(Instrumentation):
    """Instrumentation that counts; `counters` is the pointer to the worker's counters."""

    tier = "counters"

    def __init__(self) -> None:
        self.runtime = _text("counters.ll")

    def library(self, names: Collection[str]) -> list[str]:  # noqa: ARG002
        events = ("tier_warp_sync", "tier_barrier", "tier_fence", "tier_event")
        return [
            _text("counters.ll"), _text("counters_linked.ll"), _iteration_function(), linked_function(),
            _access_functions(), empty_functions(events),
        ]  # fmt: skip

    def on_entry(self, cg: CodegenContext) -> None:
        self.counters = cg.load_field("recorded", "ptr")
        blocks = cg.flow.blocks
        self.layout = CounterLayout(len(blocks), innermost_loops(blocks), counted_rows(blocks), cg.warps)
        cg.metadata |= counted_facts(blocks, self.layout.loops, self.layout.rows)

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        record = self.place(cg, HEAD + BLOCK_BYTES * block.number)
        add(cg.b, record, "1")
        add(cg.b, cg.b.value(f"getelementptr i8, ptr {record}, i64 8"), population(cg.b, cg.mask()))
        count_iterations(cg, self.counters, self.layout, block)

    def on_branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        b = cg.b
        first, second = (b.value(f"icmp ne i32 {mask}, 0") for mask in (here, there))
        diverges = b.value(f"zext i1 {b.value(f'and i1 {first}, {second}')} to i64")
        add(b, self.place(cg, HEAD + BLOCK_BYTES * block.number + 16), diverges)

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        item = access.item
        if access.space == "shared" and item.row in self.forms and access.action != "updates":
            size, shift = self.forms[item.row]
            access = replace(access, address=add_offset(cg, access.address, shift), size=size)

        apart = cg.sites[access.site].apart
        record = self.place(cg, self.layout.sites_at + RECORD_BYTES * access.site)
        # Machine code merges an access of 0 bytes into another one: only its executions are counted.
        kind = SITE_COUNTERS.get(access.space, SiteCounter) if access.size else SiteCounter
        kind(cg, access, self.counters, record, apart).count()

    def on_division(self, cg: CodegenContext, item: Instruction) -> None:
        form = slow_path(item)
        if form is not None:
            place = self.place_of_row(cg, item.row)
            operands = [cg.to_vector(cg.operand(operand, form.ty)) for operand in item.operands[1:]]
            count_slow_path(cg.b, form, place, cg.mask_bits(item.predicate), operands)

    def on_selection(self, cg: CodegenContext, item: Instruction) -> None:
        if item.row in self.layout.rows:
            add(cg.b, self.place_of_row(cg, item.row), population(cg.b, lanes_with_first(cg, item)))

    def place_of_row(self, cg: CodegenContext, row: int) -> str:
        """Return a pointer to the counter of a single instruction."""
        return self.place(cg, self.layout.rows_at + 8 * self.layout.rows.index(row))

    def place(self, cg: CodegenContext, offset: int) -> str:
        """Return a pointer to the counter at an offset."""
        return cg.b.value(f"getelementptr i8, ptr {self.counters}, i64 {offset}")


def _iteration_function() -> str:
    """Return the definition of `sim_count_iteration`."""
    b = Builder()

    def body(b: Builder, names: list[str]) -> str:
        count_iteration(b, *names)
        return ""

    arguments = [("ptr", ""), ("ptr", ""), ("i32", "")]  # see `count_iteration`
    b.define("sim_count_iteration", "void", arguments, body)
    return "\n".join([*sorted(b.declared), *b.functions.values()])


def _access_functions() -> str:
    """Return the definitions of the functions of accesses, which all count in the same way."""
    arguments = (
        "ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, i64 %first, i64 %second, i64 %stride, "
        "ptr %addresses"
    )
    return "\n".join(
        f"define internal {signature(name)} {{\n"
        f"  call void @sim_count_access({arguments}, i1 {str('_shared_' in name).lower()})\n  ret void\n}}"
        for name in (*ACCESSES, OTHER_ACCESS)
    )


def counted_rows(blocks: Sequence[Block]) -> list[int]:
    """Return the rows in the PTX text of the instructions that have a counter of their own."""
    divisions = {item.row for block in blocks for item in block.code if slow_path(item)}
    return sorted(divisions | {selection.row for selection in selections(blocks).values()})


def counted_facts(blocks: Sequence[Block], loops: Iterable[int], rows: Sequence[int]) -> dict[str, Any]:
    """Return what `CounterRecorder` needs to know about a kernel."""
    return {"blocks": len(blocks), "loops": list(loops), "rows": rows, "waits": waiting_loops(blocks)}


INSTRUMENTATIONS["counters"] = CounterInstrumentation
