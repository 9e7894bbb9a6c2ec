"""Running the warps of a block one after the other, in one call of the warp function.

After a complete barrier (see `suspension`), the next warp runs if it resumes at the point where this one did.
When all warps have arrived at the same complete barrier, the first one continues after it. The call returns
when a warp ends, is suspended elsewhere or arrives at another barrier. The warps that ran before it have then
arrived at one complete barrier, which their states name. The field `running` of the context is the number of
the warp that runs.
"""

from __future__ import annotations

from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.ir import Builder
from gpulab.simt.codegen.suspension import BLOCKED, RESUME, STATE_BYTES, warp_state
from gpulab.simt.runtime.layout import field

__all__ = ["PARAMETERS", "run_next_warp"]

PARAMETERS = "i32 %first, i32 %point"  # the first warp to run, and the point at which it resumes


def run_next_warp(cg: CodegenContext) -> None:
    """Emit the loop over the warps: its start at the entry of the function, and its end after a barrier."""
    b = cg.b
    cg.invalidate_cache()
    b.open("arrived")
    barrier = b.phi("i32", *((number, label) for number, _, _, label in cg.arrivals))
    warp = _merged(b, "i32", [(warp, label) for _, warp, _, label in cg.arrivals])
    cg.warp_state = _merged(b, "ptr", [(state, label) for _, _, state, label in cg.arrivals])
    # All warps so far have arrived at `%place`, or this is the first one, and it is 0.
    b.branch(b.value(f"icmp eq i32 {barrier}, %place"), "agrees", "differs", likely=True)
    b.open("differs")
    b.branch(b.value("icmp eq i32 %place, 0"), "agrees", "returns")
    b.open("agrees")
    b.line(f"store i32 {barrier}, ptr {warp_state(cg, RESUME)}")
    number = b.value(f"add i32 {warp}, 1")
    b.branch(b.value(f"icmp ult i32 {number}, {cg.constant('i32', 'warp_count')}"), "some", "all")

    b.open("some")
    resume = b.value(f"load i32, ptr {warp_state(cg, STATE_BYTES + RESUME)}")
    blocked = b.value(f"load i32, ptr {warp_state(cg, STATE_BYTES + BLOCKED)}")
    same, free = b.value(f"icmp eq i32 {resume}, %resume"), b.value(f"icmp eq i32 {blocked}, 0")
    b.branch(b.value(f"and i1 {same}, {free}"), "next", "returns", likely=True)
    b.open("next")
    cg.store_field("running", b.value(f"zext i32 {number} to i64"))
    b.jump("start")

    b.open("all")
    stop = b.value(f"load atomic i64, ptr {cg.load_field('stop', 'ptr')} monotonic, align 8")
    replaced = b.value(f"icmp ne ptr {cg.load_field('warp', 'ptr')}, @warp")
    ends = b.value(f"or i1 {b.value(f'icmp ne i64 {stop}, 0')}, {replaced}")
    ends = b.value(f"or i1 {ends}, {b.value('icmp ne i32 %first, 0')}")
    b.branch(ends, "returns", "completed", likely=False)
    b.open("completed")
    b.call("sim_on_barrier", "void", ("ptr", "%ctx"), ("i32", number), ("i32", "-2"))
    cg.store_field("running", "0")
    b.jump("start")
    b.open("returns")
    b.line(f"ret i32 {barrier}")

    # `running` is read from memory, because LLVM would keep each multiple of a loop counter in a register.
    b.entry += [
        "  br label %start",
        "start:",
        f"  %resume = phi i32 [ %point, %entry ], [ %resume, %next ], [ {barrier}, %completed ]",
        f"  %place = phi i32 [ 0, %entry ], [ {barrier}, %next ], [ 0, %completed ]",
        f"  %running = getelementptr i8, ptr %ctx, i64 {field('running')}",
        "  %warp = load i32, ptr %running",
    ]


def _merged(b: Builder, ty: str, incoming: list[tuple[str, str]]) -> str:
    """Return a phi of (value, label) pairs, or their value if it is the same."""
    values = {value for value, _ in incoming}
    return values.pop() if len(values) == 1 else b.phi(ty, *incoming)
