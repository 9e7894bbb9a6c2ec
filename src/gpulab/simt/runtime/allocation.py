"""The simulated device's memory: every array has addresses of its own, far from every other one's.

A device address is a number, not a place in the host's memory. Between two allocations lie at least
64 GiB of addresses that belong to nobody, more than a 32-bit index can reach, and addresses are never
given out twice, so that an access outside an array or to a freed one cannot hit another one by chance.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.errors import LaunchError
from gpulab.simt.runtime import layout

__all__ = ["Allocation", "Memory"]

GAP = 1 << 36
ALIGNMENT = 256  # as cudaMalloc aligns
POISON = 0xFF  # what nothing wrote reads as NaN, or -1
FREED_KEPT = 4096  # freed ranges remembered for messages


@dataclass(frozen=True)
class Allocation:
    """A range of device addresses. `host` is the memory behind it; None once it is freed."""

    address: int
    size: int
    host: npt.NDArray[np.uint8] | None


class Memory:
    """What is allocated now, what was freed, and the table that running code searches.

    limit: bytes that may be allocated together.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._next = layout.FIRST_ADDRESS
        self._live: dict[int, Allocation] = {}
        self._freed: OrderedDict[int, int] = OrderedDict()
        self._table: npt.NDArray[np.uint64] | None = None
        self._lock = threading.Lock()
        # Addresses of arrays that have been collected. The collector runs at any time, also while the lock is
        # held by the very thread that it runs in, so all that it does is to leave a note here.
        self._collected: deque[int] = deque()
        # Arrays with bytes that nobody has written: which ones (True: not written).
        self._unwritten: dict[int, npt.NDArray[np.bool_] | None] = {}

    def allocate(self, size: int, zeroed: bool = False) -> Allocation:
        """`size` bytes, filled with the poison pattern. Raises `LaunchError` when there is no room.

        zeroed: all bits 0 instead. The host then gives memory only to what is touched.
        """
        with self._lock:
            self._settle()
        if self.used + size > self.limit:
            raise LaunchError(
                f"the simulated device is out of memory: {size} bytes were asked for, "
                f"{self.limit - self.used} of {self.limit} are free; delete arrays that are no longer needed."
            )
        try:
            raw = (np.zeros if zeroed else np.empty)(size + 64, np.uint8)
        except MemoryError:
            raise LaunchError(f"this computer has no memory for an array of {size} bytes.") from None
        start = -raw.ctypes.data % 64
        host = raw[start : start + size]
        if not zeroed:
            host.fill(POISON)
        with self._lock:
            address = self._next
            self._next += -(-(size + GAP) // GAP) * GAP
            found = Allocation(address, size, host)
            self._live[address] = found
            if not zeroed:
                self._unwritten[address] = None
            self.used += size
            self._table = None
        return found

    def _settle(self) -> None:
        """Take note of arrays that were collected since; the lock is held."""
        while self._collected:
            address = self._collected.popleft()
            found = self._live.pop(address, None)
            self._unwritten.pop(address, None)
            if found is None:
                continue
            self.used -= found.size
            self._table = None
            self._freed[address] = found.size
            while len(self._freed) > FREED_KEPT:
                self._freed.popitem(last=False)

    def mark_written(
        self, address: int | None = None, bytes_written: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """All of an array has been written, or these bytes of it; without an address: all of every array."""
        with self._lock:
            self._settle()
            if address is None:
                self._unwritten.clear()
            elif bytes_written is None or bytes_written.all():
                self._unwritten.pop(address, None)
            elif address in self._unwritten:
                before = self._unwritten[address]
                self._unwritten[address] = ~bytes_written if before is None else before & ~bytes_written

    def unwritten_bytes(self, address: int) -> npt.NDArray[np.bool_] | None:
        """Which bytes of an array nobody has written; None where there are none."""
        with self._lock:
            self._settle()
            if address not in self._unwritten:
                return None
            mask = self._unwritten[address]
            return np.ones(self._live[address].size, np.bool_) if mask is None else mask

    def free_with(self, owner: object, address: int) -> None:
        """Free an allocation when its owner is collected."""
        weakref.finalize(owner, self._collected.append, address)

    def table(self) -> npt.NDArray[np.uint64]:
        """(base, bytes, host address, 0) of every allocation, sorted by base."""
        with self._lock:
            self._settle()
            if self._table is None:
                rows = [
                    (a.address, a.size, a.host.ctypes.data, 0)
                    for a in self._live.values()
                    if a.host is not None
                ]
                self._table = np.array(sorted(rows), np.uint64).reshape(-1, 4)
            return self._table

    def nearest(self, address: int) -> Allocation | None:
        """The live allocation that an address lies in or closest to."""
        with self._lock:
            self._settle()
            return min(
                self._live.values(),
                key=lambda a: max(a.address - address, address - (a.address + a.size), 0),
                default=None,
            )

    def was_freed(self, address: int) -> bool:
        with self._lock:
            self._settle()
            return any(base <= address < base + max(size, 1) for base, size in self._freed.items())

    def read_string(self, address: int, most: int = 4096) -> str:
        """A C string of the device."""
        found = self.nearest(address)
        if found is None or found.host is None or not 0 <= address - found.address < found.size:
            return "?"
        data = found.host[address - found.address :][:most].tobytes()
        return data.split(b"\0", 1)[0].decode("utf-8", "replace")
