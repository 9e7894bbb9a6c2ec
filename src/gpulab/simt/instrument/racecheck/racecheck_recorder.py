"""Host side of the racecheck tier: owns the shadows and handles the callbacks of generated code."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from gpulab.errors import LaunchError
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.racecheck.hazard_check import CheckedAccess, HazardCheck
from gpulab.simt.instrument.racecheck.hazards import Hazard, HazardLog
from gpulab.simt.instrument.racecheck.shadow_layout import (
    ACTIONS,
    CALLBACKS,
    RECORDS_BYTES,
    SHADOW_ARRAYS,
    STATE,
    WRITE_TIME,
)
from gpulab.simt.instrument.racecheck.shadow_memory import ArrayShadow
from gpulab.simt.instrument.racecheck.sync_state import SyncState
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.ptx.inlining import RESERVED
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.host_memory import POISON
from gpulab.simt.runtime.worker import LaunchWorker, weak_callback

__all__ = ["RacecheckRecorder"]

MUTE_SITE_AFTER = 2000  # callbacks of one access site, after which it is no longer checked on the host
MUTE_LINE_AFTER = 50  # accesses with hazards in one line, after which its sites are no longer checked
# The same for reads that are uninitialized, unless a later write makes them a race.
MUTE_UNINITIALIZED_AFTER = 200
SHADOW_LIMIT = 8 << 30  # bytes of host memory for all shadows
_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32,
    ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p,
)  # fmt: skip


class RacecheckRecorder(Recorder):
    """Recorder of the hazards of one launch, which runs on one core so that its results are reproducible.

    Parameters
    ----------
    memory : Memory
        The device memory.
    blocks : int
        Number of blocks of the grid.
    poison : int
        See `Recorder.poison`.
    values_only : bool
        Check no access; the launch is repeated only for its results.
    record_all : bool
        Record the accesses to all arrays. Otherwise an array that the kernel is not expected to write, and
        that is initialized, is not recorded, because reads alone are no hazards.

    Attributes
    ----------
    wrote_read_only : bool
        The launch wrote an array that was not recorded. Its findings are incomplete: the launch has to be
        repeated with `record_all`.
    """

    tier = "racecheck"
    cores = 1
    local_poison = POISON

    def __init__(
        self,
        memory: Memory,
        blocks: int,
        poison: int = POISON,
        values_only: bool = False,
        record_all: bool = False,
    ) -> None:
        self.memory, self.poison, self.values_only = memory, poison, values_only
        self.record_all, self.wrote_read_only = record_all, False
        self.read_only: list[range] = []  # addresses of the arrays that are not recorded
        self.state = SyncState(blocks)
        self.log = HazardLog()
        self.shadows: list[ArrayShadow] = []
        self.muted = np.zeros(0, np.uint8)
        self.callbacks_by_site: dict[int, int] = {}
        self.hazards_by_line: dict[int, int] = {}
        self.uninitialized_by_line: dict[int, int] = {}
        self.callback = weak_callback(_CALLBACK, self._on_callback)
        self.error: BaseException | None = None

    # -- before the launch ----------------------------------------------------------------------

    def prepare(self, native: NativeKernel, shared_bytes: int, params: bytes) -> None:
        """Allocate the shadow of shared memory; the code determines the size of a cell."""
        stored = native.metadata["stored"]
        self.stored: list[int] | None = None  # pointers to the arrays that the kernel is expected to write
        if stored is not None and not self.record_all:
            self.stored = [int.from_bytes(params[at : at + 8], "little") for at in stored]
        granules = native.metadata["granules"]
        self.granule = granules["global"]
        self.native = native
        shared = ArrayShadow(0, shared_bytes, granules["shared"], 0, 0)
        self.state.shared, self.state.warps = shared, native.warps
        self.state.set_pointer("shared_shadow", shared.raw)
        reserved = native.metadata["shared"].get(RESERVED.name)
        if reserved is not None:
            self.state.reserved = range(reserved, reserved + RESERVED.size)

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        table = memory.table().copy()
        recorded = np.array([self.is_recorded(int(base), int(size)) for base, size in table[:, :2]], bool)
        needed = 4 * SHADOW_ARRAYS * int(table[recorded, 1].sum()) // self.granule
        if needed > SHADOW_LIMIT:
            raise LaunchError(
                f"checking every access to these arrays needs {needed / 1e9:.0f} GB of host memory, and the "
                f"limit is {SHADOW_LIMIT / 1e9:.0f} GB. Run gpulab.sanitize with smaller arrays."
            )
        for row, is_recorded in zip(table, recorded, strict=True):
            base, size, host = (int(x) for x in row[:3])
            if is_recorded:
                row[3] = self.add_shadow(base, size, host)
            else:
                row[3] = self.state.memory.ctypes.data + STATE["read_only"]
                self.read_only.append(range(base, base + size))
        return table

    def is_recorded(self, base: int, size: int) -> bool:
        """Return True if the accesses to an array have to be recorded."""
        if self.stored is None or self.memory.unwritten_bytes(base) is not None:
            return True
        return any(base <= pointer <= base + size for pointer in self.stored)

    def shadow_of_block(self, block: Allocation) -> int:
        return self.add_shadow(block.address, block.size, block.host.ctypes.data)

    def add_shadow(self, base: int, size: int, host: int) -> int:
        """Make the shadow of an allocation, and return its address."""
        unwritten = self.memory.unwritten_bytes(base)
        shadow = ArrayShadow(base, size, self.granule, host, 0 if unwritten is None else 1, in_rows=True)
        if unwritten is not None:  # 1 for cells that the host or an earlier launch has written
            cells = np.pad(~unwritten, (0, -len(unwritten) % self.granule)).reshape(-1, self.granule)
            shadow.arrays[WRITE_TIME][: len(cells)] = cells.all(axis=1)
        self.shadows.append(shadow)
        return shadow.address

    def attach(self, worker: LaunchWorker) -> None:
        self.state.worker = worker
        self.sites = worker.native.sites
        muted = np.full(max(len(self.sites), 1), self.values_only, np.uint8)
        muted[: len(self.muted)] = self.muted[: len(muted)]
        self.muted = muted
        self.state.set_pointer("muted", muted)
        # A block of a cooperative launch may pause within a barrier interval: no interval is recorded.
        usable = 0 if worker["resident"] else RECORDS_BYTES
        self.state.set_pointer("records_end", self.state.records, usable)
        worker["recorded"] = self.state.memory.ctypes.data
        worker["callback"] = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
        assert self.state.shared is not None
        self.state.shared.host = worker["shared"]

    # -- during the launch ----------------------------------------------------------------------

    def _on_callback(
        self, _context: int, event: int, warp: int, addresses: int, mask: int, a: int, b: int, values: int
    ) -> None:
        try:
            if event == CALLBACKS["access"]:
                self.on_access(warp, addresses, mask, a, b, values)
            elif event == CALLBACKS["barrier"]:
                self.state.on_barrier(warp, a)
            elif event == CALLBACKS["copy"]:
                self.state.on_copy(warp, _words_at(addresses), mask, b)
            elif event == CALLBACKS["copy_group"]:
                self.state.on_copy_group(warp, a, bool(b))
            elif event == CALLBACKS["bulk_copy"]:
                self.state.on_bulk_copy(*_words_at(addresses)[:3])
            elif event == CALLBACKS["phase_test"]:
                self.state.on_phase_test(warp, _words_at(addresses), mask)
            elif event == CALLBACKS["mbarrier_arrival"]:
                self.state.on_mbarrier_arrival(warp, _words_at(addresses), mask)
            elif event == CALLBACKS["turn"]:
                self.state.on_turn()
            elif event == CALLBACKS["grid_barrier"]:
                self.state.on_grid_barrier()
            elif event == CALLBACKS["expand_rows"]:
                next(shadow for shadow in self.shadows if shadow.address == addresses).expand_rows()
            elif event == CALLBACKS["syncwarp"]:
                self.state.on_syncwarp(warp, _words_at(addresses), mask)
            else:
                self.state.on_arrive(warp, a)
        except BaseException as error:  # noqa: BLE001 - an exception must not propagate through generated code
            self.error = self.error or error

    def on_access(
        self, warp: int, addresses: int, mask: int, site: int, description: int, values: int
    ) -> None:
        """Check the lanes of an access that generated code could not decide.

        `AccessForm.description` packs the fields of `description`.
        """
        calls = self.callbacks_by_site[site] = self.callbacks_by_site.get(site, 0) + 1
        if calls >= MUTE_SITE_AFTER:
            self.muted[site] = 1
        action = ACTIONS[description & 3]
        strong, swap, update = (bool(description & bit) for bit in (4, 8, 16))
        offset, granule, elements = description >> 8 & 255, description >> 16 & 255, description >> 24
        access_site, hazards_before = self.sites[site], self.log.count
        uninitialized_before = len(self.log.uninitialized)
        is_shared = access_site.space == "shared"
        stored = values if elements else 0
        access = CheckedAccess(
            warp, site, action, strong, swap, update, offset, granule, access_site.size, stored, elements
        )
        check = HazardCheck(self.state, self.log, access)

        collisions = int(self.state.words("collisions")[0])
        lane_addresses = _words_at(addresses)
        for lane in range(WARP):
            if not mask >> lane & 1:
                continue
            address = lane_addresses[lane]
            shadow = self.shadow_of(address, is_shared)
            if shadow is None:
                self.wrote_read_only |= action != "reads" and any(address in r for r in self.read_only)
                continue
            shadow.expand_rows()
            by_window = shadow is self.state.shared and not is_shared
            start = address - (layout.SHARED_WINDOW if by_window else shadow.start)
            for at in range(start, start + granule, shadow.granule):
                check_cell = check.check_collision if collisions >> lane & 1 else check.check_lane
                check_cell(shadow, at // shadow.granule, at, lane)

        if self.log.count > hazards_before:
            self.count_in_line(access_site.line, self.hazards_by_line, MUTE_LINE_AFTER)
        if len(self.log.uninitialized) > uninitialized_before:
            self.count_in_line(access_site.line, self.uninitialized_by_line, MUTE_UNINITIALIZED_AFTER)

    def count_in_line(self, line: int, counts: dict[int, int], limit: int) -> None:
        """Count an access with hazards in a line; mute the sites of the line at the limit."""
        counts[line] = counts.get(line, 0) + 1
        if counts[line] == limit:
            self.muted[[number for number, site in enumerate(self.sites) if site.line == line]] = 1

    def shadow_of(self, address: int, is_shared: bool) -> ArrayShadow | None:
        """Return the shadow of the array that contains an address; None if there is none."""
        shared = self.state.shared
        assert shared is not None
        if is_shared:
            return shared if address < shared.size else None
        if 0 <= address - layout.SHARED_WINDOW < layout.WINDOW_BYTES:
            return shared if address - layout.SHARED_WINDOW < shared.size else None
        for shadow in self.shadows:
            if shadow.start <= address < shadow.start + shadow.size:
                return shadow
        return None

    # -- after the launch -----------------------------------------------------------------------

    @property
    def wrote_local(self) -> bool:
        """True if the launch has written local memory."""
        worker = self.state.worker
        if worker is None or not self.native.local_bytes:
            return False
        return worker["local_written"] != 0 or bool((worker.memory["local"] != POISON).any())

    def hazards(self) -> list[Hazard]:
        """Return the hazards in the order in which they were found.

        Raises the first exception of a callback, if there was one.
        """
        if self.error is not None:
            raise self.error
        return self.log.collect()

    def finish(self) -> None:
        """Record in the device memory which bytes the launch has written."""
        for shadow in self.shadows:
            unwritten = self.memory.unwritten_bytes(shadow.start)
            if unwritten is not None:
                shadow.expand_rows()
                written = np.repeat(shadow.arrays[WRITE_TIME] >= 1, shadow.granule)[: shadow.size]
                self.memory.mark_written(shadow.start, written)


def _words_at(address: int) -> ctypes.Array[ctypes.c_uint64]:
    """Return the 64-bit word of each lane at a host address."""
    return (ctypes.c_uint64 * WARP).from_address(address)
