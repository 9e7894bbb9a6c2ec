"""The table builder: columns, provenance, bars and footnotes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import MISSING


class Row(NamedTuple):
    name: str
    ms: float | None


ROWS = [Row("a", 1.0), Row("b", 4.0)]
NAME = Column("name", "name")
FIGURE = Column("ms", "ms", "{:g}".format)


def test_figures_are_aligned_to_the_right() -> None:
    lines = table_view([NAME, FIGURE], [*ROWS, Row("c", 100.0)]).text.splitlines()
    assert lines[2:] == ["a       1", "b       4", "c     100"]


def test_figure_has_its_source_in_a_tooltip_and_a_missing_figure_has_none() -> None:
    column = Column("ms", "ms", "{:g}".format, lambda row: f"sheet {row.name}")
    view = table_view([column], [Row("a", None), Row("b", 4.0)])
    assert view.html.count("title=") == 1
    assert 'title="sheet b"' in view.html
    assert MISSING in view.text


def test_bars_are_relative_to_the_largest_figure() -> None:
    html = table_view([Column("ms", "ms", str, bar=True)], ROWS).html
    assert "--gp-part:25.0%" in html
    assert "--gp-part:100.0%" in html


@pytest.mark.parametrize("value", [None, ""])
def test_optional_column_without_values_is_left_out(value: str | None) -> None:
    empty = Column("nothing", lambda _: value, optional=True)
    assert "nothing" not in table_view([NAME, empty], ROWS).text


def test_optional_column_with_one_value_is_shown() -> None:
    column = Column("note", lambda row: "new" if row.name == "b" else "", optional=True)
    assert table_view([NAME, column], ROWS).text.splitlines()[0].split() == ["name", "note"]


def test_equal_footnotes_share_a_number() -> None:
    footnotes = Footnotes()
    assert [footnotes.mark(text) for text in ("x", "y", "x")] == ["(1)", "(2)", "(1)"]
    assert footnotes.lines() == ["(1) x", "(2) y"]
