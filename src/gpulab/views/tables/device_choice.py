"""The `device` and `gpu` arguments of the public tables."""

from __future__ import annotations

from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.errors import UsageError

__all__ = ["chosen_device"]


def chosen_device(device: Device | str | None, gpu: str | None) -> Device:
    """Return the device that the arguments of a table select.

    device: an open device, or a name that `gpulab.device` accepts. gpu: key of a catalogue GPU, whose
    simulator is opened. If both are omitted, the session's device.

    Raises `UsageError` if both are given, or the GPU does not exist.
    """
    if gpu is not None:
        if device is not None:
            raise UsageError("give either `device` or `gpu`, not both.")
        return open_device(f"sim:{gpu}")
    return device if isinstance(device, Device) else open_device(device)
