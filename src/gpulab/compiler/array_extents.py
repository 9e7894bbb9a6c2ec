"""Extents of the arrays that a source declares, such as (10, 34) for `tile[BLOCK_Y + 2][BLOCK_X + 2]`.

PTX has the number of bytes of an array only. The extents are read from the source; an array whose extents are
not constant expressions is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpulab.compiler.constant_expressions import NamedValues, constant_value, named_values
from gpulab.compiler.declarators import closing_bracket
from gpulab.compiler.preprocess.phases import SourceText, Token

__all__ = ["TYPES", "declared_extents", "private_extents"]

TYPES = frozenset(
    ("float", "double", "int", "unsigned", "long", "short", "half", "__half", "float2", "float4")
)
_NOT_PRIVATE = frozenset(("__shared__", "__device__", "__constant__"))


def declared_extents(
    source: SourceText, defines: Mapping[str, object], specifiers: Sequence[str] = ("__shared__",)
) -> dict[str, tuple[int, ...]]:
    """Return the extents of each array by name.

    Parameters
    ----------
    source : SourceText
        The source.
    defines : mapping
        Macros that are defined on the command line.
    specifiers : sequence of str
        The specifiers of the declarations that are read.

    Returns
    -------
    dict of str to tuple of int
        An array whose extents are not known, or differ between two arrays of that name, is left out.
    """
    tokens = [token for token in source.tokens if not token.directive]
    starts = [
        index
        for index, token in enumerate(tokens)
        if token.text in specifiers and not (index and tokens[index - 1].text == "extern")
    ]
    return _extents(tokens, starts, named_values(source, tokens, defines))


def private_extents(tokens: Sequence[Token], values: NamedValues) -> dict[str, tuple[int, ...]]:
    """Return the extents of each array that belongs to one thread, by name.

    tokens: those of the source, without directives. values: its macros and constants.
    """
    starts = [
        index
        for index, token in enumerate(tokens[:-1])
        if token.text in TYPES
        and tokens[index + 1].kind == "identifier"
        and not (index and tokens[index - 1].text in _NOT_PRIVATE)
    ]
    return _extents(tokens, starts, values)


def _extents(
    tokens: Sequence[Token], starts: Iterable[int], values: NamedValues
) -> dict[str, tuple[int, ...]]:
    """Return the extents of the arrays in the declarations that begin at some tokens."""
    found: dict[str, tuple[int, ...]] = {}
    unclear = set()
    for start in starts:
        end = next((n for n in range(start, len(tokens)) if tokens[n].text in (";", "{", "=")), len(tokens))
        for name, extents in _arrays(tokens[start + 1 : end], values):
            if extents is None or found.get(name, extents) != extents:
                unclear.add(name)
            else:
                found[name] = extents
    return {name: extents for name, extents in found.items() if name not in unclear}


def _arrays(tokens: Sequence[Token], values: NamedValues) -> list[tuple[str, tuple[int, ...] | None]]:
    """Return name and extents of each array of a declaration."""
    arrays: list[tuple[str, tuple[int, ...] | None]] = []
    index = 0
    while index < len(tokens):
        if tokens[index].text == "[" and index and tokens[index - 1].kind == "identifier":
            name = tokens[index - 1].text
            extents: list[int | None] = []
            while index < len(tokens) and tokens[index].text == "[":
                close = closing_bracket(tokens, index)
                extents.append(constant_value(tokens[index + 1 : close], values))
                index = close + 1
            known = tuple(extent for extent in extents if extent is not None and extent > 0)
            arrays.append((name, known if len(known) == len(extents) else None))
        else:
            index += 1
    return arrays
