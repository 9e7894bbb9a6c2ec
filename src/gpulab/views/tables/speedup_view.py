"""The speed-up table of the variants so far: before, after, speed-up, and what kind of time it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, table

if TYPE_CHECKING:
    from gpulab.profiling.speedup import SpeedupTable

__all__ = ["milliseconds", "sources", "speedup_view"]


def speedup_view(timed: SpeedupTable) -> View:
    """The table with the source of its times below; a line of text while it is empty."""
    rows = list(timed)
    if not rows:
        return paragraph(f"no variant of {timed.problem} was timed yet: run its kernel cells.", dim=True)
    problem = problem_named(timed.problem)
    cells = [
        (
            row.variant,
            row.changes,
            "x".join(map(str, row.block)),
            f"{milliseconds(row.before_ms)} ({row.before})" if row.before_ms is not None else "-",
            milliseconds(row.after_ms),
            f"{row.speedup:.2f}" if row.speedup is not None else "-",
        )
        for row in rows
    ]
    sizes = sorted({problem.format_shape(row.shape) for row in rows})
    caption = f"{timed.problem} at {', '.join(sizes)}. Times: {'; '.join(sources(timed))}."
    headers = ("variant", "what it changes", "block", "before (ms)", "after (ms)", "speed-up")
    return table(headers, cells, numeric=(3, 4, 5), caption=caption)


def sources(timed: SpeedupTable) -> list[str]:
    """Where the times come from, each source once; the simulator's with what it does not tell."""
    found: dict[str, None] = {}
    for row in timed:
        words = str(row.provenance)
        if row.provenance.kind == "simulator wall time":
            words += " (it tells nothing about a GPU)"
        found[words] = None
    return list(found)


def milliseconds(value: float | None) -> str:
    """Three significant figures, without an exponent."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
