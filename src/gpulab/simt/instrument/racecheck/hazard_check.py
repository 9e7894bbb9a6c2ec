"""The complete rule of the race detector, applied to one lane of an access at a time.

Two accesses of a cell by two threads, at least one of them a write, are a hazard unless

- both are strong (atomic operations, or volatile accesses of global memory), or
- the threads passed a barrier between the two, or their lanes a `__syncwarp()`, or
- the first thread executed a fence after its access and the second thread has made an atomic or volatile
  access since then, as with a lock or a flag (if the first access was a read, an atomic or volatile write
  takes the place of the fence), or
- one of them is a compare-and-swap and the other one a read, because the swap fails if the value that was
  read is out of date, or
- both write the same value, and not both have computed it from the old one; in global memory, a write of the
  value that is already there is harmless, except to such an update by another thread.

Some hazards of `atomicMin` and `atomicMax` are warnings: see `HazardMessages.is_guess`.

A read of a cell that has not been written is uninitialized, unless the cell is written in the same launch
without synchronization: then the race is reported in its place.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.instrument.racecheck.hazards import AccessRecord, Hazard, HazardLog
from gpulab.simt.instrument.racecheck.shadow_layout import (
    AFTER_PLAIN,
    FENCE_HISTORY,
    LAUNCH_START,
    MAX_SITE,
    OTHER_BLOCKS,
    OTHER_LANES,
    OTHER_WARPS,
    PENDING,
    SILENT,
    SITE_SHIFT,
    STRONG,
    SWAP,
    THREAD_MASK,
    UPDATE,
)
from gpulab.simt.instrument.racecheck.shadow_memory import ArrayShadow
from gpulab.simt.instrument.racecheck.sync_state import SyncState

__all__ = ["CheckedAccess", "HazardCheck"]

Times = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class CheckedAccess:
    """One access of a warp, as generated code passes it to the host.

    Attributes
    ----------
    warp, site : int
        The warp of the block and the access site.
    action : str
        "reads", "writes" or "updates".
    strong, swap, update : bool
        See `shadow_layout.STRONG`, `shadow_layout.SWAP` and `shadow_layout.UPDATE`.
    offset, granule : int
        The part of each lane's access that is checked, in bytes.
    size : int
        Bytes of each lane's access.
    values : int
        Host address of the values to be stored, all lanes of the first element first; 0 if there are none.
    elements : int
        Number of elements that each lane stores.
    """

    warp: int
    site: int
    action: str
    strong: bool
    swap: bool
    update: bool
    offset: int
    granule: int
    size: int
    values: int
    elements: int

    def stored_bytes(self, lane: int) -> bytes:
        """Return the bytes that a lane stores in the checked part."""
        values = ctypes.string_at(self.values, 512)
        step = self.size // self.elements
        elements = [values[(n * WARP + lane) * step :][:step] for n in range(self.elements)]
        return b"".join(elements)[self.offset :][: self.granule]


class HazardCheck:
    """Check of the lanes of one access, one after the other."""

    def __init__(self, state: SyncState, log: HazardLog, access: CheckedAccess) -> None:
        self.state, self.log, self.access = state, log, access
        warp = access.warp
        self.warp, self.action, self.strong = warp, access.action, access.strong
        self.flags = min(access.site, MAX_SITE) << SITE_SHIFT | STRONG * access.strong | SWAP * access.swap
        self.flags |= UPDATE * access.update
        self.now = state.now
        self.start, self.turn, self.epoch = (int(state.words(name)[0]) for name in ("start", "turn", "epoch"))
        self.since = self.turn  # the time since which all accesses are those of this block
        self.warp_sync = int(state.words("warp_sync", WARP)[warp])
        self.clocks = state.words("clocks", WARP * WARP)[warp * WARP :][:WARP]
        self.acquired = state.words("acquired", 1024).reshape(-1, WARP).max(axis=1)  # by warp
        self.fenced, self.published = (
            state.words(name, FENCE_HISTORY * 1024).reshape(FENCE_HISTORY, -1, WARP)
            for name in ("fenced", "published")
        )
        self.block = state.block
        self.written: dict[tuple[int, int], int] = {}  # cells that lanes of this access have written

    def check_lane(self, shadow: ArrayShadow, cell: int, offset: int, lane: int) -> None:
        """Check one lane's access to one cell, record hazards and update the shadow.

        `offset` is the position of the cell in its array in bytes.
        """
        thread = self.warp * WARP + lane
        shared = shadow is self.state.shared
        oldest = self.start if shared else self.epoch
        self.since = self.start if shared else self.turn
        shadow.settled[cell] = 0
        write_time, writer = shadow.write_times[cell], shadow.writers[cell]
        if write_time == PENDING and not self.state.is_copying(cell):
            write_time = 0  # the copy belongs to a block that has ended
        own_word = thread | self.flags
        place = (id(shadow), cell)

        if self.action != "writes":
            self.check_initialized(shadow, place, offset, thread, write_time)
        if write_time >= oldest and not self.is_write_ordered(write_time, writer, thread):
            kind = "read_after_write" if self.action != "writes" else "write_after_write"
            loses_update = self.access.update and writer & UPDATE
            if (
                kind == "read_after_write"
                or loses_update
                or not self.is_same_value(shadow, offset, lane, place, write_time)
            ):
                self.report(kind, shadow, offset, thread, write_time, writer)

        read_time, reader = shadow.read_times[cell], shadow.readers[cell]
        if self.action == "reads":
            flags = self.reader_flags(read_time, reader, thread, oldest)
            shadow.read_times[cell], shadow.readers[cell] = self.now, own_word | flags
            return

        silent = self.action == "writes" and not shared and self.leaves_value(shadow, offset, lane)
        if not silent and read_time >= oldest and not self.are_reads_ordered(read_time, reader, thread):
            if self.action == "writes":
                self.log.uninitialized.pop((*place, self.start if shared else 0), None)
            self.report("write_after_read", shadow, offset, thread, read_time, reader)

        self.written[place] = lane
        if silent:
            free = write_time < oldest or writer & SILENT if self.access.update else write_time < LAUNCH_START
            if free:
                shadow.write_times[cell], shadow.writers[cell] = self.now, own_word | SILENT
            return
        written_plainly = not writer & STRONG or writer & AFTER_PLAIN
        if self.strong and not shared and write_time >= self.epoch and written_plainly:
            own_word |= AFTER_PLAIN
        shadow.write_times[cell], shadow.writers[cell], shadow.read_times[cell] = self.now, own_word, 0

    def check_collision(self, shadow: ArrayShadow, cell: int, offset: int, lane: int) -> None:
        """Compare a lane's value with that of the lane that wrote the cell in the same access.

        The write is ordered after all earlier accesses, and the other lane's write is recorded.
        """
        writer = int(shadow.writers[cell])
        other = (writer & THREAD_MASK) % WARP
        if not self.access.values or self.access.stored_bytes(lane) != self.access.stored_bytes(other):
            thread = self.warp * WARP + lane
            self.report("write_after_write", shadow, offset, thread, self.now, writer)

    def check_initialized(
        self, shadow: ArrayShadow, place: tuple[int, int], offset: int, thread: int, write_time: int
    ) -> None:
        """Record a read of a cell that has not been written."""
        shared = shadow is self.state.shared
        if write_time >= (self.start if shared else shadow.oldest_valid):
            return
        if shared and offset in self.state.reserved:
            return
        key = (*place, self.start if shared else 0)
        if key not in self.log.uninitialized:
            address, now = self.describe(shadow, offset, thread)
            self.log.uninitialized[key] = Hazard("uninitialized_read", shared, address, now, None)

    def reader_flags(self, time: int, word: int, thread: int, oldest: int) -> int:
        """Return the flags for earlier readers that a new read of the cell has to keep."""
        if time < oldest:
            return 0
        flags = 0
        if time < self.since:
            flags = OTHER_BLOCKS
        elif not self.are_reads_ordered(time, word, thread):
            flags = word & (OTHER_LANES | OTHER_WARPS)
            flags |= OTHER_LANES if word & THREAD_MASK != thread else 0
            flags |= OTHER_WARPS if (word & THREAD_MASK) >> 5 != self.warp else 0
        return flags | word & OTHER_BLOCKS

    # -- hazards --------------------------------------------------------------------------------

    def describe(self, shadow: ArrayShadow, offset: int, thread: int) -> tuple[int, AccessRecord]:
        """Return the address of a cell and the record of this access."""
        address = offset if shadow is self.state.shared else shadow.start + offset
        return address, AccessRecord(self.access.site, self.block, thread)

    def report(self, kind: str, shadow: ArrayShadow, offset: int, thread: int, time: int, word: int) -> None:
        """Record a hazard between this access and the earlier one with this time and access word."""
        shared = shadow is self.state.shared
        address, now = self.describe(shadow, offset, thread)
        site = word >> SITE_SHIFT & MAX_SITE
        block = self.state.block_at(time) if not shared else self.block
        other: int | None = word & THREAD_MASK
        if block == self.block and other == thread:
            other = None  # the word stands for several threads, and the one that races is not known
        self.log.add(Hazard(kind, shared, address, now, AccessRecord(site, block, other)), site)

    # -- order ----------------------------------------------------------------------------------

    def is_write_ordered(self, time: int, word: int, thread: int) -> bool:
        """Return True if this access cannot race with the earlier write."""
        both_strong = self.strong and word & STRONG and not (word & AFTER_PLAIN and time < self.since)
        if both_strong or (self.action == "reads" and word & (SWAP | SILENT)):
            return True
        return self.is_synchronized(time, word & ~OTHER_LANES, thread, self.fenced, self.state.block_fenced)

    def are_reads_ordered(self, time: int, word: int, thread: int) -> bool:
        """Return True if this access cannot race with the earlier reads that an access word stands for."""
        if (self.strong and word & STRONG) or self.access.swap:
            return True
        if word & OTHER_BLOCKS and time >= self.since:
            return False
        if not word & OTHER_WARPS or time < self.since:  # all readers are in the warp of the last one
            return self.is_synchronized(time, word, thread, self.released, self.block_released)
        return time < self.all_released or time < self.all_synchronized

    def is_synchronized(
        self, time: int, word: int, thread: int, released: Times, block_released: Times
    ) -> bool:
        """Return True if the two threads have synchronized since a time.

        That is the case after a barrier, or if the other thread has released its accesses (`released`, by
        thread, or `block_released`, by block) and this thread has acquired them.
        """
        state = self.state
        if time < self.since:
            block = state.block_at(time)
            released_later = time < block_released[block] <= state.block_acquired[self.block]
            return block == self.block or bool(released_later)
        other = word & THREAD_MASK
        if other == thread and not word & OTHER_LANES:
            return time != PENDING
        if time < (self.warp_sync if other >> 5 == self.warp else self.clocks[other >> 5]):
            return True
        if other >> 5 == self.warp and time < state.lane_syncs[self.warp, thread % WARP, other % WARP]:
            return True
        acquired = self.acquired[self.warp]
        times = released[:, other >> 5]
        # If all recorded releases are later than the acquire, an older one may have been overwritten.
        return bool(
            ((times > time) & (times <= acquired)).any() or (time < acquired and times[-1].min() > acquired)
        )

    # These values are the same for all lanes of an access; many accesses need none of them.

    @cached_property
    def released(self) -> Times:
        """Times at which threads released earlier reads: fences and strong writes."""
        return np.concatenate([self.fenced, self.published])

    @cached_property
    def block_released(self) -> Times:
        return np.maximum(self.state.block_fenced, self.state.block_published)

    @cached_property
    def all_released(self) -> int:
        """Time before which all reads of the block are released and acquired by this warp."""
        released = self.released.max(axis=(0, 2))[: self.state.warps].min()
        return int(min(released, self.acquired[self.warp]))

    @cached_property
    def all_synchronized(self) -> int:
        """Time before which all accesses of the block are ordered by barriers."""
        return min(self.warp_sync, int(self.clocks[: self.state.warps].min()))

    # -- equal values ---------------------------------------------------------------------------

    def is_same_value(
        self, shadow: ArrayShadow, offset: int, lane: int, place: tuple[int, int], time: int
    ) -> bool:
        """Return True if a write stores the value of the earlier write, of this access or another one."""
        if not self.access.values:
            return False
        other_lane = self.written.get(place)
        if time == self.now and other_lane is not None:
            return self.access.stored_bytes(lane) == self.access.stored_bytes(other_lane)
        return self.leaves_value(shadow, offset, lane)

    def leaves_value(self, shadow: ArrayShadow, offset: int, lane: int) -> bool:
        """Return True if a lane stores the value that is already there."""
        if not self.access.values:
            return False
        old = ctypes.string_at(shadow.host + offset, self.access.granule)
        return self.access.stored_bytes(lane) == old
