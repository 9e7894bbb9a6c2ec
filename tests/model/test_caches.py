"""The cache simulation in machine code against a reference in Python."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import astuple

import numpy as np
import pytest

from gpulab.model.caches import COALESCED_LINES, CacheShape, SiteTraffic, WaveTrace, cache_traffic

L1, L2 = CacheShape(1024, 4), CacheShape(4096, 8)
SITES = 4
PAST_L1 = 3  # the site whose requests bypass L1, in the reference


def scattered(number: int) -> int:
    return (number * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 20


class ReferenceCache:
    """A set-associative cache: sets of lines, the least recently used first."""

    def __init__(self, shape: CacheShape, hashed: bool = False) -> None:
        self.shape, self.hashed = shape, hashed
        self.sets: dict[int, OrderedDict[int, dict[str, int]]] = {}

    def line(self, number: int) -> dict[str, int]:
        number = scattered(number) if self.hashed else number
        mixed = number ^ number >> 8 ^ number >> 16 ^ number >> 24
        lines = self.sets.setdefault(mixed % self.shape.sets, OrderedDict())
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
    second, counts = ReferenceCache(l2, hashed=True), np.zeros((SITES, 13), int)
    pieces, clock = {}, Clock()
    requests = {w: _requests(trace.words[w, : trace.used[w]].tolist()) for w in range(len(trace.used))}
    for turn in range(turns):
        for sm in range(sms):
            for warp in trace.order[trace.starts[sm] : trace.starts[sm + 1]].tolist():
                if turn < len(requests[warp]):
                    earlier = [word for request in requests[warp][:turn] for word in request]
                    caches = first[sm], second, pieces
                    _request(requests[warp][turn], earlier, caches, turn, windows, counts, clock)
    return [SiteTraffic(*map(int, row)) for row in counts]


class Clock:
    """Number of lines that have been served."""

    def __init__(self) -> None:
        self.now = 1 << 40

    def next(self) -> int:
        self.now += 1
        return self.now


def _pending(earlier: list[int], number: int) -> int:
    """Return the sectors of a line in the last words of a warp, as far as they are stores."""
    found = 0
    for word in earlier[: -COALESCED_LINES - 1 : -1]:
        if not word & 16:
            break
        found |= word & 15 if word >> 22 == number else 0
    return found


def _open_row(pieces: dict[int, int], number: int, turn: int, window: int) -> int:
    known = pieces.get(number >> 2)
    pieces[number >> 2] = turn
    return int(known is None or turn - known > window)


def _requests(words: list[int]) -> list[list[int]]:
    requests: list[list[int]] = []
    for word in words:
        if word & 32:
            requests.append([])
        requests[-1].append(word)
    return requests


def _request(words, earlier, caches, turn, windows, counts, clock) -> None:
    worst, (l1, l2, pieces) = 0, caches
    for at, word in enumerate(words):
        number, site, mask, store = word >> 22, word >> 6 & 0xFFFF, word & 15, bool(word & 16)
        asked, window, now = mask.bit_count(), windows[site], clock.next()
        counts[site, 3] += asked
        counts[site, 4] += 1
        bypasses = site == PAST_L1
        near = {"sectors": 0} if bypasses and not store else l1.line(number)
        if store:
            near["sectors"] = 0 if bypasses else near["sectors"] | mask
            worst = max(worst, 1)
            pending = 0 if scattered(now) % 8 == 0 else _pending(earlier + words[:at], number)
            counts[site, 12] += (mask & pending).bit_count()
            mask &= ~pending
            if not mask:
                continue
            counts[site, 8] += 1
            line = l2.line(number)
            fresh = mask & ~line["dirty"]
            counts[site, 11] += (fresh & ~line["sectors"]).bit_count()
            line["sectors"] |= mask
            line["dirty"] |= mask
            counts[site, 6] += (mask & ~fresh).bit_count()
            counts[site, 12] += (mask & ~fresh).bit_count()
            counts[site, 7] += fresh.bit_count()
            if fresh:
                counts[site, 10] += _open_row(pieces, number, turn, window)
            continue
        missing = mask & ~near["sectors"]
        near["sectors"] |= mask
        counts[site, 5] += asked - missing.bit_count()
        if missing:
            counts[site, 8] += 1
            far = l2.line(number)
            absent = missing & ~far["sectors"]
            pairs = ((absent & 5) << 1 | (absent & 10) >> 1) & ~missing & ~far["sectors"]
            far["sectors"] |= missing | pairs
            counts[site, 6] += (missing & ~absent).bit_count()
            counts[site, 7] += absent.bit_count()
            counts[site, 9] += pairs.bit_count()
            if absent:
                far["turn"], level = turn, 3
                counts[site, 10] += _open_row(pieces, number, turn, window)
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
    trace, bypasses = random_trace(seed), [site == PAST_L1 for site in range(SITES)]
    traffic = cache_traffic(
        [trace], L1, L2, sites=SITES, turns=20, skip=0, windows=windows, bypasses=bypasses
    )
    assert list(map(astuple, traffic)) == list(map(astuple, reference_traffic(trace, L1, L2, 20, windows)))


def traffic_of(*waves: WaveTrace, l1: CacheShape = L1, l2: CacheShape = L2, clusters: int = 0) -> SiteTraffic:
    """Return the traffic of the last of some waves, all of whose requests are loads or stores of one site."""
    turns = waves[-1].words.shape[1]
    (traffic,) = cache_traffic(
        waves, l1, l2, sites=1, turns=turns, skip=0, windows=[1], bypasses=[False], clusters=clusters
    )
    return traffic


def one_line(warps: int, sms: int) -> WaveTrace:
    """Return a trace in which every warp reads the same line once."""
    words = np.full((warps, 8), 7 << 22 | 32 | 15, np.uint64)
    starts = np.linspace(0, warps, sms + 1).astype(np.int64)
    return WaveTrace(words, np.ones(warps, np.int64), np.arange(warps), starts)


def test_request_for_a_line_in_flight_waits_for_dram() -> None:
    traffic = traffic_of(one_line(8, 4))
    assert (traffic.dram, traffic.dram_sectors) == (8, 4)


def test_cluster_of_sms_requests_a_line_in_flight_once() -> None:
    separate, joined = traffic_of(one_line(8, 8)), traffic_of(one_line(8, 8), clusters=2)
    assert separate.l2_sectors + separate.dram_sectors == 8 * 4
    assert joined.l2_sectors + joined.dram_sectors == 2 * 4
    assert (separate.l2_lines, joined.l2_lines) == (8, 2)


def test_l2_keeps_the_lines_of_an_earlier_wave_and_l1_does_not() -> None:
    traffic = traffic_of(one_line(1, 1), one_line(1, 1))
    assert (traffic.l1_sectors, traffic.l2_sectors, traffic.dram_sectors) == (0, 4, 0)
    assert (traffic.l2, traffic.dram) == (1, 0)  # it is not in flight any more


def struct_stores(stride: int) -> WaveTrace:
    """Return a trace in which a warp writes two fields of 32 structures that are `stride` bytes apart."""
    lines = stride * 32 // 128
    words = [line << 22 | (line == 0) << 5 | 16 | 15 for _ in range(2) for line in range(lines)]
    return WaveTrace(np.array([words], np.uint64), np.array([len(words)]), np.array([0]), np.array([0, 1]))


def test_store_joins_an_earlier_one_of_few_lines_only() -> None:
    few, many = (traffic_of(struct_stores(stride), l2=CacheShape(1 << 20, 8)) for stride in (16, 32))
    assert few.l2_sectors + few.dram_sectors < 2 * 16
    assert many.l2_sectors + many.dram_sectors == 2 * 32
    assert few.rewritten == 16


def test_lines_at_any_power_of_two_share_l1_equally() -> None:
    rows = np.arange(1024)
    for stride in (1, 8, 32, 256):
        words = np.concatenate([rows, rows]).astype(np.uint64) * np.uint64(stride) << np.uint64(22)
        words |= np.uint64(32 | 1)
        trace = WaveTrace(words.reshape(1, -1), np.array([2048]), np.array([0]), np.array([0, 1]))
        traffic = traffic_of(trace, l1=CacheShape(1 << 18, 8), l2=CacheShape(1 << 20, 16))
        assert traffic.l1_sectors == 1024


def test_dram_delivers_pairs_of_sectors() -> None:
    words = np.array([[7 << 22 | 32 | 0b0001, 7 << 22 | 32 | 0b0010, 7 << 22 | 32 | 0b0100]], np.uint64)
    trace = WaveTrace(words, np.array([3]), np.array([0]), np.array([0, 1]))
    traffic = traffic_of(trace)
    assert (traffic.dram_sectors, traffic.l2_sectors, traffic.paired) == (2, 1, 2)


@pytest.mark.parametrize(("atomic", "hits"), [(False, 4), (True, 0)])
def test_loads_find_what_a_store_has_written_in_l1(atomic: bool, hits: int) -> None:
    line = 7 << 22 | 32 | 15
    words = np.array([[line | 16, line | 1 << 6]], np.uint64)
    trace = WaveTrace(words, np.array([2]), np.array([0]), np.array([0, 1]))
    _, load = cache_traffic(
        [trace], L1, L2, sites=2, turns=2, skip=0, windows=[1, 1], bypasses=[atomic, False]
    )
    assert (load.l1_sectors, load.l2_sectors) == (hits, 4 - hits)


@pytest.mark.parametrize("first_bypasses", [False, True])
@pytest.mark.parametrize("second_bypasses", [False, True])
def test_load_that_bypasses_l1_neither_fills_nor_finds_it(
    first_bypasses: bool, second_bypasses: bool
) -> None:
    line = 7 << 22 | 32 | 15
    trace = WaveTrace(
        np.array([[line, line | 1 << 6]], np.uint64), np.array([2]), np.array([0]), np.array([0, 1])
    )
    _, second = cache_traffic(
        [trace], L1, L2, sites=2, turns=2, skip=0, windows=[1, 1], bypasses=[first_bypasses, second_bypasses]
    )
    hits = 0 if first_bypasses or second_bypasses else 4
    assert (second.l1_sectors, second.l2_sectors) == (hits, 4 - hits)
