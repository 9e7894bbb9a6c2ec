"""Resources that a launch needs on one GPU: cycles and bytes of each part, from a sample of the launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.caches import SiteTraffic
from gpulab.model.contended_memory import atomic_cycles, shared_store_cycles
from gpulab.model.estimate import Work, estimate
from gpulab.model.l2_cycles import L2Cycles
from gpulab.model.l2_halves import Loads, PageCount, far_waits
from gpulab.model.model_input import LaunchSample
from gpulab.model.request_costs import RequestCost, costs_without_site, request_costs
from gpulab.model.warp_timing import (
    BlockTime,
    Operation,
    block_times,
    execution_units,
    pipe_cycles,
    runs_by_site,
    share_at_barriers,
    stalls,
    uses_of_units,
    waits_by_site,
    warp_cycles,
)

__all__ = ["L2_RETAINED", "out_of_step_traffic", "resource_usage"]

OUT_OF_STEP = 1.1  # warps progress independently if the SM or L2 needs this many times their latency
JOINED = 0.15  # share of the requests of several SMs for one sector that join one in flight, out of step
# Share of L2 that still holds a wave's data when its warps progress independently. On an H100, 8 % of 36 MiB
# that a launch reads twice are read from DRAM again, 27 % of 40 MiB, 66 % of 44 MiB and 91 % of 48 MiB.
L2_RETAINED = 0.84
# Instructions of a warp between two barriers, in most kernels to which barrier_queueing was fitted.
SEGMENT_INSTRUCTIONS = 100
PROBE_CYCLES = 100.0  # by which a latency is increased to see how often a warp waits for it


def resource_usage(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> Work:
    """Return the work of a launch.

    Warps that wait for memory progress in step, because the first one waits for DRAM while the others catch
    up. The simulated caches assume this. If arithmetic, L1 or L2 takes clearly longer than the wait, warps
    progress independently, and the traffic of all waves but the first and the last is corrected for it.
    """
    work = _work_of_waves(sample, spec, architecture)
    if not spec.l2_bytes:
        return work
    stores = shared_store_cycles(sample, spec, architecture, work)
    return replace(work, atomic_cycles=max(work.atomic_cycles, stores))


def _work_of_waves(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> Work:
    """Return the work of a launch, except for stores of many warps to the same elements."""
    work = _work(sample, spec, architecture)
    waves = work.blocks / (spec.sms * work.resident)
    # Without L1, an SM requests the same data from L2 again and again: the requests do not show how often
    # another SM has replaced them.
    if sample.ended or not sample.traffic or waves <= 2 or not architecture.l1_bytes:
        return work

    terms = estimate(spec, architecture, work).terms
    wave_bytes = work.dram_bytes / waves  # requested by the blocks of one wave, each byte once
    missing = max(1 - L2_RETAINED * spec.l2_bytes / max(wave_bytes, 1), 0.0)
    traffic = out_of_step_traffic(sample, missing)

    requests = sample.requests
    l2_bytes = sum(
        requests.get(site, 0.0) * one.l2_bytes
        for site, one in replace(sample, traffic=traffic).traffic_of_globals.items()
        if one is not None
    )
    l2_ms = l2_bytes / (architecture.l2_bytes_per_cycle * spec.boost_clock_mhz * 1e3)
    others = [ms for name, ms in terms.items() if name not in ("latency", "launch", "DRAM", "L2")]
    if max(*others, l2_ms) < OUT_OF_STEP * terms["latency"]:
        return work

    # Blocks of an SM do not find each other's data in L1 then, either.
    separate = replace(sample, traffic={**sample.traffic, **sample.separate})
    traffic = out_of_step_traffic(separate, missing, JOINED)
    share = 1 - 2 / waves
    mixed = {
        site: SiteTraffic.weighted_sum([(1 - share, one), (share, traffic[site])])
        for site, one in sample.traffic.items()
    }
    return _work(replace(sample, traffic=mixed), spec, architecture)


def out_of_step_traffic(sample: LaunchSample, missing: float, joined: float = 0.0) -> dict[int, SiteTraffic]:
    """Return the traffic of warps that progress independently.

    Each SM then requests its sectors from L2 by itself. A share `missing` of them has been replaced there
    since another SM requested it, and comes from DRAM again. Of the requests that several SMs make, a share
    `joined` joins one that is in flight.
    """
    traffic = dict(sample.traffic)
    for site, one in sample.traffic.items():
        missed_l1 = one.sectors - one.l1_sectors
        if missed_l1 and sample.loads(site):
            dram = max(missing * missed_l1, one.dram_sectors)
            requests, sectors = one.l2 + one.dram, max(one.l2_sectors + one.dram_sectors, 1)
            reaching_l2 = missed_l1 - joined * max(missed_l1 - sectors, 0)
            traffic[site] = replace(
                one,
                l2=requests * (1 - dram / missed_l1),
                dram=requests * dram / missed_l1,
                l2_sectors=max(reaching_l2 - dram, 0),
                dram_sectors=dram,
                paired=one.paired * dram / max(one.dram_sectors, 1),
                rows=one.rows * dram / max(one.dram_sectors, 1),
                l2_lines=one.l2_lines * reaching_l2 / sectors,
            )
    return traffic


def _work(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> Work:
    """Return the work of a launch with the sample's cache traffic."""
    blocks, warps = sample.blocks, spec.warps(prod(sample.block))
    costs = request_costs(sample, spec, architecture)
    clock = spec.boost_clock_mhz / 1e3  # cycles per nanosecond
    runs, requests = runs_by_site(sample.code), sample.requests
    units = execution_units(spec, architecture, warps)
    waits = stalls(sample.code, units)
    # A line that many warps share has been requested by the SM that is nearest to it.
    nearest = architecture.l2_far_cycles / 2 * _joined(sample)
    l1, l2, dram = architecture.l1_cycles, architecture.l2_cycles, architecture.dram_ns * clock - nearest

    def times_with(*level_cycles: float) -> list[BlockTime]:
        """Return the times of the code's blocks with these latencies of L1, L2 and DRAM."""

        def latency(operation: Operation) -> float:
            site = operation.site or 0
            cost = costs.get(site)
            if cost is None or operation.unit in ("store", "shared_store"):
                return 0.0
            if operation.unit in ("shared", "fp32_shared"):
                cycles = architecture.shared_cycles + max(cost.passes - 1, 0)
            else:
                cycles = sum(share * level for share, level in zip(cost.levels, level_cycles, strict=True))
                cycles += max(cost.tags - 1, 0)  # L1 looks up the lines of the request one after the other
            return cycles * requests[site] / max(runs[site], 1e-9)

        return block_times(sample.code, units, latency)

    instructions = sum(block.runs * block.issue_slots for block in sample.code)
    served = [(count, costs[site]) for site, count in requests.items()]
    if spec.coalescing != "half_warp_segments":
        uses = uses_of_units(sample.code)
        served += [(uses[unit], cost) for unit, cost in costs_without_site(architecture).items()]
        idle = sum(count - requests.get(site, count) for site, count in runs.items())
        served.append((idle, RequestCost(1.0)))  # an instruction without an active lane takes a pass, too
    l1_cycles = max(
        sum(count * cost.passes for count, cost in served),
        sum(count * cost.tags for count, cost in served),
        sum(count * cost.l2.entering for count, cost in served),
    )

    # At a barrier, the last warp of a block has waited for the turns of all others at L1. Turns that follow a
    # wait for memory are hidden by that wait, so this counts for the share of waits that are barriers. If a
    # warp waits for several loads from shared memory between two barriers, its turns come in as many groups:
    # while it waits for one group, the others take theirs. Warps that have accessed nothing since the last
    # barrier take no turn.
    times = times_with(l1, l2, dram)
    alone = warp_cycles(sample.code, times, blocks * warps)
    l2_waits, dram_waits = (
        max(warp_cycles(sample.code, longer, blocks * warps) - alone, 0.0) / PROBE_CYCLES
        for longer in (times_with(l1, l2 + PROBE_CYCLES, dram), times_with(l1, l2, dram + PROBE_CYCLES))
    )
    barriers = sum(b.runs for b in sample.code for op in b.operations if op.unit == "barrier")
    exposed, spread, groups = 0.0, 0.0, 1.0
    if barriers:  # all warps of a block wait there for the one that has waited longest for its loads
        alone += _longest_wait(waits_by_site(sample.code, times), sample.shares) / (blocks * warps)
        spread = _spread_of_waits(instructions, barriers)
        exposed = barriers / max(waits, barriers) * spread * share_at_barriers(sample.code, requests)
        groups = max(stalls(sample.code, units, "shared") / barriers, 1.0)
    turn = l1_cycles / (blocks * warps) / groups
    loads = [
        Loads(count, costs[site].levels, sample.pages.get(site, PageCount()), sample.traffic.get(site))
        for site, count in requests.items()
        if sample.loads(site) and sample.accesses[site].space != "shared"
    ]
    far = far_waits(loads, blocks * warps, l2_waits, dram_waits, spread)
    alone += architecture.l2_far_cycles * far

    return Work(
        blocks=blocks,
        idle_blocks=sample.idle_blocks,
        resident=sample.resident,
        warps=warps,
        warp_cycles=alone * sample.imbalance + (warps - 1) * turn * exposed,
        instructions=instructions,
        pipes=pipe_cycles(sample.code, spec, architecture),
        l1_cycles=l1_cycles,
        l2_bytes=sum(count * cost.l2_bytes for count, cost in served),
        dram_bytes=sum(count * cost.dram_bytes for count, cost in served),
        dram_written=sum(
            count * costs[site].dram_bytes for site, count in requests.items() if not sample.loads(site)
        ),
        dram_waits=dram_waits * sample.imbalance,
        l2_waits=l2_waits * sample.imbalance,
        l2_cycles=L2Cycles.total((count, cost.l2) for count, cost in served),
        atomic_cycles=atomic_cycles(sample, architecture),
        barrier_share=exposed,
        longest_chain=sample.longest_chain,
        busiest_sm=sample.busiest_sm,
    )


def _spread_of_waits(instructions: float, barriers: float) -> float:
    """Return how much the waits of warps at a barrier differ, relative to those after few instructions.

    The sum of n random waits grows as n, but its differences grow as the square root of n.
    """
    return min((SEGMENT_INSTRUCTIONS * barriers / instructions) ** 0.5, 1.0) if instructions else 1.0


def _longest_wait(waits: Mapping[int, float], shares: Mapping[int, npt.NDArray[np.float64]]) -> float:
    """Return how much longer the longest waiting warp of a block waits for its loads than the mean warp.

    `waits` has the cycles of all warps together for each site, and so has the result.
    """
    differing = {site: cycles for site, cycles in waits.items() if site in shares}
    if not differing:
        return 0.0
    of_warps = np.sum([cycles * shares[site] for site, cycles in differing.items()], axis=0)
    return float(of_warps.max(axis=1).mean()) - sum(differing.values())


def _joined(sample: LaunchSample) -> float:
    """Return the share of the requests that wait for DRAM which another request has fetched."""
    requests = sample.requests
    waiting = fetching = 0.0
    for site, one in sample.traffic.items():
        if sample.loads(site) and one.requests:
            count = requests.get(site, 0.0) / one.requests
            waiting += count * one.dram
            fetching += count * one.requests * one.dram_sectors / max(one.sectors, 1)
    return max(1 - fetching / waiting, 0.0) if waiting else 0.0
