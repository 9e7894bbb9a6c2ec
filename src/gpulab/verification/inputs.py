"""A problem's arguments on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device
from gpulab.problems.base import Argument

__all__ = ["POISON", "place_arguments", "poisoned"]

# A signalling NaN with a known payload. A copy keeps its bits and arithmetic sets the quiet bit (IEEE 754,
# section 6.2.3), so that `a[i] += x` on an uninitialized point differs from a point that was never written.
POISON = 0x7FADBEEF


def poisoned(output: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of the output's shape that holds `POISON`."""
    # Built from bits: a conversion from a Python float would set the quiet bit of the NaN.
    return np.full(output.shape, POISON, np.uint32).view(np.float32)


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
