"""Streams, asynchronous copies and page-locked memory of a CUDA GPU, through CuPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.cuda.cuda_context import CudaContext
from gpulab.devices.streams import CopyKind, DeviceOperation, Stream
from gpulab.errors import UsageError

__all__ = ["CudaStream", "copy_operation_of", "on_stream", "pinned_memory", "queue_copy"]

# cudaMemcpyKind and cudaMemoryType (CUDA Runtime API), part of CUDA's binary interface.
_TO_DEVICE, _FROM_DEVICE = 1, 2
_PAGE_LOCKED = 1


class CudaStream(Stream):
    """A CUDA stream.

    Attributes
    ----------
    handle : cupy.cuda.Stream
        CuPy's stream.
    context : CudaContext
        The context in which it was created.
    """

    def __init__(self, number: int, context: CudaContext) -> None:
        self.number = number
        self.context = context
        self.handle = context.cupy.cuda.Stream()
        self._in_use: list[Any] = []  # arrays of queued operations, which must live until these have finished

    def hold(self, *arrays: Any) -> None:
        """Keep arrays until the stream is synchronised."""
        self._in_use += arrays

    def synchronize(self) -> None:
        with self.context.activate("waiting for a stream"), self.context.output_written():
            self.handle.synchronize()
        self._in_use.clear()


@contextmanager
def on_stream(stream: Stream | None, context: CudaContext) -> Iterator[None]:
    """Make a stream CuPy's current one within a block; without a stream, change nothing."""
    if stream is None:
        yield
        return
    if not isinstance(stream, CudaStream) or stream.context is not context:
        raise UsageError(f"{stream!r} is not a stream of {context.device}; create one with dev.stream().")
    with stream.handle:
        yield


def queue_copy(
    context: CudaContext, stream: Stream | None, array: Any, host: npt.NDArray[Any], *, to_device: bool
) -> None:
    """Queue a copy between an array of the GPU and an array of the host; without a stream, wait for it."""
    runtime = context.cupy.cuda.runtime
    if to_device:
        addresses, kind = (array.data.ptr, host.ctypes.data), _TO_DEVICE
    else:
        addresses, kind = (host.ctypes.data, array.data.ptr), _FROM_DEVICE

    if isinstance(stream, CudaStream):
        runtime.memcpyAsync(*addresses, host.nbytes, kind, stream.handle.ptr)
        stream.hold(array, host)
    else:
        runtime.memcpy(*addresses, host.nbytes, kind)


def pinned_memory(context: CudaContext, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array in page-locked memory."""
    count = prod(shape)
    memory: Any = context.cupy.cuda.alloc_pinned_memory(max(count * dtype.itemsize, 1))
    return np.frombuffer(memory, dtype, count).reshape(shape)


def copy_operation_of(
    context: CudaContext,
    kind: CopyKind,
    host: npt.NDArray[Any],
    stream: Stream | None,
) -> DeviceOperation:
    """Describe a copy from or to an array of the host."""
    attributes = context.cupy.cuda.runtime.pointerGetAttributes(host.ctypes.data)
    pinned = attributes.type == _PAGE_LOCKED
    return DeviceOperation(kind, f"{host.nbytes:,} bytes", stream, host.nbytes, pinned)
