"""Cache hits by trying them: the requests of one wave of warps through set-associative L1 and L2 caches.

Warps take turns: in every turn each of the wave makes its next request, SM after SM. That is how warps run
that wait for the same memory: who is ahead waits for a line to come, and the others catch up meanwhile.
For the same reason a line that came less than `window` turns ago counts, for how long a warp waits, as still
on its way: the warp waits for what the first one asked for.

Lines have 128 bytes in sectors of 32, and each cache replaces the line of a set that was not used for
longest. L1 belongs to one SM, is written through and not filled by stores; L2 belongs to all, and a sector
that is written goes to DRAM once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LINE_BYTES", "CacheShape", "SiteTraffic", "WaveTrace", "cache_traffic"]

LINE_BYTES = 128
STATE_BYTES = 40  # of a line in a cache: what caches.ll keeps of it
ENTRY_BYTES = 16 + STATE_BYTES  # with its number and its last use
_COUNTS = (
    "", "l1", "l2", "dram", "sectors", "lines", "l1_sectors", "l2_sectors", "dram_sectors", "l2_lines",
)  # fmt: skip
_FIELDS = (
    "TURNS", "SMS", "STARTS", "ORDER", "USED", "CURSORS", "WORDS", "CAPACITY", "L1", "L1_BYTES", "L1_SETS",
    "L1_WAYS", "L2", "L2_SETS", "L2_WAYS", "WINDOW", "FROM", "COUNTS", "COLD", "CLOCK", "CLUSTERS",
)  # fmt: skip


@dataclass(frozen=True)
class CacheShape:
    """size: in bytes, 0 where there is no cache. ways: lines of a set."""

    size: int
    ways: int

    @property
    def sets(self) -> int:
        lines = self.size // LINE_BYTES
        return max(lines // self.ways, 1) if lines else 0


@dataclass(frozen=True)
class WaveTrace:
    """The requests of the warps of a wave.

    words: (warps, most words) lines in the form of `trace_code`; used: how many each warp has.
    order, starts: the warps of SM s are order[starts[s]:starts[s + 1]], in the order of their turns.
    """

    words: npt.NDArray[np.uint64]
    used: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SiteTraffic:
    """What the requests of one instruction came to.

    l1, l2, dram: requests by the furthest level that they waited for. sectors, lines: that they asked for;
    *_sectors: where those were found (of stores: how many were written to L2 only, and on to DRAM).
    l2_lines: that L2 looked up.
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

    @property
    def requests(self) -> float:
        return self.l1 + self.l2 + self.dram


def cache_traffic(
    waves: Sequence[WaveTrace],
    l1: CacheShape,
    l2: CacheShape,
    *,
    sites: int,
    turns: int,
    skip: int,
    window: int,
    clusters: int = 0,
) -> list[SiteTraffic]:
    """By site, the traffic of the last wave's turns from `skip` to `turns`.

    What is before only fills the caches; but where a site makes requests only there, those count.
    window: turns that a line is on its way. L1 is empty when a wave begins. clusters: groups of SMs whose
    requests for a line that is on its way go to L2 as one; 0: every request goes by itself.
    """
    l2_lines = np.zeros(ENTRY_BYTES * max(l2.sets, 1) * l2.ways, np.uint8)
    for number, wave in enumerate(waves, 1):
        counts, cold = _one_wave(
            wave,
            l1,
            l2,
            l2_lines,
            sites,
            turns,
            skip if number == len(waves) else turns,
            window,
            number << 40,
            clusters,
        )
    chosen = np.where(counts[:, 5:6] > 0, counts, cold)  # by their lines
    return [SiteTraffic(*(int(n) for n in row[1:])) for row in chosen]


def _one_wave(
    trace: WaveTrace,
    l1: CacheShape,
    l2: CacheShape,
    l2_lines: npt.NDArray[np.uint8],
    sites: int,
    turns: int,
    skip: int,
    window: int,
    clock: int,
    clusters: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    sms = len(trace.starts) - 1
    l1_bytes = ENTRY_BYTES * l1.sets * l1.ways
    l1_lines = np.zeros(max(sms * l1_bytes, 1), np.uint8)
    cursors = np.zeros(len(trace.used), np.int64)
    counts, cold = np.zeros((2, sites, len(_COUNTS)), np.int64)
    arrays: dict[str, npt.NDArray[Any]] = {
        "STARTS": np.ascontiguousarray(trace.starts, np.int64),
        "ORDER": np.ascontiguousarray(trace.order, np.int64),
        "USED": np.ascontiguousarray(trace.used, np.int64),
        "CURSORS": cursors,
        "WORDS": trace.words,
        "L1": l1_lines,
        "L2": l2_lines,
        "COUNTS": counts,
        "COLD": cold,
    }
    numbers = {
        "TURNS": turns, "SMS": sms, "CAPACITY": trace.words.shape[1], "L1_BYTES": l1_bytes,
        "L1_SETS": l1.sets, "L1_WAYS": l1.ways, "L2_SETS": max(l2.sets, 1), "L2_WAYS": l2.ways,
        "WINDOW": window, "FROM": skip, "CLOCK": clock, "CLUSTERS": clusters,
    }  # fmt: skip
    numbers |= {name: array.ctypes.data for name, array in arrays.items()}
    parameters = np.array([numbers[name] for name in _FIELDS], np.int64)
    run, _ = _native()
    run(parameters.ctypes.data)
    return counts, cold


@cache
def _native() -> tuple[Any, Any]:
    """The function of caches.ll, and what keeps its code alive."""
    from gpulab.simt.codegen import jit
    from gpulab.simt.instrument.trace.trace_code import LAYOUT

    names = {name: str(8 * number) for number, name in enumerate(_FIELDS)}
    names |= {name.upper(): str(8 * number) for number, name in enumerate(_COUNTS) if "s" in name}
    names |= {
        "ENTRY": str(ENTRY_BYTES),
        "STATE": str(STATE_BYTES),
        "SITE": str(8 * len(_COUNTS)),
        "LINE_SHIFT": str(LAYOUT["LINE_SHIFT"]),
    }
    text = Template(resources.files("gpulab.model").joinpath("caches.ll").read_text()).substitute(names)
    loaded = jit.load(jit.compile_text(text))
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.address("run_wave")), loaded
