"""The trace instrumentation: the memory requests of every warp in program order, for the cache model.

It has two modes. The counting mode counts basic blocks and loop iterations as the counters tier does, and
samples the lanes' addresses of a few requests of each site to global and shared memory; every warp runs to
its end. In the tracing mode, every warp of a wave of blocks records the lines of global memory that it
requests. The warp ends when it has made a given number of requests or executed a given number of
instructions.

A traced line is one 64-bit word:

    bits 22-63  the address divided by 128
    bits 6-21   the index of the site in `CodegenContext.sites`
    bit 5       set for the first line of a request
    bit 4       set for a store or an atomic operation
    bits 0-3    the requested sectors of 32 bytes
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from string import Template

from gpulab.simt.analysis.basic_blocks import Block
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import INSTRUMENTATIONS
from gpulab.simt.instrument.counters.counter_code import CounterInstrumentation
from gpulab.simt.instrument.counters.counter_layout import BLOCK_BYTES, HEAD
from gpulab.simt.instrument.counters.loop_code import count_iterations

__all__ = ["LAYOUT", "TRACED_SPACES", "TraceInstrumentation"]

TRACED_SPACES = ("global", "shared", "const", "generic")
SAMPLES_PER_SITE = 48  # sampled requests of a site, for each worker
# Byte offsets and sizes that generated code, trace.ll and the recorder share. The offsets up to SAMPLES are
# those of the fields in a worker's head, which are set before a launch.
LAYOUT = {
    "PLACES": 8,  # address of the blocks' places in the wave: 4 bytes for each block of the grid
    "STATES": 16,  # address of the states of the wave's warps, or 0 in the counting mode
    "WORDS": 24,  # address of the warps' traced lines
    "CAPACITY": 32,  # words for each warp
    "REQUESTS": 40,  # largest number of requests of a warp
    "INSTRUCTIONS": 48,  # largest number of instructions of a warp
    "SAMPLES": 56,  # address of the samples of all sites
    "STATE_BYTES": 24,  # state of a warp: words used, requests, instructions
    "SITE_HEAD": 24,  # head of a site: executions, executions with an active lane, samples
    "SAMPLE_BYTES": 8 + 8 * WARP,  # lane mask, number of the warp in its block, and addresses
    "SITE_BYTES": 24 + SAMPLES_PER_SITE * (8 + 8 * WARP),
    "SAMPLES_PER_SITE": SAMPLES_PER_SITE,
    "EARLY": 8,  # requests of a site that are sampled before EVERY applies
    "EVERY": 61,  # after EARLY requests, one request in 61 is sampled
    "LINE_SHIFT": 22,
    "LINE_UNIT": 1 << 22,
}


@cache
def _runtime() -> str:
    text = resources.files("gpulab.simt.instrument.trace").joinpath("trace.ll").read_text(encoding="utf-8")
    return Template(text).safe_substitute({name: str(value) for name, value in LAYOUT.items()})


class TraceInstrumentation(CounterInstrumentation):
    """Instrumentation that samples or traces memory requests."""

    tier = "trace"
    values = False
    shared = True
    linked = False

    def __init__(self) -> None:
        super().__init__()
        self.runtime = _runtime()

    def on_entry(self, cg: CodegenContext) -> None:
        super().on_entry(cg)
        states = cg.b.value(f"load i64, ptr {self.place(cg, LAYOUT['STATES'])}")
        self.traces = cg.b.value(f"icmp ne i64 {states}, 0")

    def on_block(self, cg: CodegenContext, block: Block) -> None:
        b, on = cg.b, cg.b.new_label("on")
        continues = b.call(
            "sim_enter", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.counters),
            ("i64", str(HEAD + BLOCK_BYTES * block.number)), ("i32", cg.mask()),
            ("i64", str(len(block.code) + 1)),
        )  # fmt: skip
        self.exit_unless(cg, continues, on)
        count_iterations(cg, self.counters, self.layout, block)

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        if access.space not in TRACED_SPACES:
            return
        b, address = cg.b, access.address
        begin, on = b.new_label("access"), b.new_label("on")
        mask = cg.mask_bits(access.item.predicate)
        if access.space in ("shared", "const"):
            b.branch(self.traces, on, begin)
        else:
            b.jump(begin)
        with cg.side_block(begin):
            rows = 0 if address.kind == "varying" else len(address.refs)
            if rows:  # `sim_request` computes the lanes' addresses, which keeps this code short
                for number, ref in enumerate(address.refs):
                    place = b.value(f"getelementptr i64, ptr {cg.scratch}, i64 {WARP + number}")
                    b.line(f"store i64 {ref}, ptr {place}")
            else:
                b.line(f"store <{WARP} x i64> {cg.to_vector(address)}, ptr {cg.scratch}, align 64")
            stride = address.stride if address.kind == "affine" else 0
            continues = b.call(
                "sim_request", "i1", ("ptr", "%ctx"), ("i32", "%warp"), ("ptr", self.counters),
                ("i64", str(access.site)), ("ptr", cg.scratch), ("i32", mask), ("i32", str(rows)),
                ("i64", str(stride)), ("i64", "0" if access.action == "reads" else "1"),
            )  # fmt: skip
            self.exit_unless(cg, continues, on, opened=False)
        b.open(on)

    def exit_unless(self, cg: CodegenContext, condition: str, on: str, opened: bool = True) -> None:
        """Emit the end of the warp, as if its threads had exited, for a false condition."""
        b = cg.b
        stop = b.new_label("stop")
        b.branch(condition, on, stop, likely=True)
        b.open(stop)
        b.line("ret i32 -1")
        if opened:
            b.open(on)


INSTRUMENTATIONS["trace"] = TraceInstrumentation
