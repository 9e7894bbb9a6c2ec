"""Timing with a replaced clock, and the speed-up table made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.profiling.benchmark import Benchmark, benchmark, sample
from gpulab.profiling.speedup import SpeedupTable, VariantTiming, time_variant
from gpulab.provenance import Provenance
from tests.kernel_configs import config
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


class ClockedDevice(PythonDevice):
    """A device whose launches move a clock."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.clock = Clock(*seconds)

    def time(self, launch: Callable[[], object]) -> float:
        start = self.clock()
        launch()
        return (self.clock() - start) * 1e3


def timed(*seconds: float, **options: Any) -> Benchmark:
    device = ClockedDevice(*seconds)
    return benchmark(device.kernel(device.clock.launch), 1, 1, [], **options)


def test_every_sample_is_kept_and_the_warm_up_is_not() -> None:
    assert timed(9.0, 0.001, 0.003, 0.002, n_repeat=3).samples_ms == pytest.approx((1, 3, 2))


def test_the_median_is_not_moved_by_one_slow_launch() -> None:
    assert timed(0.0, 0.001, 0.002, 0.003, 0.002, 0.9, n_repeat=5).median_ms == pytest.approx(2)


def test_percentiles_are_interpolated_between_samples() -> None:
    result = timed(0.0, 0.001, 0.002, 0.003, 0.004, 0.005, n_repeat=5)
    assert (result.p20_ms, result.p80_ms) == pytest.approx((1.8, 4.2))
    assert result.spread_ms == pytest.approx(2.4)


def test_functions_are_sampled_in_turns_and_the_order_alternates() -> None:
    calls: list[str] = []

    def measure(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    first, second = sample([lambda: measure("a"), lambda: measure("b")], n_repeat=2, n_warmup=1)
    assert "".join(calls) == "ab" + "ba" + "ab"
    assert (first, second) == ([4.0, 5.0], [3.0, 6.0])


def test_a_benchmark_survives_the_way_through_json() -> None:
    result = timed(0.0, 0.001, 0.002, n_repeat=2)
    assert Benchmark.from_dict(json.loads(json.dumps(result.as_dict()))) == result


def test_one_sample_has_no_spread() -> None:
    assert timed(0.0, 0.004, n_repeat=1).spread_ms == 0


def test_repeats_end_once_the_samples_reach_the_limit() -> None:
    assert len(timed(0.0, 2.0, 2.0, 2.0, n_repeat=9, limit_s=3.0).samples_ms) == 2


def test_a_launch_longer_than_the_limit_is_still_timed_once() -> None:
    assert len(timed(0.0, 7.0, 7.0, n_repeat=9, limit_s=3.0).samples_ms) == 1


def test_no_repeat_at_all_is_refused() -> None:
    with pytest.raises(UsageError):
        timed(n_repeat=0)


def test_a_time_on_the_simulator_is_its_own_wall_time() -> None:
    provenance = timed(0.0, 0.001, n_repeat=1).provenance
    assert provenance.kind == "simulator wall time"
    assert "simulator's own wall time" in str(provenance)


def test_a_time_on_a_gpu_is_measured() -> None:
    device = PythonDevice()
    device.kind = "cuda"
    device.measures_time = True
    timing = benchmark(device.kernel(lambda: None), 1, 1, [], n_repeat=1)
    assert timing.provenance.kind == "measured"


def row(
    variant: str, ms: float, provenance: Provenance = SIM, shape: tuple[int, ...] = (9, 9, 9)
) -> VariantTiming:
    problem_name = "matmul" if variant == "K1" else "stencil"
    return VariantTiming(config(f"{problem_name}.{variant}"), shape, Benchmark.from_samples([ms], provenance))


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
    device = PythonDevice()
    monkeypatch.setattr(type(problem("stencil")), "timing_size", (66, 34, 18))
    timing = time_variant(device.kernel(lambda *args: None), config("stencil.naive"))
    assert timing.shape == (66, 34, 18)
