"""The builder of every table: columns declare their header, value, format and provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.views.html import View, filled_columns, paragraph, stack, table
from gpulab.views.tables.number_format import MISSING

__all__ = ["Column", "Footnotes", "table_view"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    header : str
        The header, with the unit of the figures.
    value : str or callable
        An attribute of a row such as "timing.median_ms", or a function of it. The text of None is `MISSING`.
    format : callable, optional
        Formats a figure. A column of figures is aligned to the right; text needs no format.
    source : str or callable, optional
        Attribute or function of a row that gives the provenance of a figure. It is the tooltip.
    bar : bool
        Draw figures as bars too, relative to the largest figure.
    optional : bool
        Leave the column out if no row has a value: every value is None or an empty text.
    """

    header: str
    value: str | Callable[[Any], Any]
    format: Callable[[Any], str] | None = None
    source: str | Callable[[Any], object] | None = None
    bar: bool = False
    optional: bool = False


class Footnotes:
    """Numbered notes below a table; equal notes share a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """Return the mark of a note, such as (1)."""
        return f"({self._numbers.setdefault(text, len(self._numbers) + 1)})"

    def lines(self) -> list[str]:
        """Return the notes with their marks."""
        return [f"({number}) {text}" for text, number in self._numbers.items()]


def table_view(
    columns: Iterable[Column], rows: Sequence[Any], caption: str = "", *, notes: Iterable[str] = ()
) -> View:
    """Build a table, with one paragraph for each note below it."""
    values = {column: [_get(row, column.value) for row in rows] for column in columns}
    filled = filled_columns(zip(*values.values(), strict=True))
    shown = [column for index, column in enumerate(values) if not column.optional or index in filled]

    texts: list[list[str]] = [[] for _ in rows]
    titles: dict[tuple[int, int], str] = {}
    bars: dict[tuple[int, int], float] = {}
    for index, column in enumerate(shown):
        for number, (row, value) in enumerate(zip(rows, values[column], strict=True)):
            texts[number].append(MISSING if value is None else (column.format or str)(value))
            if column.source and value is not None and (source := _get(row, column.source)):
                titles[number, index] = str(source)
            if column.bar:
                bars[number, index] = 100 * value / max(values[column])

    numeric = [index for index, column in enumerate(shown) if column.format]
    headers = [column.header for column in shown]
    view = table(headers, texts, numeric=numeric, caption=caption, hover=titles, bars=bars)
    return stack(view, *(paragraph(note, dim=True) for note in notes))


def _get(row: Any, value: str | Callable[[Any], Any]) -> Any:
    """Return an attribute such as "timing.median_ms", None if a part of it is None, or a function's value."""
    if not isinstance(value, str):
        return value(row)
    for name in value.split("."):
        row = None if row is None else getattr(row, name)
    return row
