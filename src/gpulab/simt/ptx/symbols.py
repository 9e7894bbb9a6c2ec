"""Names of PTX symbols as the CUDA C++ source spells them."""

from __future__ import annotations

import re

__all__ = ["variable_name"]

_LOCAL_NAME = re.compile(r"E(?:\d+_)?(\d+)")  # the end of a function's parameters, the length of a name
_DISCRIMINATOR = re.compile(r"(_\d+)?")  # distinguishes variables of one name in several scopes


def variable_name(symbol: str) -> str:
    """Return the source name of a `__shared__` variable: `tile` for the symbol `_ZZ6kernelE4tile`."""
    if symbol.startswith("_ZZ"):
        for match in _LOCAL_NAME.finditer(symbol):
            end = match.end() + int(match[1])
            if end <= len(symbol) and _DISCRIMINATOR.fullmatch(symbol, end):
                return symbol[match.end() : end]
    return re.sub(r"_\d+$", "", symbol.rsplit("$", maxsplit=1)[-1])
