"""The table of published figures beside the session's kernel: what it says, and where it says it from."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab import session
from gpulab.errors import UsageError
from gpulab.notebook.beside_view import beside_published, beside_view
from gpulab.problems.published import rows, source
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.profiling.published_comparison import Beside
from gpulab.provenance import Provenance
from tests.kernel_configs import config
from tests.tiled_device import MODELLED, TiledDevice, cell, set_clock

ROWS = rows("t10", variant="K4")
CITATION = source("t10").citation


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_CELLS", {})


def point(ms: float, provenance: Provenance = MODELLED) -> Point:
    row = ROWS[0]
    assert row.shape
    assert row.block
    assert row.tile
    timing = Benchmark.from_samples([ms], provenance)
    return Point(config("matmul.K4", row.block, row.tile), row.shape, timing=timing, copies=timing)


def test_before_its_cell_ran_it_says_which_one_to_run() -> None:
    view = beside_published("K4")
    assert "%%cuda matmul.K4" in view.text
    assert "table" not in view.html


@pytest.mark.parametrize(
    ("variant", "source_key", "said"),
    [
        ("K6", "t10", "K34"),
        ("K5", "t10", "K5 is in: gtx280"),
        ("stencil.K4", "t10", "no figures"),
        ("", "t10", "no figures"),
        ("K4", "t11", "t10"),
    ],
)
def test_what_was_not_published_is_said_with_what_was(variant: str, source_key: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        beside_published(variant, source_key)


def test_a_cell_that_ran_has_a_row_for_every_published_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    device = TiledDevice(takes=(2,))
    monkeypatch.setattr("gpulab.profiling.published_comparison.open_device", lambda name=None: device)
    set_clock(monkeypatch)
    session.keep_cell(cell())
    view = beside_published("matmul.K4", source="t10")
    assert view.html.count("<tr>") == 1 + len(ROWS)
    assert view.text.count("wrong with this block and tile") == sum(row.tile != (1, 2, 1) for row in ROWS)


def test_the_source_stands_in_the_caption_and_on_the_figures() -> None:
    view = beside_view("matmul.K4", [Beside(ROWS[0], point(2000.0))], CITATION)
    assert source("t10").title in view.text
    assert view.html.count("title=") == 5
    assert "published" in view.html


def test_every_kind_of_number_says_what_it_is() -> None:
    measured = point(1.0, Provenance("measured", "a GPU"))
    view = beside_view("matmul.K4", [Beside(ROWS[0], point(2000.0), measured)], CITATION)
    header = view.text.splitlines()[0]
    assert all(word in header for word in ("published", "modelled", "measured"))
    assert "measured, a GPU" in view.text


def test_without_a_gpu_nothing_is_said_of_measuring() -> None:
    view = beside_view("matmul.K4", [Beside(ROWS[0], point(2000.0))], CITATION)
    assert "measured" not in view.text.splitlines()[0]


def test_reasons_stand_below_the_table_each_once() -> None:
    compared: list[Any] = [Beside(row, why_not="it does not compile") for row in ROWS]
    view = beside_view("matmul.K4", compared, CITATION)
    assert view.text.count("it does not compile") == 1
