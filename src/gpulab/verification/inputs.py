"""A problem's arguments on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy.typing as npt

from gpulab.devices.base import Device
from gpulab.problems.base import Argument

__all__ = ["place_arguments"]


def place_arguments(
    device: Device,
    arguments: Iterable[Argument],
    output: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None,
) -> dict[str, Any]:
    """Return the arguments of a launch by name, in the order of the kernel's parameters.

    Inputs are copied to the device and scalars stay as they are. `output` gives the initial values of an
    output array, from a host array of its shape and type; without it an output holds zeros.
    """
    return {argument.name: _placed(device, argument, output) for argument in arguments}


def _placed(
    device: Device, argument: Argument, output: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None
) -> Any:
    if argument.role == "scalar":
        return argument.value
    if argument.role == "input":
        return device.asarray(argument.value)
    if output is None:
        return device.zeros(argument.value.shape, argument.value.dtype)
    return device.asarray(output(argument.value))
