"""Copies of arguments and variables from one device to another, for launches on the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpulab.devices.base import Device, Kernel
from gpulab.devices.textures import DeviceTexture, TextureObject

__all__ = ["address_of", "copy_arguments", "copy_back", "simulated_variables", "whole_array"]


def copy_arguments(args: Sequence[Any], source: Device, target: Device) -> list[Any]:
    """Return the arguments with every array copied to `target`.

    An array that is passed several times is copied once, and parts of one array stay parts of one copy.
    Textures and surfaces of one memory stay objects of one copy of it.
    """
    copied: dict[int, Any] = {}

    def copy_array(value: Any) -> Any:
        whole = whole_array(value)
        if id(whole) not in copied:
            copied[id(whole)] = whole.copy() if source is target else target.asarray(source.asnumpy(whole))
        copy = copied[id(whole)]
        return copy if whole is value else copy.part(address_of(value) - address_of(whole), value.shape)

    def copy_texture(value: DeviceTexture) -> Any:
        layout = value.layout
        channels, layered = layout.channels, layout.layered
        if value.memory == "linear":
            contents = copy_array(value.storage)
        else:
            if id(value.storage) not in copied:
                copied[id(value.storage)] = target.texture(value.get(), channels=channels, layered=layered)
            contents = copied[id(value.storage)]
        if not isinstance(value, TextureObject):
            return target.surface(contents)
        parameters = value.sampling
        return target.texture(
            contents,
            filter=parameters.filter,
            address=parameters.address[: layout.filtered_axes],
            normalized=parameters.normalized,
            read=parameters.read,
            channels=channels,
            layered=layered,
            memory=value.memory,
        )

    def copy_value(value: Any) -> Any:
        if isinstance(value, DeviceTexture):
            return copy_texture(value)
        is_array = hasattr(value, "shape") and not isinstance(value, np.generic)
        return copy_array(value) if is_array else value

    return [copy_value(value) for value in args]


def copy_back(copies: Sequence[Any], args: Sequence[Any], source: Device, target: Device) -> None:
    """Copy the arrays in `copies` (of `source`) back to the arrays in `args` (of `target`)."""
    for array, copy in zip(args, copies, strict=True):
        if isinstance(array, DeviceTexture):
            if copy is not array and array.memory == "array":
                array.set(copy.get())
        elif copy is not array:
            array[...] = target.asarray(source.asnumpy(copy))


@contextmanager
def simulated_variables(kernel: Kernel, *, keep: bool) -> Iterator[None]:
    """Launch a kernel on the simulator with the values of its module's variables within a block.

    A kernel of a GPU gets copies of the variables, which are copied back at the end.

    keep: the variables of the kernel keep their values, as arrays do whose copies are launched with.
    """
    module, simulated = kernel.module, kernel.on_simulator.module
    if simulated is module and not keep:
        yield
        return

    before = module.read_variables()
    if simulated is not module:
        simulated.write_variables(before)
    try:
        yield
    finally:
        if simulated is module:
            module.write_variables(before)
        elif not keep:
            after = simulated.read_variables()
            module.write_variables({name: after[name] for name in before})


def whole_array(array: Any) -> Any:
    """Return the array that a contiguous slice is a part of, and any other array itself."""
    if hasattr(array, "whole"):
        return array.whole
    base = getattr(array, "base", None)  # the array that a CuPy array is a view of
    is_part = (
        base is not None
        and base.dtype == array.dtype
        and array.flags.c_contiguous
        and base.flags.c_contiguous
    )
    return base if is_part else array


def address_of(array: Any) -> int:
    """Return the address of the first byte of an array on a device."""
    return int(array.allocation.address if hasattr(array, "allocation") else array.data.ptr)
