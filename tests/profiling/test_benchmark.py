"""Tests of `benchmark` with a scripted clock, and of the speed-up table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpulab.devices.cuda.nvml import ClockState
from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.profiling.benchmark import Benchmark, benchmark, sample
from gpulab.profiling.speedup import SpeedupTable, VariantTiming, time_variant
from gpulab.provenance import Provenance
from tests.kernel_configs import config
from tests.python_device import PythonDevice

SIM = Provenance("simulator wall time", "fake device")


class Clock:
    """A clock that launches advance: each launch takes the next of `seconds`."""

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self._seconds: Iterator[float] = iter(seconds)

    def __call__(self) -> float:
        return self.now

    def launch(self, *args: Any) -> None:
        self.now += next(self._seconds)


class ClockedDevice(PythonDevice):
    """A device with a scripted clock."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.clock = Clock(*seconds)

    def time(self, launch: Callable[[], object]) -> float:
        start = self.clock()
        launch()
        return (self.clock() - start) * 1e3


def timed(*seconds: float, **options: Any) -> Benchmark:
    device = ClockedDevice(*seconds)
    return benchmark(device.kernel(device.clock.launch), 1, 1, [], **{"n_warmup": 1} | options)


def test_samples_exclude_the_warm_up() -> None:
    assert timed(9.0, 0.001, 0.003, 0.002, n_repeat=3).samples_ms == pytest.approx((1, 3, 2))


def test_median_ignores_one_slow_launch() -> None:
    assert timed(0.0, 0.001, 0.002, 0.003, 0.002, 0.9, n_repeat=5).median_ms == pytest.approx(2)


def test_percentiles_are_interpolated_between_samples() -> None:
    result = timed(0.0, 0.001, 0.002, 0.003, 0.004, 0.005, n_repeat=5)
    assert (result.p20_ms, result.p80_ms) == pytest.approx((1.8, 4.2))
    assert result.spread_ms == pytest.approx(2.4)


def test_functions_are_sampled_in_alternating_order() -> None:
    calls: list[str] = []

    def measure(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    first, second = sample([lambda: measure("a"), lambda: measure("b")], n_repeat=2, n_warmup=1)
    assert "".join(calls) == "ab" + "ba" + "ab"
    assert (first, second) == ([4.0, 5.0], [3.0, 6.0])


def test_benchmark_round_trips_through_json() -> None:
    result = timed(0.0, 0.001, 0.002, n_repeat=2)
    assert Benchmark.from_dict(json.loads(json.dumps(result.as_dict()))) == result


def test_one_sample_has_no_spread() -> None:
    assert timed(0.0, 0.004, n_repeat=1).spread_ms == 0


def test_sampling_stops_at_the_time_limit() -> None:
    assert len(timed(0.0, 2.0, 2.0, 2.0, n_repeat=9, limit_s=3.0).samples_ms) == 2


def test_launch_longer_than_the_limit_is_timed_once() -> None:
    assert len(timed(0.0, 7.0, 7.0, n_repeat=9, limit_s=3.0).samples_ms) == 1


def test_zero_repeats_raise() -> None:
    with pytest.raises(UsageError):
        timed(n_repeat=0)


def test_time_on_a_simulator_is_wall_time() -> None:
    provenance = timed(0.0, 0.001, n_repeat=1).provenance
    assert provenance.kind == "simulator wall time"


def test_time_on_a_gpu_is_measured() -> None:
    device = PythonDevice()
    device.kind = "cuda"
    device.measures_time = True
    timing = benchmark(device.kernel(lambda: None), 1, 1, [], n_repeat=1)
    assert timing.provenance.kind == "measured"


class ScriptedGpu(ClockedDevice):
    """A GPU with a scripted clock, which records the operations of a measurement."""

    kind, measures_time = "cuda", True
    state = ClockState(1980, ())

    def __init__(self, *seconds: float) -> None:
        super().__init__(*seconds)
        self.evicted = 0
        self.replayed = 0

    def time(self, launch: Callable[[], object], *, before: Callable[[], object] | None = None) -> float:
        if before is not None:
            before()
        return super().time(launch)

    def evict_l2(self) -> None:
        self.evicted += 1

    def repeated(self, launch: Callable[[], None], times: int) -> Callable[[], None]:
        self.replayed = times
        return super().repeated(launch, times)

    def clock_state(self) -> ClockState:
        return self.state


def measured(gpu: ScriptedGpu, **options: Any) -> Benchmark:
    return benchmark(gpu.kernel(gpu.clock.launch), 1, 1, [], **options)


def test_warm_up_ends_when_the_times_are_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulab.profiling.benchmark.LEAST_WARM_S", 0.0)
    seconds = [9.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.01, 1.0, 1.01, 1.0, 1.0]
    result = measured(ScriptedGpu(*seconds, 0.7, 0.7), l2="cold", n_repeat=2)
    assert result.samples_ms == pytest.approx((700, 700))


def test_warm_up_of_long_launches_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulab.profiling.benchmark.MOST_WARM_S", 0.0)
    monkeypatch.setattr("gpulab.profiling.benchmark.LEAST_WARM_S", 0.0)
    assert measured(ScriptedGpu(2.0, 3.0), l2="cold", n_repeat=1).samples_ms == pytest.approx((3000,))


def test_l2_is_evicted_before_every_launch_if_it_is_to_be_cold() -> None:
    gpu = ScriptedGpu(1.0, 1.0, 1.0)
    result = measured(gpu, l2="cold", n_warmup=1, n_repeat=2)
    assert gpu.evicted == 3
    assert "cold L2" in result.provenance.detail


def test_unknown_state_of_l2_raises() -> None:
    with pytest.raises(UsageError, match="warm"):
        timed(0.0, l2="tepid")


def test_short_kernel_is_timed_as_a_graph_of_many_launches() -> None:
    gpu = ScriptedGpu(*[1e-5] * 500)
    result = measured(gpu, n_warmup=1, n_repeat=3)
    assert result.launches_per_sample == gpu.replayed == 100
    assert result.samples_ms == pytest.approx([0.01] * 3)
    assert "graph of 100 launches" in result.provenance.detail


def test_long_kernel_is_timed_launch_by_launch() -> None:
    gpu = ScriptedGpu(*[1e-3] * 6)
    assert measured(gpu, n_warmup=1, n_repeat=2).launches_per_sample == 1
    assert gpu.replayed == 0


def test_clock_and_its_limits_are_part_of_a_measurement() -> None:
    gpu = ScriptedGpu(*[1e-3] * 6)
    gpu.state = ClockState(1530, ("power limit",))
    result = measured(gpu, n_warmup=1, n_repeat=2)
    assert (result.clock_mhz, result.clock_limits) == (1530, ("power limit",))
    assert "SMs at 1530 MHz, clock limited by power limit" in result.provenance.detail


def row(
    variant: str, ms: float, provenance: Provenance = SIM, shape: tuple[int, ...] = (9, 9, 9)
) -> VariantTiming:
    problem_name = "matmul" if variant == "K1" else "stencil"
    return VariantTiming(config(f"{problem_name}.{variant}"), shape, Benchmark.from_samples([ms], provenance))


def table(*rows: VariantTiming, name: str = "stencil") -> SpeedupTable:
    result = SpeedupTable(name)
    for timing in rows:
        result.add(timing)
    return result


def test_rows_are_in_the_order_of_the_steps() -> None:
    rows = table(row("opt_2", 1.0), row("naive", 8.0), row("opt_1", 4.0)).rows
    assert [(r.variant, r.before, r.before_ms, r.after_ms, r.speedup) for r in rows] == [
        ("naive", None, None, 8.0, None),
        ("opt_1", "naive", 8.0, 4.0, 2.0),
        ("opt_2", "opt_1", 4.0, 1.0, 4.0),
    ]


def test_baseline_of_a_step_without_predecessor_is_the_first_step() -> None:
    rows = table(row("naive", 8.0), row("opt_3", 2.0)).rows
    assert (rows[1].before, rows[1].speedup) == ("naive", 4.0)


def test_later_time_of_a_variant_replaces_the_earlier_one() -> None:
    (only,) = table(row("naive", 8.0), row("naive", 5.0)).rows
    assert only.after_ms == 5.0


@pytest.mark.parametrize(
    "other", [row("naive", 8.0, Provenance("measured", "GPU")), row("naive", 8.0, shape=(8, 8, 8))]
)
def test_times_of_different_devices_or_sizes_are_not_compared(other: VariantTiming) -> None:
    rows = table(other, row("opt_1", 4.0)).rows
    assert (rows[1].before, rows[1].speedup) == (None, None)


def test_gflops_are_the_operations_divided_by_the_time() -> None:
    (only,) = table(row("K1", 2.0, shape=(100, 100, 100)), name="matmul").rows
    assert only.gflops == pytest.approx(2e6 / 2e-3 / 1e9)


def test_default_shape_is_the_problems_timing_size(monkeypatch: pytest.MonkeyPatch) -> None:
    device = PythonDevice()
    monkeypatch.setattr(problem("stencil"), "timing_size", (66, 34, 18))
    timing = time_variant(device.kernel(lambda *args: None), config("stencil.naive"))
    assert timing.shape == (66, 34, 18)
