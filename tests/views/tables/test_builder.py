"""The table builder: columns, provenance, bars and footnotes."""

from __future__ import annotations

from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import MISSING

ROWS = [("a", 1.0), ("b", 4.0)]
NAME = Column[tuple[str, float]]("name", lambda row: row[0])
FIGURE = Column[tuple[str, float]]("ms", lambda row: f"{row[1]:g}", numeric=True)


def test_numeric_column_is_aligned_to_the_right() -> None:
    lines = table_view([NAME, FIGURE], [*ROWS, ("c", 100.0)]).text.splitlines()
    assert lines[2:] == ["a       1", "b       4", "c     100"]


def test_figure_has_its_source_in_a_tooltip_and_a_missing_figure_has_none() -> None:
    column = Column[tuple[str, float]](
        "ms", lambda row: f"{row[1]:g}" if row[1] > 1 else MISSING, source=lambda row: f"sheet {row[0]}"
    )
    html = table_view([column], ROWS).html
    assert html.count("title=") == 1
    assert 'title="sheet b"' in html


def test_bars_are_relative_to_the_largest_figure() -> None:
    html = table_view([Column("ms", FIGURE.text, bar=lambda row: row[1])], ROWS).html
    assert "--gp-part:25.0%" in html
    assert "--gp-part:100.0%" in html


def test_optional_column_without_figures_is_left_out() -> None:
    empty = Column[tuple[str, float]]("nothing", lambda _: MISSING, optional=True)
    assert "nothing" not in table_view([NAME, empty], ROWS).text


def test_equal_footnotes_share_a_number() -> None:
    footnotes = Footnotes()
    assert [footnotes.mark(text) for text in ("x", "y", "x")] == ["(1)", "(2)", "(1)"]
    assert footnotes.lines() == ["(1) x", "(2) y"]
