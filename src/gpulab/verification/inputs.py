"""A problem's arguments on a device: inputs copied there, outputs as zeros, numbers as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpulab.devices.base import Device
from gpulab.problems.base import Argument

__all__ = ["on_device"]


def on_device(device: Device, arguments: Iterable[Argument]) -> dict[str, Any]:
    """What a kernel is called with, by name, in the order of its parameters."""
    return {argument.name: _there(device, argument) for argument in arguments}


def _there(device: Device, argument: Argument) -> Any:
    if argument.role == "scalar":
        return argument.value
    if argument.role == "output":
        return device.zeros(argument.value.shape, argument.value.dtype)
    return device.asarray(argument.value)
