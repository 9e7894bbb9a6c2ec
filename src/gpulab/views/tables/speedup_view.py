"""The speed-up table: the time of each version, and of the version before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import block_extents, milliseconds, provenance_text, ratio
from gpulab.views.tables.residency_columns import RESIDENCY_COLUMNS, residency_caption

if TYPE_CHECKING:
    from gpulab.profiling.speedup import SpeedupRow, SpeedupTable

__all__ = ["sources", "speedup_view"]


def _before(row: SpeedupRow) -> str | None:
    return None if row.before_ms is None else f"{milliseconds(row.before_ms)} ({row.before})"


_COLUMNS = (
    Column("variant", "variant"),
    Column("before (ms)", _before, str),
    Column("after (ms)", "after_ms", milliseconds, "provenance"),
    Column("speed-up", "speedup", ratio),
    *RESIDENCY_COLUMNS,
    Column("block", lambda row: block_extents(row.block)),
    Column("change", "changes"),
)


def speedup_view(table: SpeedupTable, notes: Sequence[str] = ()) -> View:
    """Return the table with the provenance of its times and notes below it; lines of text if it is empty."""
    rows = list(table)
    if not rows:
        none = f"No kernel of {table.problem} was timed in this session yet. Run its kernel cells."
        return stack(*(paragraph(note, dim=True) for note in notes or [none]))

    problem = problem_named(table.problem)
    sizes = sorted({problem.format_shape(row.shape) for row in rows})
    caption = f"{table.problem} at {', '.join(sizes)}. Times: {'; '.join(sources(table))}."
    caption += residency_caption(row.residency for row in rows)
    return table_view(_COLUMNS, rows, caption, notes=notes)


def sources(table: SpeedupTable) -> list[str]:
    """Return the provenance of the times, each once."""
    return list(dict.fromkeys(provenance_text(row.provenance) for row in table))
