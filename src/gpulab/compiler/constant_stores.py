"""Stores to `__constant__` variables in a source.

NVRTC refuses an assignment to a scalar, but accepts one to an element of an array, whose behaviour is
undefined. Its optimizer removes the store, or replaces it and all that follows by a `trap` instruction that
has no line. The lines are therefore found in the source. A store through a pointer is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpulab.compiler.declarators import closing_bracket, declared_types
from gpulab.compiler.preprocess.phases import SourceText, Token, read_source
from gpulab.errors import GpulabError

__all__ = ["ConstantStore", "constant_stores", "constant_stores_of"]

_SELECTORS = (".", "->")
_COMPOUND = frozenset("+-*/%&|^")  # operators of one character that form an assignment with `=`
_AFTER_A_POINTER = (",", ")", ";", "=")  # after its name in a declaration
_STATEMENTS = frozenset(("else", "do", "return", "case", "sizeof"))


@dataclass(frozen=True)
class ConstantStore:
    """A store to a `__constant__` variable: its line in the source, and the variable."""

    line: int
    name: str


def constant_stores(source: SourceText) -> Iterator[ConstantStore]:
    """Yield the stores to `__constant__` variables, in the order of the source.

    A variable whose name is also that of a parameter or of another variable is left out.
    """
    names = set(declared_types(source, ("__constant__",)))
    if not names:
        return
    tokens = [token for token in source.tokens if not token.directive]
    places = [
        n
        for n, token in enumerate(tokens)
        if n and token.text in names and tokens[n - 1].text not in _SELECTORS
    ]
    declared = [tokens[place].text for place in places if _is_declared(tokens, place)]
    for place in places:
        name = tokens[place].text
        if declared.count(name) == 1 and not _is_declared(tokens, place) and _is_store(tokens, place):
            yield ConstantStore(source.place_of(tokens[place].offset)[0], name)


def constant_stores_of(text: str) -> list[ConstantStore]:
    """Return the stores to `__constant__` variables of a text; none if it is not CUDA C++."""
    try:
        return list(constant_stores(read_source(text)))
    except GpulabError:
        return []


def _is_declared(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a name follows a type, as in `float c[4]` or the parameter `const float* c`."""
    before = tokens[place - 1]
    if before.text in ("*", "&"):
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        return tokens[place - 2].kind == "identifier" and after in _AFTER_A_POINTER
    return (before.kind == "identifier" and before.text not in _STATEMENTS) or before.text == ">"


def _is_store(tokens: Sequence[Token], place: int) -> bool:
    """Return True if the variable at a place, or a part of it, is assigned, incremented or decremented."""
    words = [token.text for token in tokens[max(place - 3, 0) : place]]
    if words[-2:] in (["+", "+"], ["-", "-"]):
        return True
    if words[1:] == ["(", "&"] and words[0].startswith("atomic"):
        return True

    index = place + 1
    while index + 1 < len(tokens) and tokens[index].text in ("[", *_SELECTORS):
        index = closing_bracket(tokens, index) + 1 if tokens[index].text == "[" else index + 2
    first, second, third = [*(token.text for token in tokens[index : index + 3]), "", "", ""][:3]
    return (
        (first == "=" and second != "=")
        or (first in _COMPOUND and second == "=")
        or (first in ("+", "-") and second == first)
        or (first in ("<", ">") and second == first and third == "=")
    )
