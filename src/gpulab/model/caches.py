"""Simulation of L1 and L2 on the requests of one wave of blocks.

The warps of a wave take turns: in every turn each warp issues its next request, SM after SM. Warps that wait
for the same memory progress in this way, because the first one waits for DRAM while the others catch up.
For the same reason a line that was requested less than `window` turns ago still counts as in flight: a warp
that requests it waits as long as the first one.

Lines have 128 bytes in sectors of 32. Both caches are set-associative and replace the least recently used
line. L1 belongs to one SM and is write-through; loads find there what stores of the SM have written
(measured on an H100), an atomic operation removes its line, and some loads bypass L1. L2 is shared, and a
written sector goes to DRAM once. DRAM reads pairs of sectors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.model.coalescing import SECTOR_BYTES

__all__ = [
    "COALESCED_LINES",
    "LINE_BYTES",
    "LOOKUP_BYTES",
    "ROW_COST_BYTES",
    "CacheShape",
    "SiteTraffic",
    "WaveTrace",
    "begins_request",
    "cache_traffic",
    "line_of",
    "site_of",
]

LINE_BYTES = 128
# Bytes that a slice of L2 could move in the time in which it looks up a line of a load. On an H100, loads of
# random words in 16 and 24 MiB look up 67 lines per cycle, and loads of consecutive words get 4,010 bytes per
# cycle from L2.
LOOKUP_BYTES = 60

ROW_BYTES = 512  # piece of a row of DRAM; see `SiteTraffic.rows`
# Bytes that DRAM could move in the time by which another row delays it. On an H100 with 3.35 TB/s, loads of
# random pieces of 64 bytes reach 2.0 TB/s, of 128 bytes 2.9 TB/s, and of consecutive ones 3.0 TB/s
# (benchmarks/figures/micro-h100.json, which has all figures of an H100).
ROW_COST_BYTES = 32
# Lines of the SM's buffer for stores, in which a store to a sector joins an earlier one. On an H100, stores
# to the fields of an array of structures, one field after the other, join if a warp's request touches 4
# lines, and do not if it touches 8.
COALESCED_LINES = 4

_ROW_ENTRIES = 1 << 18
_STATE_BYTES = 48  # state of a cached line; caches.ll defines its fields
_ENTRY_BYTES = 16 + _STATE_BYTES  # with its tag and its last use
_COUNTS = (
    "", "l1", "l2", "dram", "sectors", "lines", "l1_sectors", "l2_sectors", "dram_sectors", "l2_lines",
    "paired", "rows", "blank", "rewritten",
)  # fmt: skip
_FIELDS = (
    "FIRST_TURN", "END_TURN", "SMS", "STARTS", "ORDER", "USED", "CURSORS", "WORDS", "CAPACITY", "L1",
    "L1_BYTES", "L1_SETS", "L1_WAYS", "L2", "L2_SETS", "L2_WAYS", "WINDOWS", "BYPASSES", "FROM", "COUNTS",
    "COLD", "CLOCK", "CLUSTERS", "ROW_TABLE", "ROW_ENTRIES",
)  # fmt: skip


@dataclass(frozen=True)
class CacheShape:
    """Size of a cache in bytes, 0 for no cache, and its associativity."""

    size: int
    ways: int

    @property
    def sets(self) -> int:
        lines = self.size // LINE_BYTES
        return max(lines // self.ways, 1) if lines else 0


def begins_request(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return True for each traced word that is the first line of a request."""
    first: npt.NDArray[np.bool_] = words & np.uint64(32) != 0
    return first


def site_of(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the number of the site of each traced word."""
    return (words >> np.uint64(6) & np.uint64(0xFFFF)).astype(np.int64)


def line_of(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the line of each traced word: its address divided by `LINE_BYTES`."""
    return (words >> np.uint64(22)).astype(np.int64)


@dataclass(frozen=True)
class WaveTrace:
    """The requests of the warps of one wave.

    Attributes
    ----------
    words : array of shape (warps, capacity)
        The requested lines of each warp, encoded by `gpulab.simt.instrument.trace.trace_code`.
    used : array of shape (warps,)
        Words in use of each warp.
    order, starts : array
        The warps of SM s are `order[starts[s]:starts[s + 1]]`, in the order of their turns.
    """

    words: npt.NDArray[np.uint64]
    used: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SiteTraffic:
    """Cache traffic of the requests of one instruction.

    Attributes
    ----------
    l1, l2, dram : float
        Requests by the furthest level that they wait for.
    sectors, lines : float
        Sectors and lines requested.
    l1_sectors, l2_sectors, dram_sectors : float
        Sectors by the level that served them. For stores: sectors written to L2 only, and on to DRAM.
    l2_lines : float
        Line lookups in L2.
    paired : float
        Sectors that DRAM reads although they were not requested, because it delivers pairs of sectors.
    rows : float
        Pieces of `ROW_BYTES` in which DRAM reads or writes sectors at about the same time.
    blank : float
        Sectors written to that were not in L2. DRAM must read those of which only a part is ever written.
    rewritten : float
        Sectors written to again, before they go to L2 or while L2 has them.
    """

    l1: float
    l2: float
    dram: float
    sectors: float
    lines: float
    l1_sectors: float
    l2_sectors: float
    dram_sectors: float
    l2_lines: float
    paired: float = 0.0
    rows: float = 0.0
    blank: float = 0.0
    rewritten: float = 0.0

    @classmethod
    def weighted_sum(cls, parts: Iterable[tuple[float, SiteTraffic]]) -> SiteTraffic:
        """Return the sum of `weight * traffic` over pairs of weight and traffic."""
        terms = [[weight * value for value in vars(traffic).values()] for weight, traffic in parts]
        return cls(*(sum(values) for values in zip(*terms, strict=True)))

    def in_l2(self, share: float) -> SiteTraffic:
        """Return the traffic if L2 has this share of the data that would come from DRAM or go there."""
        left = 1 - share
        return replace(
            self,
            l2=self.l2 + share * self.dram,
            dram=left * self.dram,
            l2_sectors=self.l2_sectors + share * self.dram_sectors,
            dram_sectors=left * self.dram_sectors,
            paired=left * self.paired,
            rows=left * self.rows,
            blank=left * self.blank,
        )

    @property
    def requests(self) -> float:
        return self.l1 + self.l2 + self.dram

    @property
    def levels(self) -> tuple[float, float, float]:
        """Shares of the requests that wait for L1, L2 and DRAM."""
        return self.l1 / self.requests, self.l2 / self.requests, self.dram / self.requests

    @property
    def dram_bytes(self) -> float:
        """Time of DRAM for one request on average, as the bytes that it could move in that time."""
        moved = SECTOR_BYTES * (self.dram_sectors + self.paired)
        # Each row costs time in addition, except those that are read or written as a whole.
        return (moved + ROW_COST_BYTES * max(self.rows - moved / ROW_BYTES, 0.0)) / self.requests

    @property
    def moved_bytes(self) -> float:
        """Bytes that L2 reads or writes for one request on average."""
        return SECTOR_BYTES * (self.l2_sectors + self.dram_sectors) / self.requests

    @property
    def filled_lines(self) -> float:
        """Lines for one request on average that come from DRAM or go there."""
        reaching = self.l2_sectors + self.dram_sectors
        return self.l2_lines * self.dram_sectors / reaching / self.requests if reaching else 0.0

    @property
    def l2_bytes(self) -> float:
        """Time of L2 for one request on average, as the bytes that L2 could move in that time."""
        dram = SECTOR_BYTES * self.dram_sectors
        moved = self.moved_bytes * self.requests
        # Data that comes from DRAM or goes there takes one more lookup for every two sectors.
        return max(moved, LOOKUP_BYTES * self.l2_lines + dram) / self.requests


def cache_traffic(
    waves: Sequence[WaveTrace],
    l1: CacheShape,
    l2: CacheShape,
    *,
    sites: int,
    turns: int,
    skip: int,
    windows: Sequence[int],
    bypasses: Sequence[bool],
    clusters: int = 0,
) -> list[SiteTraffic]:
    """Return the traffic of each site in the last wave, from turn `skip` on.

    Parameters
    ----------
    waves : sequence of WaveTrace
        L1 is empty when a wave begins; L2 keeps what earlier waves left in it.
    sites : int
        Number of instructions that access memory.
    turns, skip : int
        Turns of a wave, and how many of them only fill the caches. A site whose requests all lie in the
        skipped turns is counted there.
    windows : sequence of int
        Turns for which a line is in flight when an instruction requests it, for each site.
    bypasses : sequence of bool
        True for each site that does not use L1: atomic operations and some loads.
    clusters : int
        Groups of SMs whose requests for a line in flight reach L2 as one; 0 if every request is separate.
    """
    l2_lines = np.zeros(_ENTRY_BYTES * max(l2.sets, 1) * l2.ways, np.uint8)
    l1_bytes = _ENTRY_BYTES * l1.sets * l1.ways
    run_wave, _ = _native()

    for number, wave in enumerate(waves, 1):
        sms = len(wave.starts) - 1
        counts, cold = np.zeros((2, sites, len(_COUNTS)), np.int64)
        arrays: dict[str, npt.NDArray[Any]] = {
            "STARTS": np.ascontiguousarray(wave.starts, np.int64),
            "ORDER": np.ascontiguousarray(wave.order, np.int64),
            "USED": np.ascontiguousarray(wave.used, np.int64),
            "CURSORS": np.zeros(len(wave.used), np.int64),
            "WORDS": wave.words,
            "L1": np.zeros(max(sms * l1_bytes, 1), np.uint8),
            "L2": l2_lines,
            "COUNTS": counts,
            "COLD": cold,
            "WINDOWS": np.asarray(windows, np.int64),
            "BYPASSES": np.asarray(bypasses, np.int64),
            "ROW_TABLE": np.zeros(2 * _ROW_ENTRIES, np.int64),
        }
        first_turn = number << 32  # data of earlier waves are not in flight any more
        values = {
            "FIRST_TURN": first_turn, "END_TURN": first_turn + turns, "SMS": sms,
            "CAPACITY": wave.words.shape[1], "L1_BYTES": l1_bytes,
            "L1_SETS": l1.sets, "L1_WAYS": l1.ways, "L2_SETS": max(l2.sets, 1), "L2_WAYS": l2.ways,
            "FROM": first_turn + (skip if number == len(waves) else turns), "CLOCK": number << 40,
            "CLUSTERS": clusters, "ROW_ENTRIES": _ROW_ENTRIES,
            **{name: array.ctypes.data for name, array in arrays.items()},
        }  # fmt: skip
        parameters = np.array([values[name] for name in _FIELDS], np.int64)
        run_wave(parameters.ctypes.data)

    warm = counts[:, _COUNTS.index("lines")] > 0
    return [SiteTraffic(*(int(n) for n in row[1:])) for row in np.where(warm[:, None], counts, cold)]


@cache
def _native() -> tuple[Any, Any]:
    """Return the compiled function of caches.ll, and the object that keeps its code alive."""
    from gpulab.simt.codegen import jit
    from gpulab.simt.instrument.trace.trace_code import LAYOUT

    names = {name: str(8 * number) for number, name in enumerate(_FIELDS)}
    # The requests of a level are counted at its number, 1 to 3; the other counts have names in caches.ll.
    names |= {name.upper(): str(8 * number) for number, name in enumerate(_COUNTS) if number > 3}
    names |= {
        "ENTRY": str(_ENTRY_BYTES),
        "STATE": str(_STATE_BYTES),
        "SITE": str(8 * len(_COUNTS)),
        "COALESCED": str(COALESCED_LINES),
        "LINE_SHIFT": str(LAYOUT["LINE_SHIFT"]),
    }
    text = Template(
        resources.files("gpulab.model").joinpath("caches.ll").read_text(encoding="utf-8")
    ).substitute(names)
    loaded = jit.load(jit.compile_text(text))
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.address("run_wave")), loaded
