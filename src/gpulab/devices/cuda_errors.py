"""CUDA's error numbers in words: which ones end the context, and what to do about each.

Numbers and meanings: CUDA Runtime API, cudaError_t; the driver's CUresult uses the same ones here.
Pure: knows an error by its `status`, which CuPy's errors carry.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.errors import GpulabError, LaunchError, MemoryFault, UsageError
from gpulab.finding import Finding

__all__ = ["lost_context", "out_of_memory", "refused"]


@dataclass(frozen=True)
class _Sticky:
    kind: str
    happened: str  # goes after "`kernel`: "
    error: type[LaunchError]


_STICKY = {
    700: _Sticky("illegal_address", "a thread read or wrote memory outside every array", MemoryFault),
    702: _Sticky("launch_timeout", "it ran past the display's time limit and was stopped", LaunchError),
    710: _Sticky("assert", "an assert in it failed (its text is in the output above)", LaunchError),
    714: _Sticky("hardware_stack_error", "a thread's call stack was damaged", LaunchError),
    715: _Sticky(
        "illegal_instruction", "a thread stopped it (trap) or ran an illegal instruction", LaunchError
    ),
    716: _Sticky("misaligned_address", "a thread read or wrote at a misaligned address", MemoryFault),
    717: _Sticky("invalid_address_space", "a thread used an address of the wrong memory space", MemoryFault),
    718: _Sticky("invalid_program_counter", "a thread jumped out of the program", LaunchError),
    719: _Sticky("launch_failure", "it failed, most often by an address far outside", LaunchError),
}

_RESTART = "restart the notebook's Python kernel to use the GPU again"

_REFUSED = {
    1: "CUDA does not accept an argument of the call",
    9: "CUDA does not accept this grid or block",
    200: "the driver cannot load the machine code; it may be older than the compiler: update it",
    209: "there is no machine code for this GPU",
    218: "the driver's assembler does not accept the PTX",
    222: "the compiler is newer than the driver: update the NVIDIA driver",
    701: "the block needs more registers or shared memory than the GPU has: launch fewer threads per block",
}


def lost_context(error: Exception, doing: str, device: str) -> tuple[LaunchError, str] | None:
    """For an error that ends the CUDA context: what to raise now, and the line for every later use.

    None for an error after which the context still works. doing: "`kernel`", or what was tried.
    """
    sticky = _STICKY.get(getattr(error, "status", 0))
    if sticky is None:
        return None
    message = f"{doing}: {sticky.happened} ({_first_line(error)})."
    finding = Finding("memcheck", sticky.kind, 0, None, None, message)
    failure = sticky.error(
        f"{message}\nCUDA does not say where; the simulator does: run the same kernel on "
        f'gpulab.device("sim") for its line, block and thread.\n'
        f"The CUDA context of {device} is lost with all its arrays: {_RESTART}.",
        [finding],
    )
    return failure, f"{device} was lost earlier ({doing}: {sticky.happened}): {_RESTART}."


def refused(error: Exception, doing: str, device: str) -> GpulabError:
    """For an error after which the context still works."""
    status = getattr(error, "status", 0)
    if status == 2:
        return out_of_memory(doing, device, error)
    why = _REFUSED.get(status)
    detail = _first_line(error)
    return LaunchError(f"{doing}: {why} ({detail})." if why else f"{doing}: {device} refused: {detail}.")


def out_of_memory(doing: str, device: str, error: Exception) -> UsageError:
    """The GPU has no room for an array."""
    return UsageError(
        f"{doing}: {device} has not enough free memory ({_first_line(error)}). "
        "Delete arrays you no longer need, or take a smaller size."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
