"""Host view of the synchronization of a launch: clocks of warps, fences and asynchronous copies."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.instrument.racecheck.shadow_layout import (
    LAUNCH_START,
    PENDING,
    RECORDS_BYTES,
    SETTLED,
    STATE,
    WRITE_TIME,
)
from gpulab.simt.instrument.racecheck.shadow_memory import ArrayShadow
from gpulab.simt.runtime.worker import LaunchWorker, aligned

__all__ = ["SyncState"]

MBARRIER_BYTES = 8


@dataclass(frozen=True)
class BulkCopy:
    """A bulk copy to shared memory whose completion no thread has observed.

    Attributes
    ----------
    block : int
        Its block.
    cells : range
        The cells that it writes.
    barrier : int
        Offset of the `mbarrier` object that counts its bytes.
    phase : int
        Parity of the object's phase in which it was made.
    time : int
        Time of the copy.
    """

    block: int
    cells: range
    barrier: int
    phase: int
    time: int


@dataclass
class MbarrierClocks:
    """The clocks of the warps that arrive at an `mbarrier` object.

    Attributes
    ----------
    parity : int
        Parity of the current phase.
    arrived, completed : array
        By warp, the time before which its accesses are ordered for threads that see the current phase, or the
        one before it, complete.
    warps : set of int
        The warps that have arrived in the current phase.
    joined : set of (int, int)
        The warps, each with a mask of lanes, that are ordered after the completed phase.
    """

    parity: int
    arrived: npt.NDArray[np.uint32]
    completed: npt.NDArray[np.uint32]
    warps: set[int] = field(default_factory=set)
    joined: set[tuple[int, int]] = field(default_factory=set)


class SyncState:
    """The worker's state (see `shadow_layout.STATE`) and what the host records in addition.

    Parameters
    ----------
    blocks : int
        Number of blocks of the grid.
    """

    def __init__(self, blocks: int) -> None:
        self.memory = aligned(STATE["end"])
        self.memory.fill(0)
        self.block_times = np.zeros(blocks, np.uint32)
        self.block_fenced = np.zeros(blocks, np.uint32)
        self.block_published = np.zeros(blocks, np.uint32)
        self.block_acquired = np.zeros(blocks, np.uint32)
        for name in ("block_times", "block_fenced", "block_published", "block_acquired"):
            self.set_pointer(name, getattr(self, name))
        self.records = aligned(RECORDS_BYTES)
        self.set_pointer("records", self.records)
        self.words("now")[0] = self.words("epoch")[0] = LAUNCH_START
        self.grid_arrivals = 0  # blocks that have arrived at the barrier of the grid
        self.turn_times: list[int] = []  # the start of each turn of a block of a cooperative launch
        self.turn_blocks: list[int] = []

        self.lane_syncs = np.zeros((WARP, WARP, WARP), np.uint32)  # last __syncwarp() of (warp, lane, lane)
        # Pending asynchronous copies by (block, warp): groups of cells, the last of which is still open.
        self.copies: dict[tuple[int, int], list[list[int]]] = {}
        self.bulk_copies: list[BulkCopy] = []
        self.mbarriers: dict[tuple[int, int], MbarrierClocks] = {}  # by block and offset
        self.shared: ArrayShadow | None = None
        self.reserved = range(0)  # offsets of the shared memory that cooperative groups reserve
        self.block_shadows: dict[int, ArrayShadow] = {}  # of shared memory, by block of a cooperative launch
        self.worker: LaunchWorker | None = None
        self.warps = 0  # warps of a block

    def words(self, name: str, count: int = 1) -> npt.NDArray[np.uint32]:
        """Return `count` 32-bit words of the state from a field on."""
        return self.memory[STATE[name] :][: 4 * count].view(np.uint32)

    def set_pointer(self, name: str, table: npt.NDArray[np.generic], offset: int = 0) -> None:
        """Store the address of a table, or of one of its bytes, in a field of the state."""
        self.memory[STATE[name] :][:8].view(np.uint64)[0] = table.ctypes.data + offset

    @property
    def now(self) -> int:
        return int(self.words("now")[0])

    @property
    def block(self) -> int:
        """Linear number of the block that is running."""
        assert self.worker is not None
        return self.worker["block"]

    def block_at(self, time: int) -> int:
        """Return the block that ran at a time of the worker's clock."""
        if self.turn_times:
            return self.turn_blocks[bisect_right(self.turn_times, time) - 1]
        blocks = np.flatnonzero(self.block_times)
        starts = self.block_times[blocks]
        order = np.argsort(starts)
        return int(blocks[order[np.searchsorted(starts[order], time, side="right") - 1]])

    # -- barriers -------------------------------------------------------------------------------

    def on_barrier(self, warps: int, barrier: int) -> None:
        """Merge the clocks of the warps that a barrier releases."""
        assert self.worker is not None
        states = np.ctypeslib.as_array((ctypes.c_int32 * (8 * warps)).from_address(self.worker["warps"]))
        states = states.reshape(warps, 8)
        released = [w for w in range(warps) if states[w, 0] > 0 and states[w, 2] and states[w, 1] == barrier]
        now = self.now
        clocks = self.words("clocks", WARP * WARP).reshape(WARP, WARP)
        merged = self.words("barrier_clocks", 16 * WARP).reshape(16, WARP)[barrier]
        for warp in released:
            np.maximum(merged, clocks[warp], out=merged)
            merged[warp] = now
        for warp in released:
            np.maximum(clocks[warp], merged, out=clocks[warp])
            self.words("warp_sync", WARP)[warp] = now
            others = [clocks[warp, other] for other in range(warps) if other != warp]
            self.words("block_sync", WARP)[warp] = min(others, default=now)
        merged[:] = 0

    def on_arrive(self, warp: int, barrier: int) -> None:
        """Merge the clocks of a warp that arrives at a barrier without waiting."""
        now = self.words("now")
        now[0] += 1
        clocks = self.words("clocks", WARP * WARP).reshape(WARP, WARP)
        merged = self.words("barrier_clocks", 16 * WARP).reshape(16, WARP)[barrier]
        np.maximum(merged, clocks[warp], out=merged)
        merged[warp] = now[0]

    def on_syncwarp(self, warp: int, masks: ctypes.Array[ctypes.c_uint64], active: int) -> None:
        """Record a `__syncwarp()` of lanes with different masks: each pair is synchronized by its masks."""
        now = self.now
        for lane in range(WARP):
            if active >> lane & 1:
                named = masks[lane] & active
                for other in range(WARP):
                    if named & 1 << other:
                        self.lane_syncs[warp, lane, other] = now

    # -- cooperative launches -------------------------------------------------------------------

    def on_turn(self) -> None:
        """Record that a block of a cooperative launch continues, and exchange the shadow of shared memory."""
        assert self.worker is not None
        assert self.shared is not None
        block = self.block
        self.turn_times.append(self.now)
        self.turn_blocks.append(block)
        size, granule = self.shared.size, self.shared.granule
        self.shared = self.block_shadows.setdefault(block, ArrayShadow(0, size, granule, 0, 0))
        self.shared.host = self.worker["shared"]
        self.set_pointer("shared_shadow", self.shared.raw)

    def on_grid_barrier(self) -> None:
        """Count a block that arrives at the barrier of the grid; the last one orders all earlier accesses."""
        self.grid_arrivals += 1
        if self.grid_arrivals == len(self.block_times):
            self.grid_arrivals = 0
            self.words("now")[0] += 1
            self.words("epoch")[0] = self.now

    # -- asynchronous copies --------------------------------------------------------------------

    def on_copy(self, warp: int, addresses: ctypes.Array[ctypes.c_uint64], mask: int, size: int) -> None:
        """Mark the cells of shared memory that an asynchronous copy will write."""
        shared = self.shared
        assert shared is not None
        group = self.copies.setdefault((self.block, warp), [[]])[-1]
        for lane in range(WARP):
            if mask >> lane & 1 and addresses[lane] < shared.size:
                first = addresses[lane] // shared.granule
                for cell in range(first, first + max(size // shared.granule, 1)):
                    shared.write_times[cell], shared.settled[cell] = PENDING, 0
                    group.append(cell)

    def on_copy_group(self, warp: int, pending: int, everything: bool) -> None:
        """Commit a group of copies (`pending` -1), or complete all but the last `pending` groups.

        With `everything`, the open group is completed too.
        """
        groups = self.copies.setdefault((self.block, warp), [[]])
        if pending < 0:
            groups.append([])
            return
        shared, now = self.shared, self.now
        assert shared is not None
        count = len(groups) if everything else max(len(groups) - 1 - pending, 0)
        for group in groups[:count]:
            for cell in group:
                if shared.write_times[cell] == PENDING:
                    shared.write_times[cell] = now
        del groups[:count]
        if not groups:
            groups.append([])

    def on_bulk_copy(self, target: int, size: int, barrier: int) -> None:
        """Mark the cells that a bulk copy writes as pending until its phase of the `mbarrier` is tested."""
        shared = self.shared
        assert shared is not None
        block = self.block
        self.bulk_copies = [copy for copy in self.bulk_copies if copy.block == block]
        cells = range(target // shared.granule, (target + size) // shared.granule)
        part = slice(cells.start, cells.stop)
        shared.arrays[WRITE_TIME][part], shared.arrays[SETTLED][part] = PENDING, 0
        self.bulk_copies.append(BulkCopy(block, cells, barrier, self._phase(barrier), self.now))

    def on_phase_test(self, warp: int, addresses: ctypes.Array[ctypes.c_uint64], mask: int) -> None:
        """Order a warp after the last complete phase of `mbarrier` objects, and complete its bulk copies."""
        tested = {addresses[lane] for lane in range(WARP) if mask >> lane & 1}
        for address in tested:
            clocks = self._phases(address)
            if (warp, mask) not in clocks.joined:  # most tests repeat one that failed
                clocks.joined.add((warp, mask))
                self._join(warp, clocks.completed, mask)
        pending = []
        for copy in self.bulk_copies:
            if (
                copy.barrier in tested
                and copy.block == self.block
                and self._phase(copy.barrier) != copy.phase
            ):
                assert self.shared is not None
                times = self.shared.arrays[WRITE_TIME][copy.cells.start : copy.cells.stop]
                times[times == PENDING] = copy.time
            else:
                pending.append(copy)
        self.bulk_copies = pending

    def on_mbarrier_arrival(self, warp: int, addresses: ctypes.Array[ctypes.c_uint64], mask: int) -> None:
        """Merge the clocks of a warp into the current phase of the `mbarrier` objects at which it arrives."""
        now = self.words("now")
        now[0] += 1
        for address in {addresses[lane] for lane in range(WARP) if mask >> lane & 1}:
            clocks = self._phases(address)
            np.maximum(clocks.arrived, self._clocks[warp], out=clocks.arrived)
            clocks.arrived[warp] = now[0]
            clocks.warps.add(warp)

    def _phases(self, barrier: int) -> MbarrierClocks:
        """Return the clocks of an `mbarrier` object of the current block.

        A phase at which all warps arrive orders the accesses before its last arrival, as `__syncthreads()`.
        """
        parity = self._phase(barrier)
        clocks = self.mbarriers.setdefault(
            (self.block, barrier),
            MbarrierClocks(parity, np.zeros(WARP, np.uint32), np.zeros(WARP, np.uint32)),
        )
        if clocks.parity != parity:  # a phase has been completed since the last arrival
            if len(clocks.warps) == self.warps:
                clocks.arrived[:] = clocks.arrived.max()
            clocks.parity, clocks.completed, clocks.warps = parity, clocks.arrived, set()
            clocks.arrived, clocks.joined = np.zeros(WARP, np.uint32), set()
        return clocks

    @property
    def _clocks(self) -> npt.NDArray[np.uint32]:
        return self.words("clocks", WARP * WARP).reshape(WARP, WARP)

    def _join(self, warp: int, times: npt.NDArray[np.uint32], lanes: int) -> None:
        """Order all accesses before these times, one for each warp, before the later ones of a warp.

        The accesses of its own lanes are ordered if all of them take part.
        """
        own = self._clocks[warp]
        np.maximum(own, times, out=own)
        others = [own[other] for other in range(self.warps) if other != warp]
        block_sync = self.words("block_sync", WARP)
        block_sync[warp] = max(block_sync[warp], min(others, default=self.now))
        if lanes == (1 << WARP) - 1:
            warp_sync = self.words("warp_sync", WARP)
            warp_sync[warp] = max(warp_sync[warp], times[warp])

    def _phase(self, barrier: int) -> int:
        """Return the parity of the current phase of an `mbarrier` object; see `instructions.mbarrier`.

        An object outside of shared memory has none: the launch has faulted, and events of its last
        instruction still arrive.
        """
        assert self.shared is not None
        if not 0 <= barrier <= self.shared.size - MBARRIER_BYTES:
            return 0
        return ctypes.c_uint64.from_address(self.shared.host + barrier).value >> 63

    def is_copying(self, cell: int) -> bool:
        """Return True if a copy of the current block to this cell of shared memory is pending."""
        block = self.block
        if any(copy.block == block and cell in copy.cells for copy in self.bulk_copies):
            return True
        return any(cell in g for (b, _), groups in self.copies.items() if b == block for g in groups)
