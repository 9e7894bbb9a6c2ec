"""What the counted tier counted: the host's side of it, for one launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.base import Forms
from gpulab.simt.instrument.counters.counter_layout import (
    BLOCK_BYTES,
    EXCESS,
    FIRST_PICTURE,
    HEAD,
    IDEAL,
    LOCAL,
    MAP_PADDING,
    RECORD_BYTES,
    SHARED,
    WORST,
    WORST_PICTURE,
    Record,
)
from gpulab.simt.instrument.counters.loop_rounds import GROUPS
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime.allocation import Memory
from gpulab.simt.runtime.worker import LaunchWorker

__all__ = ["Count", "CounterRecorder", "Picture", "SiteCount"]


@dataclass(frozen=True)
class Picture:
    """One warp's access: 32 lanes against sectors or banks.

    mask: bit n is lane n, whether it was active. block: the block's number in the grid. warp: the warp's
    number in the block. units: sectors or wavefronts that it took. addresses: by lane, in bytes: device
    addresses, or offsets in the block's shared memory; of inactive lanes they say nothing.
    """

    mask: int
    block: int
    warp: int
    units: int
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """What the requests of one site, to one state space, came to.

    executions: requests, each of a warp with at least one active lane. threads: their active lanes.
    units: sectors (global) or wavefronts (shared); 0 for other spaces. ideal: units without any
    bank conflict (shared); for global memory one for each request.
    """

    executions: int
    threads: int
    units: int
    ideal: int


@dataclass(frozen=True)
class SiteCount:
    """One instruction that accesses memory: what it is, by state space what it did, two pictures."""

    access: AccessSite
    counts: dict[str, Count]
    first: Picture | None
    worst: Picture | None


class CounterRecorder(Recorder):
    """Counts one launch.

    Each worker has counters and maps of its own, which are added up when they are asked for.

    forms: see `Instrumentation.forms`; without any, accesses to shared memory are counted as PTX has them.
    """

    tier = "counted"

    def __init__(self, forms: Forms = ()) -> None:
        self.forms = forms

    def prepare(self, native: NativeKernel, shared_bytes: int) -> None:  # noqa: ARG002
        self.native = native
        facts = native.metadata
        self.record = Record(facts["blocks"], dict.fromkeys(facts["loops"], ()), native.warps)
        self.workers: list[LaunchWorker] = []

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        rows = memory.table().copy()
        lengths = (rows[:, 1] >> np.uint64(8)) + np.uint64(MAP_PADDING)
        starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(2 * lengths, dtype=np.uint64)])
        self._map_bytes = int(starts[-1]) + MAP_PADDING
        self._maps = [np.zeros(self._map_bytes, np.uint8)]
        rows[:, 3] = starts[:-1] + np.uint64(self._maps[0].ctypes.data)
        self._spans = [
            (int(base), int(start), int(length))
            for base, start, length in zip(rows[:, 0], starts, lengths, strict=False)
        ]
        return rows

    def attach(self, worker: LaunchWorker) -> None:
        size = self.record.sites_at + RECORD_BYTES * max(len(worker.native.sites), 1)
        raw = np.zeros(size + 64, np.uint8)
        fresh = raw[-raw.ctypes.data % 64 :][:size]
        before = worker.memory.get("observed")
        if before is None:
            if self.workers:
                self._maps.append(np.zeros(self._map_bytes, np.uint8))
            self.workers.append(worker)
            distance = self._maps[-1].ctypes.data - self._maps[0].ctypes.data
            fresh[:8].view(np.int64)[0] = distance
        else:
            fresh[: len(before)] = before
        worker.memory["observed"] = fresh
        worker["observed"] = fresh.ctypes.data

    def blocks(self) -> npt.NDArray[np.int64]:
        """For each block of PTX, by its number: how often it was executed by a warp; the active threads of
        those; how often the lanes went two ways afterwards.
        """
        count = self.native.metadata["blocks"]
        words = [w.memory["observed"][HEAD : HEAD + BLOCK_BYTES * count].view(np.int64) for w in self.workers]
        return np.sum(words, axis=0, dtype=np.int64).reshape(count, 3)

    def rounds(self) -> dict[int, dict[int, tuple[int, int, int, int]]]:
        """By the first block of each innermost loop: how often warps went 2, and 4, rounds in a row, and with
        how many active threads; the same for the first time since the loop was entered.
        """
        start, end = self.record.loops_at, self.record.rounds_at
        words = [w.memory["observed"][start:end].view(np.int64) for w in self.workers]
        counts = np.sum(words, axis=0, dtype=np.int64).reshape(-1, len(GROUPS), 4).tolist()
        return {
            head: {
                group: (four[0], four[1], four[2], four[3]) for group, four in zip(GROUPS, both, strict=True)
            }
            for head, both in zip(self.record.loops, counts, strict=True)
        }

    def touched(self) -> dict[int, tuple[int, int]]:
        """By an allocation's address: how many of its sectors were read, and written, at all."""
        found = {}
        for base, start, length in self._spans:
            read, written = (self._marked(start, length), self._marked(start + length, length))
            if read or written:
                found[base] = (read, written)
        return found

    def _marked(self, start: int, length: int) -> int:
        found = np.bitwise_or.reduce([a_map[start : start + length] for a_map in self._maps])
        return int(np.unpackbits(found[found != 0]).sum(dtype=np.int64))

    def sites(self) -> list[SiteCount]:
        """Every instruction that accesses memory, in the order of the code; the plain code's is the same."""
        blocks = self.blocks()
        places: dict[tuple[int, int, str, int], list[int]] = {}
        for number, access in enumerate(self.native.sites):
            if access.opcode:
                key = access.block, access.index, access.space, access.part
                places.setdefault(key, []).append(number)
        return [self._site(places[key], blocks[key[0]]) for key in sorted(places)]

    def _site(self, numbers: list[int], block: npt.NDArray[np.int64]) -> SiteCount:
        access = self.native.sites[numbers[0]]
        records = [self._record(w, n) for w in self.workers for n in numbers]
        words = np.sum([r[: FIRST_PICTURE // 8] for r in records], axis=0)

        def count(offset: int, executions: int, threads: int, served: bool = True) -> Count:
            more, ideal = (int(words[(offset + o) // 8]) for o in (EXCESS, IDEAL))
            units = (executions + more, executions + ideal) if served else (0, 0)
            return Count(executions, threads, *units)

        def own(offset: int) -> tuple[int, int]:
            return int(words[offset // 8]), int(words[offset // 8 + 1])

        if access.space == "generic":
            counts = {
                "global": count(0, *own(0)),
                "shared": count(SHARED, *own(SHARED)),
                "local": Count(*own(LOCAL), 0, 0),
            }
            counts = {space: c for space, c in counts.items() if c.executions}
        else:
            executions, threads = own(0) if access.apart else (int(block[0]), int(block[1]))
            served = access.width > 0 and access.space in ("global", "shared")
            counts = {access.space: count(0, executions, threads, served)}
        pictures = [
            (_picture(r[FIRST_PICTURE // 8 :]), _picture(r[WORST_PICTURE // 8 :]))
            for r in records
            if r[WORST // 8]
        ]
        first = min((p for p, _ in pictures), key=lambda p: (p.block, p.warp), default=None)
        worst = min((p for _, p in pictures), key=lambda p: (-p.units, p.block, p.warp), default=None)
        return SiteCount(access, counts, first, worst)

    def _record(self, worker: LaunchWorker, number: int) -> npt.NDArray[np.int64]:
        start = self.record.sites_at + RECORD_BYTES * number
        return worker.memory["observed"][start : start + RECORD_BYTES].view(np.int64)


def _picture(words: npt.NDArray[np.int64]) -> Picture:
    mask, block, warp, units = (int(w) for w in words[:4])
    return Picture(mask & 0xFFFF_FFFF, block, warp, units, tuple(int(w) for w in words[4 : 4 + WARP]))
