"""A declared launch on the simulator: its compiled kernel, its arguments and its variables."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import Launch, New, Packed, Part, Surface, Texture

__all__ = ["LoadedLaunch"]


class LoadedLaunch:
    """A launch whose source is compiled; `prepare` creates its arguments, as often as it is to be launched.

    Attributes
    ----------
    launch : Launch
        The declaration.
    device : Device
        The simulator.
    module, kernel : DeviceModule, Kernel
        The compiled source, and the kernel that is launched.
    args : tuple
        The arguments on the device.
    memory : list
        The arrays of `Launch.memory` on the device.
    """

    def __init__(self, device: Any, source: str, name: str, launch: Launch) -> None:
        for macro, size in launch.sizes.items():
            source = re.sub(
                rf"(?m)^([ \t]*#[ \t]*define[ \t]+{macro})\b.*$",
                "" if size is None else rf"\1 {size}",
                source,
            )
        instance = launch.instance or name
        names = (instance,) if "<" in instance else ()
        self.launch, self.device = launch, device
        self.module = device.module(source, dict(launch.defines), name_expressions=names)
        self.kernel = self.module.get_function(instance, cooperative=launch.cooperative)

    def prepare(self) -> None:
        """Copy the arguments to the device, set the variables of the module, and launch `Launch.setup`."""
        launch = self.launch
        self.memory = [self._argument(each, {}, []) for each in launch.memory]
        addresses = [
            each.allocation.address if hasattr(each, "allocation") else each.ptr for each in self.memory
        ]
        for variable, values in launch.variables.items():
            packed = values.pack(addresses) if isinstance(values, Packed) else values
            self.module.set_global(variable, packed)
        copies: dict[int, Any] = {}
        self.args = tuple(self._argument(each, copies, addresses) for each in launch.args)
        if launch.setup:
            before = [self._argument(each, copies, addresses) for each in launch.setup_args]
            self.module.get_function("setup")(1, 1, tuple(before))

    def _argument(self, value: Any, copies: dict[int, Any], addresses: list[int]) -> Any:
        device = self.device
        if isinstance(value, Packed):
            packed = value.pack(addresses)
            if isinstance(packed, np.ndarray):
                return device.asarray(packed)
            return self._argument(packed, {}, [])
        if isinstance(value, Texture):
            linear = value.options.get("memory") == "linear"
            return device.texture(device.asarray(value.array) if linear else value.array, **value.options)
        if isinstance(value, Surface):
            return device.surface(value.array, **value.options)
        if isinstance(value, New):
            return device.empty(value.shape, value.dtype)
        if isinstance(value, np.ndarray):
            return copies.setdefault(id(value), device.asarray(value))
        if isinstance(value, Part):
            return device.asarray(value.array)[value.start :]
        return value
