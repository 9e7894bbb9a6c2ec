"""Warnings about legal code that is rarely meant.

These are variables without a value, an `if` or a loop that a semicolon ends, indices past the end of a
thread's array, stores to constant memory, and double constants. NVRTC does not warn about them in the cases
that beginners meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpulab.compiler.array_extents import TYPES
from gpulab.compiler.constant_stores import constant_stores
from gpulab.compiler.declarators import closing_bracket
from gpulab.compiler.overruns import overruns
from gpulab.compiler.preprocess.phases import SourceText, Token

__all__ = ["advice"]

_QUALIFIED = frozenset(("static", "extern", "__shared__", "__device__", "__constant__", "constexpr"))
_DOUBLE = re.compile(r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?")
_OPERATORS = frozenset("+-*/<>")
_BEFORE_A_SIGN = frozenset(("=", "(", ",", "return", "[", "{", "?", ":"))
MAX_WARNINGS = 5  # largest number of warnings of one kind


def advice(source: SourceText, defines: Mapping[str, object]) -> list[str]:
    """Return the warnings about a source that compiled, as sentences that begin with a line number.

    defines: macros of the command line.
    """
    tokens = [token for token in source.tokens if not token.directive]
    unset = list(_variables_without_value(source, tokens))
    empty = [*_empty_conditions(source, tokens), *_empty_loops(source, tokens)]
    doubles = list(_double_constants(source, tokens))
    past_the_end = list(overruns(source, tokens, defines))
    stores = list(_constant_stores(source))
    kinds = (unset, empty, past_the_end, stores, doubles)
    return [warning for warnings in kinds for warning in warnings[:MAX_WARNINGS]]


def _variables_without_value(source: SourceText, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield a warning for each local variable that is first used in `+=`, `++` or the like."""
    for index, token in enumerate(tokens):
        if token.text not in TYPES or (index and tokens[index - 1].text in _QUALIFIED):
            continue
        for place in _declared_without_value(tokens, index + 1):
            name = tokens[place].text
            use = _first_use(tokens, place)
            if use is not None and _is_update(tokens, use):
                line, _ = source.place_of(tokens[use].offset)
                declared, _ = source.place_of(tokens[place].offset)
                yield (
                    f"line {line}: `{name}` is uninitialized: it is changed here before it has a value, so "
                    f"results are right by chance only. Give it one where it is declared, in line {declared}."
                )


def _empty_conditions(source: SourceText, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield a warning for each `if (...)` that a semicolon ends."""
    for index, token in enumerate(tokens[:-1]):
        if token.text == "if" and tokens[index + 1].text == "(":
            end = closing_bracket(tokens, index + 1) + 1
            if end < len(tokens) and tokens[end].text == ";":
                line, _ = source.place_of(tokens[end].offset)
                yield (
                    f"line {line}: the semicolon after the condition ends this `if`, so the next statement "
                    "is always executed. Remove the semicolon."
                )


def _empty_loops(source: SourceText, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield a warning for each loop that a semicolon ends, before a block or a line that is indented more."""
    for index, token in enumerate(tokens[:-1]):
        if token.text not in ("for", "while") or tokens[index + 1].text != "(":
            continue
        end = closing_bracket(tokens, index + 1) + 1
        if end + 1 >= len(tokens) or tokens[end].text != ";":
            continue
        line, _ = source.place_of(tokens[end].offset)
        following, column = source.place_of(tokens[end + 1].offset)
        _, start = source.place_of(token.offset)
        if tokens[end + 1].text == "{" or (following > line and column > start):
            yield (
                f"line {line}: the semicolon ends this `{token.text}`, so the statement in line {following} "
                "is executed once, after the loop. Remove the semicolon."
            )


def _constant_stores(source: SourceText) -> Iterator[str]:
    """Yield a warning for each store to a `__constant__` variable."""
    for store in constant_stores(source):
        yield (
            f"line {store.line}: `{store.name}` is in constant memory, which only the host can write: the "
            "compiler removes this store, or ends the kernel here. Use a `__device__` variable for values "
            "that kernels change."
        )


def _declared_without_value(tokens: Sequence[Token], index: int) -> Iterator[int]:
    """Yield the tokens that name variables without an initializer in the declaration at `index`."""
    while index + 1 < len(tokens) and tokens[index].text in TYPES:
        index += 1
    while index + 1 < len(tokens) and tokens[index].kind == "identifier" and tokens[index].text not in TYPES:
        name, index = index, index + 1
        while index < len(tokens) and tokens[index].text == "[":
            index = closing_bracket(tokens, index) + 1
        has_value = index < len(tokens) and tokens[index].text not in (",", ";")
        while index < len(tokens) and tokens[index].text not in (",", ";", ")"):
            index = closing_bracket(tokens, index) if tokens[index].text in ("(", "[", "{") else index
            index += 1
        if index >= len(tokens) or tokens[index].text == ")":
            return  # a parameter of a function
        if not has_value and (tokens[index].text == ";" or tokens[index + 1].text not in TYPES):
            yield name
        if tokens[index].text == ";":
            return
        index += 1


def _first_use(tokens: Sequence[Token], place: int) -> int | None:
    """Return the first use of a variable in its block; None if there is none."""
    depth = 0
    for index in range(place + 1, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[index].text, 0)
        if depth < 0:
            return None
        if tokens[index].text == tokens[place].text and tokens[index - 1].text not in (".", "->", "::"):
            return index
    return None


def _is_update(tokens: Sequence[Token], index: int) -> bool:
    """Return True if the variable at an index is updated, as by `sum += x`, `sum[i] *= x` or `++sum`."""
    before = "".join(token.text for token in tokens[max(index - 2, 0) : index])
    if before in ("++", "--"):
        return True
    index += 1
    while index < len(tokens) and tokens[index].text == "[":
        index = closing_bracket(tokens, index) + 1
    after = "".join(token.text for token in tokens[index : index + 2])
    return after in ("+=", "-=", "*=", "/=", "++", "--")


def _double_constants(source: SourceText, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield a warning for each double constant in an expression of code without `double`."""
    if any(token.text == "double" for token in tokens):
        return
    lines = set()
    for index, token in enumerate(tokens[:-1]):
        if token.kind != "number" or not _DOUBLE.fullmatch(token.text):
            continue
        sign = index > 1 and tokens[index - 1].text in "+-" and tokens[index - 2].text in _BEFORE_A_SIGN
        joined = tokens[index + 1].text in _OPERATORS or (tokens[index - 1].text in _OPERATORS and not sign)
        line, _ = source.place_of(token.offset)
        if joined and line not in lines:
            lines.add(line)
            yield (
                f"line {line}: `{token.text}` is a double constant, and C then computes in double precision; "
                f"that is slow on many GPUs. Write `{token.text}f`."
            )
