"""Explanations of the simulator's faults: exceptions with findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpulab.errors import LaunchError, MemoryFault
from gpulab.finding import Finding, index_text
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Memory
from gpulab.simt.runtime.launch import Fault

__all__ = ["explain"]


def explain(fault: Fault, memory: Memory, arguments: Mapping[str, Any], budget: int) -> LaunchError:
    """Return the exception for a fault: `MemoryFault` for a memory access, else `LaunchError`.

    arguments: the kernel's arguments by parameter name. budget: the instruction limit of a warp.
    """
    thread = f"thread {index_text(fault.thread)} of block {index_text(fault.block)}"
    tool, kind, text = "memcheck", fault.kind, ""
    if fault.kind in ("out_of_bounds", "misaligned"):
        kind = _access_kind(fault)
        text = f"{thread} {_access(fault, memory, arguments)}"
    elif fault.kind == "budget" and fault.site.action == "deadlocks":
        tool, kind = "synccheck", "deadlock"
        text = (
            f"{thread} never leaves this loop: it waits for threads of its own warp, which do not run until "
            "it leaves the loop, as on GPUs before Volta (deadlock)."
        )
    elif fault.kind == "budget":
        tool, kind = "synccheck", "never_ends"
        text = (
            f"{thread} does not terminate: its warp was stopped in this loop after {budget:,} instructions."
        )
    elif fault.kind == "divergent_barrier":
        tool, kind = "synccheck", "divergent_barrier"
        text = (
            f"{thread} does not reach this __syncthreads(), at which other threads of its warp wait. Every "
            "thread of the block must reach it, so move it out of the branch that only some threads take."
        )
    elif fault.kind == "different_barriers":
        tool, kind = "synccheck", "divergent_barrier"
        text = (
            f"{thread} does not reach this __syncthreads(): it waits at the one in line {fault.other_line}. "
            "Every thread of the block must reach every barrier, so move them out of branches that only some "
            "threads take."
        )
    elif fault.kind == "barrier_deadlock":
        tool, kind = "synccheck", "barrier_deadlock"
        text = f"{thread} waits at this barrier forever: the threads for which it waits never reach it."
    elif fault.kind in _SYNC:
        tool, kind = "synccheck", fault.kind
        if kind == "mask_without_caller":
            kind = "missing_lanes"
        text = f"{thread} {_SYNC[fault.kind].format(fault.address)}"
    elif fault.kind == "no_fallback_code":
        text = f"{thread} needs code that is too large for the simulator; make the kernel smaller."
    elif fault.kind == "assert":
        kind = "assert"
        text = f"{thread}: the assertion `{memory.read_string(fault.address)}` failed."
    else:
        kind = "trap"
        text = f"{thread} executes a trap instruction."

    finding = Finding(tool, kind, fault.site.line, fault.block, fault.thread, text)
    error = MemoryFault if fault.kind in ("out_of_bounds", "misaligned") else LaunchError
    return error(str(finding), [finding])


_SYNC = {
    "missing_lanes": (
        "is in the mask of this instruction, but does not execute it with the same mask. Include only the "
        "lanes that execute it: compute the mask with __ballot_sync() before the branch."
    ),
    "mask_without_caller": "executes this instruction with a mask that does not include its own lane.",
    "barrier_count": "waits at a barrier for {} threads; the number must be a multiple of 32, the warp size.",
    "exited_threads": (
        "has exited, but other threads of its block wait at this __syncthreads(), which every thread must "
        "reach: replace the early return by a condition around the work only."
    ),
}


def _access_kind(fault: Fault) -> str:
    if fault.kind == "misaligned":
        return "misaligned"
    return {"reads": "out_of_bounds_read", "writes": "out_of_bounds_write"}.get(
        fault.site.action, "out_of_bounds_atomic"
    )


def _access(fault: Fault, memory: Memory, arguments: Mapping[str, Any]) -> str:
    """Return the end of the sentence "thread … reads A0[-1]: 4 bytes before A0 (shape …)."."""
    action, size, address = fault.site.action, fault.site.size, fault.address
    if fault.site.space == "shared" or 0 <= address - layout.SHARED_WINDOW < layout.WINDOW_BYTES:
        offset = address if fault.site.space == "shared" else address - layout.SHARED_WINDOW
        offset = offset - (1 << 32) if 1 << 31 <= offset < 1 << 32 else offset
        offset = offset - (1 << 64) if offset >= 1 << 63 else offset
        if fault.kind == "misaligned":
            return (
                f"{action} {size} bytes of shared memory at byte {offset}, which is not a multiple of {size}."
            )
        return f"{action} shared memory at byte {offset}, outside the block's shared arrays."
    if fault.site.space == "local" or 0 <= address - layout.LOCAL_WINDOW < layout.WINDOW_BYTES:
        return f"{action} outside its local arrays (byte {address & 0xFFFFFFFF})."
    if fault.kind == "misaligned":
        place = f"{address:#x}, which is not a multiple of {size}{_inside(address, arguments)}"
        return f"{action} {size} bytes at address {place}."
    if address < 1 << 16:
        return f"{action} through a null pointer (address {address:#x})."
    if memory.was_freed(address):
        return f"{action} an array that was freed (address {address:#x})."

    near = memory.nearest(address)
    named = [
        (name, a) for name, a in arguments.items()
        if near is not None and hasattr(a, "allocation") and a.allocation.address == near.address
    ]  # fmt: skip
    if near is None or not named:
        return f"{action} address {address:#x}, which is in no array."

    name, array = named[0]
    item = array.dtype.itemsize
    index, rest = divmod(address - near.address, item)
    place = f"{name}[{index}]" + (f" (byte {rest})" if rest else "")
    if address < near.address:
        distance = f"{near.address - address} bytes before"
    else:
        past = address - (near.address + near.size)
        distance = (
            f"{past} bytes past the end of"
            if past > 0
            else "just past the end of"
            if past == 0
            else "across the end of"
        )
    shape = " x ".join(str(n) for n in array.shape) or "1"
    return f"{action} {place}: {distance} {name} (shape {shape}, {array.dtype}: {array.size} elements)."


def _inside(address: int, arguments: Mapping[str, Any]) -> str:
    for name, array in arguments.items():
        allocation = getattr(array, "allocation", None)
        if allocation is not None and 0 <= address - allocation.address < allocation.size:
            return f" ({name}, byte {address - allocation.address})"
    return ""
