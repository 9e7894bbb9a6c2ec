"""One kernel at one size: its rates, its geometry, and sizes that it cannot take."""

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


def point(**values: object) -> Point:
    return Point(K4, SHAPE, timing=TIMING, **values)  # type: ignore[arg-type]


def test_the_rates_are_those_of_the_middle_launch() -> None:
    one = point(copies=Benchmark.from_samples([1.0], MODELLED))
    assert (one.kernel_ms, one.overall_ms) == (3.0, 4.0)
    assert (one.kernel_gflops, one.overall_gflops) == pytest.approx((4.0, 3.0))
    assert one.gb_s == pytest.approx(4 * (20_000 + 30_000 + 60_000) / 3e6)


def test_every_launch_is_kept_in_its_order() -> None:
    one = point(copies=Benchmark.from_samples([1.0], MODELLED))
    assert [launch.overall_ms for launch in one.iterations] == [5.0, 3.0, 4.0]
    assert one.iterations[1].kernel_gflops == pytest.approx(6.0)


def test_times_of_two_kinds_are_not_added() -> None:
    measured = Benchmark.from_samples([1.0], Provenance("measured", "a GPU"))
    one = point(copies=measured)
    assert one.kernel_ms == 3.0
    assert one.overall_ms is None
    assert one.overall_gflops is None


def test_a_point_without_a_time_has_no_rates() -> None:
    one = Point(K4, SHAPE, error="no.")
    assert one.iterations == ()
    assert one.as_dict()["kernel_gflops"] is None
    assert one.as_dict()["why_not"] == "no."


def test_a_stencil_has_points_in_a_second() -> None:
    one = Point(config("stencil.naive"), (12, 12, 12), timing=TIMING)
    assert one.median is not None
    assert one.median.points_s == pytest.approx(1000 / 3e-3)
