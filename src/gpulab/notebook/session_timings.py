"""The speed-up tables of this notebook's session: one for each problem, filled by its kernel cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.problems import problem as problem_named
from gpulab.views.html import View
from gpulab.views.tables.speedup_view import speedup_view

if TYPE_CHECKING:
    from gpulab.profiling.speedup import SpeedupTable, VariantTiming

__all__ = ["forget", "keep_timing", "speedup_table", "timings"]

_TABLES: dict[str, SpeedupTable] = {}


def timings(problem: str) -> SpeedupTable:
    """The variants of a problem that were timed so far; `UsageError` for a problem that is not there."""
    from gpulab.profiling.speedup import SpeedupTable

    name = problem_named(problem).name
    return _TABLES.setdefault(name, SpeedupTable(name))


def keep_timing(problem: str, timing: VariantTiming) -> None:
    """Put a variant's time in its table, in the place of its last one."""
    timings(problem).add(timing)


def forget(problem: str, variant: str) -> None:
    """Take a variant out: its cell runs again, and may no longer be right."""
    timings(problem).timings.pop(variant, None)


def speedup_table(problem: str = "stencil") -> View:
    """The table of before, after and speed-up of a problem's variants so far, to show in a cell.

    Raises `UsageError` for a problem that is not there.
    """
    return speedup_view(timings(problem))
