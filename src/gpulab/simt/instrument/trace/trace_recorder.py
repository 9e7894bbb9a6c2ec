"""What the traced tier traced: the host's side of it, for one launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.instrument.trace.trace_code import LAYOUT
from gpulab.simt.runtime.allocation import Memory
from gpulab.simt.runtime.worker import LaunchWorker

__all__ = ["Requests", "TraceRecorder", "Wave"]


@dataclass(frozen=True)
class Wave:
    """Neighbouring blocks that are traced.

    first: the first one's number in the grid. requests, instructions: at most so many of each warp.
    """

    first: int
    blocks: int
    requests: int
    instructions: int


@dataclass(frozen=True)
class Requests:
    """Some requests of one site.

    come_to: how often a warp came to the instruction; made: how often with an active lane. masks,
    addresses: of the requests that were kept, (requests,) and (requests, 32).
    """

    access: AccessSite
    come_to: int
    made: int
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]


class TraceRecorder(CounterRecorder):
    """Traces one launch of a wave; without one only blocks of code and rounds are counted.

    words, used: the lines of each warp of the wave, in the form of `trace_code`, and how many.
    spent: the instructions that each one executed.
    """

    tier = "traced"

    def __init__(self, wave: Wave | None = None) -> None:
        super().__init__()
        self.wave = wave

    def prepare(self, native: NativeKernel, shared_bytes: int) -> None:
        super().prepare(native, shared_bytes)
        wave = self.wave or Wave(0, 0, 0, 0)
        self.warps = wave.blocks * native.warps
        self.capacity = 2 * wave.requests + 32
        self.words = np.empty((self.warps, self.capacity), np.uint64)
        self.states = np.zeros((self.warps, LAYOUT["STATE_BYTES"] // 8), np.int64)

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        return Recorder.table(self, memory)

    def attach(self, worker: LaunchWorker) -> None:
        before = worker.memory.get("observed")
        if before is None:
            self.workers.append(worker)
        sites = max(len(worker.native.sites), 1)
        pictures = np.zeros(sites * LAYOUT["SITE_BYTES"], np.uint8)
        kept = worker.memory.get("pictures")
        if kept is not None:
            pictures[: len(kept)] = kept
        worker.memory["pictures"] = pictures
        raw = np.zeros(self.record.sites_at + 64, np.uint8)
        fresh = raw[-raw.ctypes.data % 64 :][: self.record.sites_at]
        if before is not None:
            fresh[:] = before
        head = fresh.view(np.int64)
        if self.wave is not None:
            settings = {
                "FIRST_BLOCK": self.wave.first, "STATES": self.states.ctypes.data,
                "WORDS": self.words.ctypes.data, "CAPACITY": self.capacity, "REQUESTS": self.wave.requests,
                "INSTRUCTIONS": self.wave.instructions,
            }  # fmt: skip
            for name, value in settings.items():
                head[LAYOUT[name] // 8] = value
        head[LAYOUT["PICTURES"] // 8] = pictures.ctypes.data
        worker.memory["observed"] = fresh
        worker["observed"] = fresh.ctypes.data

    @property
    def used(self) -> npt.NDArray[np.int64]:
        return self.states[:, 0]

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """Which warps came to their kernel's end."""
        assert self.wave is not None
        stopped = self.states[:, 1] >= self.wave.requests
        stopped |= self.states[:, 0] + 32 > self.capacity
        return ~stopped & (self.states[:, 2] <= self.wave.instructions)

    def requests(self) -> list[Requests]:
        """By site, in the order of their numbers."""
        found = []
        for number, access in enumerate(self.native.sites):
            if not access.opcode:
                continue
            come_to, made, masks, addresses = 0, 0, [], []
            for worker in self.workers:
                start = number * LAYOUT["SITE_BYTES"]
                record = worker.memory["pictures"][start : start + LAYOUT["SITE_BYTES"]].view(np.int64)
                come_to, made = come_to + int(record[0]), made + int(record[1])
                kept = record[3 : 3 + int(record[2]) * (1 + WARP)].reshape(-1, 1 + WARP)
                masks.append(kept[:, 0].astype(np.uint32))
                addresses.append(kept[:, 1:])
            found.append(Requests(access, come_to, made, np.concatenate(masks), np.concatenate(addresses)))
        return found
