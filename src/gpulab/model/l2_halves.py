"""Distance between an SM and the two halves of L2, each of which has half of the memory.

A page of `PAGE_BYTES` belongs to one half. What an SM loads from a page of the other half, L2 keeps a copy of
in the SM's own half. On an H100, an SM waits 300 cycles for data that it has loaded before, and 500 for data
of the other half that only SMs of that half have loaded; for data in DRAM it waits 590 or 790 cycles
(benchmarks/figures/micro-h100.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gpulab.model.recording import TracedWave
    from gpulab.model.resource_usage import LaunchSample

__all__ = ["PageCount", "far_waits", "page_counts"]

WARP = 32  # lanes
PAGE_BYTES = 4096
EXAMINED_BLOCKS = 4  # of a wave; blocks are alike
EXAMINED_WORDS = 512  # traced lines of each warp, in which the first requests of its sites are
# Fields of a traced line; see `gpulab.simt.instrument.trace.trace_code`.
FIRST_OF_REQUEST, SITE_SHIFT, SITE_MASK = np.uint64(32), np.uint64(6), np.uint64(0xFFFF)
PAGE_SHIFT = np.uint64(22 + (PAGE_BYTES // 128).bit_length() - 1)


class PageCount(NamedTuple):
    """The number of pages of one request of a site, and of the requests of all warps of a block together."""

    request: float = 1.0
    block: float = 1.0


def far_waits(
    sample: LaunchSample,
    levels: Mapping[int, tuple[float, float, float]],
    l2_waits: float,
    dram_waits: float,
    at_barriers: float,
) -> float:
    """Return how often a warp waits for the further half of L2, in addition to the waits of the model.

    The model's latency of L2 is that of the nearer half, and that of DRAM the mean of both. A warp that waits
    for several pages at once waits for the furthest of them, and at a barrier for those of all warps of its
    block.

    Parameters
    ----------
    sample : LaunchSample
    levels : mapping of int to tuple of float
        Shares of the requests of each site that wait for L1, L2 and DRAM.
    l2_waits, dram_waits : float
        How often a warp waits for L2 and for DRAM.
    at_barriers : float
        Share of the waits that lengthen the wait of the block at a barrier.
    """
    l2, dram = _Awaited(l2_waits), _Awaited(dram_waits)
    loaded_before = from_l2 = from_dram = 0.0
    for site, count in sample.requests.items():
        if not sample.loads(site) or sample.accesses[site].space == "shared":
            continue
        pages = sample.pages.get(site, PageCount())
        l2.add(count * levels[site][1], pages)
        dram.add(count * levels[site][2], pages)
        traffic = sample.traffic.get(site)
        if traffic is not None and traffic.requests:
            loaded_before += count * traffic.levels[1]
            from_l2 += count / traffic.requests * traffic.l2_sectors
            from_dram += count / traffic.requests * traffic.dram_sectors

    # The rest of the hits in L2 are data of an earlier launch, whose blocks ran on the same SMs.
    loaded_by_others = min(loaded_before / l2.requests, 1.0) if l2.requests else 0.0
    missing = loaded_by_others * _probability_of_missing_copy(from_l2 / from_dram if from_dram else 1.0)
    warps = sample.blocks * -(-prod(sample.block) // WARP)
    return l2_waits * l2.far_share(missing, at_barriers, warps) + dram_waits * (
        dram.far_share(0.5, at_barriers, warps) - 0.5
    )


@dataclass
class _Awaited:
    """The loads that wait for L2, or for DRAM.

    Attributes
    ----------
    waits : float
        How often a warp waits for them.
    requests : float
        Requests of all warps that wait for this level.
    pages_of_warp, pages_of_block : float
        Sum over these requests of the pages of each, and of those that the warps of a block make together.
    """

    waits: float
    requests: float = 0.0
    pages_of_warp: float = 0.0
    pages_of_block: float = 0.0

    def add(self, requests: float, pages: PageCount) -> None:
        """Add requests of one site."""
        self.requests += requests
        self.pages_of_warp += requests * pages.request
        self.pages_of_block += requests * pages.block

    def far_share(self, probability: float, at_barriers: float, warps: int) -> float:
        """Return the share of the waits in which at least one page is far, if each is with a probability."""
        if not self.requests or not self.waits:
            return 0.0
        at_once = max(self.requests / warps / self.waits, 1.0)
        warp, block = (
            1 - (1 - probability) ** (at_once * pages / self.requests)
            for pages in (self.pages_of_warp, self.pages_of_block)
        )
        return float(warp + at_barriers * (block - warp))


def _probability_of_missing_copy(readers: float) -> float:
    """Return the probability that the half of L2 of an SM lacks data that other SMs have loaded.

    The copy is missing if the page belongs to the other half and all SMs that have loaded it do, too. For the
    k-th reader after the first, the probability is 1/2 (1/2)^k; the result is the mean over all `readers`.
    """
    readers = max(readers, 1.0)
    return float(0.5 * (1 - 0.5**readers) / readers)


def page_counts(wave: TracedWave) -> dict[int, PageCount]:
    """Return the pages of the first request of each warp to each site, by PTX row."""
    warps = len(wave.used) // wave.blocks
    blocks = np.unique(np.linspace(0, wave.blocks - 1, min(wave.blocks, EXAMINED_BLOCKS)).astype(int))
    rows = (blocks[:, None] * warps + np.arange(warps)).ravel()
    words = wave.words[rows, :EXAMINED_WORDS]
    used = np.arange(words.shape[1]) < wave.used[rows, None]

    row = np.nonzero(used)[0]
    words = words[used]
    begins = words & FIRST_OF_REQUEST != 0
    site = (words >> SITE_SHIFT & SITE_MASK).astype(np.int64)
    request = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    _, first = np.unique(row[starts] * len(wave.sites) + site[starts], return_index=True)
    chosen = np.isin(request, first)

    request, row, site = request[chosen], row[chosen], site[chosen]
    page = (words[chosen] >> PAGE_SHIFT).astype(np.int64)
    return {
        ptx_row: PageCount(
            _mean_pages(request[site == number], page[site == number]),
            _mean_pages(row[site == number] // warps, page[site == number]),
        )
        for number, (ptx_row, _) in enumerate(wave.sites)
        if ptx_row is not None and (site == number).any()
    }


def _mean_pages(owner: npt.NDArray[np.int64], page: npt.NDArray[np.int64]) -> float:
    """Return the mean number of different pages of an owner."""
    pairs = np.unique(np.stack([owner, page]), axis=1)
    return float(pairs.shape[1] / len(np.unique(owner)))
