"""Laws of the model: more work is never faster, Little's law, and the sources of its figures."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from gpulab.gpus.architectures import Architecture, architecture, sources
from gpulab.gpus.catalogue import gpu, names
from gpulab.model.estimate import Work, estimate, explain_bound

WORK = Work(
    blocks=4000, resident=8, warps=4, warp_cycles=50_000, instructions=1e8,
    pipes={"fp32": 2e6, "integer": 1e6},
    l1_cycles=4e6, l2_bytes=2e9, dram_bytes=1e9,
)  # fmt: skip
GROWS = ("warp_cycles", "instructions", "l1_cycles", "l2_bytes", "dram_bytes")


def time_ms(work: Work, name: str = "h200") -> float:
    return estimate(gpu(name), architecture(gpu(name)), work).time_ms


def test_more_work_is_never_faster() -> None:
    def is_faster(name: str, part: str, factor: float) -> bool:
        more = replace(WORK, **{part: factor * getattr(WORK, part)})
        return time_ms(more, name) < time_ms(WORK, name)

    cases = product(names(), GROWS, [1.1, 3, 100])
    assert [case for case in cases if is_faster(*case)] == []


def test_lower_occupancy_is_slower_if_latency_bounds() -> None:
    bound = replace(WORK, warp_cycles=1e7)
    assert time_ms(replace(bound, resident=4)) > 1.9 * time_ms(bound)


def test_littles_law_for_warps_that_only_wait() -> None:
    spec = gpu("h200")
    waiting = Work(spec.sms * 8 * 10, 8, 1, 1e6, 0.0, {}, 0.0, 0.0, 0.0)
    estimated = estimate(spec, architecture(spec), waiting)
    assert estimated.terms["latency"] == pytest.approx(10 * 1e6 / (spec.boost_clock_mhz * 1e3), 1e-2)
    assert estimated.bound == "latency"


def test_one_more_block_than_a_wave_takes_another_wave() -> None:
    spec = gpu("h200")
    full = replace(WORK, blocks=spec.sms * WORK.resident, warp_cycles=1e7)
    assert time_ms(replace(full, blocks=full.blocks + 1)) > 1.9 * time_ms(full)


def test_time_is_at_least_every_term() -> None:
    spec = gpu("h200")
    estimated = estimate(spec, architecture(spec), WORK)
    assert estimated.time_ms >= max(estimated.terms.values())


def test_launch_bound_by_dram_takes_the_time_of_the_data_sheet() -> None:
    spec = gpu("gtx280")
    figures = architecture(spec)
    stream = Work(30000, 8, 4, 0.0, 0.0, {}, 0.0, 0.0, 1e10)
    expected = 1e10 / (figures.dram_efficiency * spec.dram_gb_s * 1e9) * 1e3
    assert estimate(spec, figures, stream).time_ms == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("name", names())
def test_every_figure_of_an_architecture_has_a_source(name: str) -> None:
    spec = gpu(name)
    by_figure = sources(spec)
    given = {f for f in Architecture.__dataclass_fields__ if getattr(architecture(spec), f)}
    assert given - set(by_figure) <= {"dram_burst_bytes", "queueing", "l1_cycles"}
    assert {how for how, _ in by_figure.values()} <= {"published", "measured", "fitted", "assumed"}


def test_no_latency_is_fitted_to_the_gtx280() -> None:
    assert sources(gpu("gtx280"))["dram_ns"][0] != "fitted"


def test_explanation_of_a_latency_bound_suggests_a_block_with_more_resident_warps() -> None:
    spec = gpu("gtx280")
    work = Work(30_000, 8, 1, 1e7, 0.0, {}, 0.0, 0.0, 0.0)
    text = explain_bound(spec, work, estimate(spec, architecture(spec), work), {32: 8, 64: 16})
    assert "latency" in text
    assert [int(number) for number in re.findall(r"\d+", text)] == [8, 32, 64, 16]


def test_sm_that_starts_many_short_blocks_is_bound_by_them() -> None:
    spec = gpu("h200")
    figures = architecture(spec)
    short = Work(10_000 * spec.sms, 32, 1, 10.0, 0.0, {}, 0.0, 0.0, 0.0)
    estimated = estimate(spec, figures, short)
    assert estimated.bound == "blocks"
    least_ms = 10_000 * figures.block_cycles / (spec.boost_clock_mhz * 1e3)
    assert estimated.time_ms == pytest.approx(least_ms, rel=0.2)


def test_parts_that_are_busy_lengthen_the_wait_of_warps() -> None:
    idle = replace(WORK, warp_cycles=1e6, dram_waits=1e3, l2_bytes=0.0, dram_bytes=0.0)
    busy = replace(idle, dram_bytes=4e9)
    estimated = estimate(gpu("h200"), architecture(gpu("h200")), busy)
    assert estimated.bound == "latency"
    assert time_ms(busy) > 1.01 * time_ms(idle)
    assert time_ms(replace(busy, barrier_share=1.0)) > time_ms(busy)
    assert time_ms(replace(busy, dram_waits=0.0)) == pytest.approx(time_ms(idle), rel=1e-3)


def test_loads_wait_while_dram_writes() -> None:
    reading = replace(WORK, warp_cycles=1e6, dram_waits=1e3, l2_bytes=0.0, dram_bytes=2e9)
    few, many = (time_ms(replace(reading, dram_written=share * 2e9)) for share in (0.25, 0.5))
    assert many - few == pytest.approx(few - time_ms(reading), rel=0.1)
    assert many > 1.05 * time_ms(reading)


def test_warps_wait_for_a_unit_that_is_slower_than_the_schedulers_as_well_as_for_these() -> None:
    issuing = replace(WORK, warp_cycles=1e6, instructions=4e9, pipes={}, l2_bytes=0.0, dram_bytes=0.0)
    busy = 8e8  # cycles, less than those of the schedulers
    assert time_ms(replace(issuing, pipes={"fp32": busy})) == time_ms(issuing)
    assert time_ms(replace(issuing, pipes={"fp64": busy})) > 1.01 * time_ms(issuing)
