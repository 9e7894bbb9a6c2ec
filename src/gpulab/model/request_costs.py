"""Cycles and bytes that one request of an instruction costs each part of a GPU.

Compute capability 1.x makes transactions of 32, 64 and 128 bytes of the addresses of a half-warp and has no
caches; later GPUs request sectors of 32 bytes in lines of 128.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.caches import LINE_BYTES, LOOKUP_BYTES, SiteTraffic
from gpulab.model.coalescing import (
    SECTOR_BYTES,
    bank_passes,
    channel_load,
    copied_sectors,
    segment_transactions,
    unique_per_request,
)
from gpulab.model.l2_cycles import NO_CYCLES, L2Cycles, cycles_of_load, cycles_of_store
from gpulab.model.model_input import AccessSample, LaunchSample

__all__ = ["STORED_LINE_BYTES", "RequestCost", "costs_without_site", "request_costs"]

# Operations that access no memory and take a pass through the SM's data path; barriers and votes take none.
# This and the lines of a store that L1 looks up at once are from counters of micro-kernels on an H100.
PASSING = ("exchange", "system")
STORED_LINES_PER_PASS = 3
STORED_LINE_BYTES = 64  # that L2 could write in the time in which it looks up a line of a store; assumed
# Cycles of the data path for an element that an atomic operation updates, and in addition for each of its
# bytes; and the lines that L1 has, of which it looks up as many in a cycle. All were measured on an H100.
UPDATE_CYCLES, UPDATE_CYCLES_PER_BYTE = 0.4, 0.06
HITS_PER_CYCLE = 3
# From the H200's counters, not from its times (docs/model.md, "Fitted figures").
LINES_PER_PASS = 2  # lines of a load that L1 looks up at once
# Between launches, data up to the first of these shares of L2 are still there, and of more than the second
# none are. By their times on an H100, 40 MiB are still there, and 48 MiB are not.
L2_KEPT, L2_LOST = 0.8, 0.96


@dataclass(frozen=True)
class RequestCost:
    """Resources of one request of an instruction, on average.

    Attributes
    ----------
    passes : float
        Cycles of the SM's data path to L1 and shared memory.
    tags : float
        Cycles of the tags of L1, which look up a line per cycle, and more of those that L1 has.
    l2_bytes : float
        Time of L2, as the bytes that it could move in that time.
    dram_bytes : float
        Bytes read from and written to DRAM.
    levels : tuple of float
        Shares of the requests that wait for L1, L2 and DRAM.
    l2 : L2Cycles
        Cycles of the parts of L2. Those of its input are also cycles of the port through which the SM makes
        the request.
    """

    passes: float
    l2_bytes: float = 0.0
    dram_bytes: float = 0.0
    levels: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tags: float = 0.0
    l2: L2Cycles = NO_CYCLES


def costs_without_site(architecture: Architecture) -> dict[str, RequestCost]:
    """Return the costs of the operations whose addresses are not sampled, by unit.

    Accesses to local memory cost this for each word of 4 bytes per lane, which is a line for a warp. L1 sends
    them on when they are written. They stay in L2, because the next block uses the same memory.
    """
    sectors = LINE_BYTES // SECTOR_BYTES
    return {unit: RequestCost(1.0) for unit in PASSING} | {
        "local": RequestCost(1.0, tags=1.0),
        "local_store": RequestCost(
            1.0,
            l2_bytes=architecture.l2_write_cost * LINE_BYTES,
            tags=1.0,
            l2=cycles_of_store(1.0, sectors, 0.0, 0.0),
        ),
    }


def request_costs(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> dict[int, RequestCost]:
    """Return the cost of one request of each site."""
    costs = _request_costs(sample, spec, architecture)
    if not spec.l2_bytes:
        return costs
    # Data that fit are still in L2 from the previous launch. Larger data that are used in the same order
    # again have been replaced by then.
    counts = sample.requests
    moved = sum(count * costs[site].dram_bytes for site, count in counts.items()) if counts else inf
    share = (min(moved, sample.array_bytes) + sample.other_bytes) / spec.l2_bytes
    retained = min(max((L2_LOST - share) / (L2_LOST - L2_KEPT), 0.0), 1.0)
    if sample.cold and moved:  # the data come from DRAM once
        retained *= 1 - min(moved, sample.array_bytes) / moved
    if not retained:
        return costs
    traffic = {site: one.in_l2(retained) for site, one in sample.traffic.items()}
    return _request_costs(replace(sample, traffic=traffic), spec, architecture)


def _request_costs(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> dict[int, RequestCost]:
    """Return the costs with the sample's cache traffic."""
    traffic, completing = sample.traffic_of_globals, _completing_sectors(sample)
    costs = {}
    for site, access in sample.accesses.items():
        if access.space == "shared":
            costs[site] = _shared_cost(access, spec)
        elif spec.coalescing == "half_warp_segments":
            costs[site] = _segment_cost(access, architecture)
        else:
            costs[site] = _cached_cost(access, traffic[site], architecture, completing.get(site, 0.0))
    return costs


def _completing_sectors(sample: LaunchSample) -> dict[int, float]:
    """Return the sectors that DRAM reads for each request of a store, because only a part is ever written.

    Later stores may write the rest of a sector. Their bytes are compared with those that are missing, over
    all stores together.
    """
    blank: dict[int, float] = {}
    missing = written = 0.0
    requests = sample.requests
    for site, one in sample.traffic.items():
        access = sample.accesses[site]
        if access.reads or not one.requests or site not in requests:
            continue
        partial, covered = access.partial_sectors
        share = partial / max(_mean(unique_per_request(access.masks, access.addresses, SECTOR_BYTES)), 1.0)
        blank[site] = share * one.blank / one.requests
        missing += requests[site] * blank[site] * (1 - covered)
        written += requests[site] * one.rewritten / one.requests * (1 - share * (1 - covered))
    remaining = max(1 - written / missing, 0.0) if missing else 0.0
    return {site: remaining * sectors for site, sectors in blank.items()}


def _shared_cost(access: AccessSample, spec: GpuSpec) -> RequestCost:
    passes = _mean(bank_passes(access.masks, access.addresses, access.width, spec.shared_banks))
    if access.compares:
        passes *= 2  # one for the old values, and one for the new values (counters of an H100)
    # With 16 banks a half-warp takes two cycles of the arithmetic units' clock.
    return RequestCost(passes * (2 if spec.shared_banks == 16 else 1))


def _segment_cost(access: AccessSample, architecture: Architecture) -> RequestCost:
    """Return the cost on compute capability 1.x, where every transaction goes to DRAM."""
    segments = segment_transactions(access.masks, access.addresses, access.width)
    count, size = _mean(segments[:, 0]), _mean(segments[:, 1])
    dram = max(size, count * architecture.dram_burst_bytes)
    if architecture.dram_partitions:
        slowdown = channel_load(
            access.masks, access.addresses, architecture.dram_partitions, architecture.partition_bytes
        )
        dram = max(dram, size * _mean(slowdown))
    return RequestCost(4 * max(count, 2) / 2, 0.0, dram, (0.0, 0.0, 1.0))


def _cached_cost(
    access: AccessSample, traffic: SiteTraffic | None, architecture: Architecture, completing: float
) -> RequestCost:
    """Return the cost with caches. DRAM reads `completing` sectors for a request of a store."""
    masks, addresses, width = access.masks, access.addresses, access.width
    lines = unique_per_request(masks, addresses, LINE_BYTES)
    at_once = LINES_PER_PASS if access.reads else STORED_LINES_PER_PASS
    # L1 is the same memory as shared memory, with the same banks: a row of 128 bytes that begins in the
    # middle of a line takes one pass, and two rows of 64 bytes on the same banks take two.
    banks = bank_passes(masks, addresses, width, 32)
    hits = traffic.l1_sectors / traffic.sectors if access.reads and traffic and traffic.sectors else 0.0
    looked_up = np.maximum(banks, -(-lines // at_once))
    passes = max(hits * _mean(banks) + (1 - hits) * _mean(looked_up), 1.0)

    if access.updates:  # one element after the other
        elements = _mean(unique_per_request(masks, addresses, width))
        passes = max(passes, elements * (UPDATE_CYCLES + UPDATE_CYCLES_PER_BYTE * width))

    tags = _mean(lines) * (1 - hits + hits / HITS_PER_CYCLE)
    sent = _mean(unique_per_request(masks, addresses, SECTOR_BYTES))
    if traffic is None or not traffic.requests:  # every sector comes from DRAM
        traffic = SiteTraffic(0, 0, 1, sent, tags, 0, 0, sent, tags)
    dram = traffic.dram_bytes + SECTOR_BYTES * completing
    l2_bytes = traffic.l2_bytes
    if access.copies:
        if access.bypasses_l1:
            filled, traffic = traffic.filled_lines, _requested_by_lanes(access, traffic)
            passes, tags = 0.0, traffic.lines / traffic.requests
            l2_bytes = max(l2_bytes, traffic.moved_bytes, LOOKUP_BYTES * (tags + filled))
        passes += 1  # the data are written to shared memory
    if access.reads:
        return RequestCost(passes, l2_bytes, dram, traffic.levels, tags, cycles_of_load(traffic))

    # A part of the sectors joins earlier stores.
    moved, sent_lines = traffic.moved_bytes, traffic.l2_lines / traffic.requests
    partial = access.partial_sectors[0] * moved / (SECTOR_BYTES * max(sent, 1))
    sent = moved / SECTOR_BYTES
    cost = architecture.l2_write_cost
    parts = architecture.l2_part_bytes * partial
    l2_bytes = max(l2_bytes, cost * moved + parts, cost * STORED_LINE_BYTES * sent_lines)
    l2 = cycles_of_store(sent_lines, sent, partial, traffic.filled_lines)
    return RequestCost(passes, l2_bytes, dram, traffic.levels, tags, l2)


def _requested_by_lanes(access: AccessSample, traffic: SiteTraffic) -> SiteTraffic:
    """Return the traffic of an asynchronous copy that bypasses L1, whose lanes request sectors of their own.

    DRAM reads each sector once nevertheless.
    """
    sectors, lines = map(_mean, copied_sectors(access.masks, access.addresses))
    more_sectors = max(sectors * traffic.requests - traffic.sectors, 0.0)
    lines_of_each = max(lines * traffic.requests / traffic.lines, 1.0)
    return replace(
        traffic,
        sectors=traffic.sectors + more_sectors,
        lines=traffic.lines * lines_of_each,
        l2_sectors=traffic.l2_sectors + more_sectors,
        l2_lines=traffic.l2_lines * lines_of_each,
    )


def _mean(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
