"""Timed points as tables: one line for each launch or point, reasons below, and figures one can read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.provenance import Provenance
from gpulab.views.tables.point_view import launches_view, points_view, rate, shared_sources, source_of
from tests.kernel_configs import config
from tests.tiled_device import MODELLED

TIMING = Benchmark.from_samples([1.0, 2.0], MODELLED)
MATMUL = Point(config("matmul.K4", (32, 1, 1), (1, 2, 1)), (64, 64, 64), timing=TIMING, occupancy=0.5)
STENCIL = Point(config("stencil.naive"), (64, 64, 64), timing=TIMING)


def test_every_launch_has_a_line() -> None:
    assert [line.split()[0] for line in launches_view(MATMUL).text.splitlines()[2:4]] == ["1", "2"]


@pytest.mark.parametrize(("point", "has"), [(MATMUL, False), (STENCIL, True)])
def test_a_stencil_shows_its_bandwidth_and_points(point: Point, has: bool) -> None:
    header = launches_view(point).text.splitlines()[0]
    assert ("GB/s" in header) is has
    assert ("points/s" in header) is has
    assert ("GB/s" in points_view([point]).text.splitlines()[0]) is has


def test_a_reason_that_several_points_share_stands_once() -> None:
    refused = replace(MATMUL, timing=None, why_not="it is too large.")
    other = replace(MATMUL, timing=None, why_not="it is wrong.")
    text = points_view([refused, MATMUL, refused, other]).text
    assert text.count("not timed") == 3
    assert text.count("it is too large.") == 1
    assert text.count("it is wrong.") == 1


def test_no_points_are_a_sentence() -> None:
    assert "table" not in points_view([]).html


def test_the_simulators_own_time_is_not_taken_for_a_gpus() -> None:
    wall = Benchmark.from_samples([1.0], Provenance("simulator wall time", "simulator"))
    assert "nothing about a GPU" in source_of(wall)


def test_a_caption_says_what_holds_for_all_times_of_a_device() -> None:
    one, two, other = (
        Benchmark.from_samples([1.0], Provenance("modelled", device, f"uncalibrated, at {size}"))
        for device, size in (("T10", 64), ("T10", 128), ("H200", 64))
    )
    assert shared_sources([one, two, other]) == [
        "modelled, T10, uncalibrated",
        "modelled, H200, uncalibrated, at 64",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.1234, "0.123"), (1.5, "1.5"), (12.34, "12.3"), (169.1, "169.1"), (12345.6, "12,346")],
)
def test_rates_keep_the_digits_that_matter(value: float | None, shown: str) -> None:
    assert rate(value) == shown
