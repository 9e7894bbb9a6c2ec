"""The CUDA context of one GPU through CuPy: whether there is one, and what is left of it after an error.

CuPy is imported when a context is made or GPUs are counted, never before.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpulab.devices.cuda_errors import lost_context, out_of_memory, refused
from gpulab.errors import GpulabError, LaunchError

__all__ = ["CudaContext", "gpus", "has_driver"]

# Filled once GPUs have answered: a lost context must not make the next question say "none".
_answered: list[int] = []


class CudaContext:
    """What a device and its kernels share: CuPy, the GPU's number, and whether its context still lives.

    device: what messages call it. running: the kernel that was launched last and not yet waited
    for; errors of it come out of any later call. waits: whether calling a kernel waits for its end;
    off while launches are timed.
    """

    def __init__(self, index: int) -> None:
        import cupy

        self.cupy: Any = cupy
        self.index = index
        self.device = f"cuda:{index}"
        self.running = ""
        self.waits = True
        self._lost = ""
        self._errors = (
            cupy.cuda.runtime.CUDARuntimeError,
            cupy.cuda.driver.CUDADriverError,
            cupy.cuda.memory.OutOfMemoryError,
        )

    def check_alive(self) -> None:
        """Raises `LaunchError`, in one line, when an earlier error took the context away."""
        if self._lost:
            raise LaunchError(self._lost)

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Work on this GPU. CUDA's errors leave the block as gpulab's, in words."""
        self.check_alive()
        try:
            with self.cupy.cuda.Device(self.index):
                yield
        except self._errors as error:
            raise self._explained(error, doing) from None

    def wait(self) -> None:
        """Until everything that was launched has ended; inside `working`."""
        self.cupy.cuda.runtime.deviceSynchronize()
        self.running = ""

    def _explained(self, error: Exception, doing: str) -> GpulabError:
        if isinstance(error, self.cupy.cuda.memory.OutOfMemoryError):
            return out_of_memory(doing, self.device, error)
        lost = lost_context(error, f"`{self.running}`" if self.running else doing, self.device)
        if lost is None:
            return refused(error, doing, self.device)
        failure, self._lost = lost
        return failure


def gpus() -> tuple[int, str]:
    """How many CUDA GPUs answer, and in words why none does ("" when one does). Never raises."""
    if _answered:
        return _answered[0], ""
    # The driver first: importing CuPy takes about a second, and without a driver it is of no use.
    if not has_driver():
        return 0, "no NVIDIA driver was found"
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        return 0, 'CuPy is not installed (pip install "gpulab[cuda13]", or [cuda12] with a CUDA 12 driver)'
    try:
        import cupy

        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001 - CuPy raises anything when it and the driver do not match
        return 0, f"CUDA does not start: {str(error).strip() or type(error).__name__}"
    if count == 0:
        return 0, "the driver shows no GPU"
    _answered.append(count)
    return count, ""


def has_driver() -> bool:
    """Whether the NVIDIA driver's library can be loaded; costs well under a millisecond when it cannot."""
    if sys.platform == "darwin":
        return False
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
