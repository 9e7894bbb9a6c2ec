"""Distance between an SM and the two halves of L2, each of which has half of the memory.

A page of `PAGE_BYTES` belongs to one half. What an SM loads from a page of the other half, L2 keeps a copy of
in the SM's own half. On an H100, an SM waits 300 cycles for data that it has loaded before, and 500 for data
of the other half that only SMs of that half have loaded; for data in DRAM it waits 590 or 790 cycles
(benchmarks/figures/micro-h100.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpulab.model.caches import LINE_BYTES, SiteTraffic, begins_request, line_of, site_of

__all__ = ["Loads", "PageCount", "far_waits", "page_counts"]

PAGE_BYTES = 4096
# Blocks of a wave, and traced words of each warp, in which pages are counted: the blocks of a wave make
# similar requests, and the first request to a site is usually an early one.
EXAMINED_BLOCKS, EXAMINED_WORDS = 4, 512


class PageCount(NamedTuple):
    """The number of pages of one request of a site, and of the requests of all warps of a block together."""

    request: float = 1.0
    block: float = 1.0


class Loads(NamedTuple):
    """The loads of one site.

    Attributes
    ----------
    requests : float
        Requests of all warps.
    levels : tuple of float
        Shares of them that wait for L1, L2 and DRAM.
    pages : PageCount
    traffic : SiteTraffic or None
        Cache traffic without the data of earlier launches, if it is known.
    """

    requests: float
    levels: tuple[float, float, float]
    pages: PageCount
    traffic: SiteTraffic | None


def far_waits(
    loads: Iterable[Loads], warps: int, l2_waits: float, dram_waits: float, at_barriers: float
) -> float:
    """Return how often a warp waits for the further half of L2, in addition to the waits of the model.

    The model's latency of L2 is that of the nearer half, and that of DRAM the mean of both. A warp that waits
    for several pages at once waits for the furthest of them, and at a barrier for those of all warps of its
    block.

    Parameters
    ----------
    loads : iterable of Loads
    warps : int
        Warps of the launch.
    l2_waits, dram_waits : float
        How often a warp waits for L2 and for DRAM.
    at_barriers : float
        Share of the waits that lengthen the wait of the block at a barrier.
    """
    l2, dram = _Awaited(l2_waits), _Awaited(dram_waits)
    loaded_before = from_l2 = from_dram = 0.0
    for each in loads:
        l2.add(each.requests * each.levels[1], each.pages)
        dram.add(each.requests * each.levels[2], each.pages)
        if each.traffic is not None and each.traffic.requests:
            loaded_before += each.requests * each.traffic.levels[1]
            from_l2 += each.requests / each.traffic.requests * each.traffic.l2_sectors
            from_dram += each.requests / each.traffic.requests * each.traffic.dram_sectors

    # The rest of the hits in L2 are data of an earlier launch, whose blocks ran on the same SMs.
    loaded_by_others = min(loaded_before / l2.requests, 1.0) if l2.requests else 0.0
    missing = loaded_by_others * _probability_of_missing_copy(from_l2 / from_dram if from_dram else 1.0)
    far_from_dram = dram.far_share(0.5, at_barriers, warps)
    return l2_waits * l2.far_share(missing, at_barriers, warps) + dram_waits * (far_from_dram - 0.5)


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
        """Return the share of the waits in which at least one page is far, if each is with a probability.

        A warp that waits for something else than these loads, such as an atomic operation, waits for a page.
        """
        if not self.requests or not self.waits:
            return probability
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


def page_counts(
    words: npt.NDArray[np.uint64], used: npt.NDArray[np.int64], blocks: int
) -> dict[int, PageCount]:
    """Return the pages of the first request of each warp to each site, by the number of the site.

    Parameters
    ----------
    words : array of shape (warps, capacity)
        The traced lines of each warp.
    used : array of shape (warps,)
        Words in use of each warp.
    blocks : int
        Number of blocks to which the warps belong.
    """
    warps = len(used) // blocks
    examined = np.unique(np.linspace(0, blocks - 1, min(blocks, EXAMINED_BLOCKS)).astype(int))
    rows = (examined[:, None] * warps + np.arange(warps)).ravel()
    traced = words[rows, :EXAMINED_WORDS]
    in_use = np.arange(traced.shape[1]) < used[rows, None]

    warp = np.nonzero(in_use)[0]
    traced = traced[in_use]
    begins = begins_request(traced)
    starts = np.flatnonzero(begins)
    if not len(starts):
        return {}
    request = np.cumsum(begins) - 1  # the number of each word's request
    site = site_of(traced[starts])  # the site of each request
    sites = int(site.max()) + 1
    _, first = np.unique(warp[starts] * sites + site, return_index=True)

    chosen = np.isin(request, first)
    request, block = request[chosen], warp[chosen] // warps
    pages, page = np.unique(line_of(traced[chosen]) * LINE_BYTES // PAGE_BYTES, return_inverse=True)
    of_block = block * sites + site[request]  # the requests of a block to a site
    pages_of_request = site[np.unique(request * len(pages) + page) // len(pages)]
    pages_of_block = np.unique(of_block * len(pages) + page) // len(pages) % sites
    return {
        int(number): PageCount(
            np.count_nonzero(pages_of_request == number) / np.count_nonzero(site[first] == number),
            np.count_nonzero(pages_of_block == number)
            / np.count_nonzero(np.unique(of_block) % sites == number),
        )
        for number in np.unique(site)
    }
