"""Host side of the counters tier: owns the counters of one launch and sums them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.base import Forms
from gpulab.simt.instrument.counters.counter_layout import (
    AWAY,
    AWAY_BYTES,
    BLOCK_BYTES,
    EXCESS,
    FIRST_SAMPLE,
    FORM_SHIFT,
    HEAD,
    HOME,
    HOME_WORD,
    IDEAL,
    LOCAL,
    MAP_PADDING,
    MISSED,
    RECORD_BYTES,
    REPEATS,
    SHARED,
    WORST,
    WORST_SAMPLE,
    CounterLayout,
)
from gpulab.simt.instrument.counters.loop_code import GROUPS
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.worker import LaunchWorker, address_of

__all__ = ["Count", "CounterRecorder", "RequestSample", "SiteCount"]


@dataclass(frozen=True)
class RequestSample:
    """One recorded request of a warp.

    Attributes
    ----------
    mask : int
        The active lanes; bit n is lane n.
    block : int
        Linear number of the block in the grid.
    warp : int
        Number of the warp in the block.
    units : int
        Sectors or wavefronts of the request.
    addresses : tuple of int
        By lane: device addresses, or offsets in the block's shared memory, in bytes. The values of inactive
        lanes are undefined.
    """

    mask: int
    block: int
    warp: int
    units: int
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """Totals of the requests of one site to one state space.

    Attributes
    ----------
    executions : int
        Requests: executions by a warp with at least one active lane.
    threads : int
        Active lanes of all requests.
    units : int
        Sectors (global) or wavefronts (shared); 0 for other spaces.
    ideal : int
        Wavefronts without bank conflicts (shared); for global memory, one for each request.
    repeats : int
        How often updates of global memory access a sector again because lanes update the same element.
    """

    executions: int
    threads: int
    units: int
    ideal: int
    repeats: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.executions + other.executions,
            self.threads + other.threads,
            self.units + other.units,
            self.ideal + other.ideal,
            self.repeats + other.repeats,
        )


@dataclass(frozen=True)
class SiteCount:
    """Counts of one access site.

    Attributes
    ----------
    access : AccessSite
        The site.
    counts : dict of str to Count
        By state space.
    first, worst : RequestSample or None
        The first request, and one with the most units; None if there was none.
    arrays : dict of int to Count
        The counts in global memory by the address of the allocation. A request to several allocations is one
        of each.
    """

    access: AccessSite
    counts: dict[str, Count]
    first: RequestSample | None
    worst: RequestSample | None
    arrays: dict[int, Count] = field(default_factory=dict)


class CounterRecorder(Recorder):
    """Recorder of the counters of one launch; each worker has its own counters and sector maps.

    Parameters
    ----------
    forms : Forms, optional
        See `Instrumentation.forms`. Without it, accesses to shared memory are counted as in PTX.
    """

    tier = "counters"

    def __init__(self, forms: Forms = ()) -> None:
        self.forms = forms
        self._forms = {row: (size, moved) for row, size, moved in forms}

    def prepare(self, native: NativeKernel, shared_bytes: int, params: bytes) -> None:  # noqa: ARG002
        self.native = native
        facts = native.metadata
        loops = dict.fromkeys(facts["loops"], ())
        self.layout = CounterLayout(facts["blocks"], loops, facts["rows"], native.warps)
        self.workers: list[LaunchWorker] = []
        # The home of each access and the address of this word; see HOME_WORD.
        self._homes: dict[tuple[int, int, str, int], tuple[npt.NDArray[np.int64], int]] = {}

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        rows = memory.table().copy()
        lengths = (rows[:, 1] >> np.uint64(8)) + np.uint64(MAP_PADDING)
        starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(2 * lengths, dtype=np.uint64)])
        self._heap_map = int(starts[-1])  # all memory that the kernel allocates shares one map
        self._map_bytes = self._heap_map + MAP_PADDING
        if self.spare_rows:
            self._map_bytes += 2 * ((layout.HEAP_BYTES >> 8) + MAP_PADDING)
        self._maps = [np.zeros(self._map_bytes, np.uint8)]
        rows[:, 3] = starts[:-1] + np.uint64(self._maps[0].ctypes.data)
        self._spans = [
            (int(base), int(start), int(length))
            for base, start, length in zip(rows[:, 0], starts, lengths, strict=False)
        ]
        return rows

    def shadow_of_block(self, block: Allocation) -> int:  # noqa: ARG002
        return self._maps[0].ctypes.data + self._heap_map

    def attach(self, worker: LaunchWorker) -> None:
        size = self.layout.sites_at + RECORD_BYTES * max(len(worker.native.sites), 1)
        raw = np.zeros(size + 64, np.uint8)
        fresh = raw[-raw.ctypes.data % 64 :][:size]
        before = worker.memory.get("recorded")
        if before is None:
            if self.workers:
                self._maps.append(np.zeros(self._map_bytes, np.uint8))
            self.workers.append(worker)
            distance = self._maps[-1].ctypes.data - self._maps[0].ctypes.data
            at = self.layout
            offsets = at.loops_at, at.iterations_at, at.rows_at, at.sites_at
            head = (distance, *offsets, len(at.loops))
            fresh[: 8 * len(head)].view(np.int64)[:] = head
        else:
            fresh[: len(before)] = before
        self._attach_arrays(worker, fresh, before)
        self._attach_forms(worker.native.sites, fresh)
        worker.memory["recorded"] = fresh
        worker["recorded"] = fresh.ctypes.data

    def _attach_arrays(
        self, worker: LaunchWorker, recorded: npt.NDArray[np.uint8], before: npt.NDArray[np.uint8] | None
    ) -> None:
        """Give each record its counts by allocation and the word that holds its access's home."""
        sites = worker.native.sites
        rows = len(self._spans) + self.spare_rows
        counts = np.zeros((max(len(sites), 1), rows, AWAY_BYTES // 8), np.int64)
        if before is not None:
            earlier = worker.memory["away"].view(np.int64).reshape(-1, *counts.shape[1:])
            counts[: len(earlier)] = earlier
        worker.memory["away"] = counts.reshape(-1).view(np.uint8)
        for access in sites:
            if (key := _key(access)) not in self._homes:
                home = np.zeros(1, np.int64)
                self._homes.setdefault(key, (home, address_of(home)))  # another thread may add it, too
        homes = [self._homes[_key(access)][1] for access in sites]
        records = self._records_of(recorded)[: len(sites)]
        records[:, (HOME + HOME_WORD) // 8] = homes
        records[:, (HOME + AWAY) // 8] = counts.ctypes.data + counts.strides[0] * np.arange(len(sites))

    def _attach_forms(self, sites: list[AccessSite], recorded: npt.NDArray[np.uint8]) -> None:
        """Store the form in which each access to shared memory is counted in its record."""
        records = self._records_of(recorded)
        for number, access in enumerate(sites):
            if access.space == "shared":
                width, moved = self._form(access)
                records[number, FORM_SHIFT // 8 :][:2] = width.bit_length() - 1, moved

    def _records_of(self, recorded: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return the records of the sites in a worker's counters, one in each row."""
        return recorded[self.layout.sites_at :].view(np.int64).reshape(-1, RECORD_BYTES // 8)

    def _form(self, access: AccessSite) -> tuple[int, int]:
        """Return the bytes per lane that an access is counted with, and their distance from its address."""
        if access.space != "shared" or access.action == "updates":
            return access.size, 0
        return self._forms.get(access.row, (access.size, 0))

    def blocks(self) -> npt.NDArray[np.int64]:
        """Return, for each basic block, executions by warps, their active threads, and divergent branches.

        Repetitions of loops that wait for an mbarrier do not count (see `waiting_loops`).
        """
        count = self.native.metadata["blocks"]
        words = [w.memory["recorded"][HEAD : HEAD + BLOCK_BYTES * count].view(np.int64) for w in self.workers]
        counts = np.sum(words, axis=0, dtype=np.int64).reshape(count, 3)
        for first, last, after in self.native.metadata["waits"]:
            counts[first : last + 1, :2] -= counts[first, :2] - counts[after, :2]
        return counts

    def iteration_groups(self) -> dict[int, dict[int, tuple[int, int, int, int]]]:
        """Return the groups of 2 and of 4 consecutive iterations of each innermost loop.

        The keys are the first block of the loop and the size of the group. The values are groups executed by
        warps, their active threads, and both for the first group after the loop was entered.
        """
        start, end = self.layout.loops_at, self.layout.iterations_at
        words = [w.memory["recorded"][start:end].view(np.int64) for w in self.workers]
        counts = np.sum(words, axis=0, dtype=np.int64).reshape(-1, len(GROUPS), 4).tolist()
        return {
            head: {
                group: (four[0], four[1], four[2], four[3]) for group, four in zip(GROUPS, both, strict=True)
            }
            for head, both in zip(self.layout.loops, counts, strict=True)
        }

    def instruction_counts(self) -> dict[int, int]:
        """Return the counters of single instructions (see `CounterLayout.rows`) by row in the PTX text."""
        start, end = self.layout.rows_at, self.layout.rows_at + 8 * len(self.layout.rows)
        words = [w.memory["recorded"][start:end].view(np.int64) for w in self.workers]
        counts: list[int] = np.sum(words, axis=0, dtype=np.int64).reshape(-1).tolist()
        return dict(zip(self.layout.rows, counts, strict=True))

    def touched_sectors(self) -> dict[int, tuple[int, int]]:
        """Return the number of distinct sectors read and written, by the address of the allocation."""
        sectors = {}
        for base, start, length in self._spans:
            read, written = (self._marked(start, length), self._marked(start + length, length))
            if read or written:
                sectors[base] = (read, written)
        return sectors

    def _marked(self, start: int, length: int) -> int:
        """Return the number of sectors that any worker has marked in a part of the maps."""
        merged = np.bitwise_or.reduce([a_map[start : start + length] for a_map in self._maps])
        return int(np.unpackbits(merged[merged != 0]).sum(dtype=np.int64))

    def sites(self) -> list[SiteCount]:
        """Return the counts of every access site in program order, including those of the fallback code."""
        blocks = self.blocks().tolist()
        records = self._records()
        places: dict[tuple[int, int, str, int], list[int]] = {}
        for number, access in enumerate(self.native.sites):
            if access.opcode:
                places.setdefault(_key(access), []).append(number)
        return [self._site(records, places[key], blocks[key[0]]) for key in sorted(places)]

    def _records(self) -> _Records:
        sites, rows = max(len(self.native.sites), 1), len(self._spans) + self.spare_rows
        records = [self._records_of(worker.memory["recorded"]) for worker in self.workers]
        away = [
            worker.memory["away"].view(np.int64).reshape(len(own), rows, AWAY_BYTES // 8)
            for worker, own in zip(self.workers, records, strict=True)
        ]
        return _Records(
            records,
            _total([own[:, : FIRST_SAMPLE // 8] for own in records], sites),
            _total(away, sites),
            _total([own[:, (HOME + MISSED) // 8] for own in records], sites),
        )

    def _site(self, records: _Records, numbers: list[int], block: list[int]) -> SiteCount:
        access = self.native.sites[numbers[0]]
        access = replace(access, width=self._form(access)[0])
        words: list[int] = _sum(records.totals, numbers)

        def count(offset: int, executions: int, threads: int, served: bool = True) -> Count:
            more, ideal = (words[(offset + o) // 8] for o in (EXCESS, IDEAL))
            units = (executions + more, executions + ideal) if served else (0, 0)
            return Count(executions, threads, *units, words[REPEATS // 8] if offset == 0 else 0)

        def own(offset: int) -> tuple[int, int]:
            return words[offset // 8], words[offset // 8 + 1]

        if access.space == "generic":
            counts = {
                "global": count(0, *own(0)),
                "shared": count(SHARED, *own(SHARED)),
                "local": Count(*own(LOCAL), 0, 0),
            }
            counts = {space: c for space, c in counts.items() if c.executions}
        else:
            executions, threads = own(0) if access.apart else (block[0], block[1])
            served = access.width > 0 and access.space in ("global", "shared")
            counts = {access.space: count(0, executions, threads, served)}

        samples = records.samples(numbers)
        first = min((s for s, _ in samples), key=lambda s: (s.block, s.warp), default=None)
        worst = min((s for _, s in samples), key=lambda s: (-s.units, s.block, s.warp), default=None)
        arrays = self._arrays(records, access, numbers, counts.get("global"))
        return SiteCount(access, counts, first, worst, arrays)

    def _arrays(
        self, records: _Records, access: AccessSite, numbers: list[int], total: Count | None
    ) -> dict[int, Count]:
        """Return the counts of one access by allocation: of the others as recorded, of its home the rest."""
        home = int(self._homes[_key(access)][0][0])
        if total is None or not home:
            return {}
        away, missed = _sum(records.away, numbers), _sum(records.missed, numbers)

        arrays = {}
        requests, sectors = total.executions - missed, total.units - sum(row[2] for row in away)
        if requests:
            threads = total.threads - sum(row[1] for row in away)
            arrays[home] = Count(requests, threads, sectors, requests)
        for (base, _, _), (requests, threads, sectors) in zip(self._spans, away, strict=False):
            if requests:
                arrays[base] = Count(requests, threads, sectors, requests)
        return arrays


@dataclass(frozen=True)
class _Records:
    """The records of all workers by site, and their sums over the workers.

    Attributes
    ----------
    of_workers : list of array
        The records of each worker, one in each row.
    totals : array
        The counters of each site.
    away : array
        For each site and allocation, requests, lanes and sectors; 0 for the home of the access.
    missed : array
        For each site, its requests without a lane in the home.
    """

    of_workers: list[npt.NDArray[np.int64]]
    totals: npt.NDArray[np.int64]
    away: npt.NDArray[np.int64]
    missed: npt.NDArray[np.int64]

    def samples(self, numbers: list[int]) -> list[tuple[RequestSample, RequestSample]]:
        """Return the first and the worst request that each worker recorded at some sites."""
        records = [own[number] for own in self.of_workers for number in numbers if number < len(own)]
        return [
            (_sample(record[FIRST_SAMPLE // 8 :]), _sample(record[WORST_SAMPLE // 8 :]))
            for record in records
            if record[WORST // 8]
        ]


def _sum(totals: npt.NDArray[np.int64], numbers: list[int]) -> Any:
    """Return the sum of some rows as Python's numbers; an access is one site, unless it has fallback code."""
    return (totals[numbers[0]] if len(numbers) == 1 else totals[numbers].sum(axis=0)).tolist()


def _total(tables: list[npt.NDArray[np.int64]], sites: int) -> npt.NDArray[np.int64]:
    """Return the sum of tables by site. Those of workers without the fallback code lack its sites."""
    total = np.zeros((sites, *tables[0].shape[1:]), np.int64)
    for table in tables:
        total[: len(table)] += table
    return total


def _key(access: AccessSite) -> tuple[int, int, str, int]:
    """Return what identifies an access in the kernel's code and in its fallback code."""
    return access.block, access.index, access.space, access.part


def _sample(words: npt.NDArray[np.int64]) -> RequestSample:
    mask, block, warp, units, *addresses = words[: 4 + WARP].tolist()
    return RequestSample(mask & 0xFFFF_FFFF, block, warp, units, tuple(addresses))
