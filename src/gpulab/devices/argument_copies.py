"""Copies of kernel arguments from one device to another, for launches on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulab.devices.base import Device

__all__ = ["copy_arguments", "copy_back"]


def copy_arguments(args: Sequence[Any], source: Device, target: Device) -> list[Any]:
    """Return the arguments with every array copied to `target`; a repeated array is copied once."""
    copied: dict[int, Any] = {}
    for value in args:
        is_array = hasattr(value, "shape") and not isinstance(value, np.generic)
        if is_array and id(value) not in copied:
            copied[id(value)] = target.asarray(source.asnumpy(value))

    return [copied.get(id(value), value) for value in args]


def copy_back(copies: Sequence[Any], args: Sequence[Any], source: Device, target: Device) -> None:
    """Copy the arrays in `copies` (of `source`) back to the arrays in `args` (of `target`)."""
    for array, copy in zip(args, copies, strict=True):
        if copy is not array:
            array[...] = target.asarray(source.asnumpy(copy))
