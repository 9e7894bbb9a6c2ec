"""A problem's arguments on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device
from gpulab.problems.base import Argument, InputValues, Shape, random_values
from gpulab.simt.runtime.repeated_memory import PAGE_BYTES, repeated

__all__ = [
    "POISON",
    "bits_of",
    "draw_period",
    "place_arguments",
    "poison_of",
    "poisoned",
    "repeated_poison",
    "repeated_values",
]

PATTERN_PAGES = 256  # an input repeats after at least as many pages, and after at most twice as many

# Bits of an element that no kernel has written, by its bytes. As floating-point numbers of 2, 4 and 8 bytes
# they are signalling NaN with a known payload. A copy keeps the bits and arithmetic sets the quiet bit (IEEE
# 754, section 6.2.3), so that `a[i] += x` on an uninitialized point differs from one that was never written.
_POISONS: Mapping[int, int] = {1: 0xAD, 2: 0x7DAD, 4: 0x7FADBEEF, 8: 0x7FF5BEEF7FADBEEF}
POISON = _POISONS[4]


def bits_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the bits of the elements of an array as unsigned integers."""
    return array.view(f"u{array.dtype.itemsize}")


def poison_of(dtype: npt.DTypeLike) -> int:
    """Return the bits of an element of this type that no kernel has written."""
    return _POISONS[np.dtype(dtype).itemsize]


def poisoned(output: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of the output's shape and type whose elements count as never written."""
    # Built from bits: a conversion from a Python float would set the quiet bit of the NaN.
    size = output.dtype.itemsize
    return np.full(output.shape, _POISONS[size], f"u{size}").view(output.dtype)


def draw_period(rng: np.random.Generator) -> int:
    """Return the number of float32 values after which an input may repeat, for `repeated_values`."""
    # An odd number of pages, which is no multiple of a row or a plane of a usual size.
    return (PATTERN_PAGES + 1 + 2 * int(rng.integers(PATTERN_PAGES // 2))) * PAGE_BYTES // 4


def repeated_values(period: int) -> InputValues:
    """Return the values of inputs that repeat random numbers and take little memory at any size."""

    def values(rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[np.float32]:
        return repeated(random_values(rng, (period,)), shape)

    return values


def repeated_poison(output: npt.NDArray[Any], period: int) -> npt.NDArray[Any]:
    """Return an array like `poisoned`, whose pages share memory until they are written."""
    elements = period * 4 // output.dtype.itemsize
    return repeated(poisoned(np.empty(elements, output.dtype)), output.shape)


def place_arguments(
    device: Device,
    arguments: Iterable[Argument],
    output: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None,
) -> dict[str, Any]:
    """Return the arguments of a launch by name, in the order of the kernel's parameters.

    Inputs are copied to the device and scalars stay as they are. `output` gives the initial values of an
    output that the problem does not initialize, from a host array of its shape and type; without it such an
    output holds zeros.
    """
    return {argument.name: _placed(device, argument, output) for argument in arguments}


def _placed(
    device: Device, argument: Argument, output: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None
) -> Any:
    if argument.role == "scalar":
        return argument.value
    if argument.role == "input" or argument.initialized:
        return device.asarray(argument.value)
    if output is None:
        return device.zeros(argument.value.shape, argument.value.dtype)
    return device.asarray(output(argument.value))
