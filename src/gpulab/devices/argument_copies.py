"""Copies of a kernel's arguments between devices, for launches that run on the simulator instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulab.devices.base import Device

__all__ = ["copy_arguments", "copy_back"]


def copy_arguments(args: Sequence[Any], source: Device, target: Device) -> list[Any]:
    """Return the arguments with every array copied to `target`; an array that occurs twice, once."""
    copied: dict[int, Any] = {}
    for value in args:
        is_array = hasattr(value, "shape") and not isinstance(value, np.generic)
        if is_array and id(value) not in copied:
            copied[id(value)] = target.asarray(source.asnumpy(value))

    return [copied.get(id(value), value) for value in args]


def copy_back(copies: Sequence[Any], args: Sequence[Any], source: Device, target: Device) -> None:
    """Write what a launch on `source` left in `copies` to the arrays of `target` they were made from."""
    for array, copy in zip(args, copies, strict=True):
        if copy is not array:
            array[...] = target.asarray(source.asnumpy(copy))
