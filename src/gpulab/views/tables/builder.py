"""The builder of every table: columns declare their header, text, alignment and provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpulab.views.html import View, paragraph, stack, table
from gpulab.views.tables.number_format import MISSING

__all__ = ["Column", "Footnotes", "table_view"]

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table.

    Attributes
    ----------
    header : str
        The header, with the unit of the figures.
    text : callable
        Returns the text of a row's cell.
    numeric : bool
        Align to the right.
    source : callable, optional
        Returns the provenance of a row's figure, which is shown when the pointer rests on it; a cell
        without a figure has none.
    bar : callable, optional
        Returns a row's figure, which is drawn as a bar in proportion to the column's largest figure.
    optional : bool
        Leave the column out if no row has a figure.
    """

    header: str
    text: Callable[[Row], str]
    numeric: bool = False
    source: Callable[[Row], object] | None = None
    bar: Callable[[Row], float] | None = None
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

    def below(self, view: View) -> View:
        """Return a view with the notes below it."""
        return stack(view, *map(paragraph, self.lines()))


def table_view(
    columns: Iterable[Column[Row]],
    rows: Sequence[Row],
    caption: str = "",
    *,
    notes: Iterable[str] = (),
) -> View:
    """Build a table, with one paragraph for each note below it."""
    texts = {column: [column.text(row) for row in rows] for column in columns}
    shown = [
        column for column, cells in texts.items() if not column.optional or any(c != MISSING for c in cells)
    ]

    titles: dict[tuple[int, int], str] = {}
    bars: dict[tuple[int, int], float] = {}
    for index, column in enumerate(shown):
        for number, row in enumerate(rows):
            known = texts[column][number] not in (MISSING, "")
            if column.source is not None and known and (source := column.source(row)):
                titles[number, index] = str(source)
        if column.bar is not None:
            figures = [column.bar(row) for row in rows]
            bars |= {(number, index): 100 * figure / max(figures) for number, figure in enumerate(figures)}

    view = table(
        [column.header for column in shown],
        list(zip(*(texts[column] for column in shown), strict=True)),
        numeric=[index for index, column in enumerate(shown) if column.numeric],
        caption=caption,
        hover=titles,
        bars=bars,
    )
    return stack(view, *(paragraph(note, dim=True) for note in notes))
