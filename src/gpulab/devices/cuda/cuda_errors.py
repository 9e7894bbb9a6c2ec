"""Explanations of CUDA errors: which of them destroy the context, and what to do next.

Numbers and meanings are those of cudaError_t (CUDA Runtime API); CUresult of the driver has the same ones
here. An error is recognised by the attribute `status` of CuPy's exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.errors import GpulabError, LaunchError, MemoryFault, UsageError
from gpulab.finding import Finding
from gpulab.worker_process import in_worker

__all__ = ["OWN_PROCESS", "lost_context", "out_of_memory", "refused"]


@dataclass(frozen=True)
class _Sticky:
    kind: str  # kind of the finding
    cause: str  # completes the sentence "`kernel`: …"


_STICKY = {
    700: _Sticky("illegal_address", "a thread accessed memory outside every array"),
    702: _Sticky("launch_timeout", "it exceeded the time limit of the display driver and was stopped"),
    710: _Sticky("assert", "an assertion failed (see the output above)"),
    714: _Sticky("hardware_stack_error", "the call stack of a thread was corrupted"),
    715: _Sticky("illegal_instruction", "a thread executed a trap or an illegal instruction"),
    716: _Sticky("misaligned_address", "a thread accessed a misaligned address"),
    717: _Sticky("invalid_address_space", "a thread used an address of the wrong memory space"),
    718: _Sticky("invalid_program_counter", "a thread jumped to an invalid address"),
    719: _Sticky("launch_failure", "it failed, most often because of an access far outside an array"),
}

OWN_PROCESS = "It ran in a process of its own: this session and its arrays are not affected."
RESTART_ADVICE = "restart the Python kernel of the notebook to use the GPU again"

_REFUSED = {
    1: "CUDA does not accept an argument of the call",
    9: "CUDA does not accept this grid or block",
    200: "the driver cannot load the machine code; if it is older than the compiler, update the driver",
    209: "there is no machine code for this GPU",
    218: "the driver's assembler does not accept the PTX",
    222: "the driver is older than the compiler; update the NVIDIA driver",
    701: "a block needs more registers or shared memory than the GPU has; launch fewer threads per block",
}


def lost_context(error: Exception, action: str, device: str) -> tuple[LaunchError, str] | None:
    """Return the exception for an error that destroys the CUDA context, and the message for later uses.

    action: the kernel or operation that failed. Returns None for an error that leaves the context intact.
    """
    sticky = _STICKY.get(getattr(error, "status", 0))
    if sticky is None:
        return None
    message = f"{action}: {sticky.cause} ({_first_line(error)})."
    finding = Finding("memcheck", sticky.kind, 0, None, None, message)
    kind = MemoryFault if finding.in_memory else LaunchError
    later = f"the CUDA context of {device} was lost earlier ({action}: {sticky.cause}); {RESTART_ADVICE}."
    if in_worker():
        return kind(f"{message}\n{OWN_PROCESS}", [finding]), later
    failure = kind(
        f'{message}\nCUDA does not report the place. Run the kernel on the simulator, gpulab.device("sim"), '
        "which reports the line, the block and the thread.\n"
        f"The CUDA context of {device} and all its arrays are lost; {RESTART_ADVICE}.",
        [finding],
    )
    return failure, later


def refused(error: Exception, action: str, device: str) -> GpulabError:
    """Return the exception for an error that leaves the CUDA context intact."""
    status = getattr(error, "status", 0)
    if status == 2:
        return out_of_memory(action, device, error)
    reason = _REFUSED.get(status, f"CUDA reports an error on {device}")
    return LaunchError(f"{action}: {reason} ({_first_line(error)}).")


def out_of_memory(action: str, device: str, error: Exception) -> UsageError:
    """Return the exception for an allocation that failed."""
    return UsageError(
        f"{action}: {device} does not have enough free memory ({_first_line(error)}). "
        "Delete arrays that are no longer needed, or use a smaller size."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
