"""The rubric: points per test cell with what earns them, and a check that the notebooks agree."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.errors import UsageError
from gpulab.grading.pipeline.declared import calls_in, hides_its_value

__all__ = ["Criterion", "check_points", "read_rubric"]


@dataclass(frozen=True)
class Criterion:
    """One test cell: the most points it gives, and what earns them."""

    cell: str  # nbgrader's grade_id
    points: float
    earns: str
    variant: str = ""  # "stencil.opt_1": the kernel this cell judges; "" for none
    level_2: float | None = None  # the most points at level 2; None: as many

    def at(self, level: int) -> float:
        """The most points at a level."""
        return self.level_2 if level == 2 and self.level_2 is not None else self.points


def read_rubric(path: Path, assignment: str) -> dict[str, Criterion]:
    """The rubric of one assignment by cell; empty when the file has none for it.

    Raises `UsageError` when the file is not a rubric.
    """
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get(assignment, {})
        return {name: _criterion(name, row) for name, row in table.items()}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise UsageError(f"{path}: {broken}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as broken:
        raise UsageError(
            f"{path}, [{assignment}]: each cell is a table with `points` (a number) and `earns` (words); "
            f"{type(broken).__name__}: {broken}"
        ) from None


def _criterion(name: str, row: Mapping[str, Any]) -> Criterion:
    level_2 = float(row["level_2"]) if "level_2" in row else None
    read = Criterion(name, float(row["points"]), str(row["earns"]), str(row.get("variant", "")), level_2)
    if not 0 <= read.at(2) <= read.points:
        raise ValueError(f"{name} has level_2 = {read.at(2):g}, which must lie between 0 and its points")
    return read


def check_points(
    rubric: Mapping[str, Criterion],
    points: Mapping[str, float],
    notebook: Path,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Refuse a notebook whose test cells and the rubric do not say the same.

    points: of each cell by nbgrader's metadata. texts: of each test cell that is code, by name: what its
    calls say of points and levels is compared too.
    """
    for name in sorted(rubric.keys() | points.keys()):
        if name not in points:
            raise UsageError(f"{notebook.name} has no test cell `{name}`, which the rubric gives points for.")
        if name not in rubric:
            raise UsageError(
                f"{notebook.name}: the rubric does not name test cell `{name}`, which gives points."
            )
        if points[name] != rubric[name].points:
            raise UsageError(
                f"{notebook.name}: test cell `{name}` gives {points[name]:g} points, "
                f"the rubric says {rubric[name].points:g}."
            )
        if texts is None:
            continue
        if name in texts:
            _check_calls(rubric[name], texts[name], notebook)
        elif rubric[name].at(2) != rubric[name].points:
            raise UsageError(
                f"{notebook.name}: `{name}` is read by a person, so the rubric cannot give it other points "
                "at level 2."
            )


def _check_calls(row: Criterion, text: str, notebook: Path) -> None:
    """Refuse a test cell whose call gives other points than the rubric, or a value nbgrader cannot see."""
    where = f"{notebook.name}: test cell `{row.cell}`"
    calls = calls_in(text, where)
    for call in calls:
        if row.variant and call.variant and call.variant != row.variant:
            raise UsageError(f"{where} judges {call.variant}, the rubric says {row.variant}.")
        for level in (1, 2):
            gives = call.gives(level)
            if gives not in (None, row.at(level)):
                raise UsageError(
                    f"{where} gives {gives:g} points at level {level}, the rubric says {row.at(level):g}."
                )
    partial = [call for call in calls if call.points]
    if row.at(2) != row.points and not any(2 in call.points for call in partial):
        raise UsageError(
            f"{where} says nothing of level 2, where the rubric gives {row.at(2):g}: write "
            f"points={{1: {row.points:g}, 2: {row.at(2):g}}} in its call."
        )
    if partial and (len(partial) > 1 or hides_its_value(text)):
        raise UsageError(
            f"{where} gives part of its points as its value, so its one call stands alone on the last line, "
            "without a semicolon."
        )
