"""Warnings about loops that index a thread's array past its end.

The compiler keeps such an array in registers, where an index outside of it accesses no memory: the value is
undefined, and no bounds check reports it. Only a loop with constant bounds is examined, whose variable is the
whole index and whose body has no condition that may guard the access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpulab.compiler.array_extents import private_extents
from gpulab.compiler.constant_expressions import NamedValues, constant_value, named_values
from gpulab.compiler.declarators import closing_bracket
from gpulab.compiler.preprocess.phases import SourceText, Token
from gpulab.compiler.statements import statement_end

__all__ = ["overruns"]

_CONDITIONS = frozenset(("if", "?", "&", "|", "while", "do", "switch", "break", "continue", "return", "goto"))


@dataclass(frozen=True)
class _CountedLoop:
    """A `for` loop with constant bounds: its variable, its largest value, and the tokens of its body."""

    variable: str
    last: int
    body: range


def overruns(source: SourceText, tokens: Sequence[Token], defines: Mapping[str, object]) -> Iterator[str]:
    """Yield a warning for each line in which a loop runs past the end of an array.

    tokens: those of the source, without directives. defines: macros of the command line.
    """
    values = named_values(source, tokens, defines)
    extents = private_extents(tokens, values)
    seen = set()
    for loop in _counted_loops(tokens, values) if extents else ():
        for place in loop.body:
            name = tokens[place].text
            short = [n for index, n in _indices(tokens, place, extents) if index == loop.variable]
            short = [length for length in short if length <= loop.last]
            line, _ = source.place_of(tokens[place].offset)
            if short and (line, name) not in seen:
                seen.add((line, name))
                yield (
                    f"line {line}: the index `{loop.variable}` of `{name}` goes up to {loop.last}, but the "
                    f"array has {short[0]} elements there: values past its end are undefined. Check the "
                    "index and the bounds of the loop."
                )


def _indices(
    tokens: Sequence[Token], place: int, extents: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, int]]:
    """Yield each index that is a single token in an access to an array, with the extent of its dimension."""
    opening = place + 1
    for extent in extents.get(tokens[place].text, ()):
        if tokens[opening].text != "[":
            return
        close = closing_bracket(tokens, opening)
        if close == opening + 2:
            yield tokens[opening + 1].text, extent
        opening = close + 1


def _counted_loops(tokens: Sequence[Token], values: NamedValues) -> Iterator[_CountedLoop]:
    for index, token in enumerate(tokens[:-1]):
        if token.text != "for" or tokens[index + 1].text != "(":
            continue
        close = closing_bracket(tokens, index + 1)
        body = range(close + 1, min(statement_end(tokens, index) + 1, len(tokens) - 1))
        parts = _split(tokens[index + 2 : close])
        counted = _variable_and_last(parts, values) if len(parts) == 3 else None
        if counted is not None and not any(tokens[n].text in _CONDITIONS for n in body):
            yield _CountedLoop(*counted, body)


def _split(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Return the parts of the header of a `for` loop."""
    ends = [n for n, token in enumerate(tokens) if token.text == ";"]
    return [
        tokens[start:end]
        for start, end in zip([0, *(n + 1 for n in ends)], [*ends, len(tokens)], strict=True)
    ]


def _variable_and_last(parts: Sequence[Sequence[Token]], values: NamedValues) -> tuple[str, int] | None:
    """Return the variable of a loop that counts upwards, and the largest value that it has in the body."""
    start, condition, step = (" ".join(token.text for token in part) for part in parts)
    header = re.fullmatch(r"(?:unsigned )?(?:int )?(\w+) = .+", start)
    if header is None:
        return None
    name = header[1]
    if not re.match(rf"{name} < (= )?", condition):
        return None
    inclusive = condition.startswith(f"{name} < = ")
    first = constant_value(parts[0][[token.text for token in parts[0]].index("=") + 1 :], values)
    bound = constant_value(parts[1][3 if inclusive else 2 :], values)
    by = 1 if step in (f"{name} + +", f"+ + {name}") else None
    if step.startswith(f"{name} + = "):
        by = constant_value(parts[2][3:], values)
    if first is None or bound is None or not by or by < 0:
        return None
    end = bound + inclusive
    return (name, first + (end - 1 - first) // by * by) if end > first else None
