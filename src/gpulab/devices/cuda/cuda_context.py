"""The CUDA context of a GPU: its creation, its loss after an error, and the number of GPUs.

CuPy is imported when a context is created or GPUs are counted, but not before.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gpulab.devices.cuda.cuda_errors import lost_context, out_of_memory, refused
from gpulab.errors import GpulabError, LaunchError
from gpulab.installation import install_command

__all__ = ["CudaContext", "gpus", "has_driver"]

# The number of GPUs, once it is known and not 0: after an error, a lost context would report none.
_gpu_count: list[int] = []


class CudaContext:
    """The CUDA context that a device and its kernels share.

    Attributes
    ----------
    cupy : module
        CuPy.
    index : int
        The index of the GPU.
    device : str
        The name of the GPU, for error messages.
    running : str
        The last kernel that was launched and not waited for; any later call may raise its error.
    synchronous : bool
        True if kernel calls wait until the kernel has finished.
    prints : bool
        True if a kernel that calls `printf` has been loaded.
    """

    def __init__(self, index: int) -> None:
        import cupy

        self.cupy: Any = cupy
        self.index = index
        self.device = f"cuda:{index}"
        self.running = ""
        self.synchronous = True
        self.prints = False
        self._lost = ""
        self._errors = (
            cupy.cuda.runtime.CUDARuntimeError,
            cupy.cuda.driver.CUDADriverError,
            cupy.cuda.memory.OutOfMemoryError,
        )

    @property
    def is_lost(self) -> bool:
        """True if an earlier error destroyed the context."""
        return bool(self._lost)

    def check_alive(self) -> None:
        """Raise `LaunchError` if the context was lost by an earlier error."""
        if self._lost:
            raise LaunchError(self._lost)

    @contextmanager
    def activate(self, action: str) -> Iterator[None]:
        """Make this the current GPU within a block, and turn CUDA's errors into gpulab's.

        action: the kernel or operation, for error messages.
        """
        self.check_alive()
        try:
            with self.cupy.cuda.Device(self.index):
                yield
        except self._errors as error:
            raise self._explain(error, action) from None

    def wait(self) -> None:
        """Wait until all launched work has finished; must be called within `activate`."""
        with self.output_written():
            self.cupy.cuda.runtime.deviceSynchronize()
        self.running = ""

    @contextmanager
    def output_written(self) -> Iterator[None]:
        """Write what kernels have printed after waiting within a block, also if it raises an error.

        CUDA writes to C's standard output, which is buffered if it is not a terminal, as in a notebook.
        """
        try:
            yield
        finally:
            if self.prints:
                with suppress(OSError, TypeError):
                    ctypes.CDLL(None).fflush(None)

    def _explain(self, error: Exception, action: str) -> GpulabError:
        if isinstance(error, self.cupy.cuda.memory.OutOfMemoryError):
            return out_of_memory(action, self.device, error)
        lost = lost_context(error, f"`{self.running}`" if self.running else action, self.device)
        if lost is None:
            return refused(error, action, self.device)
        failure, self._lost = lost
        return failure


def gpus() -> tuple[int, str]:
    """Return the number of CUDA GPUs, and the reason if there is none; never raises."""
    if _gpu_count:
        return _gpu_count[0], ""
    # The driver is tested first, because importing CuPy takes about a second.
    if not has_driver():
        return 0, "no NVIDIA driver was found"
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        return 0, f"CuPy is not installed ({install_command('cuda13')})"
    try:
        import cupy

        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001 - CuPy raises various exceptions if the driver does not match
        return 0, f"CUDA cannot be initialised: {str(error).strip() or type(error).__name__}"
    if count == 0:
        return 0, "the driver reports no GPU"
    _gpu_count.append(count)
    return count, ""


def has_driver() -> bool:
    """Return True if the NVIDIA driver's library can be loaded; takes less than a millisecond if not."""
    if sys.platform == "darwin":
        return False
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
