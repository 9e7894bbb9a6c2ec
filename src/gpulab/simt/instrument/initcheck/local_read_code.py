"""The local_reads instrumentation: a hook that compares what is read from local memory with its poison."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from gpulab.simt.codegen.addressing import add_offset
from gpulab.simt.codegen.memory_access import MemoryAccess
from gpulab.simt.instrument.base import INSTRUMENTATIONS, Instrumentation
from gpulab.simt.runtime.layout import LOCAL_WINDOW

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["LocalReadInstrumentation"]

_TEXT = (
    resources.files("gpulab.simt.instrument.initcheck").joinpath("local_reads.ll").read_text(encoding="utf-8")
)


class LocalReadInstrumentation(Instrumentation):
    """Instrumentation that records reads of local memory which return its poison."""

    tier = "local_reads"
    linked = False
    runtime = Instrumentation.runtime + _TEXT

    def on_access(self, cg: CodegenContext, access: MemoryAccess) -> None:
        if access.action != "reads" or access.space not in ("local", "generic"):
            return
        if access.size > cg.local_end:
            return
        offset = access.address if access.space == "local" else add_offset(cg, access.address, -LOCAL_WINDOW)
        cg.store_lanes(offset, cg.scratch)
        mask = cg.mask_bits(access.item.predicate)
        arguments = f"i32 %warp, i32 {access.site}, i32 {mask}, i64 {access.size}, ptr {cg.scratch}"
        cg.b.line(f"call void @sim_local_read(ptr %ctx, {arguments})")


INSTRUMENTATIONS["local_reads"] = LocalReadInstrumentation
