"""Cycles for which the parts of L2 are busy, as Nsight Compute counts them.

The parts work at the same time. Kernels that only read or write data in L2 keep the busiest of them busy for
about 90 % of the time (measured).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpulab.model.caches import SiteTraffic
from gpulab.model.coalescing import SECTOR_BYTES

__all__ = ["NO_CYCLES", "L2Cycles", "cycles_of_load", "cycles_of_store"]

# All from the counters of micro-kernels and of the development half of the launches on an H100.
PACKED_INPUT = 0.4  # cycles of a request for another line by the same instruction; for the first it is 1
OUTPUT_SECTORS = 2  # that leave a slice in one cycle
FORWARDED = 0.5  # share of the written lines that another half of L2 holds, where they are looked up again


class L2Cycles(NamedTuple):
    """Cycles of the slices of L2 in which each part is busy.

    Attributes
    ----------
    lookups : float
        Of the tags, which look up one line per cycle.
    entering : float
        Of the input: requests for data, and the sectors that are written, one per cycle. A line of which only
        a part is written takes another cycle.
    leaving : float
        Of the output, through which data are read.
    """

    lookups: float = 0.0
    entering: float = 0.0
    leaving: float = 0.0

    @classmethod
    def total(cls, parts: Iterable[tuple[float, L2Cycles]]) -> L2Cycles:
        """Return the sum of `count * cycles` over pairs of count and cycles."""
        terms = [[count * value for value in cycles] for count, cycles in parts]
        return cls(*(sum(values) for values in zip(*terms, strict=True))) if terms else cls()


NO_CYCLES = L2Cycles()


def cycles_of_load(traffic: SiteTraffic) -> L2Cycles:
    """Return the cycles for one request of a load, on average. A line from DRAM is looked up twice."""
    lines = traffic.l2_lines / traffic.requests
    # Some of the requests that wait for L2 wait for a line that another one has requested.
    missing = min((traffic.l2 + traffic.dram) / traffic.requests, lines)
    entering = missing + PACKED_INPUT * max(lines - missing, 0.0)
    leaving = traffic.moved_bytes / SECTOR_BYTES / OUTPUT_SECTORS
    return L2Cycles(lines + traffic.filled_lines, entering, leaving)


def cycles_of_store(lines: float, sectors: float, partial: float, evicted: float) -> L2Cycles:
    """Return the cycles for one request of a store that writes to sectors, a number of them in part.

    A line that goes on to DRAM, one of those `evicted`, is looked up again in one of two cases.
    """
    masked = lines * min(partial / sectors, 1.0) if sectors else 0.0
    return L2Cycles(lines + FORWARDED * (lines + evicted), sectors + masked)
