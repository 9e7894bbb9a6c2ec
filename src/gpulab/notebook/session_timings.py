"""Times of this session's kernels by problem, and `gpulab.speedup_table`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpulab.session import chosen_problem
from gpulab.views.html import View
from gpulab.views.tables.session_kernels import unfinished_kernels
from gpulab.views.tables.speedup_view import speedup_view

if TYPE_CHECKING:
    from gpulab.profiling.speedup import SpeedupTable, VariantTiming

__all__ = ["clear", "forget", "keep_timing", "speedup_table", "timings"]

_TABLES: dict[str, SpeedupTable] = {}


def timings(problem: str) -> SpeedupTable:
    """Return the variants of a problem that were timed; raise `UsageError` if there is no such problem."""
    from gpulab.profiling.speedup import SpeedupTable

    name = chosen_problem(problem).name
    return _TABLES.setdefault(name, SpeedupTable(name))


def keep_timing(problem: str, timing: VariantTiming) -> None:
    """Store a variant's time in place of its previous one."""
    timings(problem).add(timing)


def forget(problem: str, variant: str) -> None:
    """Remove a variant's time, because its cell runs again and may no longer be correct."""
    timings(problem).timings.pop(variant, None)


def clear() -> None:
    """Remove all times."""
    _TABLES.clear()


def speedup_table(problem: str = "") -> View:
    """Show the times of a problem's kernels in this session, and the speed-up of each over the one before.

    Until the session has a correct first kernel, a modelled baseline that ships with gpulab is in its place.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.

    Returns
    -------
    View
        A table with one row for each kernel that was correct and timed, in milliseconds; a line of text if
        there is none and gpulab has no baseline for the GPU.

    Raises
    ------
    UsageError
        If there is no such problem.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.speedup_table("matmul")  # before the first kernel is correct
    variant  before (ms)  after (ms) ...
    K1       - ...baseline that ships with gpulab (modelled)...
    """
    from gpulab.devices import open_device
    from gpulab.profiling.speedup import baseline_timing

    chosen = chosen_problem(problem)
    table = timings(chosen.name)
    table = replace(table, baseline=baseline_timing(chosen, open_device().spec))
    return speedup_view(table, unfinished_kernels(chosen))
