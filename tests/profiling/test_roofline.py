"""Ridge points, binding ceilings, percentages and impossible points of a roofline."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulab.errors import UsageError
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.roofline import Ceiling, Roofline, RooflinePoint, ridge_point
from gpulab.provenance import Provenance

PUBLISHED = Provenance("published", "stand-in", "a data sheet")
MEASURED = Provenance("measured", "stand-in")
MODELLED = Provenance("modelled", "stand-in")
COUNTED = Provenance("counted", "stand-in")

DRAM, FP32 = Ceiling("DRAM", 100.0, PUBLISHED), Ceiling("fp32", 1000.0, PUBLISHED)
COPY, TRIAD = Ceiling("DRAM", 80.0, MEASURED, "copy"), Ceiling("DRAM", 90.0, MEASURED, "triad")
FMA = Ceiling("fp32", 900.0, MEASURED, "FMA")
TF32 = Ceiling("tensor tf32", 8000.0, PUBLISHED)
rates = st.floats(1e-3, 1e9)


def point(intensity: float, gflops: float, nbytes: float = 1e9, variant: str = "naive") -> RooflinePoint:
    flops = round(intensity * nbytes)
    ms = Benchmark.from_samples([flops / gflops / 1e6], MODELLED)
    return RooflinePoint(variant, (512,) * 3, (32, 8, 1), (1, 1, 0), flops, nbytes, ms, COUNTED)


def roofline(*points: RooflinePoint, ceilings: tuple[Ceiling, ...] = (DRAM, FP32), **more: Any) -> Roofline:
    return Roofline("stencil", "stand-in", "counted", ceilings, points, **more)


@given(bandwidth=rates, peak=rates)
def test_ceilings_are_equal_at_the_ridge_point(bandwidth: float, peak: float) -> None:
    assert bandwidth * ridge_point(bandwidth, peak) == pytest.approx(peak)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(UsageError):
        Ceiling("DRAM", rate, PUBLISHED)
    with pytest.raises(UsageError):
        ridge_point(rate, 1.0)


@pytest.mark.parametrize(
    ("intensity", "level"), [(1.0, "DRAM"), (9.9, "DRAM"), (10.1, "fp32"), (1e3, "fp32")]
)
def test_dram_binds_left_of_the_ridge_and_fp32_right_of_it(intensity: float, level: str) -> None:
    assert roofline().binding(point(intensity, 1.0)).level == level


def test_percent_refers_to_the_binding_ceiling() -> None:
    assert roofline().percent(point(2.0, 50.0)) == pytest.approx(25.0)
    assert roofline().percent(point(20.0, 50.0)) == pytest.approx(5.0)


def test_measured_ceiling_is_preferred_to_published_ceiling() -> None:
    both = roofline(ceilings=(DRAM, FP32, COPY, TRIAD, FMA))
    assert both.best("DRAM") == TRIAD
    assert both.percent(point(1.0, 45.0)) == pytest.approx(50.0)


def test_point_between_measured_and_published_ceiling_is_not_reported() -> None:
    here = point(1.0, 95.0)
    both = roofline(here, ceilings=(DRAM, FP32, COPY, TRIAD, FMA))
    assert both.percent(here) > 100
    assert not both.mistake(here)


@pytest.mark.parametrize(("intensity", "gflops"), [(1.0, 110.0), (100.0, 1100.0)])
def test_point_above_every_ceiling_is_reported(intensity: float, gflops: float) -> None:
    above = point(intensity, gflops)
    assert above.variant in roofline(above).mistake(above)
    assert len(roofline(above, point(1.0, 10.0)).mistakes) == 1


def test_report_names_l2_if_the_bytes_fit_in_it() -> None:
    above = point(1.0, 110.0, nbytes=2.0**20)
    assert "L2" in roofline(above, l2_bytes=2**22).mistake(above)
    assert "L2" not in roofline(above, l2_bytes=2**10).mistake(above)


def test_l2_and_shared_memory_ceilings_do_not_bind() -> None:
    low = Ceiling("L2", 1.0, MEASURED, "read"), Ceiling("shared memory", 1.0, PUBLISHED)
    assert roofline(ceilings=(DRAM, FP32, *low)).binding(point(1.0, 1.0)) == DRAM


def test_ridge_joins_ceilings_of_the_same_kind() -> None:
    ridges = {str(c): ridge for c, ridge in roofline(ceilings=(DRAM, FP32, COPY, FMA)).ridges()}
    assert ridges == {str(DRAM): pytest.approx(10.0), str(COPY): pytest.approx(900 / 80)}


def test_ridge_uses_published_peak_without_a_measured_one() -> None:
    ridges = dict(roofline(ceilings=(COPY, FP32)).ridges())
    assert ridges[COPY] == pytest.approx(12.5)


@pytest.mark.parametrize("missing", [DRAM, FP32])
def test_roofline_needs_ceilings_of_dram_and_fp32(missing: Ceiling) -> None:
    with pytest.raises(UsageError, match=missing.level):
        roofline(ceilings=tuple(c for c in (DRAM, FP32) if c != missing))


def tensor_point(intensity: float, gflops: float) -> RooflinePoint:
    return dataclasses.replace(point(intensity, gflops), arithmetic="tensor tf32")


def test_tensor_ceiling_binds_points_that_use_tensor_cores() -> None:
    here, there = point(100.0, 500.0), tensor_point(100.0, 4000.0)
    both = roofline(here, there, ceilings=(DRAM, FP32, TF32))
    assert (both.binding(here), both.binding(there)) == (FP32, TF32)
    assert both.percent(there) == pytest.approx(50.0)
    assert not both.mistakes
    assert both.binding(tensor_point(50.0, 1.0)) == DRAM


def test_point_above_the_tensor_ceiling_is_reported() -> None:
    above = tensor_point(100.0, 9000.0)
    assert "tensor tf32" in roofline(above, ceilings=(DRAM, FP32, TF32)).mistake(above)


def test_memory_ceiling_reaches_the_tensor_ceiling() -> None:
    assert dict(roofline(ceilings=(DRAM, FP32, TF32)).ridges())[DRAM] == pytest.approx(80.0)


def test_roofline_needs_a_ceiling_of_the_arithmetic_of_its_points() -> None:
    with pytest.raises(UsageError, match="tensor tf32"):
        roofline(tensor_point(1.0, 1.0))


def test_unknown_intensity_raises() -> None:
    with pytest.raises(UsageError):
        Roofline("stencil", "stand-in", "guessed", (DRAM, FP32))  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"flops": 0}, {"nbytes": 0}, {"nbytes": float("nan")}])
def test_point_without_bytes_or_operations_raises(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        dataclasses.replace(point(1.0, 1.0), **change)


def test_rates_are_computed_from_the_median_time() -> None:
    here = dataclasses.replace(point(2.0, 1.0), timing=Benchmark.from_samples([4.0, 2.0, 3.0], MODELLED))
    assert here.gflops == pytest.approx(here.flops / 3e-3 / 1e9)
    assert here.gb_s == pytest.approx(here.nbytes / 3e-3 / 1e9)
