"""Resources that a launch needs on one GPU: cycles and bytes of each part, from a sample of the launch.

The same code needs different resources on different GPUs. Compute capability 1.x makes transactions of 32, 64
and 128 bytes of a half-warp's addresses and has no caches; later GPUs request sectors of 32 bytes in lines of
128.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, inf, prod

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
    lanes,
    partial_sectors,
    segment_transactions,
    unique_per_request,
)
from gpulab.model.estimate import Work, estimate
from gpulab.model.l2_cycles import NO_CYCLES, L2Cycles, cycles_of_load, cycles_of_store
from gpulab.model.l2_halves import Loads, PageCount, far_waits
from gpulab.model.warp_timing import (
    BlockTime,
    CodeBlock,
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

__all__ = [
    "FLOAT_ATOMIC_CYCLES",
    "L2_RETAINED",
    "SHARED_STORE_CYCLES",
    "STORED_LINE_BYTES",
    "AccessSample",
    "LaunchSample",
    "RequestCost",
    "out_of_step_traffic",
    "request_costs",
    "resource_usage",
]

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
OUT_OF_STEP = 1.1  # warps progress independently if the SM or L2 needs this many times their latency
SLICE_BYTES = 256  # adjacent bytes in one slice of L2
REGION_BYTES = 4096  # adjacent bytes that all blocks change if some of them do
FEWEST_SEEN = 4  # operations in a third of the sample, from which a piece has more of them than others
ASSIGNMENTS = 32  # random assignments of pieces to slices, of which the mean is taken
JOINED = 0.15  # share of the requests of several SMs for one sector that join one in flight, out of step
# Share of L2 that still holds a wave's data when its warps progress independently. On an H100, 8 % of 36 MiB
# that a launch reads twice are read from DRAM again, 27 % of 40 MiB, 66 % of 44 MiB and 91 % of 48 MiB.
L2_RETAINED = 0.84
# Between launches, data up to the first of these shares of L2 are still there, and of more than the second
# none are. By their times on an H100, 40 MiB are still there, and 48 MiB are not.
L2_KEPT, L2_LOST = 0.8, 0.96
# Instructions of a warp between two barriers, in most kernels to which barrier_queueing was fitted.
SEGMENT_INSTRUCTIONS = 100
# Cycles of an SM in which a slice of L2 adds a floating-point number to an element, or writes to a sector
# that all SMs store to, both measured on an H100, on which integer operations take as long as on an H200. The
# second is the median of 223 launches whose time such stores determine, so it includes those that wait when
# the last block has ended.
FLOAT_ATOMIC_CYCLES = 3.49
SHARED_STORE_CYCLES = 2.8
# A store joins those of neighbouring warps to the same sector that the SM has made in about the last 36
# cycles: at most four, because no more make theirs in a row. From the counters of the same launches.
JOINING_CYCLES = 36
JOINING_WARPS = 4
# Bytes that a slice of L2 moves in a cycle of an SM, on an H100 and an H200.
SLICE_BYTES_PER_CYCLE = 55.5
PROBE_CYCLES = 100.0  # by which a latency is increased to see how often a warp waits for it


@dataclass(frozen=True)
class AccessSample:
    """Some requests of one instruction that accesses memory.

    Attributes
    ----------
    space : str
        "global", "shared" or "generic".
    reads : bool
        True if it only reads.
    width : int
        Bytes per lane.
    requests : float
        Requests by warps with at least one active lane, over the whole launch.
    masks, addresses : array of shape (requests,) and (requests, 32)
        Active lanes and byte addresses of the sampled requests.
    updates : bool
        True for an atomic operation.
    floating : bool
        True for an atomic operation on floating-point numbers.
    bypasses_l1 : bool
        True if L1 does not keep the data.
    copies : bool
        True for an asynchronous copy (`cp.async`) to shared memory.
    compares : bool
        True for a compare-and-swap.
    warps : array of shape (requests,)
        Numbers of the warps in their blocks that made the sampled requests; empty if they are not known.
    """

    space: str
    reads: bool
    width: int
    requests: float
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]
    updates: bool = False
    floating: bool = False
    bypasses_l1: bool = False
    copies: bool = False
    compares: bool = False
    warps: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def partial_sectors(self) -> tuple[float, float]:
        """Mean number of sectors that a request covers in part, and the covered share of these."""
        return partial_sectors(self.masks, self.addresses, self.width)

    def joined(self, other: AccessSample) -> AccessSample:
        """Return the requests of both samples, which have the same space and width."""
        return replace(
            self,
            requests=self.requests + other.requests,
            masks=np.concatenate([self.masks, other.masks]),
            addresses=np.concatenate([self.addresses, other.addresses]),
            warps=np.concatenate([self.warps, other.warps]),
        )


@dataclass(frozen=True)
class LaunchSample:
    """The input of the model: what a sample of a launch's blocks executed and requested.

    Attributes
    ----------
    blocks, idle_blocks : int
        Blocks with work, and blocks that end at once.
    block : tuple of int
    resident : int
        Blocks that an SM of the modelled GPU holds.
    registers : int
        Registers per thread.
    code : tuple of CodeBlock
        The kernel's code with its execution counts, scaled to the whole launch.
    accesses : mapping of int to AccessSample
        By PTX row (`Operation.site`).
    traffic : mapping of int to SiteTraffic
        By PTX row, for the requests that went through the simulated caches.
    array_bytes, other_bytes : int
        Total size of the arrays, and of the other data that pass through L2 before each launch.
    ended : bool
        True if the warps whose requests went through the caches ended there.
    imbalance : float
        Warps of a block for each of them that has work: 1 if all have.
    longest_chain, busiest_sm : float
        Work of the longest chain of blocks, and of the busiest SM, divided by those of equal blocks.
    combined : frozenset of int
        PTX rows of atomic operations for which the compiler combines the lanes of a warp.
    shares : mapping of int to array of shape (blocks, warps)
        By PTX row, the requests of each warp of some blocks, relative to the mean of the warps with work.
    separate : mapping of int to SiteTraffic
        `traffic` if blocks do not find each other's data in L1; empty for launches of few waves.
    cold : bool
        True if L2 has no data of an earlier launch.
    pages : mapping of int to PageCount
        By PTX row, the pages of its requests.
    """

    blocks: int
    block: tuple[int, int, int]
    resident: int
    registers: int
    code: tuple[CodeBlock, ...]
    accesses: Mapping[int, AccessSample]
    traffic: Mapping[int, SiteTraffic] = field(default_factory=dict)
    array_bytes: int = 0
    other_bytes: int = 0
    ended: bool = False
    imbalance: float = 1.0
    longest_chain: float = 1.0
    busiest_sm: float = 1.0
    combined: frozenset[int] = frozenset()
    shares: Mapping[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    separate: Mapping[int, SiteTraffic] = field(default_factory=dict)
    cold: bool = False
    idle_blocks: int = 0
    pages: Mapping[int, PageCount] = field(default_factory=dict)

    def loads(self, site: int) -> bool:
        """Return True if the site is known and only reads."""
        return site in self.accesses and self.accesses[site].reads

    @property
    def requests(self) -> dict[int, float]:
        """Requests of each site, over the whole launch.

        Fewer than executions if a predicate is false for all lanes of a warp. Fewer than PTX requests if the
        assembler keeps a value in a register.
        """
        runs = runs_by_site(self.code)
        return {
            site: min(count, self.accesses[site].requests)
            for site, count in runs.items()
            if site in self.accesses
        }

    @property
    def traffic_of_globals(self) -> dict[int, SiteTraffic | None]:
        """Traffic of each site in global memory.

        A load that no simulated warp reached, such as a copy in an unrolled loop, has the traffic of all
        other loads together; such a store has None.
        """
        reached = [(1.0, traffic) for site, traffic in self.traffic.items() if self.loads(site)]
        usual = SiteTraffic.weighted_sum(reached) if reached else None
        return {
            site: self.traffic.get(site) or (usual if access.reads else None)
            for site, access in self.accesses.items()
            if access.space != "shared"
        }


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


def resource_usage(sample: LaunchSample, spec: GpuSpec, architecture: Architecture) -> Work:
    """Return the work of a launch.

    Warps that wait for memory progress in step, because the first one waits for DRAM while the others catch
    up. The simulated caches assume this. If arithmetic, L1 or L2 takes clearly longer than the wait, warps
    progress independently, and the traffic of all waves but the first and the last is corrected for it.
    """
    work = _work_of_waves(sample, spec, architecture)
    if not spec.l2_bytes:
        return work
    stores = _shared_store_cycles(sample, spec, architecture, work)
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
    level_cycles = architecture.l1_cycles, architecture.l2_cycles, architecture.dram_ns * clock - nearest

    def times_with(level_cycles: Sequence[float]) -> list[BlockTime]:
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
        served += [(uses[unit], cost) for unit, cost in _costs_without_site(architecture).items()]
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
    times = times_with(level_cycles)
    alone = warp_cycles(sample.code, times, blocks * warps)
    l1, l2, dram = level_cycles
    l2_waits, dram_waits = (
        max(warp_cycles(sample.code, times_with(longer), blocks * warps) - alone, 0.0) / PROBE_CYCLES
        for longer in ((l1, l2 + PROBE_CYCLES, dram), (l1, l2, dram + PROBE_CYCLES))
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
        atomic_cycles=_atomic_cycles(sample, architecture),
        barrier_share=exposed,
        longest_chain=sample.longest_chain,
        busiest_sm=sample.busiest_sm,
    )


def _costs_without_site(architecture: Architecture) -> dict[str, RequestCost]:
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


def _atomic_cycles(sample: LaunchSample, architecture: Architecture) -> float:
    """Return the cycles of the slice of L2 with most of the atomic operations on memory that blocks share.

    It executes them one after the other, and additions of floating-point numbers to one sector take longer.
    Lanes that update one element are one operation if the compiler combines them; otherwise each of them is
    an operation. Which slice has a piece of memory is not known, so the result is the mean of several random
    assignments.
    """
    cycles: defaultdict[int, float] = defaultdict(float)
    for site, pieces in _on_shared_pieces(sample, updates=True).items():
        floating = sample.accesses[site].floating
        for piece, (operations, sectors) in pieces.items():
            of_sector = FLOAT_ATOMIC_CYCLES / sectors if floating else 0.0
            cycles[piece] += operations * max(architecture.atomic_cycles, of_sector)
    if not cycles:
        return 0.0
    slices = max(round(architecture.l2_bytes_per_cycle / SLICE_BYTES_PER_CYCLE), 1)
    chosen = np.random.default_rng(0).integers(slices, size=(ASSIGNMENTS, len(cycles)))
    weights = list(cycles.values())
    return float(np.mean([np.bincount(one, weights).max() for one in chosen]))


def _shared_store_cycles(
    sample: LaunchSample, spec: GpuSpec, architecture: Architecture, work: Work
) -> float:
    """Return the cycles of the slice of L2 with the piece of memory that most warps store to.

    `work` is that of the launch without these stores. The slice serves its share of all requests, too. In
    each block, the warps could make the store as often as the global access that they make most often.
    """
    pieces_by_site = [pieces for pieces in _on_shared_pieces(sample, updates=False).values() if pieces]
    if not pieces_by_site:
        return 0.0
    terms = estimate(spec, architecture, work).terms
    busy_ms = max(ms for name, ms in terms.items() if name not in ("latency", "blocks", "launch"))
    busy_cycles_of_all_sms = busy_ms * spec.boost_clock_mhz * 1e3 * min(sample.blocks, spec.sms)
    made: defaultdict[int, float] = defaultdict(float)
    for pieces in pieces_by_site:
        for piece, (operations, sectors) in pieces.items():
            made[piece] += operations / sectors

    counts = (count for site, count in sample.requests.items() if sample.accesses[site].space != "shared")
    opportunities = max(sample.blocks * work.warps, *counts)
    written: defaultdict[int, float] = defaultdict(float)
    for pieces in pieces_by_site:
        for piece, (operations, sectors) in pieces.items():
            share = min(operations / sectors / opportunities, 1.0)
            gap_cycles = busy_cycles_of_all_sms / made[piece]
            written[piece] += operations / _joined_stores(share, work.warps, gap_cycles)
    slices = architecture.l2_bytes_per_cycle / SLICE_BYTES_PER_CYCLE
    return SHARED_STORE_CYCLES * max(written.values()) + work.l2_cycles.entering / slices


def _joined_stores(share: float, warps: int, gap_cycles: float) -> float:
    """Return how many stores of an SM to one sector reach L2 as one.

    `share` of the `warps` of a block make them, and an SM makes one every `gap_cycles` while it is busy. The
    number of neighbours that make one is binomial, and at least one does; those that come too late are
    missing.
    """
    neighbours = min(warps, JOINING_WARPS)
    storing = share * neighbours / (1 - (1 - share) ** neighbours)
    return min(storing, exp(JOINING_CYCLES / max(gap_cycles, 1.0)))


def _on_shared_pieces(sample: LaunchSample, updates: bool) -> dict[int, dict[int, tuple[float, int]]]:
    """Return the operations of each store or atomic operation on the pieces of memory that blocks share.

    For each site and piece, the operations of the whole launch and the sectors that they touch.
    """
    result: dict[int, dict[int, tuple[float, int]]] = {}
    for site, count in sample.requests.items():
        access = sample.accesses[site]
        if access.reads or access.updates != updates or access.space == "shared":
            continue
        if not count or len(access.masks) < 3:
            continue
        operations = [
            _operations(row[active], updates, site in sample.combined)
            for active, row in zip(lanes(access.masks), access.addresses, strict=True)
        ]
        touched = np.unique(access.addresses[lanes(access.masks)] // SECTOR_BYTES)
        sectors = Counter((touched * SECTOR_BYTES // SLICE_BYTES).tolist())
        result[site] = {
            piece: (count * share, sectors[piece] if stands_out else SLICE_BYTES // SECTOR_BYTES)
            for piece, (share, stands_out) in _shares_of_pieces(operations).items()
            if stands_out or updates  # a few blocks may store to neighbouring pieces
        }
    return result


def _shares_of_pieces(operations: Sequence[Counter[int]]) -> dict[int, tuple[float, bool]]:
    """Return the operations of a request on each piece of memory that blocks share, on average.

    `operations` has the pieces of sampled requests. True marks a piece with more operations than those around
    it; a sample does not show smaller differences.
    """
    # Blocks usually change memory of their own. The first and the last third of the samples come from
    # different blocks, so a region that all blocks change is in both.
    third = len(operations) // 3
    first, last = _total(operations[:third]), _total(operations[-third:])
    shared = {_region(piece) for piece in first} & {_region(piece) for piece in last}
    made = _total(operations)
    pieces, total = Counter(_region(piece) for piece in made), Counter[int]()
    for piece, number in made.items():
        total[_region(piece)] += number

    shares = {}
    for region, piece in ((_region(piece), piece) for piece in made):
        if region in shared:
            usual, seen = total[region] / pieces[region] / len(operations), min(first[piece], last[piece])
            stands_out = seen >= max(min(FEWEST_SEEN, third), third * usual)
            shares[piece] = seen / third if stands_out else usual, stands_out
    return shares


def _total(counters: Sequence[Counter[int]]) -> Counter[int]:
    return sum(counters, Counter[int]())


def _region(piece: int) -> int:
    return piece * SLICE_BYTES // REGION_BYTES


def _operations(addresses: npt.NDArray[np.int64], updates: bool, combined: bool) -> Counter[int]:
    """Return the operations of one request by the piece of memory in one slice of L2.

    Lanes that store to one sector are one operation. Those that update one element are one if the compiler
    has `combined` them, for which all of them must update it.
    """
    elements, lanes_of_element = np.unique(addresses, return_counts=True)
    separate = updates and not (combined and len(elements) == 1)
    sectors: dict[int, int] = {}
    for element, number in zip(elements.tolist(), lanes_of_element.tolist(), strict=True):
        sector = element // SECTOR_BYTES
        sectors[sector] = max(sectors.get(sector, 1), number if separate else 1)
    pieces: Counter[int] = Counter()
    for sector, number in sectors.items():
        pieces[sector * SECTOR_BYTES // SLICE_BYTES] += number
    return pieces


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
