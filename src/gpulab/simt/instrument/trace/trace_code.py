"""The traced tier: the requests of every warp in their order, for a model of caches to be given.

It runs in one of two modes. Counting: blocks of code and rounds of loops are counted as in the counted tier,
and the lanes' addresses of a few requests of each site, to global and to shared memory, are kept as they
are; every warp runs to its end. Tracing: every warp of a wave of blocks writes down the lines of global
memory that it asks for, until it has made some number of requests or executed some number of instructions,
and then ends, whatever its kernel would go on to do.

A traced line is one word:

    bits 22…   the address by 128
    bits 6-21  the site, by its number among `CodegenContext.accesses`
    bit 5      the first line of a request
    bit 4      a store or an atomic
    bits 0-3   the sectors of 32 bytes that are asked for
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template

from gpulab.simt.analysis.control_flow import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import INSTRUMENTATIONS
from gpulab.simt.instrument.counters.counter_code import CounterInstrumentation
from gpulab.simt.instrument.counters.counter_layout import BLOCK_BYTES, HEAD
from gpulab.simt.instrument.counters.loop_rounds import count_rounds

__all__ = ["LAYOUT", "TraceInstrumentation"]

KEPT = 48  # requests of a site whose addresses are kept, on each of the host's cores
# Of a worker's head: words set before a launch. Of a warp of the wave: words used, requests, instructions.
LAYOUT = {
    "FIRST_BLOCK": 8,  # the number of the wave's first block
    "STATES": 16,  # address of the warps' states, block after block; 0 where nothing is traced
    "WORDS": 24,  # address of the warps' words
    "CAPACITY": 32,  # words of a warp
    "REQUESTS": 40,  # of a warp at most
    "INSTRUCTIONS": 48,  # of a warp at most
    "PICTURES": 56,  # address of the sites' pictures
    "STATE_BYTES": 24,
    "SITE_HEAD": 24,  # times that the site was come to, requests, pictures kept
    "PICTURE_BYTES": 8 + 8 * WARP,  # mask, addresses
    "SITE_BYTES": 24 + KEPT * (8 + 8 * WARP),
    "KEPT": KEPT,
    "EARLY": 8,
    "EVERY": 61,
    "LINE_SHIFT": 22,
    "LINE_UNIT": 1 << 22,
}


@cache
def _runtime() -> str:
    text = resources.files("gpulab.simt.instrument.trace").joinpath("trace.ll").read_text()
    return Template(text).safe_substitute({name: str(value) for name, value in LAYOUT.items()})


class TraceInstrumentation(CounterInstrumentation):
    """Emits the tracing."""

    tier = "traced"
    values = False
    shared = True
    optimize_up_to_lines = optimize_small_up_to_lines = 0

    def __init__(self) -> None:
        super().__init__()
        self.runtime = _runtime()

    def on_entry(self, cg: CodegenContext) -> None:
        super().on_entry(cg)
        states = cg.b.value(f"load i64, ptr {self.place(cg, LAYOUT['STATES'])}")
        self.traces = cg.b.value(f"icmp ne i64 {states}, 0")

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        b, on = cg.b, cg.b.new_label("on")
        fine = b.call(
            "sim_enter", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.observed),
            ("i64", str(HEAD + BLOCK_BYTES * block.number)), ("i32", cg.mask()),
            ("i64", str(len(block.code) + 1)),
        )  # fmt: skip
        self.end_unless(cg, fine, on)
        count_rounds(cg, self.observed, self.record, block)

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        part = self.parts.get((cg.block_number, cg.instruction_index), 0)
        self.parts[cg.block_number, cg.instruction_index] = part + 1
        if access.space not in ("global", "shared", "generic"):
            return
        cg.sites[access.site] = replace(
            cg.sites[access.site], opcode=access.item.text, block=cg.block_number,
            index=cg.instruction_index, part=part, apart=access.item.predicate is not None, width=access.size,
        )  # fmt: skip
        b, where = cg.b, access.address
        begin, on = b.new_label("access"), b.new_label("on")
        mask = cg.mask_bits(access.item.predicate)
        if access.space == "shared":
            b.branch(self.traces, on, begin)
        else:
            b.jump(begin)
        with cg.side_block(begin):
            rows = 0 if where.kind == "varying" else len(where.refs)
            if rows:  # the lanes' addresses are worked out over there: less code here
                for number, ref in enumerate(where.refs):
                    place = b.value(f"getelementptr i64, ptr {cg.scratch}, i64 {WARP + number}")
                    b.line(f"store i64 {ref}, ptr {place}")
            else:
                b.line(f"store <{WARP} x i64> {cg.to_vector(where)}, ptr {cg.scratch}, align 64")
            stride = where.stride if where.kind == "affine" else 0
            fine = b.call(
                "sim_request", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.observed),
                ("i64", str(access.site)), ("ptr", cg.scratch), ("i32", mask), ("i32", str(rows)),
                ("i64", str(stride)), ("i64", "0" if access.action == "reads" else "1"),
            )  # fmt: skip
            self.end_unless(cg, fine, on, opened=False)
        b.open(on)

    def end_unless(self, cg: CodegenContext, fine: str, on: str, opened: bool = True) -> None:
        """The warp ends here, as one does that leaves its kernel, where `fine` is false."""
        b = cg.b
        enough = b.new_label("enough")
        b.branch(fine, on, enough, likely=True)
        b.open(enough)
        b.line("ret i32 -1")
        if opened:
            b.open(on)


INSTRUMENTATIONS["traced"] = TraceInstrumentation
