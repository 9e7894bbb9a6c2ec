"""Host side of the local_reads tier: the reads of local memory that returned its poison."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.recorder import RepeatRecorder
from gpulab.simt.runtime.worker import LaunchWorker, weak_callback

__all__ = ["LocalRead", "LocalReadRecorder"]

MUTE_SITE_AFTER = 1000  # reads of one access site, after which it is no longer checked
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_uint32)


class LocalRead(NamedTuple):
    """A read of local memory: the source line, and the linear numbers of the block and of its thread."""

    line: int
    block: int
    thread: int


class LocalReadRecorder(RepeatRecorder):
    """Recorder of the reads of local memory that return its poison, on one core.

    Parameters
    ----------
    local_poison : int
        See `Recorder.local_poison`.

    Attributes
    ----------
    reads : dict
        The reads in the order in which they were made, and their number.
    """

    tier = "local_reads"

    def __init__(self, local_poison: int) -> None:
        super().__init__(local_poison)
        self.reads: dict[LocalRead, int] = {}
        self.read_by_site: dict[int, int] = {}
        self.callback = weak_callback(_CALLBACK, self._on_read)

    def prepare(self, native: NativeKernel, shared_bytes: int, params: bytes) -> None:  # noqa: ARG002
        self.native = native

    def attach(self, worker: LaunchWorker) -> None:
        self.worker = worker
        self.muted = np.zeros(max(len(worker.native.sites), 1), np.uint8)
        for site, count in self.read_by_site.items():
            self.muted[site] = count >= MUTE_SITE_AFTER
        worker["recorded"] = self.muted.ctypes.data
        worker["callback"] = ctypes.cast(self.callback, ctypes.c_void_p).value or 0

    def _on_read(self, _context: int, warp: int, site: int, lanes: int) -> None:
        block, line = self.worker["block"], self.native.sites[site].line
        for lane in range(WARP):
            if lanes >> lane & 1:
                read = LocalRead(line, block, warp * WARP + lane)
                self.reads[read] = self.reads.get(read, 0) + 1
        self.read_by_site[site] = self.read_by_site.get(site, 0) + lanes.bit_count()
        if self.read_by_site[site] >= MUTE_SITE_AFTER:
            self.muted[site] = 1
