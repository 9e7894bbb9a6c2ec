"""Tests of the comparison of a kernel with published figures."""

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
    """Open a fake device under any name; its kernels take one second."""
    fake = TiledDevice(correct_tiles=(1, 2))
    monkeypatch.setattr("gpulab.profiling.published_comparison.open_device", lambda name=None: fake)
    set_clock(monkeypatch, kernel_ms=1000.0, copies_ms=1000.0)
    return fake


def row(**values: Any) -> PublishedRow:
    first = rows("t10", variant="K4")[0]
    return replace(first, **values)


def compare_row(published: PublishedRow, source: str = "") -> PublishedComparison:
    (comparison,) = compare_with_published([published], cell("matmul.K4 --block 256 --tile 1 1", source))
    return comparison


def test_kernel_uses_the_rows_block_tile_and_size() -> None:
    comparison = compare_row(row(block=(64, 1, 1), tile=(1, 2, 1), shape=(4096, 4096, 4096)))
    assert comparison.modelled is not None
    assert (comparison.modelled.block, comparison.modelled.tile) == ((64, 1, 1), (1, 2, 1))
    assert comparison.modelled.shape == (4096, 4096, 4096)
    assert comparison.modelled.kernel_gflops == pytest.approx(2 * 4096**3 / 1e9)


def test_error_uses_the_published_kernel_rate_if_there_is_one() -> None:
    both = compare_row(row(kernel_gflops=100.0, overall_gflops=90.0))
    overall = compare_row(row(kernel_gflops=None, overall_gflops=90.0))
    own_rate = 2 * 4096**3 / 1e9
    assert both.error_percent == pytest.approx(own_rate - 100)
    assert overall.error_percent == pytest.approx(100 * (own_rate / 2 - 90) / 90)


@pytest.mark.parametrize(("value", "published"), [(None, 1.0), (1.0, None), (1.0, 0.0)])
def test_missing_figure_gives_no_error(value: Any, published: Any) -> None:
    assert error_percent(value, published) is None


def test_unsupported_tile_is_not_timed() -> None:
    comparison = compare_row(row(tile=(1, 4, 1)))
    assert comparison.error_percent is None
    assert comparison.error


def test_tile_that_does_not_compile_is_not_timed() -> None:
    comparison = compare_row(row(tile=(1, 8, 1)))
    assert comparison.error_percent is None
    assert comparison.error


@pytest.mark.parametrize("values", [{"block": None}, {"tile": None}, {"shape": None}, {"gpu": ""}])
def test_row_without_a_full_configuration_is_not_modelled(values: dict[str, Any]) -> None:
    comparison = compare_row(row(**values))
    assert comparison.modelled is None
    assert comparison.error


@pytest.mark.parametrize(
    ("source", "modelled"),
    [
        ("", False),
        ("#pragma unroll\n", False),
        ("#pragma unroll 2\n", False),
        ("#pragma unroll 4\n", True),
        ("#pragma unroll TILE_Z\n", True),
    ],
)
def test_unrolled_row_needs_unrolled_source(source: str, modelled: bool) -> None:
    comparison = compare_row(row(k_unroll=4), source)
    assert (comparison.modelled is not None) is modelled
    assert bool(comparison.error) is not modelled


@pytest.mark.parametrize(("source", "tile_z"), [("#pragma unroll TILE_Z\n", 4), ("#pragma unroll 4\n", 1)])
def test_source_that_unrolls_by_its_tile_uses_the_rows_factor(source: str, tile_z: int) -> None:
    comparison = compare_row(row(tile=(1, 2, 1), k_unroll=4), source)
    assert comparison.modelled is not None
    assert comparison.modelled.tile == (1, 2, tile_z)


def test_rows_of_one_geometry_share_a_compiled_kernel(device: TiledDevice) -> None:
    published = [row(), row(label="again"), row(shape=(2048, 2048, 2048))]
    assert len(list(compare_with_published(published, cell()))) == 3
    assert len(device.compiled) == 1


def test_correct_kernel_is_also_measured_on_a_gpu(
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


def test_row_without_a_modelled_point_has_no_deviation() -> None:
    assert PublishedComparison(row(), error="does not compile").error_percent is None
