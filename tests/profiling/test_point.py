"""One kernel at one size: its rates, its geometry, and sizes that it cannot take."""

from __future__ import annotations

import pytest

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.profiling.benchmark import Timing
from gpulab.profiling.point import Point, require_size, with_geometry
from gpulab.provenance import Provenance
from tests.tiled_device import MODELLED, cell

SHAPE = (100, 200, 300)  # 12 million operations
TIMING = Timing.from_samples([4.0, 2.0, 3.0], MODELLED)


def point(**values: object) -> Point:
    return Point("matmul", "K4", SHAPE, (32, 1, 1), (1, 2, 1), timing=TIMING, **values)  # type: ignore[arg-type]


def test_the_rates_are_those_of_the_middle_launch() -> None:
    one = point(copies=Timing.from_samples([1.0], MODELLED))
    assert (one.kernel_ms, one.overall_ms) == (3.0, 4.0)
    assert (one.kernel_gflops, one.overall_gflops) == pytest.approx((4.0, 3.0))
    assert one.gb_s == pytest.approx(4 * (20_000 + 30_000 + 60_000) / 3e6)


def test_every_launch_is_kept_in_its_order() -> None:
    one = point(copies=Timing.from_samples([1.0], MODELLED))
    assert [launch.overall_ms for launch in one.iterations] == [5.0, 3.0, 4.0]
    assert one.iterations[1].kernel_gflops == pytest.approx(6.0)


def test_times_of_two_kinds_are_not_added() -> None:
    measured = Timing.from_samples([1.0], Provenance("measured", "a GPU"))
    one = point(copies=measured)
    assert one.kernel_ms == 3.0
    assert one.overall_ms is None
    assert one.overall_gflops is None


def test_a_point_without_a_time_has_no_rates() -> None:
    one = Point("matmul", "K4", SHAPE, (32, 1, 1), (1, 2, 1), why_not="no.")
    assert one.iterations == ()
    assert one.as_dict()["kernel_gflops"] is None
    assert one.as_dict()["why_not"] == "no."


def test_a_stencil_has_points_in_a_second() -> None:
    one = Point("stencil", "naive", (12, 12, 12), (32, 8, 1), (1, 1, 0), timing=TIMING)
    assert one.median is not None
    assert one.median.points_s == pytest.approx(1000 / 3e-3)


def test_numbers_that_are_left_out_are_the_headers() -> None:
    changed = with_geometry(cell("stencil.naive --block 16 4"), (64,), (1, 2)).header
    assert (changed.block, changed.tile) == ((64, 4, 1), (1, 2, 0))


def test_a_cell_of_no_problem_has_no_geometry() -> None:
    with pytest.raises(UsageError, match=r"PROBLEM\.VARIANT"):
        with_geometry(cell("mine"))


@pytest.mark.parametrize(
    ("variant", "shape", "nearest"),
    [("K4", (100, 64, 64), "128x64x64"), ("K4", (64, 64, 65), "64x64x128"), ("K4", (1, 1, 1), "64x32x64")],
)
def test_a_kernel_without_guards_says_which_size_it_takes(
    variant: str, shape: tuple[int, ...], nearest: str
) -> None:
    with pytest.raises(UsageError, match=f"take {nearest}"):
        require_size(problem("matmul"), variant, shape, (64, 1, 1), (1, 2, 1))


@pytest.mark.parametrize(
    ("name", "variant", "shape"),
    [("matmul", "K4", (64, 32, 128)), ("matmul", "K4g", (7, 13, 5)), ("stencil", "opt_1", (65, 47, 9))],
)
def test_sizes_that_fit_pass(name: str, variant: str, shape: tuple[int, ...]) -> None:
    require_size(problem(name), variant, shape, (64, 1, 1), (1, 2, 1))
