"""Laws of the model: what can never make a launch faster, and Little's law on a toy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulab.gpus.architectures import Timings, sources, timings
from gpulab.gpus.catalogue import gpu, names
from gpulab.model.estimate import Work, estimate
from gpulab.model.explanation import bound_words

WORK = Work(
    blocks=4000, resident=8, warps=4, warp_cycles=50_000, instructions=1e8,
    pipes={"fp32": 2e6, "integer": 1e6},
    l1_cycles=4e6, l2_bytes=2e9, dram_bytes=1e9,
)  # fmt: skip
GROWS = ("warp_cycles", "instructions", "l1_cycles", "l2_bytes", "dram_bytes")


def time_ms(work: Work, name: str = "h200") -> float:
    return estimate(gpu(name), timings(gpu(name)), work).time_ms


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("part", GROWS)
@pytest.mark.parametrize("factor", [1.1, 3, 100])
def test_more_of_anything_is_never_faster(name: str, part: str, factor: float) -> None:
    more = replace(WORK, **{part: factor * getattr(WORK, part)})
    assert time_ms(more, name) >= time_ms(WORK, name)


def test_less_occupancy_is_slower_where_latency_bounds() -> None:
    bound = replace(WORK, warp_cycles=1e7)
    assert time_ms(replace(bound, resident=4)) > 1.9 * time_ms(bound)


def test_littles_law_on_a_toy() -> None:
    """Warps that only wait: as many at once as are resident, each as long as it takes, and nothing else."""
    spec = gpu("h200")
    toy = Work(spec.sms * 8 * 10, 8, 1, 1e6, 0.0, {}, 0.0, 0.0, 0.0)
    found = estimate(spec, timings(spec), toy)
    assert found.terms["latency"] == pytest.approx(10 * 1e6 / (spec.boost_clock_mhz * 1e3))
    assert found.bound == "latency"


def test_one_block_more_than_a_wave_takes_another_wave() -> None:
    spec = gpu("h200")
    full = replace(WORK, blocks=spec.sms * WORK.resident, warp_cycles=1e7)
    assert time_ms(replace(full, blocks=full.blocks + 1)) > 1.9 * time_ms(full)


def test_the_time_is_never_less_than_any_part_of_it() -> None:
    spec = gpu("h200")
    found = estimate(spec, timings(spec), WORK)
    assert found.time_ms >= max(found.terms.values())


def test_a_launch_bound_by_dram_takes_what_the_data_sheet_says() -> None:
    spec = gpu("gtx280")
    figures = timings(spec)
    stream = Work(30000, 8, 4, 0.0, 0.0, {}, 0.0, 0.0, 1e10)
    expected = 1e10 / (figures.dram_efficiency * spec.dram_gb_s * 1e9) * 1e3
    assert estimate(spec, figures, stream).time_ms == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("name", names())
def test_every_figure_of_an_architecture_says_how_it_is_known(name: str) -> None:
    spec = gpu(name)
    known = sources(spec)
    given = {f for f in Timings.__dataclass_fields__ if getattr(timings(spec), f)}
    assert given - set(known) <= {"dram_burst_bytes", "queueing", "l1_cycles"}
    assert {how for how, _ in known.values()} <= {"published", "measured", "fitted", "assumed"}


def test_nothing_is_fitted_on_the_gtx280() -> None:
    assert sources(gpu("gtx280"))["dram_ns"][0] != "fitted"


def test_the_words_say_what_another_block_would_give() -> None:
    spec = gpu("gtx280")
    work = Work(30_000, 8, 1, 1e7, 0.0, {}, 0.0, 0.0, 0.0)
    words = bound_words(spec, work, estimate(spec, timings(spec), work), {32: 8, 64: 16})
    assert words == "bound by latency: 8 warps of 32 per SM; with 64 threads a block it would be 16"
