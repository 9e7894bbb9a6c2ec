"""Stores and atomic operations of many warps on the same memory, which a slice of L2 executes in turn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import exp

import numpy as np
import numpy.typing as npt

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.coalescing import SECTOR_BYTES, lanes
from gpulab.model.estimate import Work, estimate
from gpulab.model.model_input import LaunchSample

__all__ = [
    "FLOAT_ATOMIC_CYCLES",
    "JOINING_CYCLES",
    "JOINING_WARPS",
    "SHARED_STORE_CYCLES",
    "atomic_cycles",
    "shared_store_cycles",
]

SLICE_BYTES = 256  # adjacent bytes in one slice of L2
REGION_BYTES = 4096  # adjacent bytes that all blocks change if some of them do
FEWEST_SEEN = 4  # operations in a third of the sample, from which a piece has more of them than others
ASSIGNMENTS = 32  # random assignments of pieces to slices, of which the mean is taken
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


def atomic_cycles(sample: LaunchSample, architecture: Architecture) -> float:
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


def shared_store_cycles(sample: LaunchSample, spec: GpuSpec, architecture: Architecture, work: Work) -> float:
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
