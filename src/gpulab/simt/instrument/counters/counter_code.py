"""The counters instrumentation: executions of basic blocks and accesses, and their memory traffic.

For each access site, the counters sum over its requests (one for each warp with at least one active lane):

    global    32-byte sectors: the distinct sectors of the active lanes
    shared    wavefronts: for elements of up to 4 bytes, the largest number of distinct 4-byte words in one
              of the 32 banks; elements of 8 and 16 bytes are served to halves and quarters of the warp, whose
              wavefronts add up (loads: to twice as many lanes if pairs of lanes read the same element). This
              was measured with Nsight Compute on an H200.
    both      the 32 addresses of the first request, and of a request with the most sectors or wavefronts

The launch as a whole has the number of distinct sectors of global memory that were read and written, which
is the traffic of a cache without capacity misses.

Every request takes at least one sector or wavefront. Generated code counts only the excess, and only if
there can be any. The executions of a site follow from those of its basic block, except for predicated
instructions and generic addresses.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template

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
    shared_code,
)
from gpulab.simt.instrument.counters.loop_code import count_iterations, innermost_loops
from gpulab.simt.instrument.counters.sector_code import SectorCounter
from gpulab.simt.instrument.counters.site_code import GenericCounter, SiteCounter
from gpulab.simt.instrument.counters.wavefront_code import WavefrontCounter

__all__ = ["CounterInstrumentation"]

SITE_COUNTERS = {"global": SectorCounter, "shared": WavefrontCounter, "generic": GenericCounter}


@cache
def _runtime() -> str:
    names = {name: str(value) for name, value in vars(counter_layout).items() if isinstance(value, int)}
    for n in (1, 2):
        names[f"SWAPPED_{n}"] = ", ".join(f"i32 {lane ^ n}" for lane in range(WARP))
    text = resources.files("gpulab.simt.instrument.counters").joinpath("counters.ll").read_text()
    return Template(text).safe_substitute(names)


class CounterInstrumentation(Instrumentation):
    """Instrumentation that counts; `counters` is the pointer to the worker's counters."""

    tier = "counters"
    has_compact_code = True

    def __init__(self) -> None:
        self.runtime = _runtime()
        self.parts: dict[tuple[int, int], int] = {}  # accesses so far of the instruction at (block, index)

    def on_entry(self, cg: CodegenContext) -> None:
        self.counters = cg.load_field("recorded", "ptr")
        loops = innermost_loops(cg.flow.blocks)
        self.layout = CounterLayout(len(cg.flow.blocks), loops, cg.warps)
        cg.metadata |= {"blocks": len(cg.flow.blocks), "loops": list(loops)}

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        record = self.place(cg, HEAD + BLOCK_BYTES * block.number)
        shared_code(cg, "sim_count_block", [("ptr", record), ("i32", cg.mask())], _count_block)
        count_iterations(cg, self.counters, self.layout, block)

    def on_branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        b = cg.b
        first, second = (b.value(f"icmp ne i32 {mask}, 0") for mask in (here, there))
        diverges = b.value(f"zext i1 {b.value(f'and i1 {first}, {second}')} to i64")
        add(b, self.place(cg, HEAD + BLOCK_BYTES * block.number + 16), diverges)

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        item = access.item
        part = self.parts.get((cg.block_number, cg.instruction_index), 0)
        self.parts[cg.block_number, cg.instruction_index] = part + 1

        if access.space == "shared" and item.row in self.forms and access.action != "updates":
            size, shift = self.forms[item.row]
            access = replace(access, address=add_offset(cg, access.address, shift), size=size)

        apart = item.predicate is not None or access.space == "generic"
        cg.sites[access.site] = replace(
            cg.sites[access.site],
            opcode=item.text,
            block=cg.block_number,
            index=cg.instruction_index,
            part=part,
            apart=apart,
            width=access.size,
        )
        record = self.place(cg, self.layout.sites_at + RECORD_BYTES * access.site)
        # Machine code merges an access of 0 bytes into another one: only its executions are counted.
        kind = SITE_COUNTERS.get(access.space, SiteCounter) if access.size else SiteCounter
        kind(cg, access, self.counters, record, apart).count()

    def place(self, cg: CodegenContext, offset: int) -> str:
        """Return a pointer to the counter at an offset."""
        return cg.b.value(f"getelementptr i8, ptr {self.counters}, i64 {offset}")


def _count_block(b: Builder, names: list[str]) -> str:
    """Emit the count of one execution of a basic block; `names` are its record and the active lanes."""
    record, mask = names
    add(b, record, "1")
    add(b, b.value(f"getelementptr i8, ptr {record}, i64 8"), population(b, mask))
    return ""


INSTRUMENTATIONS["counters"] = CounterInstrumentation
