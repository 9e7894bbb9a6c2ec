"""A kernel on the simulator, whatever device it was compiled for, and its arguments there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.devices.base import Device, Kernel

if TYPE_CHECKING:
    from gpulab.devices.simulated import SimulatedKernel

__all__ = ["copied_back", "copies", "twin_of"]


def twin_of(kernel: Kernel, device: Device) -> SimulatedKernel:
    """The kernel itself where it runs on the simulator; else its program on the simulator of the same GPU."""
    from gpulab.devices.simulated import SimulatedKernel, simulator_of

    if isinstance(kernel, SimulatedKernel):
        return kernel
    return simulator_of(device.spec).kernel_of(kernel.program, kernel.name)


def copies(device: Device, simulator: Device, args: Sequence[Any]) -> list[Any]:
    """The arguments with every array copied to the simulator, one that is given twice only once."""
    found: dict[int, Any] = {}
    for value in args:
        is_array = hasattr(value, "shape") and not isinstance(value, np.generic)
        if is_array and id(value) not in found:
            found[id(value)] = simulator.asarray(device.asnumpy(value))
    return [found.get(id(value), value) for value in args]


def copied_back(device: Device, simulator: Device, args: Sequence[Any], given: Sequence[Any]) -> None:
    """Put what a launch left in the copies into the arrays that they are of."""
    for array, copy in zip(args, given, strict=True):
        if copy is not array:
            array[...] = device.asarray(simulator.asnumpy(copy))
