"""A fault of the simulator as an error in the student's words, with its finding."""

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
    """The error to raise for a fault: `MemoryFault` for accesses, `LaunchError` for the rest."""
    who = f"thread {index_text(fault.thread)} of block {index_text(fault.block)}"
    tool, kind, text = "memcheck", fault.kind, ""
    if fault.kind in ("out_of_bounds", "misaligned"):
        kind = _access_kind(fault)
        text = f"{who} {_access(fault, memory, arguments)}"
    elif fault.kind == "budget" and fault.access.action == "deadlocks":
        tool, kind = "synccheck", "deadlock"
        text = (
            f"{who} waits in this loop for ever: what it waits for is to be done by threads of its own warp, "
            "which (as before Volta) do not run until it leaves the loop."
        )
    elif fault.kind == "budget":
        tool, kind = "synccheck", "never_ends"
        text = (
            f"{who} does not come to an end: its warp was stopped in this loop after {budget:,} instructions."
        )
    elif fault.kind == "divergent_barrier":
        tool, kind = "synccheck", "divergent_barrier"
        text = (
            f"{who} does not reach this __syncthreads() while other threads of its warp wait there; "
            "every thread of the block must come to it, so it cannot stand in a branch that only some take."
        )
    elif fault.kind == "different_barriers":
        tool, kind = "synccheck", "divergent_barrier"
        text = (
            f"{who} does not come to this __syncthreads(): it waits at the one in line {fault.other_line}; "
            "every thread of the block must come to every barrier, so none can stand in a branch that only "
            "some take."
        )
    elif fault.kind == "barrier_deadlock":
        tool, kind = "synccheck", "barrier_deadlock"
        text = f"{who} waits at this barrier for ever: the threads it waits for do not come to it."
    elif fault.kind in _SYNC:
        tool, kind = "synccheck", fault.kind
        if kind == "mask_without_caller":
            kind = "missing_lanes"
        text = f"{who} {_SYNC[fault.kind].format(fault.address)}"
    elif fault.kind == "no_fallback_code":
        text = f"{who} needs code of this kernel that is too long for the simulator: use a smaller kernel."
    elif fault.kind == "assert":
        kind = "assert"
        text = f"{who}: the assertion `{memory.read_string(fault.address)}` does not hold."
    else:
        kind = "trap"
        text = f"{who} executes a trap instruction."
    finding = Finding(tool, kind, fault.access.line, fault.block, fault.thread, text)
    error = MemoryFault if fault.kind in ("out_of_bounds", "misaligned") else LaunchError
    return error(str(finding), [finding])


_SYNC = {
    "missing_lanes": (
        "is named by the mask of this instruction, but does not come to it with the same mask; name only "
        "the lanes that come, as a __ballot_sync() of the condition before the branch tells."
    ),
    "mask_without_caller": "executes this instruction with a mask that does not name the lane itself.",
    "barrier_count": "waits at a barrier for {} threads; it must be a multiple of 32, the size of a warp.",
    "exited_threads": (
        "has left the kernel, and others of its block wait at this __syncthreads(), which every thread has "
        "to come to: let it skip the work, not the barrier."
    ),
}


def _access_kind(fault: Fault) -> str:
    if fault.kind == "misaligned":
        return "misaligned"
    return {"reads": "out_of_bounds_read", "writes": "out_of_bounds_write"}.get(
        fault.access.action, "out_of_bounds_atomic"
    )


def _access(fault: Fault, memory: Memory, arguments: Mapping[str, Any]) -> str:
    """`reads A0[-1]: 4 bytes before A0 (65x47x9 floats)`."""
    action, size, address = fault.access.action, fault.access.size, fault.address
    if fault.access.space == "shared" or 0 <= address - layout.SHARED_WINDOW < layout.WINDOW_BYTES:
        offset = address if fault.access.space == "shared" else address - layout.SHARED_WINDOW
        offset = offset - (1 << 32) if 1 << 31 <= offset < 1 << 32 else offset
        offset = offset - (1 << 64) if offset >= 1 << 63 else offset
        if fault.kind == "misaligned":
            return (
                f"{action} {size} bytes of shared memory at byte {offset}, which is not a multiple of {size}."
            )
        return f"{action} shared memory at byte {offset}, outside the block's shared arrays."
    if fault.access.space == "local" or 0 <= address - layout.LOCAL_WINDOW < layout.WINDOW_BYTES:
        return f"{action} outside a local array of its own (byte {address & 0xFFFFFFFF})."
    if fault.kind == "misaligned":
        where = f"{address:#x}, which is not a multiple of {size}{_inside(address, arguments)}"
        return f"{action} {size} bytes at address {where}."
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
        return f"{action} address {address:#x}, which belongs to no array."
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
            else "right past the end of"
            if past == 0
            else "across the end of"
        )
    shape = " x ".join(str(n) for n in array.shape) or "1"
    return f"{action} {place}: {distance} {name} (shape {shape}, {array.dtype}: {array.size} elements)."


def _inside(address: int, arguments: Mapping[str, Any]) -> str:
    for name, array in arguments.items():
        found = getattr(array, "allocation", None)
        if found is not None and 0 <= address - found.address < found.size:
            return f" ({name}, byte {address - found.address})"
    return ""
