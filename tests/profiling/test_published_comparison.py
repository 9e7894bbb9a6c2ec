"""Our kernel beside published rows: which rows it can stand beside, and how far the model is off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpulab.problems.published import PublishedRow, rows
from gpulab.profiling.point import Point
from gpulab.profiling.published_comparison import PublishedComparison, compare_with_published, error_percent
from tests.tiled_device import TiledDevice, cell, set_clock


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> TiledDevice:
    """Whatever device is asked for; its kernels take a second."""
    made = TiledDevice(takes=(1, 2))
    monkeypatch.setattr("gpulab.profiling.published_comparison.open_device", lambda name=None: made)
    set_clock(monkeypatch, kernel_ms=1000.0, copies_ms=1000.0)
    return made


def row(**values: Any) -> PublishedRow:
    first = rows("t10", variant="K4")[0]
    return replace(first, **values)


def beside_one(published: PublishedRow, text: str = "") -> PublishedComparison:
    (one,) = compare_with_published([published], cell("matmul.K4 --block 256 --tile 1 1", text))
    return one


def test_the_kernel_takes_the_rows_block_tile_and_size() -> None:
    one = beside_one(row(block=(64, 1, 1), tile=(1, 2, 1), shape=(4096, 4096, 4096)))
    assert one.modelled is not None
    assert (one.modelled.block, one.modelled.tile) == ((64, 1, 1), (1, 2, 1))
    assert one.modelled.shape == (4096, 4096, 4096)
    assert one.modelled.kernel_gflops == pytest.approx(2 * 4096**3 / 1e9)


def test_the_error_is_of_the_kernel_alone_where_that_was_published() -> None:
    both = beside_one(row(kernel_gflops=100.0, overall_gflops=90.0))
    overall = beside_one(row(kernel_gflops=None, overall_gflops=90.0))
    ours = 2 * 4096**3 / 1e9
    assert both.error_percent == pytest.approx(ours - 100)
    assert overall.error_percent == pytest.approx(100 * (ours / 2 - 90) / 90)


@pytest.mark.parametrize(("value", "published"), [(None, 1.0), (1.0, None), (1.0, 0.0)])
def test_there_is_no_error_where_a_figure_is_missing(value: Any, published: Any) -> None:
    assert error_percent(value, published) is None


def test_a_tile_that_the_text_does_not_take_is_not_timed() -> None:
    one = beside_one(row(tile=(1, 4, 1)))
    assert one.error_percent is None
    assert "wrong with this block and tile" in one.error


def test_a_tile_that_does_not_compile_is_not_timed() -> None:
    assert "does not compile" in beside_one(row(tile=(1, 8, 1))).error


@pytest.mark.parametrize("values", [{"block": None}, {"tile": None}, {"shape": None}, {"gpu": ""}])
def test_a_row_that_does_not_tell_what_ran_has_no_model(values: dict[str, Any]) -> None:
    one = beside_one(row(**values))
    assert one.modelled is None
    assert one.error


@pytest.mark.parametrize(
    ("text", "modelled"),
    [
        ("", False),
        ("#pragma unroll\n", False),
        ("#pragma unroll 2\n", False),
        ("#pragma unroll 4\n", True),
        ("#pragma unroll TILE_Z\n", True),
    ],
)
def test_an_unrolled_row_needs_an_unrolled_text(text: str, modelled: bool) -> None:
    one = beside_one(row(k_unroll=4), text)
    assert (one.modelled is not None) is modelled
    assert bool(one.error) is not modelled


@pytest.mark.parametrize(("text", "third"), [("#pragma unroll TILE_Z\n", 4), ("#pragma unroll 4\n", 1)])
def test_a_text_that_unrolls_by_its_header_gets_the_rows_factor(text: str, third: int) -> None:
    one = beside_one(row(tile=(1, 2, 1), k_unroll=4), text)
    assert one.modelled is not None
    assert one.modelled.tile == (1, 2, third)


def test_rows_of_one_geometry_share_what_was_compiled(device: TiledDevice) -> None:
    published = [row(), row(label="again"), row(shape=(2048, 2048, 2048))]
    assert len(list(compare_with_published(published, cell()))) == 3
    assert len(device.compiled) == 1


def test_on_a_gpu_what_is_modelled_is_measured_too(
    monkeypatch: pytest.MonkeyPatch, device: TiledDevice
) -> None:
    class Gpu(TiledDevice):
        kind = "cuda"
        measures_time = True

    def point(bench: Any, cell_: Any, shape: Any) -> Point:
        wrong = "" if cell_.config.tile[1] in (1, 2) else "no."
        return Point(cell_.config, shape, bottleneck="here", error=wrong)

    opened = {None: Gpu(), "sim:t10": device}
    monkeypatch.setattr("gpulab.profiling.published_comparison.open_device", opened.__getitem__)
    monkeypatch.setattr("gpulab.profiling.bench.Bench.point", point)
    right, wrong = compare_with_published([row(), row(tile=(1, 4, 1))], cell())
    assert right.measured is not None
    assert wrong.measured is None
