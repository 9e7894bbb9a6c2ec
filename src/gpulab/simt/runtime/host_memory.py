"""Memory of the host for arrays of the simulated devices: its limit, and pages committed on first write."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpulab.errors import LaunchError
from gpulab.simt.runtime.repeated_memory import copies_on_write

__all__ = ["POISON", "SHARE", "Contents", "MemoryBudget", "filled", "host_budget", "host_bytes"]

POISON = 0xFF  # initial value of every byte, so that unwritten values read as NaN or -1
SHARE = (
    0.75  # of the memory of this process that arrays may take; the rest is for Python, LLVM and the system
)
FALLBACK_BYTES = 16 << 30  # memory of a machine that does not report it
PATTERN_BYTES = 4 << 20  # size of the shared pages that hold `POISON`
SHARED_FROM = 16 << 20  # size from which an array starts with shared pages

Contents = Literal["poison", "zeros", "any"]  # initial bytes of an array; "any" if it is written at once

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass
class MemoryBudget:
    """The bytes that the arrays of all simulated devices of a process take together, and their limit.

    Attributes
    ----------
    limit : int
        The largest sum of the sizes of all arrays.
    used : int
        The sum of the sizes of the arrays that are in use.
    """

    limit: int
    used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _collectors: list[weakref.WeakMethod[Callable[[], None]]] = field(default_factory=list, repr=False)

    def collect_with(self, collector: Callable[[], None]) -> None:
        """Call a method under pressure; it releases the arrays that are no longer referenced."""
        self._collectors.append(weakref.WeakMethod(collector))

    def reserve(self, size: int) -> None:
        """Take `size` bytes; raise `LaunchError` if they are not free even after a garbage collection."""
        if self._take(size):
            return
        self._collect()
        if self._take(size):
            return
        gc.collect()  # finds arrays in reference cycles, such as those of a traceback
        self._collect()
        if not self._take(size):
            raise LaunchError(
                f"the simulated memory is full: {_gib(size)} requested, and the arrays of all simulated "
                f"devices take {_gib(self.used)} of {_gib(self.limit)}, {100 * SHARE:.0f} % of this "
                "machine's memory. Delete arrays that are no longer needed (del x), or use a smaller size."
            )

    def release(self, size: int) -> None:
        with self._lock:
            self.used -= size

    def _take(self, size: int) -> bool:
        with self._lock:
            if self.used + size > self.limit:
                return False
            self.used += size
            return True

    def _collect(self) -> None:
        for reference in self._collectors:
            collector = reference()
            if collector is not None:
                collector()
        self._collectors = [reference for reference in self._collectors if reference() is not None]


@cache
def host_budget() -> MemoryBudget:
    """Return the budget of this process, which all its simulated devices share."""
    return MemoryBudget(int(SHARE * host_bytes()))


def host_bytes() -> int:
    """Return the memory that this process may use: of the machine, its container and its resource limits."""
    limits = [FALLBACK_BYTES]
    with suppress(AttributeError, ValueError, OSError):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # "max" if there is no limit
            limits.append(int(Path(path).read_text(encoding="ascii")))
    with suppress(ImportError):
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            limit, _ = resource.getrlimit(kind)
            if limit != resource.RLIM_INFINITY:
                limits.append(limit)
    return min(limits)


def filled(size: int, contents: Contents) -> npt.NDArray[np.uint8]:
    """Return `size` bytes that hold `POISON`, zeros, or anything; raises `MemoryError`.

    The host commits a page of zeros when it is accessed. On Linux a large array of `POISON` starts with pages
    that all arrays share, and the host commits a page when it is written.
    """
    if contents != "poison":
        return (np.zeros if contents == "zeros" else np.empty)(size, np.uint8)
    if size >= SHARED_FROM and sys.platform == "linux":
        with suppress(OSError):
            return copies_on_write(_pattern(), PATTERN_BYTES, size)
    return np.full(size, POISON, np.uint8)


@cache
def _pattern() -> int:
    """Return the descriptor of a file in memory that holds `PATTERN_BYTES` bytes of `POISON`."""
    descriptor = os.memfd_create("gpulab-uninitialised")
    os.write(descriptor, bytes([POISON]) * PATTERN_BYTES)
    return descriptor


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**27 else f"{size:,} bytes"
