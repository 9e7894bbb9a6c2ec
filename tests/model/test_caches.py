"""The cache simulation in machine code against a reference in Python."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import astuple

import numpy as np
import pytest

from gpulab.model.caches import CacheShape, SiteTraffic, WaveTrace, cache_traffic

SITES = 4


class ReferenceCache:
    """A set-associative cache: sets of lines, the least recently used first."""

    def __init__(self, shape: CacheShape) -> None:
        self.shape = shape
        self.sets: dict[int, OrderedDict[int, dict[str, int]]] = {}

    def line(self, number: int) -> dict[str, int]:
        lines = self.sets.setdefault((number ^ number >> 11 ^ number >> 19) % self.shape.sets, OrderedDict())
        if number not in lines:
            if len(lines) == self.shape.ways:
                lines.popitem(last=False)
            lines[number] = {"sectors": 0, "dirty": 0, "turn": -1000, "level": 0}
        lines.move_to_end(number)
        return lines[number]


def reference_traffic(
    trace: WaveTrace, l1: CacheShape, l2: CacheShape, turns: int, windows: list[int]
) -> list[SiteTraffic]:
    sms = len(trace.starts) - 1
    first = [ReferenceCache(l1) for _ in range(sms)]
    second, counts = ReferenceCache(l2), np.zeros((SITES, 9), int)
    requests = {w: _requests(trace.words[w, : trace.used[w]].tolist()) for w in range(len(trace.used))}
    for turn in range(turns):
        for sm in range(sms):
            for warp in trace.order[trace.starts[sm] : trace.starts[sm + 1]].tolist():
                if turn < len(requests[warp]):
                    _request(requests[warp][turn], first[sm], second, turn, windows, counts)
    return [SiteTraffic(*map(int, row)) for row in counts]


def _requests(words: list[int]) -> list[list[int]]:
    requests: list[list[int]] = []
    for word in words:
        if word & 32:
            requests.append([])
        requests[-1].append(word)
    return requests


def _request(words, l1, l2, turn, windows, counts) -> None:
    worst = 0
    for word in words:
        number, site, mask, store = word >> 22, word >> 6 & 0xFFFF, word & 15, bool(word & 16)
        asked, window = mask.bit_count(), windows[site]
        counts[site, 3] += asked
        counts[site, 4] += 1
        if store:
            counts[site, 8] += 1
            line = l2.line(number)
            fresh = (mask & ~line["dirty"]).bit_count()
            line["sectors"] |= mask
            line["dirty"] |= mask
            counts[site, 6] += asked - fresh
            counts[site, 7] += fresh
            worst = max(worst, 1)
            continue
        near = l1.line(number)
        missing = mask & ~near["sectors"]
        near["sectors"] |= mask
        counts[site, 5] += asked - missing.bit_count()
        if missing:
            counts[site, 8] += 1
            far = l2.line(number)
            absent = missing & ~far["sectors"]
            far["sectors"] |= missing
            counts[site, 6] += (missing & ~absent).bit_count()
            counts[site, 7] += absent.bit_count()
            if absent:
                far["turn"], level = turn, 3
            else:
                level = 2 if turn - far["turn"] >= window else 3
            near["turn"], near["level"] = turn, level
        else:
            level = 1 if turn - near["turn"] >= window else near["level"]
        worst = max(worst, level)
    counts[site, worst - 1] += 1


def random_trace(seed: int, warps: int = 12, sms: int = 3, requests: int = 20) -> WaveTrace:
    rng = np.random.default_rng(seed)
    words = np.zeros((warps, 64), np.uint64)
    used = np.zeros(warps, np.int64)
    for warp in range(warps):
        at = 0
        for _ in range(requests):
            site, store = int(rng.integers(SITES)), int(rng.integers(4) == 0)
            for part in range(int(rng.integers(1, 4))):
                line = int(rng.integers(60)) * int(rng.choice([1, 4097]))
                word = line << 22 | site << 6 | (part == 0) << 5 | store << 4 | int(rng.integers(1, 16))
                words[warp, at] = word
                at += 1
        used[warp] = at
    starts = np.linspace(0, warps, sms + 1).astype(np.int64)
    return WaveTrace(words, used, rng.permutation(warps), starts)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("windows", [[1, 1, 1, 1], [3, 1, 4, 2]])
def test_traffic_equals_the_reference(seed: int, windows: list[int]) -> None:
    trace, l1, l2 = random_trace(seed), CacheShape(1024, 4), CacheShape(4096, 8)
    traffic = cache_traffic([trace], l1, l2, sites=SITES, turns=20, skip=0, windows=windows)
    assert list(map(astuple, traffic)) == list(map(astuple, reference_traffic(trace, l1, l2, 20, windows)))


def one_line(warps: int, sms: int) -> WaveTrace:
    """Return a trace in which every warp reads the same line once."""
    words = np.full((warps, 8), 7 << 22 | 32 | 15, np.uint64)
    starts = np.linspace(0, warps, sms + 1).astype(np.int64)
    return WaveTrace(words, np.ones(warps, np.int64), np.arange(warps), starts)


def test_request_for_a_line_in_flight_waits_for_dram() -> None:
    l1, l2 = CacheShape(1024, 4), CacheShape(4096, 8)
    traffic = cache_traffic([one_line(8, 4)], l1, l2, sites=1, turns=1, skip=0, windows=[1])[0]
    assert (traffic.dram, traffic.dram_sectors) == (8, 4)


def test_cluster_of_sms_requests_a_line_in_flight_once() -> None:
    l1, l2 = CacheShape(1024, 4), CacheShape(4096, 8)
    separate = cache_traffic([one_line(8, 8)], l1, l2, sites=1, turns=1, skip=0, windows=[1])[0]
    joined = cache_traffic([one_line(8, 8)], l1, l2, sites=1, turns=1, skip=0, windows=[1], clusters=2)[0]
    assert separate.l2_sectors + separate.dram_sectors == 8 * 4
    assert joined.l2_sectors + joined.dram_sectors == 2 * 4
    assert (separate.l2_lines, joined.l2_lines) == (8, 2)


def test_l2_keeps_the_lines_of_an_earlier_wave_and_l1_does_not() -> None:
    l1, l2, wave = CacheShape(1024, 4), CacheShape(4096, 8), one_line(1, 1)
    traffic = cache_traffic([wave, wave], l1, l2, sites=1, turns=1, skip=0, windows=[1])[0]
    assert (traffic.l1_sectors, traffic.l2_sectors, traffic.dram_sectors) == (0, 4, 0)
