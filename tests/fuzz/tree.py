"""Tree of statements that represents a generated program, so that a failing program can be reduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Hole", "Part", "Statement", "bodies", "lines_of", "planted_line", "statements"]


@dataclass
class Hole:
    """An expression that the reducer may replace by another one of its type, such as those in `simple`."""

    text: str
    simple: tuple[str, ...] = ("0", "1")


@dataclass
class Statement:
    """Fixed text, expressions and inner statements, in program order.

    Attributes
    ----------
    planted : bool
        The statement contains the fault that was planted: an invalid access, barrier or trap.
    needed : bool
        The reducer must not remove the statement.
    """

    parts: list[Part]
    planted: bool = False
    needed: bool = False


Part = str | Hole | list[Statement]


def lines_of(body: list[Statement], indent: int = 0) -> list[str]:
    """Return the lines of the statements' text."""
    return [line for statement in body for line in _lines(statement, indent)]


def _lines(statement: Statement, indent: int) -> list[str]:
    pad = "    " * indent
    lines = [pad]
    for part in statement.parts:
        if isinstance(part, Hole):
            lines[-1] += part.text
        elif isinstance(part, str):
            first, *others = part.split("\n")
            lines[-1] += first
            lines += [pad + other for other in others]
        else:
            lines += lines_of(part, indent + 1)
            lines.append(pad)
    return [line.rstrip() for line in lines if line.strip()]


def planted_line(body: list[Statement]) -> int:
    """Return the 1-based line where the planted statement begins, or 0 if there is none."""
    total = 0

    def search(statements: list[Statement]) -> bool:
        nonlocal total
        for statement in statements:
            if statement.planted:
                total += 1
                return True
            inner = [part for part in statement.parts if isinstance(part, list)]
            if any(s.planted for part in inner for s in _all(part)):
                at = next(n for n, p in enumerate(statement.parts) if p in inner and _is_planted(p))
                before = Statement([*statement.parts[:at]])
                total += len(_lines(before, 0))
                return search(statement.parts[at])  # type: ignore[arg-type]
            total += len(_lines(statement, 0))
        return False

    return total if search(body) else 0


def _is_planted(part: Part) -> bool:
    return isinstance(part, list) and any(s.planted for s in _all(part))


def _all(body: list[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for part in statement.parts:
            if isinstance(part, list):
                yield from _all(part)


def statements(body: list[Statement]) -> list[Statement]:
    """Return every statement of the tree, outer statements first."""
    return list(_all(body))


def bodies(body: list[Statement]) -> Iterator[list[Statement]]:
    """Yield every list of statements of the tree."""
    yield body
    for statement in body:
        for part in statement.parts:
            if isinstance(part, list):
                yield from bodies(part)
