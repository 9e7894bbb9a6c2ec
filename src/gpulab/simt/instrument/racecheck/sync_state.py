"""Host view of the synchronization of a launch: clocks of warps, fences and asynchronous copies."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.instrument.racecheck.shadow_layout import LAUNCH_START, PENDING, STATE
from gpulab.simt.instrument.racecheck.shadow_memory import ArrayShadow
from gpulab.simt.runtime.worker import LaunchWorker, aligned

__all__ = ["SyncState"]


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
        self.words("now")[0] = LAUNCH_START

        self.lane_syncs = np.zeros((WARP, WARP, WARP), np.uint32)  # last __syncwarp() of (warp, lane, lane)
        # Pending asynchronous copies by (block, warp): groups of cells, the last of which is still open.
        self.copies: dict[tuple[int, int], list[list[int]]] = {}
        self.shared: ArrayShadow | None = None
        self.worker: LaunchWorker | None = None
        self.warps = 0  # warps of a block

    def words(self, name: str, count: int = 1) -> npt.NDArray[np.uint32]:
        """Return `count` 32-bit words of the state from a field on."""
        return self.memory[STATE[name] :][: 4 * count].view(np.uint32)

    def set_pointer(self, name: str, table: npt.NDArray[np.generic]) -> None:
        """Store the address of a table in a field of the state."""
        self.memory[STATE[name] :][:8].view(np.uint64)[0] = table.ctypes.data

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
        blocks = np.flatnonzero(self.block_times)
        starts = self.block_times[blocks]
        order = np.argsort(starts)
        return int(blocks[order[np.searchsorted(starts[order], time, side="right") - 1]])

    # -- barriers -------------------------------------------------------------------------------

    def on_barrier(self, warps: int, barrier: int) -> None:
        """Merge the clocks of the warps that a barrier releases."""
        assert self.worker is not None
        states = self.worker.memory["warps"].view(np.int32).reshape(-1, 8)
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

    def is_copying(self, cell: int) -> bool:
        """Return True if a copy of the current block to this cell of shared memory is pending."""
        block = self.block
        return any(cell in g for (b, _), groups in self.copies.items() if b == block for g in groups)
