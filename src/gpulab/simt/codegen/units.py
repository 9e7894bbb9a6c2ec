"""Splitting of an LLVM module into units that are compiled on their own.

The runtime, and the helper functions of instrumentation and arithmetic, are the same in most kernels. They
are compiled once, and a kernel's code is linked with them when it is loaded. A line `UNIT` separates units in
the text of a module, which is also valid as a whole. A line `OPTIMIZED` marks a unit that is worth
optimising, because kernels call its functions often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["OPTIMIZED", "UNIT", "declaration", "split"]

UNIT = "; -- unit --"
OPTIMIZED = "; -- optimized --"

_FUNCTION = re.compile(
    r"^define (?:internal )?(?P<ret>.+?) @(?P<name>[\w.]+)\((?P<formal>.*)\)(?P<rest>[^()]*)\{$"
)
_GLOBAL = re.compile(r"^@(?P<name>[\w.]+) = internal (?P<kind>constant|global|alias) (?P<value>.*)$")
_DECLARED = re.compile(r"^declare .*?@(?P<name>[\w.]+)\(")
_NAME = re.compile(r"@([\w.]+)")
_PARAMETER_NAME = re.compile(r"\s+%[\w.]+$")
_COMMON = ("attributes ", "!")  # beginnings of lines that every unit needs


@dataclass(frozen=True)
class _Unit:
    body: str
    names: frozenset[str]  # names of functions and global variables that occur in the body
    common: tuple[str, ...]
    declared: dict[str, str]  # declarations in the unit itself, by name
    defined: dict[str, str]  # declarations for other units, by name


def split(text: str) -> list[str]:
    """Return the units of a module, each a module of its own whose functions other units can call."""
    parts = [_read(part) for part in text.split(UNIT)]
    common = [line for part in parts for line in part.common]
    declarations = {name: line for part in parts for name, line in part.declared.items()}
    declarations |= {name: line for part in parts for name, line in part.defined.items()}
    units = []
    for part in parts:
        used = part.names - part.defined.keys() - part.declared.keys()
        external = [declarations[name] for name in sorted(used & declarations.keys())]
        if part.defined:
            units.append("\n".join([*external, part.body, *common]))
    return units


@lru_cache(maxsize=256)
def _read(text: str) -> _Unit:
    """Return a unit whose definitions are visible to others."""
    lines, common = [], []
    declared: dict[str, str] = {}
    defined: dict[str, str] = {}

    for original in text.splitlines():
        line = original
        if not line:
            continue  # the same function may be followed by blank lines or not
        if line.startswith(" "):  # an instruction
            lines.append(line)
            continue
        if line.startswith(_COMMON):
            common.append(line)
            continue
        if line.startswith("define"):
            name, declared_as = declaration(line)
            defined[name] = declared_as
            line = original.replace("define internal ", "define ", 1)
        elif match := _GLOBAL.match(line):
            ty = match["value"].partition(",")[0] if match["kind"] == "alias" else _type_of(match["value"])
            defined[match["name"]] = f"@{match['name']} = external dso_local global {ty}"
            line = original.replace(" = internal ", " = ", 1)
        elif match := _DECLARED.match(line):
            declared[match["name"]] = line
        lines.append(line)

    body = "\n".join(lines)
    return _Unit(body, frozenset(_NAME.findall(body)), tuple(common), declared, defined)


def declaration(definition: str) -> tuple[str, str]:
    """Return the name and the declaration of a function, given the first line of its definition."""
    match = _FUNCTION.match(definition)
    if match is None:
        raise ValueError(f"cannot read: {definition}")
    types = [_PARAMETER_NAME.sub("", part) for part in _arguments(match["formal"])]
    return match["name"], f"declare dso_local {match['ret']} @{match['name']}({', '.join(types)})"


def _arguments(text: str) -> list[str]:
    """Return the arguments of a function; vectors and structures have no commas here."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _type_of(value: str) -> str:
    """Return the type at the start of an initialized value."""
    depth = 0
    for position, character in enumerate(value):
        depth += (character in "[{<") - (character in "]}>")
        if depth == 0 and character in " ,":
            return value[:position]
    return value
