"""Operations that need the values of an array on the host, which a device array refuses."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpulab.errors import UsageError

__all__ = ["HostOperations"]

_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
    "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_UNARY = ("neg", "pos", "abs", "invert", "float", "int", "iter")
_COMPARISONS = ("lt", "le", "gt", "ge")
_ADVICE = (
    "its values are in the device's memory. Copy them to the host first, host = dev.asnumpy(x), and use the "
    "NumPy array."
)


class _NotOnHost(UsageError, AttributeError):
    """A missing attribute that NumPy arrays have; `hasattr` takes it for an `AttributeError`."""


class HostOperations:
    """Base class of device arrays: arithmetic, indexing and NumPy functions raise `UsageError`.

    The message says how to copy the array to the host.
    """

    def __getitem__(self, _index: object) -> Any:
        self.refuse_element()

    def refuse_element(self) -> NoReturn:
        raise UsageError(f"an element of a device array cannot be read here: {_ADVICE}")

    def __setitem__(self, _index: object, _value: object) -> NoReturn:
        raise UsageError(
            "an element of a device array cannot be written here: change a NumPy array and copy it to the "
            "device with dev.asarray(host), or to this array with x.set(host)."
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(f"NumPy cannot use a device array: {_ADVICE}")

    def __array_ufunc__(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(f"NumPy cannot compute with a device array: {_ADVICE}")

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise _NotOnHost(f"a device array has no attribute `{name}`: {_ADVICE}")
        raise AttributeError(f"a device array has no attribute `{name}`")


def _refuse(_self: object, *_: object) -> NoReturn:
    raise UsageError(f"Python cannot compute with a device array: {_ADVICE}")


for _name in (*_OPERATORS, *(f"r{name}" for name in _OPERATORS), *_UNARY, *_COMPARISONS):
    setattr(HostOperations, f"__{_name}__", _refuse)
