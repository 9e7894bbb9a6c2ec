"""What a notebook says in its text: the points its test cells give, and the level its author chose.

Only texts are read; nothing of a notebook runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpulab.errors import UsageError

__all__ = ["Call", "Choice", "calls_in", "choice_in", "hides_its_value"]

CHECKS = frozenset({"require_correct", "require_speed", "graded_numbers"})


@dataclass(frozen=True)
class Call:
    """One call of a check in a test cell. points: the most it gives, by level; empty where none is said."""

    variant: str = ""
    points: Mapping[int, float] = field(default_factory=dict)

    def gives(self, level: int) -> float | None:
        """The most points at a level; None where the call does not say."""
        return self.points.get(level, self.points.get(1))


@dataclass(frozen=True)
class Choice:
    """What the last `choose_level` of a notebook says. level: None where its text does not tell."""

    level: int | None
    given: Mapping[str, str] = field(default_factory=dict)  # files by kernel, also at level 1


def calls_in(text: str, where: str) -> tuple[Call, ...]:
    """The calls of checks in a test cell. `UsageError` for points that are not written as numbers."""
    return tuple(_call(node, where) for node in _calls(_parsed(text), CHECKS))


def hides_its_value(text: str) -> bool:
    """Whether the cell does not end with the call of a check, or ends in a semicolon: it has no value."""
    tree = _parsed(text)
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and _name(last.value) in CHECKS):
        return True
    lines = text.splitlines()[(last.end_lineno or 1) - 1 :]
    after = lines[0].encode()[(last.end_col_offset or 0) :]
    return after.split(b"#")[0].strip() != b""


def choice_in(cells: Iterable[str]) -> Choice | None:
    """The level chosen last in these code cells, in their order; None where none is chosen."""
    known: dict[str, Any] = {}  # names that a cell sets to a plain value
    choice = None
    for text in cells:
        tree = _parsed(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                value = _literal(node.value, known)
                known |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}
        for call in _calls(tree, frozenset({"choose_level"})):
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            level = _literal(call.args[0] if call.args else named.get("level"), known)
            given = _literal(call.args[1] if len(call.args) > 1 else named.get("given"), known)
            whole = level if isinstance(level, int) and not isinstance(level, bool) else None
            files = given if isinstance(given, dict) else {}
            choice = Choice(whole, {str(name): str(path) for name, path in files.items()})
    return choice


def _parsed(text: str) -> ast.Module:
    """A cell as Python; without its magics, and nothing of a text that is none."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines()]
    if text.lstrip().startswith("%%"):
        lines = []
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _calls(tree: ast.AST, names: frozenset[str]) -> Iterator[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) in names]
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _literal(node: ast.expr | None, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None


def _call(node: ast.Call, where: str) -> Call:
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    name = _name(node)
    variant = "" if name == "graded_numbers" else _literal(node.args[0] if node.args else None, {})
    given = named.get("steps" if name == "require_speed" else "points")
    if given is None and name == "require_correct" and len(node.args) > 1:
        given = node.args[1]
    if given is None:
        return Call(variant or "")
    points = _literal(given, {})
    if name == "graded_numbers" and isinstance(points, (int, float)):
        return Call("", {1: points})
    if isinstance(points, dict) and points:
        most = {1: max(points.values())} if name == "require_speed" else points
        return Call(variant or "", most)
    raise UsageError(f"{where}: the points of {name} are written as numbers, so that they can be compared.")
