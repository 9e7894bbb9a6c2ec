"""The modules that a device has loaded, by text, so that the kernels of one text share their variables."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from gpulab.devices.base import DeviceModule

__all__ = ["LoadedModules", "module_key"]

RECENT = 32  # modules with variables that live on although no kernel of theirs does
KEPT_BYTES = 1 << 26  # variables of all these modules

Loaded = TypeVar("Loaded", bound="DeviceModule")


class LoadedModules(Generic[Loaded]):
    """The last module of each text.

    `dev.compile(text, "put")(…)` leaves no reference to the module. The last ones are therefore kept, as
    CuPy keeps those of `RawKernel`.
    """

    def __init__(self) -> None:
        self._latest: WeakValueDictionary[Hashable, Loaded] = WeakValueDictionary()
        self._recent: deque[Loaded] = deque(maxlen=RECENT)
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Loaded | None:
        """Return the last module of a text; None if there is none."""
        return self._latest.get(key)

    def keep(self, key: Hashable, module: Loaded) -> Loaded:
        """Store a module as the last one of its text, and return it."""
        self._latest[key] = module
        if 0 < _variable_bytes(module) <= KEPT_BYTES:
            with self._lock:
                self._recent.append(module)
                while sum(map(_variable_bytes, self._recent)) > KEPT_BYTES:
                    self._recent.popleft()
        return module


def _variable_bytes(module: DeviceModule) -> int:
    return sum(variable.size for variable in module.program.variables.values())


def module_key(
    source: str,
    defines: Mapping[str, object] | None,
    options: Sequence[str],
    name_expressions: Sequence[str],
    *others: Hashable,
) -> Hashable:
    """Return the key of a module: its text, and all that determines how the text is compiled."""
    macros = tuple(sorted((str(name), str(value)) for name, value in (defines or {}).items()))
    return source, macros, tuple(options), tuple(name_expressions), *others
