"""Encoding of Python values as JSON for the exchange between the judge and a student's process.

Only plain values pass: numbers, text, None, lists, dictionaries and numeric NumPy arrays. Decoding creates no
other type and runs no code, so a hostile process can send nothing but wrong values.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from gpulab.errors import UsageError

__all__ = ["NotPlain", "decode", "encode", "storable"]

MAX_DEPTH = 8  # nested lists and dictionaries
MAX_ITEMS = 10_000  # items of one list or dictionary
MAX_TEXT = 10_000  # characters
MAX_INTEGER = 2**1000
NUMERIC = re.compile(r"[<>|=]?[biuf]\d{1,2}")  # `numpy.dtype.str` of such a type
MAX_ARRAY_BYTES = 8 << 20  # the host loops of lab 2 exchange three arrays of 0.6 MB


@dataclass(frozen=True)
class NotPlain:
    """A value that cannot be exchanged. type_name: its type, for messages."""

    type_name: str

    def __str__(self) -> str:
        return self.type_name


def encode(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON data; a value of another type is replaced by the name of its type."""
    if value is None or value is ...:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        if value.ndim == 0:
            return encode(value[()])
        if value.nbytes > MAX_ARRAY_BYTES:
            return {"type": "array of too many elements"}
        content = base64.b64encode(value.tobytes()).decode("ascii")
        return {"array": content, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, str):
        return str(value)[:MAX_TEXT]
    if isinstance(value, Integral):
        return int(value) if abs(int(value)) < MAX_INTEGER else {"type": "int of too many digits"}
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else {"number": str(number)}
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH and len(value) <= MAX_ITEMS:
        return [encode(item, depth + 1) for item in value]
    if isinstance(value, dict) and depth < MAX_DEPTH and len(value) <= MAX_ITEMS:
        return {"items": [[str(key)[:MAX_TEXT], encode(item, depth + 1)] for key, item in value.items()]}
    if isinstance(value, (FunctionType, BuiltinFunctionType)) or hasattr(value, "py_func"):
        return {"function": True}
    return {"type": type(value).__name__[:MAX_TEXT]}


def decode(data: Any, function: Callable[[], Any] | None = None, depth: int = 0) -> Any:
    """Return the value of JSON data that another process sent.

    function: returns the stand-in for a function; None if a function is not expected here.

    Raises
    ------
    UsageError
        If the data is not what `encode` writes.
    """
    if depth > 2 * MAX_DEPTH:
        raise UsageError("the values are nested too deeply.")
    if isinstance(data, str):
        return storable(data)
    if data is None or isinstance(data, (bool, int, float)):
        return data
    if isinstance(data, list):
        return [decode(item, None, depth + 1) for item in data]
    match data:
        case {"array": str(text), "dtype": str(dtype), "shape": list(shape)}:
            return _array(text, dtype, shape)
        case {"number": ("nan" | "inf" | "-inf") as text}:
            return float(text)
        case {"items": list(items)}:
            pairs = [item for item in items if isinstance(item, list) and len(item) == 2]
            return {storable(str(key)): decode(item, None, depth + 1) for key, item in pairs}
        case {"function": True}:
            return function() if function else NotPlain("function")
        case {"type": str(name)}:
            return NotPlain(storable(name))
    raise UsageError("a value of the submission cannot be read.")


def storable(text: str) -> str:
    """Return a text with question marks for unpaired surrogates, which no file can store."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _array(text: str, dtype: str, shape: list[Any]) -> np.ndarray[Any, Any]:
    """Return an array of the bytes that were sent; neither type nor shape can ask for more memory."""
    if not NUMERIC.fullmatch(dtype):
        raise UsageError("an array of the submission has no numeric type.")
    try:
        content = base64.b64decode(text, validate=True)
        return np.frombuffer(content, dtype).reshape(shape).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"an array of the submission cannot be read: {error}") from None
