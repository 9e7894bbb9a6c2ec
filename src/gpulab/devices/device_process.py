"""Calls that run in a worker process of their device, which a faulting kernel ends instead of this process.

An illegal address or a failed assertion destroys the CUDA context of the process that launched the kernel,
and an endless kernel blocks it. `run_in_process` therefore calls a function in a worker process, which has a
context of its own. Kernels are loaded there again, and arrays are copies, made through the host: the arrays
of this process keep their values. The worker process serves many calls. It ends with the first fault, when
the driver frees its memory, or after two minutes without a call. The next call then starts a new one.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

from gpulab.devices.argument_copies import address_of, whole_array
from gpulab.devices.base import Device
from gpulab.devices.cuda.cuda_errors import OWN_PROCESS
from gpulab.errors import GpulabError, LaunchError
from gpulab.finding import Finding
from gpulab.worker_process import Worker, WorkerDied, WorkerFunction, WorkerTimedOut, in_worker

__all__ = ["end_processes", "run_in_process"]

# Seconds without a call after which a worker process ends. Until then it keeps its CUDA context, which takes
# some hundred megabytes of the GPU's memory; starting a process takes one to three seconds.
IDLE_S = 120.0

_Result = TypeVar("_Result")

_processes: dict[str, _DeviceProcess] = {}
_starting = threading.Lock()


def run_in_process(
    device: Device, function: Callable[..., _Result], *args: Any, limit_s: float | None = None, **options: Any
) -> _Result:
    """Return ``function(*args, **options)``, called in the worker process of a device that needs one.

    The function is called here if the device does not need its own process, or if this process is a worker.

    Parameters
    ----------
    device : Device
        The device on which the function launches kernels.
    function : callable
        A function that can be imported by its name.
    *args, **options
        Its arguments. Devices, kernels, arrays and textures of the GPU arrive as those of the other process;
        a kernel's module has the values of its variables. Everything else must be picklable, and so must the
        result.
    limit_s : float, optional
        Time limit in seconds; by default `worker_process.TIME_LIMIT_S`.

    Raises
    ------
    LaunchError
        If the process ended, or was ended at its time limit, before the function returned.
    GpulabError
        Any error of gpulab that the function raises.
    """
    if not device.needs_own_process or in_worker():
        return function(*args, **options)
    device.free_unused_memory()  # this process keeps freed arrays, which the other one may need
    result: _Result = _process_of(device).call(device, function, args, options, limit_s)
    return result


def end_processes() -> None:
    """End all worker processes of devices; the next call starts new ones."""
    with _starting:
        processes = list(_processes.values())
        _processes.clear()
    for process in processes:
        process.end()


def _process_of(device: Device) -> _DeviceProcess:
    with _starting:
        return _processes.setdefault(device.selector, _DeviceProcess(device.selector))


class _DeviceProcess:
    """The worker process of a device, which makes one call at a time."""

    def __init__(self, selector: str) -> None:
        self._worker = Worker(_serve_calls, name=f"gpulab {selector}", idle_s=IDLE_S)
        self._calling = threading.Lock()

    def call(
        self,
        device: Device,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        limit_s: float | None,
    ) -> Any:
        with device.in_use("copying the arguments of a call"):
            call = _dumps((function, args, options))
        with self._calling:
            try:
                succeeded, result, usable = self._worker.call(pickle.dumps(device), call, limit_s=limit_s)
            except WorkerDied as death:
                kind = "launch_timeout" if isinstance(death, WorkerTimedOut) else "launch_failure"
                raise _died(f"{death}.", kind) from None
            if not usable:
                self._worker.end()
        if not succeeded:
            raise result
        return result

    def end(self) -> None:
        with self._calling:
            self._worker.end()


def _died(message: str, kind: str) -> LaunchError:
    return LaunchError(f"{message}\n{OWN_PROCESS}", [Finding("memcheck", kind, 0, None, None, message)])


def _serve_calls() -> WorkerFunction:
    """Return the function that makes the calls in the worker process."""
    return _make_call


def _make_call(pickled_device: bytes, call: bytes) -> tuple[bool, Any, bool]:
    """Return whether the call succeeded, its result or its error, and whether the device is still usable."""
    outcome: tuple[bool, Any]
    try:
        device: Device = pickle.loads(pickled_device)  # noqa: S301  (from the calling process)
    except GpulabError as error:  # the GPU admits one process, or has no memory for another context
        return False, error.with_traceback(None), False
    try:
        with device.in_use("copying the arguments to the worker process"):
            function, args, options = pickle.loads(call)  # noqa: S301  (from the calling process)
        outcome = True, function(*args, **options)
    except GpulabError as error:
        outcome = False, error.with_traceback(None)  # a traceback keeps the arrays
    args = options = None
    if device.usable:
        device.free_unused_memory()
    return *outcome, device.usable


def _dumps(call: Any) -> bytes:
    buffer = io.BytesIO()
    _CallPickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(call)
    return buffer.getvalue()


class _CallPickler(pickle.Pickler):
    """A pickler that keeps slices of one array of a GPU slices of one copy."""

    def reducer_override(self, value: Any) -> Any:
        if not hasattr(value, "__cuda_array_interface__"):
            return NotImplemented
        whole = whole_array(value)
        if whole is value:
            return NotImplemented
        first = (address_of(value) - address_of(whole)) // value.dtype.itemsize
        return _slice, (whole, first, value.shape)


def _slice(whole: Any, first: int, shape: tuple[int, ...]) -> Any:
    """Return the elements of a contiguous array from `first` on, as a view."""
    return whole.reshape(-1)[first : first + prod(shape)].reshape(shape)
