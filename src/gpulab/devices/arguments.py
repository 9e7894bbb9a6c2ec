"""Conversion of kernel arguments to the types of the kernel's parameters, for all devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpulab.compiler.program import Parameter, Signature
from gpulab.devices.textures import DeviceTexture
from gpulab.errors import LaunchError

__all__ = ["convert"]

_C_TYPES = {
    "float16": "__half",
    "float32": "float",
    "float64": "double",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
}
_FLOATS: dict[int, Any] = {2: np.float16, 4: np.float32, 8: np.float64}
_SIGNED: dict[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_TYPES = {"float": _FLOATS, "int": _SIGNED, "uint": _UNSIGNED, "word": _SIGNED}  # NumPy's, by kind and size
_INTEGER = (int, np.integer, np.bool_)
_NUMBER = (*_INTEGER, float, np.floating)


def convert(
    signature: Signature,
    args: Sequence[Any],
    *,
    accepts: Callable[[object], bool] | None = None,
    device: str = "this device",
) -> list[Any]:
    """Return one NumPy scalar or device array for each parameter.

    - A pointer requires an array of the device, of any shape, or None for a null pointer. If the element type
      of the parameter is known, the dtype must have the same kind and size; arrays of bytes count as raw
      memory and are accepted.
    - An integer requires a Python or NumPy integer, or a float without a fraction. PTX does not record
      whether a parameter is signed, so all values from -2**(n-1) to 2**n - 1 are accepted.
    - A floating-point number is rounded to the precision of the parameter.
    - A struct passed by value (`bytes`) requires bytes, or a NumPy scalar or array of its size.
    - A texture or surface object requires a 64-bit integer, which receives its handle.
    - A 64-bit integer of PTX from another compiler (`word`) may be an address: arrays and None are accepted.

    Parameters
    ----------
    signature : sequence of Parameter
        The parameters of the kernel.
    args : sequence
        The arguments, in the same order.
    accepts : callable, optional
        Returns whether an object is an array of the device; by default any array that is not NumPy's is.
    device : str
        The name of the device, for error messages.

    Raises
    ------
    LaunchError
        If the number of arguments is wrong, or an argument does not fit its parameter.
    """
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise LaunchError("pass the kernel's arguments as a tuple: kernel(grid, block, (a, b, n)).")
    if len(args) != len(signature):
        raise LaunchError(
            f"the kernel takes {len(signature)} arguments ({_parameters(signature)}), not {len(args)}."
        )
    return [
        _handle(position, parameter, value, accepts, device)
        if isinstance(value, DeviceTexture)
        else _pointer(position, parameter, value, accepts, device)
        if parameter.kind == "pointer" or (parameter.kind == "word" and _is_pointer(value))
        else _scalar(position, parameter, value)
        for position, (parameter, value) in enumerate(zip(signature, args, strict=True), start=1)
    ]


def _handle(
    position: int,
    parameter: Parameter,
    value: DeviceTexture,
    accepts: Callable[[object], bool] | None,
    device: str,
) -> Any:
    """Return the handle of a texture or surface object."""
    label = f"argument {position} (`{parameter.name}`)"
    if parameter.size != 8 or parameter.kind not in ("int", "uint", "word"):
        raise LaunchError(f"{label} must be {_type(parameter)}, not {value!r}.")
    if accepts is not None and not accepts(value):
        raise LaunchError(f"{label} is an object of another device: {value!r}. Create it on {device}.")
    return np.uint64(value.ptr)


def _is_pointer(value: Any) -> bool:
    return value is None or (hasattr(value, "shape") and not isinstance(value, np.generic))


def _pointer(
    position: int, parameter: Parameter, value: Any, accepts: Callable[[object], bool] | None, device: str
) -> Any:
    label = f"argument {position} (`{parameter.name}`)"
    if value is None:
        return np.uint64(0)
    if isinstance(value, np.ndarray):
        raise LaunchError(
            f"{label} is a NumPy array, which is in host memory; "
            "copy it to the device: x = dev.asarray(array)."
        )
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) or isinstance(value, np.generic):
        raise LaunchError(
            f"{label} is a pointer and must be an array of the device, or None for a null pointer, not "
            f"{_described(value)}; create an array with dev.asarray(...)."
        )
    if accepts is not None and not accepts(value):
        raise LaunchError(
            f"{label} is an array of another device ({type(value).__module__}.{type(value).__qualname__}), "
            f"not of {device}; copy it with dev.asarray(other.asnumpy(x))."
        )
    if not _fits(parameter.element, np.dtype(value.dtype)):
        c_type = _C_TYPES[parameter.element]
        raise LaunchError(
            f"{label} is a pointer to {c_type}, and the array's elements are {value.dtype}: make it with "
            f"dtype np.{parameter.element}, as in dev.asarray(x.astype(np.{parameter.element}))."
        )
    return value


def _fits(element: str, dtype: np.dtype[Any]) -> bool:
    """Return True if an array of this dtype can be passed for a pointer to this element type."""
    if not element or dtype.kind not in "iuf" or dtype.itemsize == 1:
        return True
    wanted = np.dtype(element)
    return wanted.itemsize == dtype.itemsize and (wanted.kind == "f") == (dtype.kind == "f")


def _scalar(position: int, parameter: Parameter, value: Any) -> Any:
    if type(value) is _TYPES.get(parameter.kind, {}).get(parameter.size):
        return value  # the usual case, without a conversion
    label = f"argument {position} (`{parameter.name}`)"
    if isinstance(value, np.ndarray):
        is_struct = parameter.kind == "bytes" and value.nbytes == parameter.size
        value = np.void(value.tobytes()) if is_struct else value[()] if value.ndim == 0 else value
    if hasattr(value, "shape") and not isinstance(value, np.generic):
        advice = " For a cudaTextureObject_t, pass dev.texture(x)." if parameter.size == 8 else ""
        raise LaunchError(f"{label} must be {_type(parameter)}, not an array.{advice}")
    if parameter.kind == "bytes":
        return _struct(label, parameter, value)
    if parameter.kind == "float":
        return _float(label, parameter, value)
    return _integer(label, parameter, value)


def _integer(label: str, parameter: Parameter, value: Any) -> Any:
    is_integer = isinstance(value, _INTEGER)
    if not is_integer and not (isinstance(value, float | np.floating) and float(value).is_integer()):
        raise LaunchError(f"{label} must be {_type(parameter)}, not {_described(value)}.")
    number = int(value)
    bits = 8 * parameter.size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise LaunchError(f"{label} must be {_type(parameter)}; {number} does not fit in {bits} bits.")
    number %= 1 << bits
    if parameter.kind == "uint":
        return _UNSIGNED[parameter.size](number)
    return _SIGNED[parameter.size](number - (1 << bits) if number >> (bits - 1) else number)


def _float(label: str, parameter: Parameter, value: Any) -> Any:
    if not isinstance(value, _NUMBER):
        raise LaunchError(f"{label} must be {_type(parameter)}, not {_described(value)}.")
    too_large = f"{label} must be {_type(parameter)}; the value exceeds the largest one."
    try:
        exact = float(value)
    except OverflowError:  # a Python integer that exceeds the range of double
        raise LaunchError(too_large) from None
    with np.errstate(over="ignore"):
        number = _FLOATS[parameter.size](exact)
    if math.isinf(number) and not math.isinf(exact):
        raise LaunchError(too_large)
    return number


def _struct(label: str, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        value = np.void(bytes(value))
    if not isinstance(value, np.generic):
        raise LaunchError(
            f"{label} must be {_type(parameter)}: pass a NumPy scalar or array of that size, "
            f"not {_described(value)}."
        )
    if value.nbytes != parameter.size:
        raise LaunchError(f"{label} must be {_type(parameter)}, not of {value.nbytes} bytes.")
    return value


def _type(parameter: Parameter) -> str:
    if parameter.kind == "pointer":
        return "a pointer"
    if parameter.kind == "bytes":
        return f"a struct of {parameter.size} bytes"
    noun = "floating-point number" if parameter.kind == "float" else "integer"
    article = "an" if parameter.size == 1 else "a"  # an 8-bit integer
    return f"{article} {8 * parameter.size}-bit {noun}"


def _parameters(signature: Signature) -> str:
    return ", ".join(f"{p.name}: {_type(p)}" for p in signature) or "none"


def _described(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | complex | np.generic):
        return repr(value)
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
