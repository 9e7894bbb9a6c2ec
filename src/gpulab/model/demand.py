"""What a launch demands of one GPU: from its code and some of its requests to cycles and bytes of each part.

The same code asks other things of other GPUs. Compute capability 1.x makes transactions of 32, 64 and 128
bytes of a half-warp's addresses and has no caches; later ones ask for sectors of 32 bytes in lines of 128.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import prod

import numpy as np
import numpy.typing as npt

from gpulab.devices.catalogue import GpuSpec
from gpulab.devices.timings import Timings
from gpulab.model.caches import LINE_BYTES, SiteTraffic
from gpulab.model.coalescing import (
    SECTOR_BYTES,
    bank_passes,
    channel_load,
    segment_transactions,
    unique_per_request,
)
from gpulab.model.code import CodeBlock, Step, Unit, warp_cycles
from gpulab.model.estimate import Work

__all__ = ["AccessSample", "Observed", "Site", "loads_a_stall", "sites_of", "units_of", "work_of"]

FOLDED = 1.5  # turns of an instruction that reads an operand from shared memory itself (1.x)


@dataclass(frozen=True)
class AccessSample:
    """Some requests of one instruction that accesses memory.

    space: "global", "shared" or "generic". reads: whether it only reads. width: bytes a lane.
    requests: by warps with an active lane, over the whole launch. masks, addresses: of some of them,
    (requests,) and (requests, 32).
    """

    space: str
    reads: bool
    width: int
    requests: float
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Observed:
    """What was seen of a launch, by running a sample of it.

    grid, block: of the launch. resident: blocks that an SM of the GPU holds. registers: of a thread.
    code: with how often it ran, over the whole launch. accesses: by the place in the program (`Step.site`).
    traffic: the same, where the GPU's caches were tried. array_bytes: of all arrays together.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    resident: int
    registers: int
    code: tuple[CodeBlock, ...]
    accesses: Mapping[int, AccessSample]
    traffic: Mapping[int, SiteTraffic] = field(default_factory=dict)
    array_bytes: int = 0


@dataclass(frozen=True)
class Site:
    """What one request of an instruction asks for, on the mean.

    requests: over the whole launch. passes: cycles of the SM's way to L1
    and shared memory. l2_bytes, dram_bytes: that it moves. levels: the share of requests that wait for L1,
    L2 and DRAM.
    """

    requests: float
    passes: float
    l2_bytes: float = 0.0
    dram_bytes: float = 0.0
    levels: tuple[float, float, float] = (0.0, 0.0, 0.0)


def work_of(seen: Observed, spec: GpuSpec, timings: Timings) -> Work:
    """The launch as the model takes it."""
    blocks, warps = prod(seen.grid), spec.warps(prod(seen.block))
    sites = sites_of(seen, spec, timings)
    clock = spec.boost_clock_mhz / 1e3  # cycles a nanosecond
    levels = (timings.l1_cycles, timings.l2_cycles, timings.dram_ns * clock)

    def latency(step: Step) -> float:
        site = sites.get(step.site or 0)
        if site is None or step.unit in ("store", "shared_store"):
            return 0.0
        if step.unit in ("shared", "fp32_shared"):
            cycles = timings.shared_cycles + max(site.passes - 1, 0)
        else:
            cycles = sum(share * far for share, far in zip(site.levels, levels, strict=True))
        return cycles * asked[step.site or 0] / max(runs[step.site or 0], 1e-9)

    # Under a predicate a warp comes to an instruction and asks for nothing; and what PTX asks for twice
    # the assembler may keep in a register.
    runs = _runs_by_site(seen.code)
    asked = {row: min(count, sites[row].requests) for row, count in runs.items() if row in sites}
    return Work(
        blocks=blocks,
        resident=seen.resident,
        warps=warps,
        warp_cycles=warp_cycles(seen.code, units_of(spec, timings, warps), latency, blocks * warps),
        instructions=sum(
            block.runs * sum(FOLDED if step.unit == "fp32_shared" else 1 for step in block.steps)
            for block in seen.code
        ),
        pipes=_pipes(seen.code, spec, timings),
        l1_cycles=sum(count * sites[row].passes for row, count in asked.items()),
        l2_bytes=sum(count * sites[row].l2_bytes for row, count in asked.items()),
        dram_bytes=sum(count * sites[row].dram_bytes for row, count in asked.items()),
    )


def loads_a_stall(code: Sequence[CodeBlock], units: Mapping[str, Unit]) -> int:
    """How many requests to global memory a warp has on their way when it waits for one of them."""
    far = 1e6
    waits = warp_cycles(code, units, lambda step: far if step.unit == "load" else 0.0, 1) / far
    requests = sum(block.runs for block in code for step in block.steps if step.unit in ("load", "store"))
    return max(round(requests / waits), 1) if waits >= 1 else 1


# -- memory ------------------------------------------------------------------------------------------


def sites_of(seen: Observed, spec: GpuSpec, timings: Timings) -> dict[int, Site]:
    """What a request of each access asks of this GPU's memory."""
    # Arrays that fit in half of L2 are still there from the last launch.
    stays = bool(spec.l2_bytes) and seen.array_bytes <= spec.l2_bytes // 2
    usual = _usual(seen)
    found = {}
    for row, access in seen.accesses.items():
        if access.space == "shared":
            found[row] = _shared_site(access, spec)
        elif spec.coalescing == "half_warp_segments":
            found[row] = _segment_site(access, timings)
        else:
            found[row] = _cached_site(
                access, seen.traffic.get(row) or (usual if access.reads else None), stays
            )
    return found


def _usual(seen: Observed) -> SiteTraffic | None:
    """The traffic of all loads that were tried together, for those of other copies of an unrolled loop."""
    tried = [t for row, t in seen.traffic.items() if row in seen.accesses and seen.accesses[row].reads]
    sums = [sum(getattr(t, f.name) for t in tried) for f in fields(SiteTraffic)]
    return SiteTraffic(*sums) if tried else None


def _shared_site(access: AccessSample, spec: GpuSpec) -> Site:
    passes = _mean(bank_passes(access.masks, access.addresses, access.width, spec.shared_banks))
    # Of 16 banks a half-warp takes two cycles of the arithmetic units' clock.
    return Site(access.requests, passes * (2 if spec.shared_banks == 16 else 1))


def _segment_site(access: AccessSample, timings: Timings) -> Site:
    """Compute capability 1.x: transactions that all go to DRAM, and may all go to one of its channels."""
    segments = segment_transactions(access.masks, access.addresses, access.width)
    count, size = _mean(segments[:, 0]), _mean(segments[:, 1])
    dram = max(size, count * timings.dram_burst_bytes)
    if timings.dram_partitions:
        channels = channel_load(
            access.masks, access.addresses, timings.dram_partitions, timings.partition_bytes
        )
        dram = max(dram, size * _mean(channels))
    return Site(access.requests, 4 * max(count, 2) / 2, 0.0, dram, (0.0, 0.0, 1.0))


def _cached_site(access: AccessSample, traffic: SiteTraffic | None, stays: bool) -> Site:
    sectors = _mean(unique_per_request(access.masks, access.addresses, SECTOR_BYTES))
    lines = _mean(unique_per_request(access.masks, access.addresses, LINE_BYTES))
    passes = max(lines, sectors / 4, 1.0)
    if traffic is None or not traffic.requests:  # a place that a wave comes to only later: all new
        beyond = dram = SECTOR_BYTES * sectors
        levels = (0.0, 0.0, 1.0)
    else:
        count = traffic.requests
        beyond = SECTOR_BYTES * (traffic.l2_sectors + traffic.dram_sectors) / count
        # What comes from DRAM, or goes there, passes through L2's store once more.
        beyond += SECTOR_BYTES * traffic.dram_sectors / count
        dram = SECTOR_BYTES * traffic.dram_sectors / count
        levels = (traffic.l1 / count, traffic.l2 / count, traffic.dram / count)
    if stays:
        dram, levels = 0.0, (levels[0], levels[1] + levels[2], 0.0)
    return Site(access.requests, passes, beyond, dram, levels)


def _mean(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _runs_by_site(code: Sequence[CodeBlock]) -> dict[int, float]:
    """How often warps come to each access."""
    found: dict[int, float] = {}
    for block in code:
        for step in block.steps:
            if step.site is not None:
                found[step.site] = found.get(step.site, 0.0) + block.runs
    return found


# -- the SM's units ----------------------------------------------------------------------------------


def units_of(spec: GpuSpec, timings: Timings, warps: int) -> dict[str, Unit]:
    """What executes each kind of instruction, as one warp sees it: its scheduler's share of the SM.

    warps: of a block, for its barriers.
    """

    def unit(cycles: float, lanes: float, turns: float = 1.0) -> Unit:
        return Unit(cycles, turns * spec.warp_size * timings.schedulers / lanes)

    plain, clock = timings.arithmetic_cycles, spec.boost_clock_mhz / 1e3
    load = Unit(0.0, spec.warp_size / timings.load_lanes)
    turn = timings.schedulers / timings.issue_per_cycle
    return {
        "fp32": unit(plain, spec.cores_per_sm),
        "fp32_shared": unit(timings.shared_cycles, spec.cores_per_sm, FOLDED),
        "fma": unit(plain, timings.integer_lanes),
        "integer": unit(plain, timings.integer_lanes),
        "fp64": unit(4 * plain, timings.fp64_lanes),
        "special": unit(timings.special_cycles, timings.special_lanes),
        "load": load,
        "store": load,
        "shared": Unit(timings.shared_cycles, load.busy),
        "shared_store": load,
        "local": Unit(timings.l1_cycles or timings.dram_ns * clock, load.busy),
        "local_store": load,
        "constant": Unit(timings.constant_cycles, turn),
        "uniform": Unit(2 * plain, turn),
        "branch": Unit(plain, turn),
        "barrier": Unit(timings.barrier_cycles + warps * timings.barrier_cycles_per_warp, turn),
    }


def _pipes(code: Sequence[CodeBlock], spec: GpuSpec, timings: Timings) -> dict[str, float]:
    """Cycles that the launch keeps each arithmetic unit of one SM."""
    lanes = {
        "fp32": float(spec.cores_per_sm), "fp32_shared": spec.cores_per_sm / FOLDED,
        "fma": timings.integer_lanes, "integer": timings.integer_lanes, "fp64": timings.fp64_lanes,
        "special": timings.special_lanes,
    }  # fmt: skip
    found = dict.fromkeys(lanes, 0.0)
    for block in code:
        for step in block.steps:
            if step.unit in found:
                found[step.unit] += block.runs * spec.warp_size / lanes[step.unit]
    found["fp32"] += found.pop("fp32_shared")
    return found
