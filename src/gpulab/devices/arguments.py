"""Kernel arguments: what the caller gave, as exactly the type that each parameter has.

Pure: no GPU and no simulator. Both devices call `convert` before a launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpulab.compiler.program import Parameter, Signature
from gpulab.errors import LaunchError

__all__ = ["convert"]

_FLOATS: dict[int, Any] = {2: np.float16, 4: np.float32, 8: np.float64}


def convert(
    signature: Signature,
    args: Sequence[Any],
    *,
    accepts: Callable[[object], bool] | None = None,
    device: str = "this device",
) -> list[Any]:
    """`args` as one NumPy scalar or device array per parameter of `signature`.

    A pointer takes an array of the device, of any dtype and shape (PTX pointers have no type);
    `accepts` says which objects those are (None: anything array-like that is not NumPy's).
    An int or uint takes a whole number: Python's, NumPy's, or a float without a fraction. PTX does
    not record the sign of a parameter, so everything from -2**(n-1) to 2**n - 1 goes in, by its
    bits. A float takes a real number and is rounded to the parameter's precision. A struct passed by
    value (`bytes`) takes a NumPy scalar or 0-d array, or bytes, of its size.

    Raises `LaunchError` in words: a wrong count, an array of the host, a number where an array
    belongs, one that does not fit.
    """
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise LaunchError("the kernel's arguments are given as a tuple: kernel(grid, block, (a, b, n)).")
    if len(args) != len(signature):
        raise LaunchError(
            f"the kernel takes {len(signature)} arguments ({_parameters(signature)}); {len(args)} were given."
        )
    return [
        _pointer(position, parameter, value, accepts, device)
        if parameter.kind == "pointer"
        else _scalar(position, parameter, value)
        for position, (parameter, value) in enumerate(zip(signature, args, strict=True), start=1)
    ]


def _pointer(
    position: int, parameter: Parameter, value: Any, accepts: Callable[[object], bool] | None, device: str
) -> Any:
    where = f"argument {position} (`{parameter.name}`)"
    if isinstance(value, np.ndarray):
        raise LaunchError(
            f"{where} is a NumPy array, which lies in the host's memory; "
            "a kernel needs an array on the device: x = dev.asarray(array)."
        )
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) or isinstance(value, np.generic):
        raise LaunchError(
            f"{where} is a pointer and takes an array on the device, not {_described(value)}: "
            "x = dev.asarray(...)."
        )
    if accepts is not None and not accepts(value):
        raise LaunchError(
            f"{where} is an array of another device ({type(value).__module__}.{type(value).__qualname__}), "
            f"not of {device}; copy it: dev.asarray(other.asnumpy(x))."
        )
    return value


def _scalar(position: int, parameter: Parameter, value: Any) -> Any:
    where = f"argument {position} (`{parameter.name}`)"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if hasattr(value, "shape") and not isinstance(value, np.generic):
        raise LaunchError(f"{where} takes {_type(parameter)}, not an array.")
    if parameter.kind == "bytes":
        return _struct(where, parameter, value)
    if parameter.kind == "float":
        return _float(where, parameter, value)
    return _integer(where, parameter, value)


def _integer(where: str, parameter: Parameter, value: Any) -> Any:
    whole = isinstance(value, bool | np.bool_ | int | np.integer)
    if not whole and not (isinstance(value, float | np.floating) and float(value).is_integer()):
        raise LaunchError(f"{where} takes {_type(parameter)}, not {_described(value)}.")
    number = int(value)
    bits = 8 * parameter.size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise LaunchError(f"{where} takes {_type(parameter)}; {number} does not fit in {bits} bits.")
    unsigned = np.dtype(f"u{parameter.size}").type(number % (1 << bits))
    return unsigned if parameter.kind == "uint" else unsigned.view(f"i{parameter.size}")


def _float(where: str, parameter: Parameter, value: Any) -> Any:
    if not isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        raise LaunchError(f"{where} takes {_type(parameter)}, not {_described(value)}.")
    too_large = f"{where} takes {_type(parameter)}; the number given is beyond the largest of those."
    try:
        exact = float(value)
    except OverflowError:  # a whole number beyond every float
        raise LaunchError(too_large) from None
    with np.errstate(over="ignore"):
        number = _FLOATS[parameter.size](exact)
    if math.isinf(number) and not math.isinf(exact):
        raise LaunchError(too_large)
    return number


def _struct(where: str, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        value = np.void(bytes(value))
    if not isinstance(value, np.generic):
        raise LaunchError(
            f"{where} takes {_type(parameter)} by value: give a NumPy scalar or 0-d array of that size, "
            f"not {_described(value)}."
        )
    if value.nbytes != parameter.size:
        raise LaunchError(f"{where} takes {_type(parameter)}; {value.nbytes} bytes were given.")
    return value


def _type(parameter: Parameter) -> str:
    if parameter.kind == "pointer":
        return "a pointer"
    if parameter.kind == "bytes":
        return f"a struct of {parameter.size} bytes"
    noun = "a floating-point number" if parameter.kind == "float" else "a whole number"
    return f"{noun} of {8 * parameter.size} bits"


def _parameters(signature: Signature) -> str:
    return ", ".join(f"{p.name}: {_type(p)}" for p in signature) or "none"


def _described(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | complex | np.generic):
        return repr(value)
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
