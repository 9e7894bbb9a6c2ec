"""Arrays of the simulator, which kernels receive as pointers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.simulator.host_operations import HostOperations
from gpulab.errors import UsageError
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.host_memory import Contents

__all__ = ["SimulatedArray", "new_array"]


class SimulatedArray(HostOperations):
    """An array on the simulator: an argument for pointers, copied to the host by `dev.asnumpy`.

    Parameters
    ----------
    memory : Memory
        The memory of the device.
    allocation : Allocation
        The memory of the array.
    shape : tuple of int
        The extents.
    dtype : dtype
        The type of the elements.
    owner : SimulatedArray or module, optional
        The array that this one is a part of, or the module of a variable. The memory is freed with it; by
        default it is freed with this array.
    """

    def __init__(
        self,
        memory: Memory,
        allocation: Allocation,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        owner: object = None,
    ) -> None:
        self.memory, self.allocation = memory, allocation
        self.shape, self.dtype = shape, dtype
        self.size, self.nbytes = prod(shape), allocation.size
        self._owner = owner
        if owner is None:
            memory.free_with(self, allocation.address)

    @property
    def whole(self) -> SimulatedArray:
        """The array that has all elements of the memory."""
        return self._owner if isinstance(self._owner, SimulatedArray) else self

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Any) -> SimulatedArray:
        """Return the part of the array that a basic index selects, as an argument for pointers."""
        host = self.view()
        part = host[index]
        if not isinstance(part, np.ndarray) or not np.may_share_memory(part, host):
            self.refuse_element()
        if not part.flags.c_contiguous:
            raise UsageError(
                "this part of a device array is not contiguous, and a pointer needs contiguous elements: "
                "copy the part, dev.asarray(dev.asnumpy(x)[...])."
            )
        return self.part(part.ctypes.data - host.ctypes.data, part.shape)

    def part(self, offset: int, shape: tuple[int, ...]) -> SimulatedArray:
        """Return the elements of this shape from an offset in bytes on; they share the memory."""
        part = self.allocation.part(offset, prod(shape) * self.dtype.itemsize)
        return SimulatedArray(self.memory, part, shape, self.dtype, self.whole)

    def view(self) -> npt.NDArray[Any]:
        """Return the memory of the array as a NumPy array, without copying."""
        return self.allocation.host.view(self.dtype).reshape(self.shape)

    def get(self) -> npt.NDArray[Any]:
        """Return a copy on the host, as `cupy.ndarray.get`."""
        return self.view().copy()

    def set(self, host: Any) -> None:
        """Copy a NumPy array of the same shape and dtype to the array, as `cupy.ndarray.set`."""
        if not isinstance(host, np.ndarray) or (host.shape, host.dtype) != (self.shape, self.dtype):
            raise UsageError(
                f"this device array takes a NumPy array of shape {self.shape} and dtype {self.dtype}."
            )
        self.view()[...] = host
        self.memory.mark_written(self.allocation.address)

    def copy(self) -> SimulatedArray:
        """Return a copy on the device, as `cupy.ndarray.copy`."""
        copy = new_array(self.memory, self.shape, self.dtype, "any")
        copy.view()[...] = self.view()
        return copy

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"<device array {shape} {self.dtype} on the simulator; dev.asnumpy(x) copies it to the host>"


def new_array(
    memory: Memory, shape: tuple[int, ...], dtype: np.dtype[Any], contents: Contents = "poison"
) -> SimulatedArray:
    """Return an array in new memory. Raises `LaunchError` if the memory is full."""
    allocation = memory.allocate(prod(shape) * dtype.itemsize, contents)
    return SimulatedArray(memory, allocation, shape, dtype)
