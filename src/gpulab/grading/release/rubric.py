"""The rubric: points of each test cell and what earns them, compared with the notebooks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.pipeline.notebook_source import check_calls, ends_with_check

__all__ = ["Criterion", "check_points", "max_at_level", "read_rubric", "required_rubric"]


@dataclass(frozen=True)
class Criterion:
    """The rubric's entry for one test cell.

    Attributes
    ----------
    cell : str
        nbgrader's grade_id.
    points : float
        The maximum at level 1.
    earns : str
        What earns the points, as the report states it.
    variant : str
        The kernel that the cell checks, such as "stencil.opt_1"; "" if it checks none.
    level_2 : float or None
        The maximum at level 2; None if it is that of level 1.
    """

    cell: str
    points: float
    earns: str
    variant: str = ""
    level_2: float | None = None

    def max_points(self, level: int) -> float:
        """Return the maximum points at a level."""
        return self.level_2 if level == 2 and self.level_2 is not None else self.points


def max_at_level(points: float | None, criterion: Criterion | None, level: int | None) -> float:
    """Return the maximum of a test cell at a level; None is level 1.

    points: its maximum in the gradebook. criterion: its entry of the rubric; None if it has none.
    """
    return min(points or 0.0, criterion.max_points(level or 1)) if criterion else points or 0.0


def read_rubric(path: Path, assignment: str) -> dict[str, Criterion]:
    """Return the rubric of one assignment by test cell; empty if the file has none for it.

    Raises `UsageError` if the file is not a rubric.
    """
    if not path.is_file():
        return {}
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get(assignment, {})
        return {name: _criterion(name, entry) for name, entry in entries.items()}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}, [{assignment}]: each test cell needs a table with `points` (a number) and `earns` "
            f"(text); {type(error).__name__}: {error}"
        ) from None


def required_rubric(path: Path, assignment: str) -> dict[str, Criterion]:
    """Return the rubric of an assignment; raise `UsageError` if the file has none for it."""
    rubric = read_rubric(path, assignment)
    if not rubric:
        raise UsageError(
            f"{assignment} has no rubric: add a table [{assignment}.TEST_CELL] to {path} for each test cell."
        )
    return rubric


def _criterion(name: str, entry: Mapping[str, Any]) -> Criterion:
    level_2 = float(entry["level_2"]) if "level_2" in entry else None
    criterion = Criterion(
        name, float(entry["points"]), str(entry["earns"]), str(entry.get("variant", "")), level_2
    )
    if not 0 <= criterion.max_points(2) <= criterion.points:
        raise ValueError(f"{name}: level_2 = {criterion.max_points(2):g} must be between 0 and its points")
    return criterion


def check_points(
    rubric: Mapping[str, Criterion],
    points: Mapping[str, float],
    notebook: Path,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Raise `UsageError` if the test cells of a notebook and the rubric differ.

    points: maximum of each test cell in nbgrader's metadata. sources: source of each autograded test cell,
    whose calls of checks are compared too; None compares the metadata only.
    """
    for name in sorted(rubric.keys() | points.keys()):
        if name not in points:
            raise UsageError(f"{notebook.name} has no test cell `{name}`, which the rubric lists.")
        if name not in rubric:
            raise UsageError(f"{notebook.name}: test cell `{name}` has points but is not in the rubric.")
        if points[name] != rubric[name].points:
            raise UsageError(
                f"{notebook.name}: test cell `{name}` has {points[name]:g} points, "
                f"but the rubric has {rubric[name].points:g}."
            )
        if sources is None:
            continue
        if name in sources:
            _check_calls(rubric[name], sources[name], notebook)
        elif rubric[name].max_points(2) != rubric[name].points:
            raise UsageError(
                f"{notebook.name}: `{name}` is graded manually, so the rubric cannot give it other points at "
                "level 2."
            )


def _check_calls(criterion: Criterion, source: str, notebook: Path) -> None:
    """Raise `UsageError` if the checks of a test cell give other points than the rubric."""
    location = f"{notebook.name}: test cell `{criterion.cell}`"
    calls = check_calls(source, location)
    for call in calls:
        if criterion.variant and call.variant and call.variant != criterion.variant:
            raise UsageError(f"{location} checks {call.variant}, but the rubric has {criterion.variant}.")
        for level in (1, 2):
            given = call.max_points(level)
            if given not in (None, criterion.max_points(level)):
                raise UsageError(
                    f"{location} gives {given:g} points at level {level}, but the rubric has "
                    f"{criterion.max_points(level):g}."
                )

    with_points = [call for call in calls if call.points]
    if criterion.max_points(2) != criterion.points and not any(2 in call.points for call in with_points):
        raise UsageError(
            f"{location} has no points for level 2, but the rubric has {criterion.max_points(2):g}: write "
            f"points={{1: {criterion.points:g}, 2: {criterion.max_points(2):g}}} in the call of its check."
        )
    if with_points and (len(with_points) > 1 or not ends_with_check(source)):
        raise UsageError(
            f"{location} can give part of its points, so its only check must be the last line, without a "
            "semicolon: nbgrader takes the value of that line."
        )
