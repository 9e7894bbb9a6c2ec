"""A generated program as a tree of statements, so that one that fails can be made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Hole", "Part", "Statement", "bodies", "lines_of", "stands_in_line", "statements"]


@dataclass
class Hole:
    """An expression that any other of its type may stand for; a simple one, when the program shrinks."""

    text: str
    simple: tuple[str, ...] = ("0", "1")


@dataclass
class Statement:
    """Fixed text, expressions and inner statements, in their order.

    planted: the access, barrier or trap in here goes wrong on purpose.
    """

    parts: list[Part]
    planted: bool = False
    needed: bool = False  # never taken away


Part = str | Hole | list[Statement]


def lines_of(body: list[Statement], indent: int = 0) -> list[str]:
    """The text of statements, line by line."""
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


def stands_in_line(body: list[Statement]) -> int:
    """The line, counted from 1, where the planted statement begins; 0 without one."""
    total = 0

    def look(statements: list[Statement]) -> bool:
        nonlocal total
        for statement in statements:
            if statement.planted:
                total += 1
                return True
            inner = [part for part in statement.parts if isinstance(part, list)]
            if any(s.planted for part in inner for s in _all(part)):
                at = next(n for n, p in enumerate(statement.parts) if p in inner and _holds(p))
                before = Statement([*statement.parts[:at]])
                total += len(_lines(before, 0))
                return look(statement.parts[at])  # type: ignore[arg-type]
            total += len(_lines(statement, 0))
        return False

    return total if look(body) else 0


def _holds(part: Part) -> bool:
    return isinstance(part, list) and any(s.planted for s in _all(part))


def _all(body: list[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for part in statement.parts:
            if isinstance(part, list):
                yield from _all(part)


def statements(body: list[Statement]) -> list[Statement]:
    """Every statement in the tree, outer ones first."""
    return list(_all(body))


def bodies(body: list[Statement]) -> Iterator[list[Statement]]:
    """Every list of statements in the tree."""
    yield body
    for statement in body:
        for part in statement.parts:
            if isinstance(part, list):
                yield from bodies(part)
