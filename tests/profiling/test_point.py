"""Tests of `Point`: a kernel's times and rates at one size."""

from __future__ import annotations

import pytest

from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.point import Point
from gpulab.provenance import Provenance
from tests.kernel_configs import config
from tests.tiled_device import MODELLED

K4 = config("matmul.K4", (32, 1, 1), (1, 2, 1))
SHAPE = (100, 200, 300)  # 12 million operations
TIMING = Benchmark.from_samples([4.0, 2.0, 3.0], MODELLED)


def timed_point(**values: object) -> Point:
    return Point(K4, SHAPE, timing=TIMING, **values)  # type: ignore[arg-type]


def test_rates_are_those_of_the_median_launch() -> None:
    point = timed_point(copies=Benchmark.from_samples([1.0], MODELLED))
    assert (point.kernel_ms, point.overall_ms) == (3.0, 4.0)
    assert (point.kernel_gflops, point.overall_gflops) == pytest.approx((4.0, 3.0))
    assert point.gb_s == pytest.approx(4 * (20_000 + 30_000 + 60_000) / 3e6)


def test_iterations_are_in_launch_order() -> None:
    point = timed_point(copies=Benchmark.from_samples([1.0], MODELLED))
    assert [launch.overall_ms for launch in point.iterations] == [5.0, 3.0, 4.0]
    assert point.iterations[1].kernel_gflops == pytest.approx(6.0)


def test_measured_and_modelled_times_are_not_added() -> None:
    measured = Benchmark.from_samples([1.0], Provenance("measured", "a GPU"))
    point = timed_point(copies=measured)
    assert point.kernel_ms == 3.0
    assert point.overall_ms is None
    assert point.overall_gflops is None


def test_point_without_a_time_has_no_rates() -> None:
    point = Point(K4, SHAPE, error="no.")
    assert point.iterations == ()
    assert point.as_dict()["kernel_gflops"] is None
    assert point.as_dict()["why_not"] == "no."


def test_stencil_has_points_per_second() -> None:
    point = Point(config("stencil.naive"), (12, 12, 12), timing=TIMING)
    assert point.median is not None
    assert point.median.points_s == pytest.approx(1000 / 3e-3)
