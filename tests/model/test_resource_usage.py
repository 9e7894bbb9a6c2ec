"""From code and requests to a launch's demands: barriers, and warps that lose step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpulab.gpus.architectures import timings
from gpulab.gpus.catalogue import gpu
from gpulab.model.caches import SiteTraffic
from gpulab.model.code import CodeBlock, Step
from gpulab.model.estimate import Work
from gpulab.model.launch_sample import AccessSample, LaunchSample
from gpulab.model.resource_usage import resource_usage

SPEC = gpu("h200")
TIMINGS = timings(SPEC)
HERE = 7
LOAD, USE, BARRIER = Step("load", (), ("a",), HERE), Step("fp32", ("a",), ("b",)), Step("barrier")
ROUNDS = 3000
# All SMs find the line that one of them fetched: of 32 sectors 4 come from DRAM.
TRAFFIC = SiteTraffic(0, 28, 4, 128, 32, 0, 4, 4, 2)


def launch(*steps: Step, warps: int = 4, waves: int = 20, resident: int = 16, **more: object) -> LaunchSample:
    """Blocks of `warps` that go `ROUNDS` times through the same code, each on neighbouring words."""
    blocks = waves * resident * SPEC.sms
    runs = float(ROUNDS * blocks * warps)
    here = (4 * np.arange(32)).reshape(1, 32).astype(np.int64)
    sample = AccessSample("global", True, 4, runs, np.array([0xFFFFFFFF], np.uint32), here)
    code = (CodeBlock((Step("integer"),), blocks * warps), CodeBlock(tuple(steps), runs, 1))
    given = {"traffic": {HERE: TRAFFIC}, "array_bytes": 1 << 40} | more
    return LaunchSample((blocks, 1, 1), (32 * warps, 1, 1), resident, 32, code, {HERE: sample}, **given)  # type: ignore[arg-type]


def work(seen: LaunchSample) -> Work:
    return resource_usage(seen, SPEC, TIMINGS)


@pytest.mark.parametrize("warps", [2, 8])
def test_behind_a_barrier_the_last_warp_waits_for_all_others(warps: int) -> None:
    code = (LOAD, USE, *[Step("integer")] * 40)
    free, held = (work(launch(*steps, warps=warps, resident=1)) for steps in (code, (*code, BARRIER)))
    turn = 43 / TIMINGS.issue_per_cycle
    assert held.warp_cycles - free.warp_cycles > ROUNDS * (warps - 1) * turn


def test_a_warp_alone_waits_for_nobody_at_a_barrier() -> None:
    steps = (LOAD, USE, BARRIER)
    one, two = (work(launch(*steps, warps=n, resident=1)) for n in (1, 2))
    assert one.warp_cycles < two.warp_cycles


def test_an_instruction_without_an_active_lane_takes_its_turn() -> None:
    seen = launch(LOAD, USE)
    few = replace(seen.accesses[HERE], requests=seen.accesses[HERE].requests / 4)
    rarely = work(replace(seen, accesses={HERE: few}))
    assert rarely.l1_cycles == work(seen).l1_cycles
    assert rarely.l2_bytes < work(seen).l2_bytes


BUSY = (LOAD, USE, *[Step("integer")] * 400)  # what holds all warps up is arithmetic


def test_warps_that_wait_for_memory_stay_in_step() -> None:
    asked = work(launch(LOAD, USE)).l2_bytes
    assert asked == pytest.approx(work(launch(LOAD, USE, ended=True)).l2_bytes)


def test_warps_that_are_held_up_by_something_else_lose_step() -> None:
    assert work(launch(*BUSY)).l2_bytes > 2 * work(launch(*BUSY, ended=True)).l2_bytes


def test_a_launch_of_one_wave_stays_in_step() -> None:
    assert work(launch(*BUSY, waves=1)).l2_bytes == work(launch(*BUSY, waves=1, ended=True)).l2_bytes


@pytest.mark.parametrize(("dram_sectors", "fits"), [(4, False), (1, True)])
def test_what_fits_in_l2_is_still_there_for_warps_that_lost_step(dram_sectors: float, fits: bool) -> None:
    traffic = {HERE: replace(TRAFFIC, dram_sectors=dram_sectors)}
    in_step, apart = (work(launch(*BUSY, traffic=traffic, ended=ended)) for ended in (True, False))
    assert (in_step.dram_bytes / 20 < SPEC.l2_bytes / 2) == fits
    assert (apart.dram_bytes == pytest.approx(in_step.dram_bytes)) == fits
