"""Names of PTX symbols as the CUDA C++ source spells them."""

from __future__ import annotations

import re

__all__ = ["variable_name"]


def variable_name(symbol: str) -> str:
    """Return the source name of a `__shared__` variable: `tile` for the symbol `_ZZ6kernelE4tile`."""
    mangled = re.match(r"_ZZ.*?E(?:\d+_?)?(\d+)([A-Za-z_]\w*)$", symbol)
    if not mangled:
        return re.sub(r"_\d+$", "", symbol.rsplit("$", maxsplit=1)[-1])
    length, name = int(mangled[1]), mangled[2]
    return name[:length] if length <= len(name) else name
