"""What one request of each access asks of a GPU's memory, on the mean: passes, bytes, and how far it goes.

The same code asks other things of other GPUs. Compute capability 1.x makes transactions of 32, 64 and 128
bytes of a half-warp's addresses and has no caches; later ones ask for sectors of 32 bytes in lines of 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields

import numpy as np
import numpy.typing as npt

from gpulab.gpus.architectures import Timings
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.caches import LINE_BYTES, SiteTraffic
from gpulab.model.coalescing import (
    SECTOR_BYTES,
    bank_passes,
    channel_load,
    part_sectors,
    segment_transactions,
    unique_per_request,
)
from gpulab.model.launch_sample import AccessSample, LaunchSample

__all__ = ["Site", "apart", "l2_bytes", "mixed", "sites_of", "traffic_of"]

# By the H200's counters (docs/model.md, "What was looked at"): what a store takes of the SM's way to memory
# besides its data; lines that are looked up in L1 at once.
STORE_PASSES, LINES_AT_ONCE = 2, 2
# A slice of L2 looks up one line in the time in which it moves so much. Assumed; on the H200 Nsight Compute's
# share of L2 agrees with it for kernels that ask for one sector of each line.
TURN_BYTES = 64


@dataclass(frozen=True)
class Site:
    """What one request of an instruction asks for, on the mean.

    requests: over the whole launch. passes: cycles of the SM's way to L1 and shared memory.
    l2_bytes: of the time of L2, in the bytes that it could have moved; dram_bytes: that come and go.
    levels: the share of requests that wait for L1, L2 and DRAM.
    """

    requests: float
    passes: float
    l2_bytes: float = 0.0
    dram_bytes: float = 0.0
    levels: tuple[float, float, float] = (0.0, 0.0, 0.0)


def sites_of(seen: LaunchSample, spec: GpuSpec, timings: Timings) -> dict[int, Site]:
    """By access."""
    # Arrays that fit in half of L2 are still there from the last launch.
    stays = bool(spec.l2_bytes) and seen.array_bytes <= spec.l2_bytes // 2
    traffic = traffic_of(seen)
    found = {}
    for row, access in seen.accesses.items():
        if access.space == "shared":
            found[row] = _shared_site(access, spec)
        elif spec.coalescing == "half_warp_segments":
            found[row] = _segment_site(access, timings)
        else:
            found[row] = _cached_site(access, traffic[row], stays)
    return found


def traffic_of(seen: LaunchSample) -> dict[int, SiteTraffic | None]:
    """By access to global memory; None for a place that no warp came to while the caches were tried."""
    usual = _usual(seen)
    return {
        row: seen.traffic.get(row) or (usual if access.reads else None)
        for row, access in seen.accesses.items()
        if access.space != "shared"
    }


def l2_bytes(one: SiteTraffic) -> float:
    """Of a request, on the mean: what L2 could have moved in the time that it takes."""
    beyond, dram = SECTOR_BYTES * (one.l2_sectors + one.dram_sectors), SECTOR_BYTES * one.dram_sectors
    # What comes from DRAM or goes there is looked up once more, two sectors at a time.
    return max(beyond, TURN_BYTES * one.l2_lines + dram) / one.requests


def apart(seen: LaunchSample, missing: float) -> dict[int, SiteTraffic]:
    """The traffic of warps that are not in step: each SM asks L2 for itself, and of what is asked there
    a share of `missing` has gone again since another SM asked for it.
    """
    found = dict(seen.traffic)
    for row, one in seen.traffic.items():
        asked = one.sectors - one.l1_sectors
        if asked and row in seen.accesses and seen.accesses[row].reads:
            dram = max(missing * asked, one.dram_sectors)
            beyond, joined = one.l2 + one.dram, max(one.l2_sectors + one.dram_sectors, 1)
            found[row] = SiteTraffic(
                one.l1, beyond * (1 - dram / asked), beyond * dram / asked, one.sectors, one.lines,
                one.l1_sectors, asked - dram, dram, one.l2_lines * asked / joined,
            )  # fmt: skip
    return found


def mixed(
    one: Mapping[int, SiteTraffic], other: Mapping[int, SiteTraffic], share: float
) -> dict[int, SiteTraffic]:
    """`share` of the other."""
    return {
        site: SiteTraffic(
            *(
                (1 - share) * a + share * b
                for a, b in zip(astuple(one[site]), astuple(other[site]), strict=True)
            )
        )
        for site in one
    }


def _usual(seen: LaunchSample) -> SiteTraffic | None:
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
    lines = unique_per_request(access.masks, access.addresses, LINE_BYTES)
    # L1 is the same store as shared memory, with the same banks: a row of 128 bytes that begins in the middle
    # of a line takes one pass, and two rows of 64 bytes that lie on the same banks take two.
    banks = bank_passes(access.masks, access.addresses, access.width, 32)
    passes = max(_mean(np.maximum(banks, -(-lines // LINES_AT_ONCE))), 1.0)
    if traffic is None or not traffic.requests:  # all of it new
        dram = SECTOR_BYTES * sectors
        l2, levels = max(dram, TURN_BYTES * _mean(lines) + dram), (0.0, 0.0, 1.0)
    else:
        dram, l2 = SECTOR_BYTES * traffic.dram_sectors / traffic.requests, l2_bytes(traffic)
        levels = (
            traffic.l1 / traffic.requests, traffic.l2 / traffic.requests, traffic.dram / traffic.requests,
        )  # fmt: skip
    if stays:
        dram, levels = 0.0, (levels[0], levels[1] + levels[2], 0.0)
    if not access.reads:
        passes += STORE_PASSES
        # A sector of which only a part is written is read and written again.
        l2 += SECTOR_BYTES * part_sectors(access.masks, access.addresses, access.width)
    return Site(access.requests, passes, l2, dram, levels)


def _mean(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
