"""Host side of the trace tier: samples and traces of the memory requests of one launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.instrument.trace.trace_code import LAYOUT, TRACED_SPACES
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.worker import LaunchWorker

__all__ = ["Requests", "TraceRecorder", "Wave"]


LINES_PER_REQUEST = 5  # of a warp whose lanes access 16 bytes each, not aligned to a line of 128 bytes


@dataclass(frozen=True)
class Wave:
    """Blocks that are traced.

    Attributes
    ----------
    blocks : array of int
        Linear indices of the blocks in the grid, in ascending order.
    requests, instructions : int
        Largest number of requests and instructions of each warp.
    """

    blocks: npt.NDArray[np.int64]
    requests: int
    instructions: int


@dataclass(frozen=True)
class Requests:
    """Sampled requests of one site.

    Attributes
    ----------
    access : AccessSite
        The site.
    reached : int
        Executions of the instruction by warps, including those without an active lane.
    made : int
        Executions with at least one active lane.
    masks, addresses : ndarray
        Lane masks and addresses of the sampled requests, of shape (samples,) and (samples, 32).
    warps : ndarray of shape (samples,)
        Number of the warp in its block that made the request.
    """

    access: AccessSite
    reached: int
    made: int
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]
    warps: npt.NDArray[np.int64]


class TraceRecorder(CounterRecorder):
    """Recorder of the trace tier: traces a wave, or counts and samples if no wave is given.

    Attributes
    ----------
    words : ndarray
        Traced lines of each warp of the wave, as `trace_code` describes them.
    used : ndarray
        Number of lines of each warp.
    ended : ndarray
        Warps that reached the end of the kernel.
    """

    tier = "trace"

    def __init__(self, wave: Wave | None = None) -> None:
        super().__init__()
        self.wave = wave

    def prepare(self, native: NativeKernel, shared_bytes: int, params: bytes) -> None:
        super().prepare(native, shared_bytes, params)
        wave = self.wave or Wave(np.zeros(0, np.int64), 0, 0)
        self.warps = len(wave.blocks) * native.warps
        self.capacity = LINES_PER_REQUEST * wave.requests + 32
        self.words = np.empty((self.warps, self.capacity), np.uint64)
        self.states = np.zeros((self.warps, LAYOUT["STATE_BYTES"] // 8), np.int64)
        if self.wave is not None:
            beyond = wave.blocks - wave.blocks[0]
            self.places = np.empty(beyond[-1] + 1, np.int32)
            self.places[beyond] = np.arange(len(beyond))

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        return Recorder.table(self, memory)

    def shadow_of_block(self, block: Allocation) -> int:
        return Recorder.shadow_of_block(self, block)

    def attach(self, worker: LaunchWorker) -> None:
        before = worker.memory.get("recorded")
        if before is None:
            self.workers.append(worker)

        sites = max(len(worker.native.sites), 1)
        samples = np.zeros(sites * LAYOUT["SITE_BYTES"], np.uint8)
        old = worker.memory.get("samples")
        if old is not None:
            samples[: len(old)] = old
        worker.memory["samples"] = samples

        raw = np.zeros(self.layout.sites_at + 64, np.uint8)
        fresh = raw[-raw.ctypes.data % 64 :][: self.layout.sites_at]
        if before is not None:
            fresh[:] = before
        head = fresh.view(np.int64)
        if self.wave is not None:
            settings = {
                # Only the part of this table from the first traced block to the last is there.
                "PLACES": self.places.ctypes.data - self.places.itemsize * int(self.wave.blocks[0]),
                "STATES": self.states.ctypes.data, "WORDS": self.words.ctypes.data, "CAPACITY": self.capacity,
                "REQUESTS": self.wave.requests, "INSTRUCTIONS": self.wave.instructions,
            }  # fmt: skip
            for name, value in settings.items():
                head[LAYOUT[name] // 8] = value
        head[LAYOUT["SAMPLES"] // 8] = samples.ctypes.data
        worker.memory["recorded"] = fresh
        worker["recorded"] = fresh.ctypes.data

    @property
    def used(self) -> npt.NDArray[np.int64]:
        return self.states[:, 0]

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """Flags of the warps that reached the end of the kernel."""
        assert self.wave is not None
        stopped = self.states[:, 1] >= self.wave.requests
        stopped |= self.states[:, 0] + 32 > self.capacity
        return ~stopped & (self.states[:, 2] <= self.wave.instructions)

    def requests(self) -> list[Requests]:
        """Return the sampled requests of each site, in the order of the sites."""
        result = []
        for number, access in enumerate(self.native.sites):
            if not access.opcode or access.space not in TRACED_SPACES:
                continue
            reached, made, heads, addresses = 0, 0, [], []
            for worker in self.workers:
                start = number * LAYOUT["SITE_BYTES"]
                record = worker.memory["samples"][start : start + LAYOUT["SITE_BYTES"]].view(np.int64)
                reached, made = reached + int(record[0]), made + int(record[1])
                samples = record[3 : 3 + int(record[2]) * (1 + WARP)].reshape(-1, 1 + WARP)
                heads.append(samples[:, 0])
                addresses.append(samples[:, 1:])
            head = np.concatenate(heads)
            masks, warps = head.astype(np.uint32), head >> 32
            result.append(Requests(access, reached, made, masks, np.concatenate(addresses), warps))
        return result
