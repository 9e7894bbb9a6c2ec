"""Static reading of notebook cells: the points that test cells give, and the level that was chosen.

Only the source is parsed; no code of a notebook runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.judge.python_cell import parse_python

__all__ = [
    "CheckCall",
    "LevelChoice",
    "check_calls",
    "ends_with_check",
    "last_level_choice",
    "stated_points",
]

CHECKS = frozenset(
    {
        "award",
        "commit",
        "require_correct",
        "require_kernel",
        "require_loops",
        "require_one_of",
        "require_speed",
    }
)
KERNEL_CHECKS = frozenset({"require_correct", "require_kernel", "require_speed"})


@dataclass(frozen=True)
class CheckCall:
    """One call of a check in a test cell.

    variant: the kernel, such as "stencil.opt_1"; "" if the check takes none.
    points: the maximum by level; empty if the call names no points.
    """

    variant: str = ""
    points: Mapping[int, float] = field(default_factory=dict)

    def max_points(self, level: int) -> float | None:
        """Return the maximum at a level, or None if the call names no points."""
        return self.points.get(level, self.points.get(1))


@dataclass(frozen=True)
class LevelChoice:
    """One call of `choose_level`.

    level: None if the call does not contain it as a constant. given: file by kernel, also at level 1.
    """

    level: int | None
    given: Mapping[str, str] = field(default_factory=dict)


def check_calls(source: str, location: str) -> tuple[CheckCall, ...]:
    """Return the calls of checks in a test cell.

    Raises `UsageError` for points that are not constants. location: names the cell in the message.
    """
    return tuple(_check_call(call, location) for call in _calls(parse_python(source), CHECKS))


def ends_with_check(source: str) -> bool:
    """Return True if the value of the cell is that of a check: its last line, without a semicolon."""
    tree = parse_python(source)
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        return False
    if _function_name(last.value) not in CHECKS:
        return False

    last_line = source.splitlines()[(last.end_lineno or 1) - 1]
    rest = last_line.encode()[(last.end_col_offset or 0) :]  # ast counts columns in UTF-8 bytes
    return rest.split(b"#")[0].strip() == b""


def last_level_choice(sources: Iterable[str]) -> LevelChoice | None:
    """Return the last `choose_level` of the code cells `sources`, or None if there is none."""
    constants: dict[str, Any] = {}  # variables that a cell assigns a constant to
    choice = None
    for source in sources:
        tree = parse_python(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                value = _constant(node.value, constants)
                constants |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}

        for call in _calls(tree, frozenset({"choose_level"})):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            level = _constant(call.args[0] if call.args else keywords.get("level"), constants)
            given = _constant(call.args[1] if len(call.args) > 1 else keywords.get("given"), constants)
            number = level if isinstance(level, int) and not isinstance(level, bool) else None
            files = given if isinstance(given, dict) else {}
            choice = LevelChoice(number, {str(name): str(path) for name, path in files.items()})
    return choice


def stated_points(sources: Iterable[str]) -> float | None:
    """Return the points at level 1 that the last `start_lab` of the code cells `sources` states, or None."""
    stated = None
    for source in sources:
        for call in _calls(parse_python(source), frozenset({"start_lab"})):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            points = _constant(keywords.get("points"), {})
            points = points.get(1) if isinstance(points, dict) else points
            stated = float(points) if isinstance(points, (int, float)) else None
    return stated


def _calls(tree: ast.AST, names: frozenset[str]) -> Iterator[ast.Call]:
    """Yield the calls of functions with these names, in the order of the source."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _function_name(node) in names]
    yield from sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _function_name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _constant(node: ast.expr | None, constants: Mapping[str, Any]) -> Any:
    """Return the value of a literal or of a variable in `constants`, else None."""
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None


def _check_call(call: ast.Call, location: str) -> CheckCall:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    name = _function_name(call)
    variant = _constant(call.args[0] if call.args else None, {}) if name in KERNEL_CHECKS else ""
    argument = keywords.get("steps" if name == "require_speed" else "points")
    if argument is None and name in {"require_correct", "require_kernel", "award"} and len(call.args) > 1:
        argument = call.args[1]
    if argument is None:
        return CheckCall(variant or "")

    points = _constant(argument, {})
    if name != "require_speed" and isinstance(points, (int, float)):
        return CheckCall(variant or "", {1: points})
    if isinstance(points, dict) and points:
        by_level = {1: max(points.values())} if name == "require_speed" else points
        return CheckCall(variant or "", by_level)
    raise UsageError(f"{location}: write the points of {name} as numbers, so that the rubric can be checked.")
