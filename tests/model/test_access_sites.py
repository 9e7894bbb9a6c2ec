"""What one request asks of memory: passes of the SM, turns of L2, bytes, by the lanes' addresses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpulab.gpus.architectures import timings
from gpulab.gpus.catalogue import gpu
from gpulab.model.access_sites import Site, apart, mixed, sites_of
from gpulab.model.caches import SiteTraffic
from gpulab.model.launch_sample import AccessSample, LaunchSample

ALL, LANES, HERE = np.array([0xFFFFFFFF], np.uint32), np.arange(32), 7


def access(addresses: np.ndarray, *, reads: bool = True) -> AccessSample:
    return AccessSample("global", reads, 4, 1000.0, ALL, addresses.reshape(1, 32).astype(np.int64))


def seen(sample: AccessSample, traffic: SiteTraffic | None = None) -> LaunchSample:
    known = {} if traffic is None else {HERE: traffic}
    return LaunchSample((1, 1, 1), (32, 1, 1), 1, 32, (), {HERE: sample}, known, 1 << 40)


def site(addresses: np.ndarray, traffic: SiteTraffic | None = None, *, reads: bool = True) -> Site:
    spec = gpu("h200")
    return sites_of(seen(access(addresses, reads=reads), traffic), spec, timings(spec))[HERE]


@pytest.mark.parametrize(
    ("addresses", "passes"),
    [
        (4 * LANES, 1),
        (4 * LANES + 4, 1),  # two lines, and each bank once
        (4 * (LANES % 16) + 2048 * (LANES // 16), 2),  # two rows on the same banks
        (2048 * LANES, 32),  # lanes a row apart
        (132 * LANES, 16),  # every lane on a bank of its own: lines are looked up two at a time
        (0 * LANES, 1),
    ],
)
def test_a_load_takes_as_many_passes_as_its_banks_and_lines_need(
    addresses: np.ndarray, passes: float
) -> None:
    assert site(addresses).passes == passes


def test_a_store_takes_more_passes_than_a_load() -> None:
    assert site(4 * LANES, reads=False).passes > site(4 * LANES).passes


def test_a_line_of_which_little_is_asked_takes_l2_a_whole_turn() -> None:
    hits = SiteTraffic(0, 1, 0, 4, 1, 0, 4, 0, 1)
    apart_in_lines = SiteTraffic(0, 1, 0, 32, 32, 0, 32, 0, 32)
    assert site(4 * LANES, hits).l2_bytes == 4 * 32
    assert site(128 * LANES, apart_in_lines).l2_bytes == 2 * 32 * 32


def test_a_sector_that_is_written_in_part_is_moved_twice() -> None:
    whole = SiteTraffic(1, 0, 0, 4, 1, 0, 4, 0, 1)
    shifted = SiteTraffic(1, 0, 0, 5, 2, 0, 5, 0, 2)
    assert site(4 * LANES, whole, reads=False).l2_bytes == 4 * 32
    assert site(4 * LANES + 4, shifted, reads=False).l2_bytes == (5 + 2) * 32


# Ten requests of 4 sectors each: half of the sectors in L1, and of the others SMs asked for 12 together.
STEP = SiteTraffic(5, 4, 1, 40, 10, 20, 8, 4, 3)


def test_warps_that_lose_step_ask_for_each_sector_themselves() -> None:
    found = apart(seen(access(4 * LANES), STEP), 0.25)[HERE]
    assert (found.l2_sectors, found.dram_sectors) == (15, 5)
    assert (found.l1, found.l2, found.dram) == (5, 3.75, 1.25)
    assert found.l2_lines == pytest.approx(3 * 20 / 12)


def test_losing_step_saves_nothing_of_dram() -> None:
    assert apart(seen(access(4 * LANES), STEP), 0.0)[HERE].dram_sectors == STEP.dram_sectors


def test_stores_are_the_same_in_step_and_out_of_it() -> None:
    assert apart(seen(access(4 * LANES, reads=False), STEP), 0.5)[HERE] == STEP


def test_half_in_step_is_the_middle() -> None:
    other = replace(STEP, l2_sectors=16.0)
    assert mixed({HERE: STEP}, {HERE: other}, 0.5)[HERE].l2_sectors == 12
