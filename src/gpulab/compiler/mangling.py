"""Demangling of kernel names, a subset of the Itanium C++ ABI, section 5.1."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["plain_name", "plain_names"]

_LENGTH = re.compile(r"L?(\d+)")


def plain_name(entry: str) -> str:
    """Return the C++ name of a PTX entry, without parameters and template arguments.

    `_Z13block2D_naivefPKf` gives `block2D_naive` and `_ZN1A1kEv` gives `A::k`. A name that is not mangled
    (`extern "C"`), or in a way that kernels are not, is returned unchanged.
    """
    if not entry.startswith("_Z"):
        return entry

    rest = entry[2:]
    if not rest.startswith("N"):
        parsed = _source_name(rest)
        return parsed[0] if parsed else entry

    rest = rest[1:].lstrip("rVK")
    parts: list[str] = []
    while parsed := _source_name(rest):
        name, rest = parsed
        if not name.startswith("_GLOBAL__N_"):  # an unnamed namespace
            parts.append(name)
    return "::".join(parts) if parts and rest[:1] in ("E", "I") else entry


def _source_name(text: str) -> tuple[str, str] | None:
    """Return the leading name and the rest of a text: ("foo", "X") for `3fooX`; None if there is none."""
    match = _LENGTH.match(text)
    if not match:
        return None
    end = match.end() + int(match[1])
    return (text[match.end() : end], text[end:]) if end <= len(text) else None


def plain_names(entries: Iterable[str]) -> dict[str, str]:
    """Return the PTX entries by plain name, in order; overloads after the first have their mangled name."""
    names: dict[str, str] = {}
    for entry in entries:
        name = plain_name(entry)
        names[entry if name in names else name] = entry
    return names
