"""Ridge points, binding roofs, percents and mistakes of a roofline, by hand-made ceilings and points."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError
from gpulab.profiling.benchmark import Timing
from gpulab.profiling.roofline import Ceiling, Point, Roofline, ridge_point
from gpulab.provenance import Provenance

PUBLISHED = Provenance("published", "stand-in", "a data sheet")
MEASURED = Provenance("measured", "stand-in")
MODELLED = Provenance("modelled", "stand-in")
COUNTED = Provenance("counted", "stand-in")

DRAM, FP32 = Ceiling("DRAM", 100.0, PUBLISHED), Ceiling("fp32", 1000.0, PUBLISHED)
COPY, TRIAD = Ceiling("DRAM", 80.0, MEASURED, "copy"), Ceiling("DRAM", 90.0, MEASURED, "triad")
FMA = Ceiling("fp32", 900.0, MEASURED, "FMA")
rates = st.floats(1e-3, 1e9)


def point(intensity: float, gflops: float, nbytes: float = 1e9, variant: str = "naive") -> Point:
    flops = round(intensity * nbytes)
    ms = Timing.from_samples([flops / gflops / 1e6], MODELLED)
    return Point(variant, (512,) * 3, (32, 8, 1), (1, 1, 0), flops, nbytes, ms, COUNTED)


def roofline(*points: Point, ceilings: tuple[Ceiling, ...] = (DRAM, FP32), **more: Any) -> Roofline:
    return Roofline("stencil", "stand-in", "counted", ceilings, points, **more)


@given(bandwidth=rates, peak=rates)
def test_at_the_ridge_point_both_roofs_allow_the_same(bandwidth: float, peak: float) -> None:
    assert bandwidth * ridge_point(bandwidth, peak) == pytest.approx(peak)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ceiling_is_a_positive_rate(rate: float) -> None:
    with pytest.raises(UsageError, match="positive"):
        Ceiling("DRAM", rate, PUBLISHED)
    with pytest.raises(UsageError, match="positive"):
        ridge_point(rate, 1.0)


@pytest.mark.parametrize(
    ("intensity", "level"), [(1.0, "DRAM"), (9.9, "DRAM"), (10.1, "fp32"), (1e3, "fp32")]
)
def test_left_of_the_ridge_dram_binds_and_right_of_it_fp32(intensity: float, level: str) -> None:
    assert roofline().binding(point(intensity, 1.0)).level == level


def test_the_percent_is_of_the_binding_roof() -> None:
    assert roofline().percent(point(2.0, 50.0)) == pytest.approx(25.0)
    assert roofline().percent(point(20.0, 50.0)) == pytest.approx(5.0)


def test_a_measured_ceiling_goes_before_the_data_sheets() -> None:
    both = roofline(ceilings=(DRAM, FP32, COPY, TRIAD, FMA))
    assert both.best("DRAM") == TRIAD
    assert both.percent(point(1.0, 45.0)) == pytest.approx(50.0)


def test_faster_than_a_benchmark_is_no_mistake_while_the_data_sheet_allows_it() -> None:
    here = point(1.0, 95.0)
    both = roofline(here, ceilings=(DRAM, FP32, COPY, TRIAD, FMA))
    assert both.percent(here) > 100
    assert not both.mistake(here)


@pytest.mark.parametrize(("intensity", "gflops"), [(1.0, 110.0), (100.0, 1100.0)])
def test_a_point_above_its_roof_is_a_mistake_in_words(intensity: float, gflops: float) -> None:
    above = point(intensity, gflops)
    assert "mistake" in roofline(above).mistake(above)
    assert len(roofline(above, point(1.0, 10.0)).mistakes) == 1


def test_bytes_that_fit_in_l2_are_named_as_the_mistake() -> None:
    above = point(1.0, 110.0, nbytes=2.0**20)
    assert "L2" in roofline(above, l2_bytes=2**22).mistake(above)
    assert "L2" not in roofline(above, l2_bytes=2**10).mistake(above)


def test_roofs_of_l2_and_shared_memory_do_not_bind_what_dram_moves() -> None:
    low = Ceiling("L2", 1.0, MEASURED, "read"), Ceiling("shared memory", 1.0, PUBLISHED)
    assert roofline(ceilings=(DRAM, FP32, *low)).binding(point(1.0, 1.0)) == DRAM


def test_a_ridge_joins_ceilings_of_one_kind() -> None:
    ridges = {str(c): ridge for c, ridge in roofline(ceilings=(DRAM, FP32, COPY, FMA)).ridges()}
    assert ridges == {str(DRAM): pytest.approx(10.0), str(COPY): pytest.approx(900 / 80)}


def test_without_a_measured_peak_a_measured_bandwidth_ends_at_the_data_sheets() -> None:
    ridges = dict(roofline(ceilings=(COPY, FP32)).ridges())
    assert ridges[COPY] == pytest.approx(12.5)


@pytest.mark.parametrize("missing", [DRAM, FP32])
def test_a_roofline_needs_a_roof_of_each_kind(missing: Ceiling) -> None:
    with pytest.raises(UsageError, match=missing.level):
        roofline(ceilings=tuple(c for c in (DRAM, FP32) if c != missing))


def test_an_intensity_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="counted"):
        Roofline("stencil", "stand-in", "guessed", (DRAM, FP32))  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"flops": 0}, {"nbytes": 0}, {"nbytes": float("nan")}])
def test_a_point_without_bytes_or_operations_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no place"):
        dataclasses.replace(point(1.0, 1.0), **change)


def test_a_points_rates_follow_from_its_time() -> None:
    here = dataclasses.replace(point(2.0, 1.0), timing=Timing.from_samples([4.0, 2.0, 3.0], MODELLED))
    assert here.gflops == pytest.approx(here.flops / 3e-3 / 1e9)
    assert here.gb_s == pytest.approx(here.nbytes / 3e-3 / 1e9)


def test_a_roofline_goes_through_json() -> None:
    data = json.loads(json.dumps(roofline(point(1.0, 110.0)).as_dict()))
    assert data["points"][0]["percent"] == pytest.approx(110.0)
    assert data["points"][0]["mistake"]
    assert {c["provenance"]["kind"] for c in data["ceilings"]} == {"published"}
