"""Timing with a replaced clock, and the speed-up table made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.profiling.benchmark import Timing, time_kernel
from gpulab.profiling.speedup import SpeedupTable, VariantTiming, time_variant
from gpulab.provenance import Provenance
from tests.python_device import PythonDevice

SIM = Provenance("simulator wall time", "stand-in")


class Clock:
    """A clock that a kernel moves: each launch takes the next of `seconds`."""

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self._seconds: Iterator[float] = iter(seconds)

    def __call__(self) -> float:
        return self.now

    def launch(self, *args: Any) -> None:
        self.now += next(self._seconds)


def timed(*seconds: float, **options: Any) -> Timing:
    clock = Clock(*seconds)
    device = PythonDevice()
    return time_kernel(device.kernel(clock.launch), 1, 1, [], device=device, clock=clock, **options)


def test_every_sample_is_kept_and_the_warm_up_is_not() -> None:
    assert timed(9.0, 0.001, 0.003, 0.002, repeats=3).samples_ms == pytest.approx((1, 3, 2))


def test_the_median_is_not_moved_by_one_slow_launch() -> None:
    assert timed(0.0, 0.001, 0.002, 0.003, 0.002, 0.9, repeats=5).median_ms == pytest.approx(2)


def test_the_spread_is_the_interquartile_range() -> None:
    assert timed(0.0, 0.001, 0.002, 0.003, 0.004, 0.005, repeats=5).spread_ms == pytest.approx(2)


def test_one_sample_has_no_spread() -> None:
    assert timed(0.0, 0.004, repeats=1).spread_ms == 0


def test_repeats_end_once_the_samples_reach_the_limit() -> None:
    assert len(timed(0.0, 2.0, 2.0, 2.0, repeats=9, limit_s=3.0).samples_ms) == 2


def test_a_launch_longer_than_the_limit_is_still_timed_once() -> None:
    assert len(timed(0.0, 7.0, 7.0, repeats=9, limit_s=3.0).samples_ms) == 1


def test_no_repeat_at_all_is_refused() -> None:
    with pytest.raises(UsageError):
        timed(repeats=0)


def test_a_time_on_the_simulator_is_its_own_wall_time() -> None:
    provenance = timed(0.0, 0.001, repeats=1).provenance
    assert provenance.kind == "simulator wall time"
    assert "simulator's own wall time" in str(provenance)


def test_a_time_on_a_gpu_is_measured() -> None:
    device = PythonDevice()
    device.kind = "cuda"
    device.measures_time = True
    timing = time_kernel(device.kernel(lambda: None), 1, 1, [], device=device, repeats=1)
    assert timing.provenance.kind == "measured"


def row(
    variant: str, ms: float, provenance: Provenance = SIM, shape: tuple[int, ...] = (9, 9, 9)
) -> VariantTiming:
    return VariantTiming(variant, shape, (32, 8, 1), (1, 1, 0), Timing(ms, 0.0, (ms,), provenance))


def table(*rows: VariantTiming, name: str = "stencil") -> SpeedupTable:
    made = SpeedupTable(name)
    for each in rows:
        made.add(each)
    return made


def test_rows_come_in_the_ladders_order_each_beside_the_rung_before() -> None:
    rows = table(row("opt_2", 1.0), row("naive", 8.0), row("opt_1", 4.0)).rows
    assert [(r.variant, r.before, r.before_ms, r.after_ms, r.speedup) for r in rows] == [
        ("naive", None, None, 8.0, None),
        ("opt_1", "naive", 8.0, 4.0, 2.0),
        ("opt_2", "opt_1", 4.0, 1.0, 4.0),
    ]


def test_a_missing_rung_is_replaced_by_the_first_one() -> None:
    rows = table(row("naive", 8.0), row("opt_3", 2.0)).rows
    assert (rows[1].before, rows[1].speedup) == ("naive", 4.0)


def test_a_later_time_of_a_variant_replaces_the_earlier() -> None:
    (only,) = table(row("naive", 8.0), row("naive", 5.0)).rows
    assert only.after_ms == 5.0


@pytest.mark.parametrize(
    "other", [row("naive", 8.0, Provenance("measured", "GPU")), row("naive", 8.0, shape=(8, 8, 8))]
)
def test_times_of_another_device_or_size_are_not_compared(other: VariantTiming) -> None:
    rows = table(other, row("opt_1", 4.0)).rows
    assert (rows[1].before, rows[1].speedup) == (None, None)


def test_gflops_are_the_problems_operations_by_the_time() -> None:
    (only,) = table(row("K1", 2.0, shape=(100, 100, 100)), name="matmul").rows
    assert only.gflops == pytest.approx(2e6 / 2e-3 / 1e9)


def test_a_variant_is_timed_at_the_problems_size_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device, sizes = PythonDevice(), {"sim": (66, 34, 18), "cuda": (34, 18, 66)}
    monkeypatch.setattr(type(problem("stencil")), "timing_sizes", sizes)
    timing = time_variant(
        device.kernel(lambda *args: None), problem("stencil"), "naive", (32, 8, 1), (1, 1, 0), device=device
    )
    assert timing.shape == sizes[device.kind]
