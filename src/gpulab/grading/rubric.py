"""The rubric: points per test cell with what earns them, and a check that the notebooks agree."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpulab.errors import UsageError

__all__ = ["Criterion", "check_points", "read_rubric"]


@dataclass(frozen=True)
class Criterion:
    """One test cell: the most points it gives, and what earns them."""

    cell: str  # nbgrader's grade_id
    points: float
    earns: str
    variant: str = ""  # "stencil.opt_1": the kernel this cell judges; "" for none


def read_rubric(path: Path, assignment: str) -> dict[str, Criterion]:
    """The rubric of one assignment by cell; empty when the file has none for it.

    Raises `UsageError` when the file is not a rubric.
    """
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get(assignment, {})
        return {
            name: Criterion(name, float(row["points"]), str(row["earns"]), str(row.get("variant", "")))
            for name, row in table.items()
        }
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise UsageError(f"{path}: {broken}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as broken:
        raise UsageError(
            f"{path}, [{assignment}]: each cell is a table with `points` (a number) and `earns` (words); "
            f"{type(broken).__name__}: {broken}"
        ) from None


def check_points(rubric: Mapping[str, Criterion], points: Mapping[str, float], notebook: Path) -> None:
    """Refuse a notebook whose test cells and the rubric do not say the same."""
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
