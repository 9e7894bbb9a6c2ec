"""`gpulab.beside_published`: published figures and those of the session's kernel."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab import session
from gpulab.errors import UsageError
from gpulab.notebook.tables.comparison_view import beside_published, comparison_view
from gpulab.problems.published import rows, source
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.profiling.published_comparison import PublishedComparison
from gpulab.provenance import Provenance
from tests.kernel_configs import config
from tests.tiled_device import MODELLED, TiledDevice, cell, set_clock

ROWS = rows("t10", variant="K4")
CITATION = source("t10").citation


pytestmark = pytest.mark.usefixtures("empty_session")


def point(ms: float, provenance: Provenance = MODELLED) -> Point:
    row = ROWS[0]
    assert row.shape
    assert row.block
    assert row.tile
    timing = Benchmark.from_samples([ms], provenance)
    return Point(config("matmul.K4", row.block, row.tile), row.shape, timing=timing, copies=timing)


def test_variant_whose_cell_has_not_run_gives_a_line_that_names_the_cell() -> None:
    view = beside_published("K4")
    assert "%%cuda matmul.K4" in view.text
    assert "table" not in view.html


@pytest.mark.parametrize(
    ("variant", "source_key", "named"),
    [
        ("K6", "t10", "K34"),
        ("K5", "t10", "K5.*gtx280"),
        ("stencil.K4", "t10", "t10"),
        ("", "t10", "t10"),
        ("K4", "t11", "t10"),
    ],
)
def test_missing_figures_raise_and_the_error_names_available_ones(
    variant: str, source_key: str, named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        beside_published(variant, source_key)


def test_every_published_row_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    device = TiledDevice(correct_tiles=(2,))
    monkeypatch.setattr("gpulab.profiling.published_comparison.open_device", lambda name=None: device)
    set_clock(monkeypatch)
    session.keep_cell(cell())
    view = beside_published("matmul.K4", source="t10")
    assert view.html.count("<tr>") == 1 + len(ROWS)
    assert view.text.count("wrong with this block and tile") == sum(row.tile != (1, 2, 1) for row in ROWS)


def test_figures_have_their_provenance_in_tooltips() -> None:
    view = comparison_view("matmul.K4", [PublishedComparison(ROWS[0], point(2000.0))], CITATION)
    assert source("t10").title in view.text
    assert view.html.count("title=") == 5
    assert "published" in view.html


def test_headers_name_the_kind_of_the_figures() -> None:
    measured = point(1.0, Provenance("measured", "a GPU"))
    view = comparison_view("matmul.K4", [PublishedComparison(ROWS[0], point(2000.0), measured)], CITATION)
    header = view.text.splitlines()[0]
    assert all(word in header for word in ("published", "modelled", "measured"))
    assert "measured, a GPU" in view.text


def test_column_of_measured_figures_needs_a_measured_point() -> None:
    view = comparison_view("matmul.K4", [PublishedComparison(ROWS[0], point(2000.0))], CITATION)
    assert "measured" not in view.text.splitlines()[0]


def test_shared_reason_is_shown_once() -> None:
    compared: list[Any] = [PublishedComparison(row, error="it does not compile") for row in ROWS]
    view = comparison_view("matmul.K4", compared, CITATION)
    assert view.text.count("it does not compile") == 1
