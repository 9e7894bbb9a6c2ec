"""Resources of a launch: barriers, predicated accesses, and warps that progress independently."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpulab.gpus.architectures import architecture
from gpulab.gpus.catalogue import gpu
from gpulab.model.caches import SiteTraffic
from gpulab.model.contended_memory import (
    FLOAT_ATOMIC_CYCLES,
    JOINING_CYCLES,
    JOINING_WARPS,
    SHARED_STORE_CYCLES,
    _joined_stores,
)
from gpulab.model.estimate import Work
from gpulab.model.l2_halves import PageCount
from gpulab.model.model_input import AccessSample, LaunchSample
from gpulab.model.resource_usage import resource_usage
from gpulab.model.warp_timing import CodeBlock, Operation

SPEC = gpu("h200")
TIMINGS = architecture(SPEC)
SITE = 7
LOAD, USE, BARRIER = (
    Operation("load", (), ("a",), SITE),
    Operation("fp32", ("a",), ("b",)),
    Operation("barrier"),
)
ITERATIONS = 3000
# Every SM hits the line that one of them fetched: of 32 sectors 4 come from DRAM.
TRAFFIC = SiteTraffic(0, 28, 4, 128, 32, 0, 4, 4, 2)


def launch(
    *steps: Operation, warps: int = 4, waves: int = 20, resident: int = 16, **more: object
) -> LaunchSample:
    """Return a launch of blocks of `warps` that run `ITERATIONS` iterations on adjacent words."""
    blocks = waves * resident * SPEC.sms
    runs = float(ITERATIONS * blocks * warps)
    addresses = (4 * np.arange(32)).reshape(1, 32).astype(np.int64)
    sample = AccessSample("global", True, 4, runs, np.array([0xFFFFFFFF], np.uint32), addresses)
    code = (CodeBlock((Operation("integer"),), blocks * warps), CodeBlock(tuple(steps), runs, 1))
    options = {"traffic": {SITE: TRAFFIC}, "array_bytes": 1 << 40} | more
    return LaunchSample(blocks, (32 * warps, 1, 1), resident, 32, code, {SITE: sample}, **options)  # type: ignore[arg-type]


def work(sample: LaunchSample) -> Work:
    return resource_usage(sample, SPEC, TIMINGS)


@pytest.mark.parametrize("warps", [2, 8])
def test_warp_after_a_barrier_waits_for_the_turns_of_all_others_at_l1(warps: int) -> None:
    code = (LOAD, USE, *[Operation("integer")] * 40)
    free, held = (work(launch(*steps, warps=warps, resident=1)) for steps in (code, (*code, BARRIER)))
    turn = 1.0  # a load of adjacent words takes one pass
    assert held.warp_cycles - free.warp_cycles > ITERATIONS * (warps - 1) * turn


def test_turns_at_l1_are_hidden_by_those_of_other_warps_if_loads_wait_for_each_other() -> None:
    """Compare two loads from shared memory that are used at once with two that are used one by one."""
    first, second = (Operation("shared", (), (name,), SITE + 1) for name in "xy")
    use_first, use_second = (Operation("fp32", (name,), ("z",)) for name in "xy")

    def added(*steps: Operation) -> float:
        """Return the cycles that seven more warps add to each iteration."""
        several, one = (launch(LOAD, USE, *steps, BARRIER, warps=n, resident=1) for n in (8, 1))
        cycles = []
        for sample in (several, one):
            shared = replace(
                sample.accesses[SITE], space="shared", requests=2 * sample.accesses[SITE].requests
            )
            cycles.append(work(replace(sample, accesses={**sample.accesses, SITE + 1: shared})).warp_cycles)
        return (cycles[0] - cycles[1]) / ITERATIONS

    assert added(first, use_first, second, use_second) < added(first, second, use_first, use_second) - 1


def test_barrier_takes_longer_with_more_warps() -> None:
    steps = (LOAD, USE, BARRIER)
    one, two = (work(launch(*steps, warps=n, resident=1)) for n in (1, 2))
    assert one.warp_cycles < two.warp_cycles


def test_instruction_without_active_lanes_takes_a_pass_of_l1() -> None:
    sample = launch(LOAD, USE)
    few = replace(sample.accesses[SITE], requests=sample.accesses[SITE].requests / 4)
    predicated = work(replace(sample, accesses={SITE: few}))
    assert predicated.l1_cycles == work(sample).l1_cycles
    assert predicated.l2_bytes < work(sample).l2_bytes


BUSY = (LOAD, USE, *[Operation("integer")] * 400)  # arithmetic takes longer than the wait for memory


def data_path_cycles(*operations: Operation) -> float:
    return work(launch(LOAD, USE, *operations)).l1_cycles - work(launch(LOAD, USE)).l1_cycles


def test_exchanges_special_registers_and_local_memory_take_the_data_path() -> None:
    exchange = data_path_cycles(Operation("exchange"))
    assert exchange > 0
    assert data_path_cycles(Operation("system")) == pytest.approx(exchange)
    assert data_path_cycles(Operation("uniform_system")) == pytest.approx(0)
    assert data_path_cycles(Operation("local", words=4)) >= 4 * exchange * 0.99


def test_store_to_local_memory_is_written_to_l2() -> None:
    stored = work(launch(LOAD, USE, Operation("local_store", words=4), ended=True))
    loaded = work(launch(LOAD, USE, Operation("local", words=4), ended=True))
    assert stored.l2_bytes > loaded.l2_bytes
    assert stored.l2_cycles.entering > loaded.l2_cycles.entering
    assert stored.dram_bytes == loaded.dram_bytes


def test_warps_bound_by_memory_progress_in_step() -> None:
    assert work(launch(LOAD, USE)).l2_bytes == pytest.approx(work(launch(LOAD, USE, ended=True)).l2_bytes)


def test_warps_bound_by_arithmetic_progress_independently() -> None:
    assert work(launch(*BUSY)).l2_bytes > 2 * work(launch(*BUSY, ended=True)).l2_bytes


def test_blocks_that_progress_independently_do_not_share_l1() -> None:
    shared = {SITE: SiteTraffic(16, 12, 4, 128, 32, 64, 4, 4, 2)}
    alone = {SITE: SiteTraffic(0, 28, 4, 128, 32, 0, 4, 4, 2)}
    sharing, separate = (work(launch(*BUSY, traffic=shared, separate=more)) for more in ({}, alone))
    assert separate.l2_bytes > 1.5 * sharing.l2_bytes
    waiting = launch(LOAD, USE, traffic=shared, separate=alone)
    assert work(waiting) == work(replace(waiting, separate={}))


def test_launch_of_one_wave_progresses_in_step() -> None:
    assert work(launch(*BUSY, waves=1)).l2_bytes == work(launch(*BUSY, waves=1, ended=True)).l2_bytes


@pytest.mark.parametrize(("dram_sectors", "fits"), [(4, False), (1, True)])
def test_wave_that_fits_in_l2_needs_no_more_dram_out_of_step(dram_sectors: float, fits: bool) -> None:
    traffic = {SITE: replace(TRAFFIC, dram_sectors=dram_sectors)}
    in_step, independent = (work(launch(*BUSY, traffic=traffic, ended=ended)) for ended in (True, False))
    assert (in_step.dram_bytes / 20 < SPEC.l2_bytes / 2) == fits
    assert (independent.dram_bytes == pytest.approx(in_step.dram_bytes)) == fits


def test_warp_that_works_alone_determines_the_latency_of_its_block() -> None:
    even = launch(LOAD, USE)
    assert work(replace(even, imbalance=3.0)).warp_cycles > 2.9 * work(even).warp_cycles


def updates(
    addresses: np.ndarray,
    *,
    combined: bool = False,
    reads: bool = False,
    changes: bool = True,
    floating: bool = False,
    warps: int = 1,
) -> float:
    """Return the cycles of L2 for sampled requests to these addresses, which represent 60 of a launch."""
    masks = np.full(len(addresses), 0xFFFFFFFF, np.uint32)
    sample = AccessSample("global", reads, 4, 60.0, masks, addresses.astype(np.int64), changes, floating)
    code = (CodeBlock((Operation("load" if changes else "store", (), ("a",), SITE),), 60.0),)
    traced = LaunchSample(60 // warps, (32 * warps, 1, 1), 1, 32, code, {SITE: sample}, array_bytes=1 << 40)
    return work(replace(traced, combined=frozenset({SITE} if combined else ()))).atomic_cycles


LANES = np.arange(32)
SAME, ROW = np.zeros((6, 32)), np.tile(4 * LANES, (6, 1))


def test_lanes_on_one_element_take_turns_unless_the_compiler_combines_them() -> None:
    assert updates(SAME) == pytest.approx(60 * 32 * TIMINGS.atomic_cycles)
    assert updates(SAME, combined=True) == pytest.approx(60 * TIMINGS.atomic_cycles)


def test_elements_of_a_sector_are_updated_together_and_sectors_of_a_line_in_turn() -> None:
    assert updates(ROW) == pytest.approx(60 * 4 * TIMINGS.atomic_cycles)


def test_floating_point_additions_to_different_sectors_overlap() -> None:
    assert updates(SAME, combined=True, floating=True) == pytest.approx(60 * FLOAT_ATOMIC_CYCLES)
    assert updates(ROW, floating=True) == pytest.approx(60 * 4 * TIMINGS.atomic_cycles)


def test_stores_to_the_same_sector_take_turns_and_loads_do_not() -> None:
    turns = 60 * SHARED_STORE_CYCLES
    assert turns < updates(SAME, changes=False) < 1.02 * turns  # the slice serves others, too
    assert updates(SAME, reads=True, changes=False) == 0


def test_stores_of_neighbouring_warps_join() -> None:
    alone, together = (updates(SAME, changes=False, warps=warps) for warps in (1, JOINING_WARPS))
    assert together == pytest.approx(alone / JOINING_WARPS, rel=0.05)
    assert updates(SAME, changes=False, warps=2 * JOINING_WARPS) == pytest.approx(together, rel=0.05)


def test_stores_that_are_not_executed_take_no_time() -> None:
    masks, addresses = np.full(6, 0xFFFFFFFF, np.uint32), SAME.astype(np.int64)
    store = AccessSample("global", False, 4, 60.0, masks, addresses)
    code = (CodeBlock((Operation("store", (), ("a",), SITE),), 0.0),)
    assert work(LaunchSample(60, (32, 1, 1), 1, 32, code, {SITE: store}, array_bytes=4)).atomic_cycles == 0


def test_stores_of_few_warps_rarely_join() -> None:
    assert _joined_stores(0.01, 8, 1.0) == pytest.approx(1.0, abs=0.02)
    assert _joined_stores(1.0, 8, 1.0) == JOINING_WARPS
    assert _joined_stores(1.0, 8, 100 * JOINING_CYCLES) == pytest.approx(1.0, abs=0.02)


def test_pieces_of_memory_are_updated_in_several_slices() -> None:
    pieces = np.tile(256 * (LANES % 8) + 32 * (LANES // 8), (6, 1))  # four sectors in each of eight pieces
    assert 60 * 4 * TIMINGS.atomic_cycles <= updates(pieces) < 60 * 8 * TIMINGS.atomic_cycles


def test_element_that_most_warps_update_stands_out_in_a_histogram() -> None:
    bins = 4 * np.random.default_rng(0).integers(0, 64 * 8, (300, 32))
    skewed = np.where(LANES < 16, 0, bins)
    assert updates(skewed) > 3 * updates(bins)


def test_blocks_that_update_memory_of_their_own_do_not_wait_for_each_other() -> None:
    assert updates(ROW + 4096 * np.arange(6)[:, None]) == 0


def far_cycles(levels: SiteTraffic, pages: PageCount, *steps: Operation) -> float:
    """Return how much longer a warp waits for each load if the load's data are on these pages, not on one."""
    one, many = (
        work(launch(LOAD, USE, *steps, traffic={SITE: levels}, pages={SITE: of_site})).warp_cycles
        for of_site in (PageCount(), pages)
    )
    return (many - one) / ITERATIONS


ALL_FROM_DRAM = SiteTraffic(0, 0, 32, 128, 32, 0, 0, 128, 32)
ALL_FROM_L2 = SiteTraffic(0, 32, 0, 128, 32, 0, 128, 0, 32)


def test_warp_that_waits_for_several_pages_of_dram_waits_for_the_furthest() -> None:
    assert far_cycles(ALL_FROM_DRAM, PageCount(request=2.0)) == pytest.approx(TIMINGS.l2_far_cycles / 4)
    assert far_cycles(ALL_FROM_DRAM, PageCount(request=32.0)) == pytest.approx(TIMINGS.l2_far_cycles / 2)


def test_warp_that_waits_for_two_pages_of_l2_waits_longer_if_a_copy_is_missing() -> None:
    missing = 1 / 4  # the page is of the other half, and the only other SM that has loaded it, too
    increase = (1 - (1 - missing) ** 2) - missing
    cycles = far_cycles(ALL_FROM_L2, PageCount(request=2.0))
    assert cycles == pytest.approx(increase * TIMINGS.l2_far_cycles)


def test_block_waits_at_a_barrier_for_the_furthest_page_of_its_warps() -> None:
    pages = PageCount(request=1.0, block=4.0)
    assert far_cycles(ALL_FROM_DRAM, pages) == 0
    waits = far_cycles(ALL_FROM_DRAM, pages, BARRIER)
    assert waits == pytest.approx((1 / 2 - 1 / 16) * TIMINGS.l2_far_cycles)


def test_shared_line_is_requested_first_by_the_nearest_sm() -> None:
    shared = SiteTraffic(0, 0, 32, 128, 32, 0, 124, 4, 1)
    one, many = (
        work(launch(LOAD, USE, traffic={SITE: levels})).warp_cycles / ITERATIONS
        for levels in (ALL_FROM_DRAM, shared)
    )
    assert one - many == pytest.approx(TIMINGS.l2_far_cycles / 2 * 31 / 32, rel=0.01)


@pytest.mark.parametrize(("steps", "waits"), [((LOAD, USE), 1.0), ((LOAD, USE, BARRIER), 4.0)])
def test_block_waits_at_a_barrier_for_the_warp_with_the_most_loads(
    steps: tuple[Operation, ...], waits: float
) -> None:
    equal, unequal = (
        work(launch(*steps, shares={SITE: np.array([shares])})).warp_cycles
        for shares in ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 4.0])
    )
    latency = ITERATIONS * TIMINGS.l2_cycles
    assert unequal - equal == pytest.approx((waits - 1) * latency, rel=0.5)
