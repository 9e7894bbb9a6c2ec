"""Cache traffic of a launch: its traced requests, served by the simulated caches of a GPU.

The trace of a wave ends after some requests of each warp. What a warp requests later may be in a cache: a
second pass over a row finds what the first pass has loaded. A few blocks are therefore traced for longer and
simulated alone, once with the requests that the wave's trace has of them and once with all. With an L2 that
loses nothing, DRAM serves those requests of a block alone that are its first to a sector. Over the whole
run, these are served as in the wave, where other blocks may have requested the sector before, and the others
as for the block alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.caches import (
    LINE_BYTES,
    CacheShape,
    SiteTraffic,
    WaveTrace,
    begins_request,
    cache_traffic,
)
from gpulab.model.coalescing import SECTOR_BYTES
from gpulab.model.recording import LaunchRecording, TracedWave
from gpulab.model.resource_usage import L2_RETAINED
from gpulab.model.warp_timing import CodeBlock, execution_units, loads_per_stall, requests_since_stall

__all__ = ["launch_traffic"]

# Smallest share of the requests of a site that must be the first of their block to a sector, so that the wave
# shows which cache has them.
FEWEST_FIRST = 0.05

_Shares = npt.NDArray[np.float64]  # the shares of requests, or of sectors, that L1, L2 and DRAM serve


def launch_traffic(
    recording: LaunchRecording,
    spec: GpuSpec,
    architecture: Architecture,
    code: Sequence[CodeBlock],
    *,
    separate: bool = False,
) -> dict[int, SiteTraffic]:
    """Return the cache traffic of a launch by PTX row.

    If `separate` is True, it is that of the last wave as traced, in which each block has its part of an L1
    for itself.
    """
    caches = _Caches(recording, spec, architecture, code)
    last, resident = recording.waves[-1], recording.residency.blocks_per_sm
    sms, l1_bytes = (last.blocks, caches.l1_bytes // resident) if separate else (spec.sms, caches.l1_bytes)
    traffic = caches.traffic(recording.waves, sms, l1_bytes, spec.l2_bytes, _filling(last))
    return _over_whole_run(caches, traffic) if recording.longer and not separate else traffic


def _traced_requests(trace: TracedWave) -> npt.NDArray[np.int64]:
    """Return the traced requests of each warp; a word with bit 5 begins one."""
    begins = begins_request(trace.words)
    traced = np.arange(trace.words.shape[1]) < trace.used[:, None]
    counts: npt.NDArray[np.int64] = np.count_nonzero(begins & traced, axis=1)
    return counts


def _filling(trace: TracedWave) -> int:
    """Return the requests of a warp that only fill the caches: half of them if the warps go on."""
    return 0 if trace.ended else int(np.median(_traced_requests(trace))) // 2


class _Caches:
    """The caches of a GPU, which serve the traced requests of one launch."""

    def __init__(
        self,
        recording: LaunchRecording,
        spec: GpuSpec,
        architecture: Architecture,
        code: Sequence[CodeBlock],
    ) -> None:
        self.recording, self.spec, self.architecture = recording, spec, architecture
        units = execution_units(spec, architecture, spec.warps(recording.threads))
        self.usual_window = loads_per_stall(code, units)
        self.windows = requests_since_stall(code)
        # A request cannot join another one of an earlier turn if that has arrived meanwhile.
        self.longest_window = int(architecture.l2_cycles / _turn_cycles(recording.waves[-1], spec.sms))
        self.bypasses = {row for row, access in recording.accesses.items() if access.bypasses_l1}

    @property
    def l1_bytes(self) -> int:
        """Size of an SM's L1: what shared memory leaves of it, if they are the same memory."""
        size = self.architecture.l1_bytes
        if not self.architecture.l1_is_shared:
            return size
        shared = self.spec.shared_allocated(self.recording.shared_bytes)
        return max(size - self.recording.residency.blocks_per_sm * shared, 0)

    def traffic(
        self, waves: Sequence[TracedWave], sms: int, l1_bytes: int, l2_bytes: int, skip: int
    ) -> dict[int, SiteTraffic]:
        """Return the traffic of the last wave on a number of SMs, by PTX row.

        Each SM has an L1 of `l1_bytes`. The first `skip` requests of each warp only fill the caches.
        """
        last = waves[-1]
        traffic = cache_traffic(
            [_wave(trace, sms) for trace in waves],
            CacheShape(l1_bytes, self.architecture.l1_ways),
            CacheShape(l2_bytes, self.architecture.l2_ways),
            sites=len(last.sites),
            turns=last.requests,
            skip=skip,
            windows=[
                min(self.windows.get(row or 0, self.usual_window), self.longest_window)
                for row, _ in last.sites
            ],
            bypasses=[row in self.bypasses for row, _ in last.sites],
            clusters=self.architecture.l2_clusters,
        )
        # Several sites may belong to one row; the one with the most requests comes last.
        pairs = sorted(zip(last.sites, traffic, strict=True), key=lambda pair: pair[1].requests)
        result: dict[int, SiteTraffic] = {}
        for (row, is_fragment), one in pairs:
            if row is not None and one.lines:
                parts = [result[row], one] if row in result and is_fragment else [one]
                result[row] = SiteTraffic.weighted_sum((1.0, part) for part in parts)
        return result


def _turn_cycles(trace: TracedWave, sms: int) -> float:
    """Return the cycles in which L1 looks up the lines of a request of each warp of an SM, one per cycle."""
    requests = max(int(_traced_requests(trace).sum()), 1)
    warps = len(trace.used) / min(sms, trace.blocks)
    return max(warps * int(trace.used.sum()) / requests, 1.0)


def _wave(trace: TracedWave, sms: int) -> WaveTrace:
    """Return the traced warps, with the blocks distributed over the SMs.

    A block starts on whichever SM has room. After the first wave that order is not known, so it is random.
    """
    warps = np.arange(len(trace.used)).reshape(trace.blocks, -1)
    warps = np.random.default_rng(0).permutation(warps)
    by_sm = [warps[sm::sms].ravel() for sm in range(sms)]
    starts = np.concatenate([[0], np.cumsum([len(members) for members in by_sm])])
    return WaveTrace(trace.words, trace.used, np.concatenate(by_sm), starts)


# -- the whole run of a block -------------------------------------------------------------------------


class _RowTraffic(NamedTuple):
    """Traffic of one PTX row.

    Attributes
    ----------
    begun : tuple of SiteTraffic or None
        In the wave, and of some of its blocks alone, with the same requests; None if the trace of the wave
        has not reached the row.
    whole, kept : SiteTraffic
        Of these blocks alone, with all their requests: with an L2 that loses nothing, and with their share of
        L2.
    """

    begun: tuple[SiteTraffic, SiteTraffic] | None
    whole: SiteTraffic
    kept: SiteTraffic


def _over_whole_run(caches: _Caches, traffic: Mapping[int, SiteTraffic]) -> dict[int, SiteTraffic]:
    """Return the traffic of warps that run to their end, from that of the wave, which is their beginning."""
    rows = _rows(caches, traffic)
    accesses = caches.recording.accesses
    result = dict(traffic)
    for reads in (True, False):
        chosen = {row: one for row, one in rows.items() if accesses[row].reads == reads}
        usual = [_usual_first(chosen.values(), shares) for shares in (_of_requests, _of_sectors)]
        for row, one in chosen.items():
            result[row] = _with_shares(
                one, _over_run(one, _of_requests, usual[0]), _over_run(one, _of_sectors, usual[1])
            )
    return result


def _rows(caches: _Caches, traffic: Mapping[int, SiteTraffic]) -> dict[int, _RowTraffic]:
    """Return the rows that some blocks reach, simulated alone, each with its part of an L1."""
    recording, spec, last = caches.recording, caches.spec, caches.recording.waves[-1]
    l1_bytes = caches.l1_bytes // min(recording.residency.blocks_per_sm, -(-last.blocks // spec.sms))
    traces = recording.longer
    ample = 2 * LINE_BYTES * max(int(trace.used.sum()) for trace in traces.values())

    def alone(trace: TracedWave, l2_bytes: int, skip: int = 0) -> dict[int, SiteTraffic]:
        return caches.traffic([trace], 1, l1_bytes, l2_bytes, skip)

    filling = _filling(last)
    begun = _sum(alone(last.block(number), ample, filling) for number in traces)
    kept = whole = _sum(alone(trace, ample) for trace in traces.values())
    # Together the blocks of the wave touch at most all arrays. If that is more than L2 holds, they replace
    # each other's data.
    touched = SECTOR_BYTES * sum(one.dram_sectors for one in whole.values()) / len(traces)
    together = min(last.blocks * touched, recording.array_bytes)
    if together > L2_RETAINED * spec.l2_bytes:
        share = int(L2_RETAINED * spec.l2_bytes * touched / together)
        kept = _sum(alone(trace, share) for trace in traces.values())

    return {
        row: _RowTraffic(
            (traffic[row], begun[row]) if row in traffic.keys() & begun else None, one, kept[row]
        )
        for row, one in whole.items()
        if row in recording.accesses
    }


def _sum(parts: Iterable[Mapping[int, SiteTraffic]]) -> dict[int, SiteTraffic]:
    """Return the sums of the traffic of each row."""
    found: defaultdict[int, list[tuple[float, SiteTraffic]]] = defaultdict(list)
    for part in parts:
        for row, one in part.items():
            found[row].append((1.0, one))
    return {row: SiteTraffic.weighted_sum(terms) for row, terms in found.items()}


def _of_requests(one: SiteTraffic) -> _Shares:
    return _normalized(np.array([one.l1, one.l2, one.dram], float))


def _of_sectors(one: SiteTraffic) -> _Shares:
    return _normalized(np.array([one.l1_sectors, one.l2_sectors, one.dram_sectors], float))


def _normalized(counts: _Shares) -> _Shares:
    shares: _Shares = counts / (counts.sum() or 1.0)
    return shares


def _first_in_wave(wave: _Shares, begun: _Shares) -> _Shares:
    """Return how the wave serves the requests of a block that are its first to a sector.

    Of these, a block alone gets all from DRAM. In the wave, another block may have requested the sector.
    """
    first: _Shares = np.maximum(wave - begun * [1.0, 1.0, 0.0], 0.0)
    return first


def _usual_first(rows: Iterable[_RowTraffic], shares: Callable[[SiteTraffic], _Shares]) -> _Shares:
    """Return how the wave serves first requests, over all rows that it reaches."""
    total: _Shares = np.zeros(3)
    for row in rows:
        if row.begun is not None:
            wave, begun = row.begun
            total += wave.requests * _first_in_wave(shares(wave), shares(begun))
    return _normalized(total) if total.any() else np.array([0.0, 0.0, 1.0])


def _over_run(row: _RowTraffic, shares: Callable[[SiteTraffic], _Shares], usual: _Shares) -> _Shares:
    """Return the shares of L1, L2 and DRAM over the whole run of the wave's blocks.

    First requests are served as in the wave, or as `usual` if the wave has few of them. The others are served
    as for a block alone.
    """
    whole, kept = shares(row.whole), shares(row.kept)
    others = np.array([kept[0], kept[1], max(kept[2] - whole[2], 0.0)])
    if row.begun is None:
        changed: _Shares = others + whole[2] * usual
    else:
        wave, begun = map(shares, row.begun)
        in_wave = _first_in_wave(wave, begun)
        first = _normalized(in_wave) if in_wave.sum() > FEWEST_FIRST else usual
        before = begun * [1.0, 1.0, 0.0] + begun[2] * first
        changed = np.maximum(wave + others + whole[2] * first - before, 0.0)
    return _normalized(changed)


def _with_shares(row: _RowTraffic, of_requests: _Shares, of_sectors: _Shares) -> SiteTraffic:
    """Return the traffic of a row, in the wave if it is reached there, with other shares of the caches."""
    one = row.begun[0] if row.begun else row.whole
    l1, l2, dram = (one.requests * of_requests).tolist()
    sectors = one.l1_sectors + one.l2_sectors + one.dram_sectors
    l1_sectors, l2_sectors, dram_sectors = (sectors * of_sectors).tolist()
    # What each sector from DRAM, or beyond L1, costs besides is known where there are such sectors.
    from_dram = one if one.dram_sectors else row.kept
    beyond = one if one.l2_sectors + one.dram_sectors else row.kept
    per_dram = dram_sectors / max(from_dram.dram_sectors, 1.0)
    per_beyond = (l2_sectors + dram_sectors) / max(beyond.l2_sectors + beyond.dram_sectors, 1.0)
    return replace(
        one,
        l1=l1,
        l2=l2,
        dram=dram,
        l1_sectors=l1_sectors,
        l2_sectors=l2_sectors,
        dram_sectors=dram_sectors,
        l2_lines=per_beyond * beyond.l2_lines,
        paired=per_dram * from_dram.paired,
        rows=per_dram * from_dram.rows,
        blank=per_dram * from_dram.blank,
    )
