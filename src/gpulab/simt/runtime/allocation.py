"""The simulated device's memory: allocations, freed ranges, and which bytes have been written.

A device address is a number and not a host address. At least 64 GiB of unused addresses separate two
allocations, more than a 32-bit index can span, and addresses are never reused, so that an access outside an
array or to a freed one cannot hit another array.
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

GAP = 1 << 36  # bytes between allocations
POISON = 0xFF  # initial value of every byte, so that unwritten values read as NaN or -1
MAX_FREED = 4096  # freed ranges that are remembered for messages


@dataclass(frozen=True)
class Allocation:
    """A range of device addresses and the host memory that backs it."""

    address: int
    size: int
    host: npt.NDArray[np.uint8] | None


class Memory:
    """The allocations of a device, of at most `limit` bytes in total."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._next = layout.FIRST_ADDRESS
        self._live: dict[int, Allocation] = {}
        self._freed: OrderedDict[int, int] = OrderedDict()
        self._table: npt.NDArray[np.uint64] | None = None
        self._lock = threading.Lock()
        # Addresses of garbage-collected arrays. The collector may run in a thread that holds the lock, so the
        # finalizer only appends the address here.
        self._collected: deque[int] = deque()
        # For arrays with unwritten bytes, a mask of these bytes; None if no byte has been written.
        self._unwritten: dict[int, npt.NDArray[np.bool_] | None] = {}

    def allocate(self, size: int, zeroed: bool = False) -> Allocation:
        """Allocate `size` bytes, filled with `POISON`, or zeroed. Raises `LaunchError` if memory is full.

        The host commits pages of zeroed memory only when they are accessed.
        """
        with self._lock:
            self._free_collected()
        if self.used + size > self.limit:
            raise LaunchError(
                f"the simulated device is out of memory: {size:,} bytes requested, "
                f"{self.limit - self.used:,} of {self.limit:,} free; delete arrays that are no longer needed."
            )
        try:
            raw = (np.zeros if zeroed else np.empty)(size + 64, np.uint8)
        except MemoryError:
            raise LaunchError(f"the host has no memory for an array of {size:,} bytes.") from None
        start = -raw.ctypes.data % 64
        host = raw[start : start + size]
        if not zeroed:
            host.fill(POISON)
        with self._lock:
            address = self._next
            self._next += -(-(size + GAP) // GAP) * GAP
            allocation = Allocation(address, size, host)
            self._live[address] = allocation
            if not zeroed:
                self._unwritten[address] = None
            self.used += size
            self._table = None
        return allocation

    def _free_collected(self) -> None:
        """Free the allocations of arrays that were garbage-collected; the caller holds the lock."""
        while self._collected:
            address = self._collected.popleft()
            allocation = self._live.pop(address, None)
            self._unwritten.pop(address, None)
            if allocation is None:
                continue
            self.used -= allocation.size
            self._table = None
            self._freed[address] = allocation.size
            while len(self._freed) > MAX_FREED:
                self._freed.popitem(last=False)

    def mark_written(
        self, address: int | None = None, bytes_written: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """Mark an array as written, or those of its bytes for which a mask is true.

        Without an address, mark all arrays.
        """
        with self._lock:
            self._free_collected()
            if address is None:
                self._unwritten.clear()
            elif bytes_written is None or bytes_written.all():
                self._unwritten.pop(address, None)
            elif address in self._unwritten:
                before = self._unwritten[address]
                self._unwritten[address] = ~bytes_written if before is None else before & ~bytes_written

    def unwritten_bytes(self, address: int) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the bytes of an array that have not been written; None if all have."""
        with self._lock:
            self._free_collected()
            if address not in self._unwritten:
                return None
            mask = self._unwritten[address]
            return np.ones(self._live[address].size, np.bool_) if mask is None else mask

    def free_with(self, owner: object, address: int) -> None:
        """Free an allocation when its owner is garbage-collected."""
        weakref.finalize(owner, self._collected.append, address)

    def table(self) -> npt.NDArray[np.uint64]:
        """Return (base, bytes, host address, 0) of every allocation, sorted by base."""
        with self._lock:
            self._free_collected()
            if self._table is None:
                rows = [
                    (a.address, a.size, a.host.ctypes.data, 0)
                    for a in self._live.values()
                    if a.host is not None
                ]
                self._table = np.array(sorted(rows), np.uint64).reshape(-1, 4)
            return self._table

    def nearest(self, address: int) -> Allocation | None:
        """Return the live allocation that contains an address or is closest to it."""
        with self._lock:
            self._free_collected()
            return min(
                self._live.values(),
                key=lambda a: max(a.address - address, address - (a.address + a.size), 0),
                default=None,
            )

    def was_freed(self, address: int) -> bool:
        """Return True if an address lies in a freed allocation."""
        with self._lock:
            self._free_collected()
            return any(base <= address < base + max(size, 1) for base, size in self._freed.items())

    def read_string(self, address: int, limit: int = 4096) -> str:
        """Return the C string at an address, at most `limit` bytes; "?" outside all allocations."""
        allocation = self.nearest(address)
        if allocation is None or allocation.host is None:
            return "?"
        offset = address - allocation.address
        if not 0 <= offset < allocation.size:
            return "?"
        data = allocation.host[offset:][:limit].tobytes()
        return data.split(b"\0", 1)[0].decode("utf-8", "replace")
