"""Streams and page-locked memory of the simulator, which runs every operation as soon as it is queued."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.streams import CopyKind, DeviceOperation, Stream

__all__ = ["DelayedCopies", "SimulatedStream", "copy_operation", "pinned_array"]


class DelayedCopies:
    """Copies to page-locked memory, which arrive when their stream is synchronised.

    A program that reads the result of such a copy too early sees the old values, as it may on a GPU.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Stream, npt.NDArray[Any], npt.NDArray[Any]]] = []

    def add(self, stream: Stream, destination: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        self._waiting.append((stream, destination, values))

    def deliver(self, stream: Stream | None = None) -> None:
        """Write the copies of a stream, or of all streams."""
        for of_stream, destination, values in self._waiting:
            if stream is None or of_stream is stream:
                destination[...] = values
        self._waiting = [
            waiting for waiting in self._waiting if stream is not None and waiting[0] is not stream
        ]


class SimulatedStream(Stream):
    """A stream of the simulator."""

    def __init__(self, number: int, copies: DelayedCopies) -> None:
        self.number = number
        self.copies = copies

    def synchronize(self) -> None:
        self.copies.deliver(self)


class _PinnedMemory(bytearray):
    """Host memory that counts as page-locked."""


def pinned_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array of zeros that counts as page-locked, and so do its slices."""
    count = prod(shape)
    memory = _PinnedMemory(max(count * dtype.itemsize, 1))
    return np.frombuffer(memory, dtype, count).reshape(shape)


def copy_operation(kind: CopyKind, host: npt.NDArray[Any], stream: Stream | None) -> DeviceOperation:
    """Describe a copy from or to an array of the host."""
    return DeviceOperation(kind, f"{host.nbytes:,} bytes", stream, host.nbytes, _is_pinned(host))


def _is_pinned(array: npt.NDArray[Any]) -> bool:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):  # numpy.frombuffer keeps a view of the memory
        owner = owner.obj
    return isinstance(owner, _PinnedMemory)
