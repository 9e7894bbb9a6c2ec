"""The counted tier: how often each block of code and each access ran, and what memory had to do for it.

What is counted, for each place that accesses memory (a *site*), over the requests that it made (one for
each warp with at least one active lane):

    global    32-byte sectors: the different ones among a request's active lanes
    shared    wavefronts: of 4-byte elements and smaller ones, the largest number of different 4-byte words
              in one of the 32 banks; elements of 8 and 16 bytes are served to halves and quarters of the
              warp by themselves, whose wavefronts add up (loads to twice as many lanes where they come in
              pairs that ask for the same element); so measured on an H200 with Nsight Compute
    both      the 32 addresses of the first request, and of one that took the most sectors or wavefronts

and, over the launch, the sectors of global memory that were read or written at all: what a cache that
loses nothing would move.

A request takes one sector or wavefront at least; only what it takes beyond that is counted while the
kernel runs, and nothing where the code itself says that there is none. How often a site ran follows from
how often its block of code did, but for sites under a predicate and for generic addresses.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template

from gpulab.simt.analysis.control_flow import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import add_offset, address
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import Value
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.instrument.counters import counter_layout as record_of
from gpulab.simt.instrument.counters.counter_layout import (
    BLOCK_BYTES,
    HEAD,
    RECORD_BYTES,
    Record,
    add,
    population,
)
from gpulab.simt.instrument.counters.loop_rounds import count_rounds, innermost_loops
from gpulab.simt.instrument.counters.sector_code import SectorSite
from gpulab.simt.instrument.counters.site_code import GenericSite, Site
from gpulab.simt.instrument.counters.wavefront_code import MATRICES, WavefrontSite
from gpulab.simt.ptx.syntax import Mem

__all__ = ["CounterInstrumentation"]

SITES = {"global": SectorSite, "shared": WavefrontSite, "generic": GenericSite}


@cache
def _runtime() -> str:
    names = {name: str(value) for name, value in vars(record_of).items() if isinstance(value, int)}
    for n in (1, 2):
        names[f"SWAPPED_{n}"] = ", ".join(f"i32 {lane ^ n}" for lane in range(WARP))
    text = resources.files("gpulab.simt.instrument.counters").joinpath("counters.ll").read_text()
    return Template(text).safe_substitute(names)


class CounterInstrumentation(Instrumentation):
    """Emits the counting."""

    tier = "counted"
    optimize_up_to_lines, optimize_small_up_to_lines = 10_000, 3_000

    def __init__(self) -> None:
        self.runtime = _runtime()
        self.parts: dict[tuple[int, int], int] = {}  # accesses made so far by the instruction at a place

    def on_entry(self, cg: CodegenContext) -> None:
        self.observed = cg.load_field("observed", "ptr")
        loops = innermost_loops(cg.flow.blocks)
        self.record = Record(len(cg.flow.blocks), loops, cg.warps)
        cg.metadata |= {"blocks": len(cg.flow.blocks), "loops": list(loops)}

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        threads = str(WARP) if cg.all_active else population(cg, cg.mask())
        for offset, by in ((0, "1"), (8, threads)):
            add(cg, self.place(cg, HEAD + BLOCK_BYTES * block.number + offset), by)
        count_rounds(cg, self.observed, self.record, block)

    def on_branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        b = cg.b
        both = [b.value(f"icmp ne i32 {mask}, 0") for mask in (here, there)]
        parts = b.value(f"zext i1 {b.value(f'and i1 {both[0]}, {both[1]}')} to i64")
        add(cg, self.place(cg, HEAD + BLOCK_BYTES * block.number + 16), parts)

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        item = access.item
        part = self.parts.get((cg.block_number, cg.instruction_index), 0)
        self.parts[cg.block_number, cg.instruction_index] = part + 1
        lanes = -1
        if item.op in MATRICES:
            # Each row of 16 bytes is asked for by one lane, and given to several: one access says it all.
            if part:
                return
            count = next(int(p[1:]) for p in item.parts if p in ("x1", "x2", "x4"))
            memory = item.operands[MATRICES[item.op]]
            assert isinstance(memory, Mem)
            where = address(cg, memory, access.space)
            access = replace(access, address=Value("i64", "varying", (cg.to_vector(where),)))
            lanes = (1 << 8 * count) - 1
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
        record = self.place(cg, self.record.sites_at + RECORD_BYTES * access.site)
        # The machine makes an access of 0 bytes as part of another one: only its executions are counted.
        kind = SITES.get(access.space, Site) if access.size else Site
        kind(cg, access, self.observed, record, apart, lanes).count()

    def place(self, cg: CodegenContext, offset: int) -> str:
        return cg.b.value(f"getelementptr i8, ptr {self.observed}, i64 {offset}")


INSTRUMENTATIONS["counted"] = CounterInstrumentation
