"""The host's side of the sanitized tier: shadows, the whole rule, and what was found.

Generated code (`sanitized`) hands over the lanes whose access is not plainly fine. Two accesses of one
cell by two threads, at least one of them a write, are a hazard unless

- both are strong (atomics, or volatile accesses of global memory), or
- the threads met at a barrier, or their lanes at a `__syncwarp`, between the two, or
- the first thread made its access visible with a fence afterwards and the second one has made an atomic
  or volatile access since then, as a lock or a flag does (where the first one only read, an atomic or
  volatile write is enough), or
- one of them is a compare-and-swap and the other one a read: the swap fails where the read is out of date, or
- both write the same value; in global memory, a write of what is there already is not one.

A read of a cell that nothing wrote is uninitialised, unless somebody writes it in the same launch with
nothing between: then the two race, and that is the cause.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpulab.errors import LaunchError
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.racecheck.shadow_memory import (
    ACTIONS,
    AFTER,
    ARRAYS,
    BLOCKS,
    HISTORY,
    MANY,
    PENDING,
    SHADOW,
    SILENT,
    SITE_SHIFT,
    SITES,
    STATE,
    STRONG,
    SWAP,
    THREADS,
    WARPS,
    WHAT,
    WINDOW,
    WRITTEN,
)
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import POISON, Memory
from gpulab.simt.runtime.worker import LaunchWorker, aligned

__all__ = ["AccessRecord", "Hazard", "RacecheckRecorder"]

Times = npt.NDArray[np.uint32]
PADDING = 64  # cells behind an array, so that a row may be read past its end
MUTE_AFTER = 2000  # times that a place may be looked at here before it is left alone …
HAZARDS_OF_A_LINE = 50  # … and times that the places of one line may show a hazard
SHADOW_LIMIT = 8 << 30  # bytes of the host that shadows may take
_SUSPECT = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32,
    ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p,
)  # fmt: skip


@dataclass(frozen=True)
class AccessRecord:
    """One of the two accesses of a hazard. block, thread: linear numbers; None: one of several others."""

    site: int
    block: int | None
    thread: int | None


@dataclass
class Hazard:
    """What happened first of its kind between two places of the code, and how often.

    address: of the first cell: a device address, or an offset in shared memory where `shared`.
    """

    kind: str
    shared: bool
    address: int
    now: AccessRecord
    before: AccessRecord | None
    count: int = 0


class _Shadow:
    """The cells of one array."""

    def __init__(self, start: int, size: int, granule: int, host: int, lowest: int) -> None:
        self.start, self.size, self.granule, self.host = start, size, granule, host
        self.count = -(-size // granule) + PADDING
        stride = 4 * (-(-self.count // 16) * 16)
        # Pages that nothing touches cost nothing.
        raw = np.zeros(SHADOW["cells"] + ARRAYS * stride + 64, np.uint8)
        self.raw = raw[-raw.ctypes.data % 64 :][: SHADOW["cells"] + ARRAYS * stride]
        self.raw[SHADOW["lowest"] :][:4].view(np.uint32)[0] = lowest
        self.raw[SHADOW["stride"] :][:8].view(np.uint64)[0] = stride
        cells = self.raw[SHADOW["cells"] :].view(np.uint32)
        self.arrays = [cells[n * stride // 4 :][: self.count] for n in range(ARRAYS)]
        views: list[memoryview[int]] = [memoryview(array.data) for array in self.arrays]  # quicker
        self.calm, self.times, self.writers, self.reads, self.readers = views

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data)


class RacecheckRecorder(Recorder):
    """Finds the hazards of one launch. One core runs it, so that what it finds is always the same.

    blocks: in the whole grid. poison: see `Recorder`. deaf: True for a launch of which only the values
    are asked for; no access is looked at.
    """

    tier = "sanitized"
    cores = 1

    def __init__(self, memory: Memory, blocks: int, poison: int = POISON, deaf: bool = False) -> None:
        self.memory, self.poison, self.deaf = memory, poison, deaf
        self.hazards: dict[tuple[str, int, int], Hazard] = {}
        self.unwritten: dict[tuple[int, int, int], Hazard] = {}  # uninitialised reads that may be races
        self.looks: dict[int, int] = {}  # by place
        self.hits: dict[int, int] = {}  # by line
        self.noted = 0
        self.shadows: list[_Shadow] = []
        self.state = aligned(STATE["end"])
        self.state.fill(0)
        self.times = np.zeros(blocks, np.uint32)
        self.fenced = np.zeros(blocks, np.uint32)
        self.announced = np.zeros(blocks, np.uint32)
        self.acquired = np.zeros(blocks, np.uint32)
        for name, table in (
            ("block_times", self.times), ("block_fenced", self.fenced),
            ("block_announced", self.announced), ("block_acquired", self.acquired),
        ):  # fmt: skip
            self._pointer(name, table)
        self.word("now")[0] = WINDOW
        self.callback = _SUSPECT(self._asked)
        self.lanes = np.zeros((WARP, WARP, WARP), np.uint32)  # when lanes of a warp met, pair by pair
        # Asynchronous copies on their way, of each (block, warp): groups of cells, the last one still open.
        self.copies: dict[tuple[int, int], list[list[int]]] = {}
        self.muted = np.zeros(0, np.uint8)
        self.error: BaseException | None = None
        self.shared: _Shadow | None = None

    def word(self, name: str, count: int = 1) -> npt.NDArray[np.uint32]:
        return self.state[STATE[name] :][: 4 * count].view(np.uint32)

    def _pointer(self, name: str, table: npt.NDArray[np.generic]) -> None:
        self.state[STATE[name] :][:8].view(np.uint64)[0] = table.ctypes.data

    # -- before the launch ----------------------------------------------------------------------

    def prepare(self, native: NativeKernel, shared_bytes: int) -> None:
        """Make shared memory's shadow; the code says how large a cell is."""
        granules = native.metadata["granules"]
        self.shared = _Shadow(0, shared_bytes, granules["shared"], 0, 0)
        self._pointer("shared_shadow", self.shared.raw)
        self.granule = granules["global"]
        self.native = native

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        table = memory.table().copy()
        need = 4 * ARRAYS * int(table[:, 1].sum()) // self.granule
        if need > SHADOW_LIMIT:
            raise LaunchError(
                f"watching every access to these arrays takes {need / 1e9:.0f} GB of the host's memory; "
                f"{SHADOW_LIMIT / 1e9:.0f} is the most: sanitize a smaller size."
            )
        for row in table:
            base, size, host = (int(x) for x in row[:3])
            mask = memory.unwritten_bytes(base)
            shadow = _Shadow(base, size, self.granule, host, 0 if mask is None else 1)
            if mask is not None:  # 1 where the host or an earlier launch has written
                whole = np.pad(~mask, (0, -len(mask) % self.granule)).reshape(-1, self.granule)
                shadow.arrays[WRITTEN][: len(whole)] = whole.all(axis=1)
            self.shadows.append(shadow)
            row[3] = shadow.address
        return table

    def attach(self, worker: LaunchWorker) -> None:
        self.worker = worker
        self.sites = worker.native.sites
        muted = np.full(max(len(self.sites), 1), self.deaf, np.uint8)
        muted[: len(self.muted)] = self.muted[: len(muted)]
        self.muted = muted
        self._pointer("muted", muted)
        worker["observed"] = self.state.ctypes.data
        worker["suspect"] = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
        assert self.shared is not None
        self.shared.host = worker["shared"]

    # -- while it runs --------------------------------------------------------------------------

    def _asked(
        self, _context: int, what: int, warp: int, addresses: int, mask: int, a: int, b: int, values: int
    ) -> None:
        try:
            if what == WHAT["access"]:
                self.look(warp, addresses, mask, a, b, values)
            elif what == WHAT["met"]:
                self.met(warp, a)
            elif what == WHAT["copies"]:
                self.copy_begins(warp, addresses, mask, b)
            elif what == WHAT["grouped"]:
                self.copies_end(warp, a, bool(b))
            elif what == WHAT["lanes"]:
                self.on_syncwarp(warp, addresses, mask)
            else:
                self.arrive(warp, a)
        except BaseException as error:  # noqa: BLE001 - nothing may go through the generated code
            self.error = self.error or error

    def look(self, warp: int, addresses: int, mask: int, site: int, how: int, values: int) -> None:
        """Judge suspicious lanes one after the other, and note their accesses."""
        count = self.looks[site] = self.looks.get(site, 0) + 1
        if count >= MUTE_AFTER:
            self.muted[site] = 1
        action, strong, swap = ACTIONS[how & 3], bool(how & 4), bool(how & 8)
        offset, granule, parts = how >> 8 & 255, how >> 16 & 255, how >> 24
        access, noted = self.sites[site], self.noted
        is_shared = access.space == "shared"
        places = (ctypes.c_uint64 * WARP).from_address(addresses)
        access_of = _Access(
            self, warp, site, action, strong, swap, offset, granule, access.size, values, parts
        )
        for lane in range(WARP):
            if not mask >> lane & 1:
                continue
            address = places[lane]
            shadow = self.shadow_of(address, is_shared)
            if shadow is None:
                continue
            start = address - (
                layout.SHARED_WINDOW if shadow is self.shared and not is_shared else shadow.start
            )
            for at in range(start, start + granule, shadow.granule):
                access_of.judge(shadow, at // shadow.granule, at, lane)

        if self.noted > noted:
            self.hits[access.line] = self.hits.get(access.line, 0) + 1
            if self.hits[access.line] == HAZARDS_OF_A_LINE:
                self.muted[[n for n, other in enumerate(self.sites) if other.line == access.line]] = 1

    def shadow_of(self, address: int, is_shared: bool) -> _Shadow | None:
        shared = self.shared
        assert shared is not None
        if is_shared:
            return shared if address < shared.size else None
        if 0 <= address - layout.SHARED_WINDOW < layout.WINDOW_BYTES:
            return shared if address - layout.SHARED_WINDOW < shared.size else None
        for shadow in self.shadows:
            if shadow.start <= address < shadow.start + shadow.size:
                return shadow
        return None

    def met(self, warps: int, barrier: int) -> None:
        """Some warps come away from a barrier: each knows what every one of them knew, and did."""
        states = self.worker.memory["warps"].view(np.int32).reshape(-1, 8)
        came = [w for w in range(warps) if states[w, 0] > 0 and states[w, 2] and states[w, 1] == barrier]
        now = int(self.word("now")[0])
        clocks = self.word("clocks", WARP * WARP).reshape(WARP, WARP)
        meeting = self.word("meeting", 16 * WARP).reshape(16, WARP)[barrier]
        for w in came:
            np.maximum(meeting, clocks[w], out=meeting)
            meeting[w] = now
        for w in came:
            np.maximum(clocks[w], meeting, out=clocks[w])
            self.word("warp_sync", WARP)[w] = now
            others = [clocks[w, o] for o in range(warps) if o != w]
            self.word("others", WARP)[w] = min(others, default=now)
        meeting[:] = 0

    def on_syncwarp(self, warp: int, masks: int, here: int) -> None:
        """Some lanes of a warp came together: each with those that its mask names."""
        now = int(self.word("now")[0])
        named = (ctypes.c_uint64 * WARP).from_address(masks)
        for lane in range(WARP):
            if here >> lane & 1:
                for other in range(WARP):
                    if named[lane] & here & 1 << other:
                        self.lanes[warp, lane, other] = now

    def copy_begins(self, warp: int, addresses: int, mask: int, size: int) -> None:
        """Cells of shared memory that a copy is yet to write."""
        shared = self.shared
        assert shared is not None
        places = (ctypes.c_uint64 * WARP).from_address(addresses)
        group = self.copies.setdefault((self.worker["block"], warp), [[]])[-1]
        for lane in range(WARP):
            if mask >> lane & 1 and places[lane] < shared.size:
                first = places[lane] // shared.granule
                for cell in range(first, first + max(size // shared.granule, 1)):
                    shared.times[cell], shared.calm[cell] = PENDING, 0
                    group.append(cell)

    def copies_end(self, warp: int, left: int, everything: bool) -> None:
        """A group ends (left -1), or all but the last `left` are complete; everything: also the open one."""
        groups = self.copies.setdefault((self.worker["block"], warp), [[]])
        if left < 0:
            groups.append([])
            return
        shared, now = self.shared, int(self.word("now")[0])
        assert shared is not None
        count = len(groups) if everything else max(len(groups) - 1 - left, 0)
        for group in groups[:count]:
            for cell in group:
                if shared.times[cell] == PENDING:
                    shared.times[cell] = now
        del groups[:count]
        if not groups:
            groups.append([])

    def arrive(self, warp: int, barrier: int) -> None:
        """A warp tells a barrier what it knows, and goes on."""
        now = self.word("now")
        now[0] += 1
        clocks = self.word("clocks", WARP * WARP).reshape(WARP, WARP)
        meeting = self.word("meeting", 16 * WARP).reshape(16, WARP)[barrier]
        np.maximum(meeting, clocks[warp], out=meeting)
        meeting[warp] = now[0]

    def is_copying(self, cell: int) -> bool:
        """Whether a copy of this block is on its way to a cell of shared memory."""
        block = self.worker["block"]
        return any(cell in g for (b, _), groups in self.copies.items() if b == block for g in groups)

    def block_at(self, time: int) -> int:
        """The block that ran at a time of the worker's clock."""
        ran = np.flatnonzero(self.times)
        starts = self.times[ran]
        order = np.argsort(starts)
        return int(ran[order[np.searchsorted(starts[order], time, side="right") - 1]])

    def note(self, hazard: Hazard, other: int) -> None:
        self.noted += 1
        key = (hazard.kind, hazard.now.site, other)
        self.hazards.setdefault(key, hazard).count += 1

    # -- afterwards -----------------------------------------------------------------------------

    def found(self) -> list[Hazard]:
        """The hazards, those that were seen first in front. Raises what went wrong while looking."""
        if self.error is not None:
            raise self.error
        for hazard in self.unwritten.values():
            self.note(hazard, -1)
        self.unwritten.clear()
        return list(self.hazards.values())

    def finish(self) -> None:
        """Tell the device's memory what has been written now."""
        for shadow in self.shadows:
            mask = self.memory.unwritten_bytes(shadow.start)
            if mask is not None:
                written = np.repeat(shadow.arrays[WRITTEN] >= 1, shadow.granule)[: shadow.size]
                self.memory.mark_written(shadow.start, written)


class _Access:
    """One warp's access while its lanes are judged."""

    def __init__(
        self,
        owner: RacecheckRecorder,
        warp: int,
        site: int,
        action: str,
        strong: bool,
        swap: bool,
        offset: int,
        granule: int,
        size: int,
        values: int,
        parts: int,
    ) -> None:
        self.owner, self.warp, self.site, self.action = owner, warp, site, action
        self.strong, self.swap = strong, swap
        self.flags = min(site, SITES) << SITE_SHIFT | STRONG * strong | SWAP * swap
        self.offset, self.granule, self.size, self.values, self.parts = offset, granule, size, values, parts
        self.now = int(owner.word("now")[0])
        self.start = int(owner.word("start")[0])
        self.sync = int(owner.word("warp_sync", WARP)[warp])
        self.clocks = owner.word("clocks", WARP * WARP)[warp * WARP :][:WARP]
        self.acquired = owner.word("acquired", 1024).reshape(-1, WARP).max(axis=1)  # of a warp
        self.fenced, self.announced = (
            owner.word(name, HISTORY * 1024).reshape(HISTORY, -1, WARP) for name in ("fenced", "announced")
        )
        self.block = owner.worker["block"]
        self.touched: dict[tuple[int, int], int] = {}  # cells that lanes of this access have written

    def judge(self, shadow: _Shadow, cell: int, at: int, lane: int) -> None:
        owner, thread = self.owner, self.warp * WARP + lane
        shared = shadow is owner.shared
        window = self.start if shared else WINDOW
        shadow.calm[cell] = 0
        time, writer = shadow.times[cell], shadow.writers[cell]
        if time == PENDING and not owner.is_copying(cell):
            time = 0  # of a block that has ended
        mine = thread | self.flags
        place = (id(shadow), cell)

        if self.action != "writes":
            lowest = self.start if shared else int(shadow.raw[:4].view(np.uint32)[0])
            if time < lowest:
                key = (*place, self.start if shared else 0)
                if key not in owner.unwritten:
                    address, me = self.told_of(shadow, at, thread)
                    owner.unwritten[key] = Hazard("uninitialized_read", shared, address, me, None)
        if time >= window and not self.is_ordered(time, writer, thread):
            kind = "read_after_write" if self.action != "writes" else "write_after_write"
            if kind == "read_after_write" or not self.same_value(shadow, at, lane, place, time):
                self.hazard(kind, shadow, at, thread, time, writer)
        read, reader = shadow.reads[cell], shadow.readers[cell]
        if self.action == "reads":
            flags = 0
            if read >= window:
                if read < self.start:
                    flags = BLOCKS
                elif not self.reads_ordered(read, reader, thread):
                    flags = reader & (MANY | WARPS)
                    flags |= MANY if reader & THREADS != thread else 0
                    flags |= WARPS if (reader & THREADS) >> 5 != self.warp else 0
                flags |= reader & BLOCKS
            shadow.reads[cell], shadow.readers[cell] = self.now, mine | flags
            return
        silent = self.action == "writes" and not shared and self.leaves(shadow, at, lane)
        if not silent and read >= window and not self.reads_ordered(read, reader, thread):
            owner.unwritten.pop((*place, self.start if shared else 0), None)
            self.hazard("write_after_read", shadow, at, thread, read, reader)
        self.touched[place] = lane
        if silent:
            if time < WINDOW:
                shadow.times[cell], shadow.writers[cell] = self.now, mine | SILENT
            return
        if self.strong and not shared and time >= WINDOW and (not writer & STRONG or writer & AFTER):
            mine |= AFTER
        shadow.times[cell], shadow.writers[cell], shadow.reads[cell] = self.now, mine, 0

    def told_of(self, shadow: _Shadow, at: int, thread: int) -> tuple[int, AccessRecord]:
        """The address of a cell and who accesses it now, as a hazard names them."""
        address = at if shadow is self.owner.shared else shadow.start + at
        return address, AccessRecord(self.site, self.block, thread)

    def hazard(self, kind: str, shadow: _Shadow, at: int, thread: int, time: int, who: int) -> None:
        """Note what this access and an earlier one show."""
        owner, shared = self.owner, shadow is self.owner.shared
        address, me = self.told_of(shadow, at, thread)
        site = who >> SITE_SHIFT & SITES
        block = owner.block_at(time) if not shared else self.block
        other: int | None = who & THREADS
        if block == self.block and other == thread:
            other = None  # which one of the others it was is not remembered
        owner.note(Hazard(kind, shared, address, me, AccessRecord(site, block, other)), site)

    def is_ordered(self, time: int, who: int, thread: int) -> bool:
        meets = self.strong and who & STRONG and not (who & AFTER and time < self.start)
        if meets or (self.action == "reads" and who & (SWAP | SILENT)):
            return True
        return self.synchronised(time, who & ~MANY, thread, self.fenced, self.owner.fenced)

    def synchronised(self, time: int, who: int, thread: int, told: Times, blocks_told: Times) -> bool:
        """Whether the two threads met since that time, or the other one told and this one looked."""
        owner = self.owner
        if time < self.start:
            return bool(time < blocks_told[owner.block_at(time)] <= owner.acquired[self.block])
        other = who & THREADS
        if other == thread and not who & MANY:
            return time != PENDING
        if time < (self.sync if other >> 5 == self.warp else self.clocks[other >> 5]):
            return True
        if other >> 5 == self.warp and time < owner.lanes[self.warp, thread % WARP, other % WARP]:
            return True
        acquired = self.acquired[self.warp]
        times = told[:, other >> 5]
        # Of more than are remembered, one lay in between.
        return bool(
            ((times > time) & (times <= acquired)).any() or (time < acquired and times[-1].min() > acquired)
        )

    def reads_ordered(self, time: int, who: int, thread: int) -> bool:
        if (self.strong and who & STRONG) or self.swap:
            return True
        if who & BLOCKS and time >= self.start:
            return False
        if not who & WARPS or time < self.start:  # all readers are of the last one's warp
            return self.synchronised(time, who, thread, self.told, self.blocks_told)
        return time < self.all_told or time < self.all_met

    # The same for all lanes of an access, and some are asked for by none of them.

    @cached_property
    def told(self) -> Times:
        """When lanes of each warp made what they had read, or written, known."""
        return np.concatenate([self.fenced, self.announced])

    @cached_property
    def blocks_told(self) -> Times:
        return np.maximum(self.owner.fenced, self.owner.announced)

    @cached_property
    def all_told(self) -> int:
        """Until when every warp of the block has told, and this one has looked."""
        told = self.told.max(axis=(0, 2))[: self.owner.native.warps].min()
        return int(min(told, self.acquired[self.warp]))

    @cached_property
    def all_met(self) -> int:
        """Until when this warp has met every warp of the block."""
        return min(self.sync, int(self.clocks[: self.owner.native.warps].min()))

    def same_value(self, shadow: _Shadow, at: int, lane: int, place: tuple[int, int], time: int) -> bool:
        """Whether a write leaves what another one left there: of this access, or of an earlier one."""
        if not self.values:
            return False
        mine = self.value_of(lane)
        before = self.touched.get(place)
        if time == self.now and before is not None:
            return mine == self.value_of(before)
        return self.leaves(shadow, at, lane)

    def leaves(self, shadow: _Shadow, at: int, lane: int) -> bool:
        """Whether a lane writes what is there already."""
        there = ctypes.string_at(shadow.host + at, self.granule)
        return bool(self.values) and self.value_of(lane) == there

    def value_of(self, lane: int) -> bytes:
        """The bytes of this cell that a lane writes."""
        values = ctypes.string_at(self.values, 512)
        step = self.size // self.parts
        parts = [values[(n * WARP + lane) * step :][:step] for n in range(self.parts)]
        return b"".join(parts)[self.offset :][: self.granule]
