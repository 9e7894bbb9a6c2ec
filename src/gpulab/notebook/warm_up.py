"""First uses of the compilers and of the performance model, before the first kernel cell needs them.

The first cell of a session would import their modules and load NVRTC, which takes a second. A student reads
before running it, so that a thread does this when the extension is loaded.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

__all__ = ["start", "use_simulator", "warm_up"]

# Its code has a loop, shared memory and a barrier, whose modules most kernels of a lab need.
_KERNEL = """
__global__ void warm_up(float* x)
{
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < x[0]; i++) x[threadIdx.x] += tile[i] * x[i];
}
"""


def start(then: Callable[[], None] | None = None) -> threading.Thread:
    """Call `warm_up` in a thread, then `then` if that succeeds, and return the thread."""
    thread = threading.Thread(target=_warm_up_quietly, args=(then,), name="gpulab warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up_quietly(then: Callable[[], None] | None) -> None:
    with contextlib.suppress(Exception):  # the first cell raises it again, in its own context
        warm_up()
        if then is not None:
            then()


def warm_up() -> None:
    """Compile a small kernel, and use it on a simulator."""
    from gpulab.compiler import nvrtc

    # Not through the cache of programs, which would not need NVRTC in the next session.
    nvrtc.compile_text(_KERNEL, ["--gpu-architecture=sm_90"], {})
    use_simulator()


def use_simulator() -> None:
    """Check, count and model a small kernel on a simulator of its own."""
    from gpulab.devices.simulator.simulated_device import SimulatedDevice
    from gpulab.gpus.catalogue import DEFAULT_GPU
    from gpulab.model.profile import profile_launch
    from gpulab.profiling import speedup  # noqa: F401
    from gpulab.profiling.counts.counters import counters
    from gpulab.verification import check  # noqa: F401
    from gpulab.verification.sanitize import sanitize

    device = SimulatedDevice(DEFAULT_GPU)
    kernel, array = device.compile(_KERNEL), device.zeros(32)
    sanitize(kernel, 1, 32, (array,))
    counters(kernel, 1, 32, (array,))
    profile_launch(kernel, 1, 32, (array,), device=device)
