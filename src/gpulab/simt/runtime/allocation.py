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
from gpulab.simt.runtime.host_memory import Contents, MemoryBudget, filled

__all__ = ["Allocation", "Memory"]

GAP = 1 << 36  # bytes between allocations
LINE_BYTES = 64  # bytes of a line of the host's caches, to which arrays are aligned
PAGE_BYTES = 4096  # an array that is shifted by a page or more is first aligned to a page
# Arrays of the same size would all begin at the same place of a page, and elements with the same index would
# compete for the same lines of the host's caches. Each array therefore begins some lines after the last one.
SHIFT_LINES = 397  # odd, so that many arrays begin at different places
MAX_SHIFT = 1 << 16  # bytes; lines at multiples of it compete in L2 caches with 1,024 sets
MAX_SHARE = 16  # an array of n bytes is shifted by less than n / 16
MAX_FREED = 4096  # freed ranges that are remembered for messages


@dataclass(frozen=True)
class Allocation:
    """A range of device addresses and the host memory that backs it.

    Attributes
    ----------
    address, size : int
        The first address, and the bytes of the range.
    host : ndarray of uint8
        The host memory.
    reserved : int
        The bytes that it takes from the budget.
    """

    address: int
    size: int
    host: npt.NDArray[np.uint8]
    reserved: int = 0

    def part(self, offset: int, size: int) -> Allocation:
        """Return `size` bytes of the allocation from an offset on."""
        return Allocation(self.address + offset, size, self.host[offset : offset + size])


class Memory:
    """The allocations of a device, within a budget that devices may share."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        budget.collect_with(self._collect)
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

    @property
    def used(self) -> int:
        """The bytes of all allocations."""
        with self._lock:
            self._free_collected()
            return sum(allocation.size for allocation in self._live.values())

    def allocate(self, size: int, contents: Contents = "poison") -> Allocation:
        """Allocate `size` bytes; raise `LaunchError` if memory is full.

        Only bytes of "poison" count as not written.
        """
        self._collect()
        self._budget.reserve(size)
        lines = min(MAX_SHIFT, size // MAX_SHARE) // LINE_BYTES
        unit = PAGE_BYTES if lines * LINE_BYTES >= PAGE_BYTES else LINE_BYTES
        try:
            raw = filled(size + LINE_BYTES * lines + unit, contents)
        except MemoryError:
            self._budget.release(size)
            raise LaunchError(f"the host has no memory for an array of {size:,} bytes.") from None
        shift = self._next // GAP * SHIFT_LINES % lines if lines else 0
        start = -raw.ctypes.data % unit + shift * LINE_BYTES
        allocation = self._place(raw[start : start + size], reserved=size)
        if contents == "poison":
            with self._lock:
                self._unwritten[allocation.address] = None
        return allocation

    def adopt(self, host: npt.NDArray[np.uint8]) -> Allocation:
        """Give host memory of the caller a device address; it takes nothing from the budget."""
        self._collect()
        return self._place(host, reserved=0)

    def _place(self, host: npt.NDArray[np.uint8], reserved: int) -> Allocation:
        """Return an allocation of host memory at the next address."""
        with self._lock:
            address = self._next
            self._next += -(-(host.size + GAP) // GAP) * GAP
            allocation = Allocation(address, host.size, host, reserved)
            self._live[address] = allocation
            self._table = None
        return allocation

    def _collect(self) -> None:
        with self._lock:
            self._free_collected()

    def _free_collected(self) -> None:
        """Free the allocations of arrays that were garbage-collected; the caller holds the lock."""
        while self._collected:
            address = self._collected.popleft()
            allocation = self._live.pop(address, None)
            self._unwritten.pop(address, None)
            if allocation is None:
                continue
            self._budget.release(allocation.reserved)
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

    def free(self, address: int) -> None:
        """Free an allocation now."""
        self._collected.append(address)
        self._collect()

    def free_with(self, owner: object, address: int) -> None:
        """Free an allocation when its owner is garbage-collected."""
        weakref.finalize(owner, self._collected.append, address)

    def table(self) -> npt.NDArray[np.uint64]:
        """Return (base, bytes, host address, 0) of every allocation, sorted by base."""
        with self._lock:
            self._free_collected()
            if self._table is None:
                rows = [(a.address, a.size, a.host.ctypes.data, 0) for a in self._live.values()]
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
        if allocation is None:
            return "?"
        offset = address - allocation.address
        if not 0 <= offset < allocation.size:
            return "?"
        data = allocation.host[offset:][:limit].tobytes()
        return data.split(b"\0", 1)[0].decode("utf-8", "replace")
