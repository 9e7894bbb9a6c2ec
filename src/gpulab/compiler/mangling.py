"""Plain names for PTX entries: as much of the Itanium C++ ABI (section 5.1) as kernel names need."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["plain_name", "plain_names"]

_LENGTH = re.compile(r"L?(\d+)")


def plain_name(entry: str) -> str:
    """The C++ name in a PTX entry, without parameters and template arguments.

    `_Z13block2D_naivefPKf` gives `block2D_naive`, `_ZN1A1kEv` gives `A::k`, `k` (extern "C") stays. A
    name of another shape comes back as it is.
    """
    if not entry.startswith("_Z"):
        return entry
    rest = entry[2:]
    if not rest.startswith("N"):
        found = _source_name(rest)
        return found[0] if found else entry
    rest = rest[1:].lstrip("rVK")
    parts: list[str] = []
    while found := _source_name(rest):
        name, rest = found
        if not name.startswith("_GLOBAL__N_"):  # an unnamed namespace
            parts.append(name)
    return "::".join(parts) if parts and rest[:1] in ("E", "I") else entry


def _source_name(text: str) -> tuple[str, str] | None:
    """`3fooX` as ("foo", "X")."""
    match = _LENGTH.match(text)
    if not match:
        return None
    end = match.end() + int(match[1])
    return (text[match.end() : end], text[end:]) if end <= len(text) else None


def plain_names(entries: Iterable[str]) -> dict[str, str]:
    """Plain name to PTX entry, in order. Of several with one name (overloads) the first has it."""
    names: dict[str, str] = {}
    for entry in entries:
        name = plain_name(entry)
        names[entry if name in names else name] = entry
    return names
