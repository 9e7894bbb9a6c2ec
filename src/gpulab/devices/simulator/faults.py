"""Explanations of the simulator's faults: exceptions with findings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.compiler.constant_stores import constant_stores_of
from gpulab.compiler.statements import innermost_loop, return_lines
from gpulab.devices.simulator.shared_arrays import array_at, shared_arrays
from gpulab.devices.simulator.texture_faults import TEXTURE_FAULTS, texture_fault
from gpulab.errors import LaunchError, MemoryFault
from gpulab.finding import Finding, index_text
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.launch import Fault, MixedBarriers

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["explain", "explain_barriers"]

CHECK_INDEX = "Check the index in this line, and the extents of the array in its declaration."
DYNAMIC_BYTES = "Check the index in this line, and the bytes of dynamic shared memory in the launch."
ALIGN = "An access of several elements, such as a float4, needs an address that is a multiple of its size."

_ACCESSES = ("out_of_bounds", "misaligned")
_SYNC = {
    "divergent_barrier": (
        "does not reach this __syncthreads(), at which other threads of its warp wait. Every thread of the "
        "block must reach it, so move it out of the branch that only some threads take."
    ),
    "barrier_deadlock": "waits at this barrier forever: the threads for which it waits never reach it.",
    "missing_lanes": (
        "is in the mask of this instruction, but does not execute it with the same mask. Include only the "
        "lanes that execute it: compute the mask with __ballot_sync() before the branch."
    ),
    "mask_without_caller": (
        "executes this instruction with a mask that does not include its own lane. Each lane that executes "
        "it must have its bit in the mask: 0xffffffff for a whole warp."
    ),
    "partial_warp": (
        "executes this matrix instruction without all other threads of its warp. All 32 threads of a warp "
        "must execute it: move it out of the branch that only some of them take, and launch blocks of a "
        "multiple of 32 threads."
    ),
    "barrier_count": "waits at a barrier for {} threads; the number must be a multiple of 32, the warp size.",
}


def explain(
    fault: Fault,
    kernel: RecordableKernel,
    arguments: Mapping[str, Any],
    budgets: tuple[int, int],
    mixed: MixedBarriers | None = None,
) -> LaunchError:
    """Return the exception for a fault: `MemoryFault` for a memory access, else `LaunchError`.

    arguments: the kernel's arguments by parameter name, and the variables of its module by theirs. budgets:
    the instruction limits of a warp and of the launch. mixed: warps that waited for each other at two
    barriers before the fault, so that some of them later wait alone.
    """
    if mixed is not None and fault.kind in ("exited_threads", "barrier_deadlock"):
        cause = explain_barriers(mixed, ends=True)
        return LaunchError(str(cause), [cause])
    tool, kind, line, text = _explanation(fault, kernel, arguments, budgets)
    space = _space(fault) if fault.kind in _ACCESSES else ""
    index = _index(fault, kernel, arguments)
    finding = Finding(tool, kind, line, fault.block, fault.thread, text, space=space, index=index)
    return (MemoryFault if finding.in_memory else LaunchError)(str(finding), [finding])


def _explanation(
    fault: Fault, kernel: RecordableKernel, arguments: Mapping[str, Any], budgets: tuple[int, int]
) -> tuple[str, str, int, str]:
    """Return tool, kind, line and text of the finding for a fault."""
    memory, source, line = kernel.device.memory, kernel.program.source, fault.site.line
    thread = f"thread {index_text(fault.thread)} of block {index_text(fault.block)}"
    if fault.kind in ("budget", "launch_never_ends"):
        return "synccheck", *_endless(fault, kernel, thread, budgets)
    if fault.kind == "launch_budget":
        return "synccheck", *_too_long(kernel, line, thread, budgets[1])
    if fault.kind == "exited_threads":
        return "synccheck", fault.kind, line, _exited(thread, line, return_lines(source, line))
    if fault.kind in _SYNC:
        kind = "missing_lanes" if fault.kind == "mask_without_caller" else fault.kind
        return "synccheck", kind, line, f"{thread} {_SYNC[fault.kind].format(fault.address)}"

    kind = fault.kind
    if kind in _ACCESSES:
        kind, text = _access_kind(fault), f"{thread} {_access(fault, kernel, arguments)}"
    elif kind == "invalid_free":
        twice = memory.was_freed(fault.address)
        what = "memory that was freed before" if twice else "an address that malloc() or new did not return"
        text = f"{thread} frees {what} (address {fault.address:#x})."
    elif kind in TEXTURE_FAULTS:
        text = f"{thread} {texture_fault(fault, kernel.device.textures)}"
    elif kind == "no_fallback_code":
        text = f"{thread} needs code that is too large for the simulator; make the kernel smaller."
    elif kind == "assert":
        text = f"{thread}: the assertion `{memory.read_string(fault.address)}` failed."
    else:
        kind, (line, cause) = "trap", _cause_of_trap(source, line)
        text = f"{thread} executes a trap instruction{cause}."
    return "memcheck", kind, line, text


def _cause_of_trap(source: str, line: int) -> tuple[int, str]:
    """Return the line and the cause of a trap instruction; "" as the cause if the source contains it.

    line: the line that the PTX gives, which is 0 or that of an earlier statement if the compiler has replaced
    a statement.
    """
    if "trap" in source:
        return line, ""
    stores = constant_stores_of(source)
    if stores:
        store = next((each for each in stores if each.line >= line), stores[0])
        return store.line, (
            f", by which the compiler has replaced a store to `{store.name}`: it is in constant memory, "
            "which only the host can write"
        )
    return line, (
        ", by which the compiler replaces statements whose behaviour is undefined, such as an assignment to "
        "an element of a `__constant__` array (only the host can write it) or through a null pointer"
    )


def _too_long(kernel: RecordableKernel, line: int, thread: str, budget: int) -> tuple[str, int, str]:
    """Return kind, line and text for a launch whose warps end, but execute too many instructions."""
    loop = innermost_loop(kernel.program.source, line)
    device = kernel.device
    advice = "Does each thread do the work of all others? Check the start and the step of the loop."
    if budget == device.launch_budget:
        advice += " If the launch needs as much, set `dev.launch_budget` to a larger number."
    text = (
        f"the launch was stopped after {budget:,} instructions of its warps, when {thread} was in "
        f"{'this loop' if loop else 'this line'}. {advice}"
    )
    return "too_long", loop.first_line if loop else line, text


def _endless(
    fault: Fault, kernel: RecordableKernel, thread: str, budgets: tuple[int, int]
) -> tuple[str, int, str]:
    """Return kind, line and text for a warp that was stopped at an instruction limit."""
    line = fault.site.line
    if fault.site.action == "deadlocks":
        text = (
            f"{thread} never leaves this loop: it waits for threads of its own warp, which do not run until "
            "it leaves the loop, as on GPUs before Volta (deadlock)."
        )
        return "deadlock", line, text
    if _waits_for_grid(kernel, line):
        text = (
            f"{thread} waits for the other blocks of the grid forever: every block must reach this barrier. "
            "Move it out of the branch that only some threads take."
        )
        return "barrier_deadlock", line, text
    loop = innermost_loop(kernel.program.source, line)
    budget, launch_budget = budgets
    stopped = f"its warp was stopped after {budget:,}"
    if fault.kind == "launch_never_ends":
        stopped = f"the launch was stopped after {launch_budget:,}"
    text = (
        f"{thread} does not leave {'this loop' if loop else 'this line'}: {stopped} instructions. Does the "
        "loop change what its condition depends on?"
    )
    return "never_ends", loop.first_line if loop else line, text


def _waits_for_grid(kernel: RecordableKernel, line: int) -> bool:
    """Return True if a kernel that is launched cooperatively waits for the whole grid in a line."""
    lines = kernel.program.source.splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return kernel.cooperative and re.search(r"\b(sync|barrier_wait)\s*\(", text) is not None


def explain_barriers(mixed: MixedBarriers, *, ends: bool = False) -> Finding:
    """Return the finding for warps that wait for each other at two barriers of the code.

    ends: the launch then ended because some threads waited alone; otherwise the finding is a warning.
    """
    result = "and some warps then wait at a barrier alone" if ends else "and the kernel goes on"
    text = (
        f"whole warps wait for each other at this __syncthreads() and at the one in line {mixed.other.line}, "
        f"where thread {index_text(mixed.thread)} of block {index_text(mixed.block)} waits. GPUs only "
        f"count arrivals, {result}. All threads of a block must reach the same barrier: move it out of the "
        "branch."
    )
    severity = "error" if ends else "warning"
    return Finding(
        "synccheck", "divergent_barrier", mixed.site.line, mixed.block, mixed.thread, text, severity=severity
    )


def _exited(thread: str, line: int, returns: Sequence[int]) -> str:
    """Return the message for threads that have left when all others wait at a barrier."""
    if not returns:
        return (
            f"threads left before __syncthreads() in line {line}: {thread} has finished without reaching it, "
            "and the other threads of its block wait there. Every thread of the block must reach every "
            "barrier: move it out of the branch or loop that only some threads execute."
        )
    lines = " or ".join(map(str, returns))
    return (
        f"threads left before __syncthreads() in line {line}: {thread} has returned (line {lines}), and the "
        "other threads of its block wait at the barrier, which every thread must reach. Replace the early "
        "return by a condition around the work only, so that these threads still load and still wait."
    )


def _space(fault: Fault) -> str:
    """Return the state space of an invalid access."""
    if fault.site.space != "generic":
        return fault.site.space
    for space, window in (("shared", layout.SHARED_WINDOW), ("local", layout.LOCAL_WINDOW)):
        if 0 <= fault.address - window < layout.WINDOW_BYTES:
            return space
    return "global"


def _access_kind(fault: Fault) -> str:
    if fault.kind == "misaligned":
        return "misaligned"
    return {"reads": "out_of_bounds_read", "writes": "out_of_bounds_write"}.get(
        fault.site.action, "out_of_bounds_atomic"
    )


def _access(fault: Fault, kernel: RecordableKernel, arguments: Mapping[str, Any]) -> str:
    """Return the end of the sentence "thread … reads A0[-1]: 1 element before A0 (shape …)."""
    action, size, address = fault.site.action, fault.site.size, fault.address
    memory, space = kernel.device.memory, _space(fault)
    if space == "shared":
        return f"{action} {_shared_place(fault, kernel)}"
    if space == "local" and fault.kind == "misaligned":
        place = f"byte {address & 0xFFFFFFFF} of its local arrays"
        return f"{action} {size} bytes at {place}, which is not a multiple of {size}. {ALIGN}"
    if space == "local":
        return f"{action} outside its local arrays (byte {address & 0xFFFFFFFF}). {CHECK_INDEX}"
    if fault.kind == "misaligned":
        place = _place(address, arguments)
        return f"{action} {size} bytes at {place}, which is not a multiple of {size}. {ALIGN}"
    if address < 1 << 16:
        return f"{action} through a null pointer (address {address:#x})."
    if memory.was_freed(address):
        return f"{action} an array that was freed (address {address:#x})."

    block = memory.nearest(address)
    if block is not None and block.address in kernel.device.heap.blocks:
        side = "before" if address < block.address else "past the end of"
        distance = f"{block.address - address} bytes " * (address < block.address)
        return (
            f"{action} memory {distance}{side} the {block.size:,} bytes that malloc() or new returned. Check "
            "the index, and the size that was requested."
        )

    nearest = _nearest_argument(address, kernel, arguments)
    if nearest is None:
        return f"{action} address {address:#x}, which is in no array."
    return f"{action} {_beside_array(address, size, *nearest)}"


def _beside_array(address: int, size: int, name: str, array: Any) -> str:
    """Return the place of an access outside an array: `A0[-1]: 1 element before A0 (shape …)`."""
    whole, near = array.whole, array.whole.allocation
    index, rest = divmod(address - array.allocation.address, array.dtype.itemsize)
    more = size // array.dtype.itemsize - 1  # elements of a vector, such as a float4, after the first one
    place = f"{name}[{index}]" + (f" (byte {rest})" if rest else "")
    if more > 0 and not rest:
        place += f" to {name}[{index + more}]"
    past = address - (near.address + near.size)
    if address < near.address:
        distance = f"{_distance(near.address - address, array.dtype.itemsize)} before"
    elif past > 0:
        distance = f"{_distance(past, array.dtype.itemsize)} past the end of"
    else:
        distance = "just past the end of" if past == 0 else "across the end of"

    described, advice = name, "Correct the index, or guard the access with an `if`."
    if whole is array:
        valid = f"Valid indices are 0 to {array.size - 1}" if array.size > 1 else "The only valid index is 0"
        advice = f"{valid}: correct the index, or guard the access with an `if`."
    else:
        described = f"the array that {name} is a part of"
    if 1 << 31 <= index < 1 << 32:
        signed = index - (1 << 32)
        advice = f"As a signed integer, this index is {signed}: an unsigned one was below 0. {advice}"
    shape = " x ".join(str(n) for n in whole.shape) or "1"
    elements = f"{whole.size:,} element{'s' * (whole.size != 1)}"
    return f"{place}: {distance} {described} (shape {shape}, {array.dtype}: {elements}). {advice}"


def _nearest_argument(
    address: int, kernel: RecordableKernel, arguments: Mapping[str, Any]
) -> tuple[str, Any] | None:
    """Return the argument whose array is nearest to an address, with its name; None if it is no argument."""
    near = kernel.device.memory.nearest(address)
    for name, array in arguments.items():
        allocation = array.whole.allocation if hasattr(array, "allocation") else None
        if near is not None and allocation is not None and allocation.address == near.address:
            return name, array
    return None


def _index(fault: Fault, kernel: RecordableKernel, arguments: Mapping[str, Any]) -> int | None:
    """Return the element of an argument that an access outside all arrays addresses; None if unknown."""
    if fault.kind != "out_of_bounds" or _space(fault) != "global":
        return None
    nearest = _nearest_argument(fault.address, kernel, arguments)
    if nearest is None:
        return None
    return int((fault.address - nearest[1].allocation.address) // nearest[1].dtype.itemsize)


def _shared_place(fault: Fault, kernel: RecordableKernel) -> str:
    """Return the place in shared memory of an invalid access."""
    offset = fault.address if fault.site.space == "shared" else fault.address - layout.SHARED_WINDOW
    offset = offset - (1 << 32) if 1 << 31 <= offset < 1 << 32 else offset
    offset = offset - (1 << 64) if offset >= 1 << 63 else offset
    size = fault.site.size
    arrays = shared_arrays(kernel)
    if fault.kind == "misaligned":
        array = array_at(arrays, offset)
        element = f"{array.element(offset - array.start, size)}, " if array.extents else ""
        place = f"{element}byte {offset} of shared memory"
        return f"{size} bytes at {place}, which is not a multiple of {size}. {ALIGN}"
    static = all(array.size for array in arrays)
    end = max((array.start + array.size for array in arrays), default=0)
    names = ", ".join(array.declaration for array in arrays) or "the kernel declares none"
    total = f": {end:,} bytes" if arrays and static else ""
    side = "before" if offset < 0 else "past the end of"
    advice = CHECK_INDEX if static else DYNAMIC_BYTES
    return f"shared memory at byte {offset}, {side} the block's shared arrays ({names}{total}). {advice}"


def _distance(number: int, itemsize: int) -> str:
    """Return a number of bytes as text, in elements if they are whole."""
    count, rest = divmod(number, itemsize)
    unit = "byte" if rest else "element"
    count = number if rest else count
    return f"{count:,} {unit}{'s' * (count != 1)}"


def _place(address: int, arguments: Mapping[str, Any]) -> str:
    """Return the byte of an argument's array that an address is, or else the address."""
    for name, array in arguments.items():
        whole = array.whole.allocation if hasattr(array, "allocation") else None
        if whole is not None and 0 <= address - whole.address < whole.size:
            owner = name if array.whole is array else f"the array that {name} is a part of"
            return f"byte {address - whole.address} of {owner}"
    return f"address {address:#x}"
