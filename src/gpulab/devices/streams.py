"""Streams, page-locked host memory, and the observation of the operations of a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError

__all__ = [
    "CopyKind",
    "DeviceOperation",
    "Launch",
    "OperationObserver",
    "Stream",
    "array_shape",
    "check_destination",
]


CopyKind = Literal["copy to device", "copy to host"]


class Stream(ABC):
    """A queue of copies and kernels on a device.

    `Device.stream` creates it. The operations of one stream run in the order in which they were queued.
    Operations of different streams may run at the same time. An operation without a stream starts when all
    streams have finished, and the host waits for it.

    Attributes
    ----------
    number : int
        1 for the first stream of the device, 2 for the second one, ...

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> double_it = dev.compile("__global__ void double_it(float* x) { x[threadIdx.x] *= 2; }")
    >>> host, stream = dev.pinned_empty(4), dev.stream()
    >>> host[:] = [1, 2, 3, 4]
    >>> x = dev.asarray(host, stream=stream)
    >>> double_it(1, 4, (x,), stream=stream)
    >>> _ = dev.asnumpy(x, stream=stream, out=host)
    >>> stream.synchronize()
    >>> host
    array([2., 4., 6., 8.], dtype=float32)
    """

    number: int

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all operations that were queued on the stream have finished.

        Raises
        ------
        LaunchError
            If a kernel failed.
        """

    def __repr__(self) -> str:
        return f"<stream {self.number}>"


@dataclass(frozen=True)
class Launch:
    """The launch of a kernel: the arguments of `Kernel.__call__`."""

    kernel: Any
    grid: int | Sequence[int]
    block: int | Sequence[int]
    args: Sequence[Any]
    shared_mem: int = 0


@dataclass(frozen=True)
class DeviceOperation:
    """One copy or one launch.

    Attributes
    ----------
    kind : {"copy to device", "copy to host", "kernel"}
        The type of the operation.
    label : str
        The name of the kernel, or the size of the copy.
    stream : Stream or None
        The stream; None for an operation for which the host waits.
    nbytes : int
        The size of a copy.
    pinned : bool
        True for a copy from or to page-locked host memory.
    launch : Launch or None
        The launch of a kernel.
    """

    kind: CopyKind | Literal["kernel"]
    label: str
    stream: Stream | None
    nbytes: int = 0
    pinned: bool = False
    launch: Launch | None = None


OperationObserver = Callable[[DeviceOperation], AbstractContextManager[None]]
"""Returns a context in which the device starts the operation."""


def array_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape of an array as a tuple; raise `UsageError` if a size is negative."""
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise UsageError(f"the sizes of an array must not be negative, but the shape is {sizes}.")
    return tuple(int(size) for size in sizes)


def check_destination(out: npt.NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise `UsageError` if a host array cannot receive a copy of a device array."""
    if not isinstance(out, np.ndarray):
        raise UsageError(f"`out` must be a NumPy array, not a {type(out).__name__}.")
    if out.shape != shape or out.dtype != dtype:
        raise UsageError(
            f"`out` has the shape {out.shape} and the type {out.dtype}, but the array on the device has "
            f"{shape} and {dtype}."
        )
    if not out.flags.c_contiguous:
        raise UsageError("`out` must be contiguous: a whole array, or a slice of its first axis.")
