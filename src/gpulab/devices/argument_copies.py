"""Copies of arguments and variables from one device to another, for launches on the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpulab.devices.base import Device, Kernel

__all__ = ["address_of", "copy_arguments", "copy_back", "simulated_variables", "whole_array"]


def copy_arguments(args: Sequence[Any], source: Device, target: Device) -> list[Any]:
    """Return the arguments with every array copied to `target`.

    An array that is passed several times is copied once, and parts of one array stay parts of one copy.
    """
    copied: dict[int, Any] = {}
    copies: list[Any] = []
    for value in args:
        if not hasattr(value, "shape") or isinstance(value, np.generic):
            copies.append(value)
            continue
        whole = whole_array(value)
        if id(whole) not in copied:
            copied[id(whole)] = whole.copy() if source is target else target.asarray(source.asnumpy(whole))
        copy = copied[id(whole)]
        copies.append(
            copy if whole is value else copy.part(address_of(value) - address_of(whole), value.shape)
        )
    return copies


def copy_back(copies: Sequence[Any], args: Sequence[Any], source: Device, target: Device) -> None:
    """Copy the arrays in `copies` (of `source`) back to the arrays in `args` (of `target`)."""
    for array, copy in zip(args, copies, strict=True):
        if copy is not array:
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
