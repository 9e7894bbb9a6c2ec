"""Conversion of values to the shape and the type of a module's variable, for all devices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.program import ModuleVariable
from gpulab.errors import UsageError

__all__ = ["variable_values"]


def variable_values(name: str, variable: ModuleVariable, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return values in the shape and the type of a variable.

    Raises `UsageError` for values of another shape, and for those that an integer variable cannot hold.
    """
    host, dtype = np.asarray(values), np.dtype(variable.dtype)
    if dtype == np.uint8 and host.shape != variable.shape and host.nbytes == variable.size:
        return np.frombuffer(host.tobytes(), np.uint8).reshape(variable.shape)  # structs
    if host.size == prod(variable.shape) and _without_ones(host.shape) == _without_ones(variable.shape):
        host = host.reshape(variable.shape)
    if host.shape not in ((), variable.shape):
        raise UsageError(
            f"`{name}` has the shape {variable.shape}, and the values have the shape {host.shape}."
        )
    converted = np.empty(variable.shape, dtype)
    with np.errstate(all="ignore"):
        converted[...] = host
    if dtype.kind in "iub" and not (converted == host).all():
        raise UsageError(f"`{name}` has elements of type {dtype}, which cannot hold these values.")
    return converted


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    """Return the extents of a shape that are not 1, which do not change the order of the elements."""
    return [extent for extent in shape if extent != 1]
