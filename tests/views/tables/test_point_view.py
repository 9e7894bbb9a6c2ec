"""Tables of timed points: rows, shared reasons and shared provenance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.provenance import Provenance
from gpulab.views.tables.point_view import launches_view, points_view, shared_sources, source_of
from tests.kernel_configs import config
from tests.tiled_device import MODELLED

TIMING = Benchmark.from_samples([1.0, 2.0], MODELLED)
MATMUL = Point(config("matmul.K4", (32, 1, 1), (1, 2, 1)), (64, 64, 64), timing=TIMING, occupancy=0.5)
STENCIL = Point(config("stencil.naive"), (64, 64, 64), timing=TIMING)


def test_every_launch_has_a_row() -> None:
    assert [line.split()[0] for line in launches_view(MATMUL).text.splitlines()[2:4]] == ["1", "2"]


@pytest.mark.parametrize(("point", "has"), [(MATMUL, False), (STENCIL, True)])
def test_stencil_has_columns_for_bandwidth_and_points(point: Point, has: bool) -> None:
    header = launches_view(point).text.splitlines()[0]
    assert ("GB/s" in header) is has
    assert ("points/s" in header) is has
    assert ("GB/s" in points_view([point]).text.splitlines()[0]) is has


def test_kernel_and_size_have_a_column_only_if_they_differ() -> None:
    alike = points_view([STENCIL, STENCIL]).text
    header = alike.splitlines()[0].split()
    assert header.count("kernel") == 2  # of the time and of the rate
    assert "size" not in header
    assert "stencil.naive at 64x64x64." in alike
    different = points_view([STENCIL, replace(MATMUL, shape=(32, 32, 32))]).text.splitlines()[0].split()
    assert different.count("kernel") == 3
    assert "size" in different


def test_shared_reason_is_shown_once() -> None:
    refused = replace(MATMUL, timing=None, error="it is too large.")
    other = replace(MATMUL, timing=None, error="it is wrong.")
    text = points_view([refused, MATMUL, refused, other]).text
    assert text.count("not timed") == 3
    assert text.count("it is too large.") == 1
    assert text.count("it is wrong.") == 1


def test_no_points_give_a_line_of_text() -> None:
    assert "table" not in points_view([]).html


def test_wall_time_of_the_simulator_is_marked() -> None:
    wall = Benchmark.from_samples([1.0], Provenance("simulator wall time", "simulator"))
    assert source_of(wall) != str(wall.provenance)
    assert "wall time" in source_of(wall)


def test_shared_sources_keep_the_details_of_all_times_of_a_device() -> None:
    one, two, other = (
        Benchmark.from_samples([1.0], Provenance("modelled", device, f"uncalibrated, at {size}"))
        for device, size in (("T10", 64), ("T10", 128), ("H200", 64))
    )
    assert shared_sources([one, two, other]) == [
        "modelled, T10, uncalibrated",
        "modelled, H200, uncalibrated, at 64",
    ]
