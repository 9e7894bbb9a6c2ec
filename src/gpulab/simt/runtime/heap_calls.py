"""The calls of `malloc` and `free` that running code makes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Allocation
from gpulab.simt.runtime.heap import DeviceHeap
from gpulab.simt.runtime.worker import LaunchWorker, weak_callback

__all__ = ["HEAP_ROWS", "HeapCalls"]

HEAP_ROWS = 1 << 15  # blocks that one launch can allocate
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32)


class HeapCalls:
    """The calls of `malloc` and `free` during one launch.

    Parameters
    ----------
    heap : DeviceHeap
        The heap of the device.
    recorder : Recorder
        Gives new blocks their shadows.
    table : array
        The table of allocations that running code searches, sorted by address. Its last `HEAP_ROWS` rows are
        free.
    workers : sequence of LaunchWorker
        The workers of the launch.
    """

    def __init__(
        self,
        heap: DeviceHeap,
        recorder: Recorder,
        table: npt.NDArray[np.uint64],
        workers: Sequence[LaunchWorker],
    ) -> None:
        self.heap, self.recorder, self.table, self.workers = heap, recorder, table, workers
        self.count = len(table) - HEAP_ROWS
        self.freed: list[Allocation] = []  # running code may still use their host memory
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        self._callback = weak_callback(_CALLBACK, self._on_call)
        for worker in workers:
            worker["heap"] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _on_call(self, _context: int, frees: int, words: int, mask: int) -> None:
        """Replace each lane's word: a size by an address, or an address to free by 1 if it is no block."""
        lanes = (ctypes.c_uint64 * WARP).from_address(words)
        try:
            with self._lock:
                for lane in range(WARP):
                    if mask >> lane & 1:
                        lanes[lane] = self._free(lanes[lane]) if frees else self._allocate(lanes[lane])
        except BaseException as error:  # noqa: BLE001 - an exception must not propagate through generated code
            self.error = self.error or error

    def _allocate(self, size: int) -> int:
        block = self.heap.allocate(size) if self.count < len(self.table) else None
        if block is None:
            return 0
        block.host[:] = self.recorder.poison
        shadow = self.recorder.shadow_of_block(block)
        self.table[self.count] = block.address, block.size, block.host.ctypes.data, shadow
        self.count += 1
        for worker in self.workers:
            worker["allocation_count"] = self.count
        return block.address

    def _free(self, address: int) -> int:
        if address == 0:
            return 0
        block = self.heap.free(address)
        if block is None:
            return 1
        self.freed.append(block)
        self.table[self.table[:, 0] == address, 1] = 0
        for worker in self.workers:
            words = layout.SITE_CACHE_BYTES // 8
            caches = worker.memory["site_caches"].view(np.int64)
            caches = caches[: len(caches) // words * words].reshape(-1, words)
            # The worker may fill the row at the same time. With a size of 0, each mix of both is a miss.
            caches[caches[:, 0] == address, 1] = 0
        return 0
