"""Costs of one memory request, and cache traffic of warps that progress independently."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpulab.gpus.architectures import architecture
from gpulab.gpus.catalogue import gpu
from gpulab.model.caches import LOOKUP_BYTES, ROW_COST_BYTES, SiteTraffic
from gpulab.model.model_input import AccessSample, LaunchSample
from gpulab.model.request_costs import HITS_PER_CYCLE, STORED_LINE_BYTES, RequestCost, request_costs
from gpulab.model.resource_usage import out_of_step_traffic
from gpulab.model.warp_timing import CodeBlock, Operation

FIGURES = architecture(gpu("h200"))
FULL_MASK, LANES, SITE = np.array([0xFFFFFFFF], np.uint32), np.arange(32), 7


def access(addresses: np.ndarray, *, reads: bool = True) -> AccessSample:
    return AccessSample("global", reads, 4, 1000.0, FULL_MASK, addresses.reshape(1, 32).astype(np.int64))


def launch_sample(sample: AccessSample, traffic: SiteTraffic | None = None) -> LaunchSample:
    by_site = {} if traffic is None else {SITE: traffic}
    return LaunchSample(1, (32, 1, 1), 1, 32, (), {SITE: sample}, by_site, 1 << 40)


def cost(addresses: np.ndarray, traffic: SiteTraffic | None = None, *, reads: bool = True) -> RequestCost:
    spec = gpu("h200")
    return request_costs(launch_sample(access(addresses, reads=reads), traffic), spec, architecture(spec))[
        SITE
    ]


@pytest.mark.parametrize(
    ("addresses", "passes"),
    [
        (4 * LANES, 1),
        (4 * LANES + 4, 1),  # two lines, and each bank once
        (4 * (LANES % 16) + 2048 * (LANES // 16), 2),  # two rows on the same banks
        (2048 * LANES, 32),  # lanes a row apart
        (132 * LANES, 16),  # every lane on its own bank: lines are looked up two at a time
        (0 * LANES, 1),
    ],
)
def test_load_takes_the_passes_of_its_banks_and_lines(addresses: np.ndarray, passes: float) -> None:
    assert cost(addresses).passes == passes


def test_lines_that_l1_has_are_looked_up_faster() -> None:
    scattered = 132 * LANES
    missing = cost(scattered, SiteTraffic(0, 32, 0, 32, 32, 0, 32, 0, 32))
    present = cost(scattered, SiteTraffic(32, 0, 0, 32, 32, 32, 0, 0, 0))
    assert (missing.passes, present.passes) == (16, 1)
    assert present.tags == missing.tags / HITS_PER_CYCLE


def test_atomic_operations_of_lanes_pass_l1_one_after_the_other() -> None:
    def passes(addresses: np.ndarray) -> float:
        update = replace(access(addresses, reads=False), updates=True)
        return request_costs(launch_sample(update), gpu("h200"), architecture(gpu("h200")))[SITE].passes

    assert passes(4 * LANES) > 16
    assert passes(0 * LANES) == 1


@pytest.mark.parametrize(("shift", "sectors", "lines"), [(0, 16, 4), (16, 32, 12)])
def test_copy_past_l1_requests_sectors_for_pairs_of_lanes(shift: int, sectors: int, lines: int) -> None:
    merged = SiteTraffic(0, 1, 0, 17, 5, 0, 17, 0, 5) if shift else SiteTraffic(0, 1, 0, 16, 4, 0, 16, 0, 4)
    load = replace(access(16 * LANES + shift), width=16)
    copy = replace(load, copies=True)
    past_l1 = replace(copy, bypasses_l1=True)
    costs = [
        request_costs(launch_sample(one, merged), gpu("h200"), FIGURES)[SITE] for one in (load, copy, past_l1)
    ]
    assert costs[1].passes == costs[0].passes + 1  # it is also written to shared memory
    assert costs[2].passes == 1
    assert costs[1].l2_bytes == costs[0].l2_bytes
    assert costs[2].l2_bytes == max(32 * sectors, LOOKUP_BYTES * lines)
    assert costs[2].tags == lines
    assert costs[2].dram_bytes == costs[0].dram_bytes


def test_scattered_store_takes_fewer_passes_than_a_load() -> None:
    assert cost(132 * LANES, reads=False).passes < cost(132 * LANES).passes


def test_line_with_one_requested_sector_costs_l2_a_whole_lookup() -> None:
    hits = SiteTraffic(0, 1, 0, 4, 1, 0, 4, 0, 1)
    one_sector_per_line = SiteTraffic(0, 1, 0, 32, 32, 0, 32, 0, 32)
    assert cost(4 * LANES, hits).l2_bytes == 4 * 32
    assert cost(128 * LANES, one_sector_per_line).l2_bytes == LOOKUP_BYTES * 32


def test_written_sector_takes_l2_longer_and_one_that_is_covered_in_part_more_so() -> None:
    whole = SiteTraffic(1, 0, 0, 4, 1, 0, 4, 0, 1)
    parts = SiteTraffic(1, 0, 0, 16, 4, 0, 16, 0, 4)
    assert cost(4 * LANES, whole, reads=False).l2_bytes == pytest.approx(FIGURES.l2_write_cost * 4 * 32)
    expected = FIGURES.l2_write_cost * 16 * 32 + 16 * FIGURES.l2_part_bytes
    assert cost(16 * LANES, parts, reads=False).l2_bytes == pytest.approx(expected)


@pytest.mark.parametrize(("rewritten", "sectors"), [(0, 32), (48, 16)])
def test_dram_reads_a_sector_of_which_only_a_part_is_written(rewritten: float, sectors: int) -> None:
    traffic = SiteTraffic(1, 0, 0, 16, 4, 0, 0, 16, 4, rows=1, blank=16, rewritten=rewritten)
    code = (CodeBlock((Operation("store", site=SITE),), 1e6),)
    store = replace(access(16 * LANES, reads=False), requests=1e6)
    sample = replace(launch_sample(store, traffic), code=code)
    assert request_costs(sample, gpu("h200"), FIGURES)[SITE].dram_bytes == pytest.approx(32 * sectors)


def test_random_pieces_cost_dram_more_than_consecutive_ones() -> None:
    consecutive = SiteTraffic(0, 0, 1, 32, 32, 0, 0, 32, 32, paired=32, rows=4)
    random = replace(consecutive, rows=32)
    assert random.dram_bytes - consecutive.dram_bytes == pytest.approx(ROW_COST_BYTES * 28)


def test_lookups_of_scattered_stores_hide_the_cost_of_single_words() -> None:
    scattered = SiteTraffic(1, 0, 0, 32, 32, 0, 32, 0, 32)
    expected = FIGURES.l2_write_cost * STORED_LINE_BYTES * 32
    assert cost(128 * LANES, scattered, reads=False).l2_bytes == pytest.approx(expected)


def test_store_takes_a_cycle_of_the_port_for_each_sector_and_each_partial_line() -> None:
    assert cost(4 * LANES, reads=False).l2.entering == 4
    assert cost(128 * LANES, reads=False).l2.entering == 32 + 32


def test_tags_look_up_a_line_per_cycle() -> None:
    assert (cost(4 * LANES).tags, cost(132 * LANES).tags) == (1, 32)


def test_data_that_fit_in_l2_are_still_there() -> None:
    hits = SiteTraffic(0, 0, 10, 40, 10, 0, 0, 40, 10)
    sample = launch_sample(access(4 * LANES), hits)
    few = replace(sample, array_bytes=1 << 20)
    spec = gpu("h200")
    assert request_costs(sample, spec, FIGURES)[SITE].dram_bytes == 4 * 32
    assert request_costs(few, spec, FIGURES)[SITE].dram_bytes == 0
    assert request_costs(few, spec, FIGURES)[SITE].levels == (0, 1, 0)


# Ten requests of 4 sectors each: half of the sectors hit L1, and the SMs together requested 12 of the others.
IN_STEP = SiteTraffic(5, 4, 1, 40, 10, 20, 8, 4, 3)


def test_sms_out_of_step_request_each_sector_separately() -> None:
    traffic = out_of_step_traffic(launch_sample(access(4 * LANES), IN_STEP), 0.25)[SITE]
    assert (traffic.l2_sectors, traffic.dram_sectors) == (15, 5)
    assert (traffic.l1, traffic.l2, traffic.dram) == (5, 3.75, 1.25)
    assert traffic.l2_lines == pytest.approx(3 * 20 / 12)


def test_requests_of_several_sms_join_one_in_flight() -> None:
    traffic = out_of_step_traffic(launch_sample(access(4 * LANES), IN_STEP), 0.0, 0.5)[SITE]
    assert traffic.l2_sectors + traffic.dram_sectors == 20 - (20 - 12) / 2
    assert traffic.l2_lines == pytest.approx(3 * 16 / 12)


def test_warps_out_of_step_never_need_less_dram() -> None:
    traffic = out_of_step_traffic(launch_sample(access(4 * LANES), IN_STEP), 0.0)[SITE]
    assert traffic.dram_sectors == IN_STEP.dram_sectors


def test_traffic_of_stores_does_not_depend_on_the_step() -> None:
    sample = launch_sample(access(4 * LANES, reads=False), IN_STEP)
    assert out_of_step_traffic(sample, 0.5)[SITE] == IN_STEP


def test_weighted_sum_of_traffic() -> None:
    other = replace(IN_STEP, l2_sectors=16.0)
    assert SiteTraffic.weighted_sum([(0.5, IN_STEP), (0.5, other)]).l2_sectors == 12
