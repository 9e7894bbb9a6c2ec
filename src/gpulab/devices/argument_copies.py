"""Copies of kernel arguments from one device to another, for launches on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulab.devices.base import Device

__all__ = ["copy_arguments", "copy_back"]


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
        whole = _whole(value)
        if id(whole) not in copied:
            copied[id(whole)] = whole.copy() if source is target else target.asarray(source.asnumpy(whole))
        copy = copied[id(whole)]
        copies.append(copy if whole is value else copy.part(_address(value) - _address(whole), value.shape))
    return copies


def copy_back(copies: Sequence[Any], args: Sequence[Any], source: Device, target: Device) -> None:
    """Copy the arrays in `copies` (of `source`) back to the arrays in `args` (of `target`)."""
    for array, copy in zip(args, copies, strict=True):
        if copy is not array:
            array[...] = target.asarray(source.asnumpy(copy))


def _whole(array: Any) -> Any:
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


def _address(array: Any) -> int:
    return int(array.allocation.address if hasattr(array, "allocation") else array.data.ptr)
