"""Workers: the context that generated code runs in, one per host core, and the memory it points to."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.codegen.suspension import DONE, FUEL, RESUME, SLICES, STATE_BYTES
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.host_memory import POISON

__all__ = ["Attachable", "LaunchWorker", "address_of", "aligned", "field_values", "weak_callback"]

PRINT_BYTES = 1 << 20  # print buffer of a core; CUDA's default size
_ACCESSED = {"votes", "local", "warps", "printed", "words", "site_caches"}  # parts that Python accesses
_NUMBERS = {name: number for number, name in enumerate(layout.FIELDS)}
_workers: weakref.WeakValueDictionary[int, LaunchWorker] = weakref.WeakValueDictionary()  # by address


class Attachable(Protocol):
    """An object that gives workers the memory which their code records into."""

    def attach(self, worker: LaunchWorker) -> None:
        """Give a worker its memory."""


class LaunchWorker:
    """The context of one core, at `address`. `worker[name]` reads or writes a field of `layout.FIELDS`.

    Parameters
    ----------
    native : NativeKernel
        The code to run.
    shared_bytes : int
        Shared memory of a block.
    prints : bool
        The kernel calls `printf`.
    recorder : Attachable
        Its method `attach` is called with the worker now, and again if its code gains access sites.
    resident : int
        Blocks of a cooperative launch, all of which the worker runs in turns; 0 for other launches.
    fields : array
        Values of the fields that all workers of the launch have in common, from `field_values`.
    """

    def __init__(
        self,
        native: NativeKernel,
        shared_bytes: int,
        prints: bool,
        recorder: Attachable,
        resident: int,
        fields: npt.NDArray[np.int64],
    ) -> None:
        # The fallback code has more access sites, which are counted below: another worker may add both now.
        fallback = native.fallback
        printed = PRINT_BYTES if prints else 0
        arena = _arena(
            native.warps,
            shared_bytes,
            native.local_bytes,
            native.saved_bytes,
            native.canonical_bytes,
            max(resident, 1),
            printed,
            len(native.sites),
        )
        memory = aligned(arena.size)
        start = address_of(memory)
        self.memory = {
            name: memory[first:end] for name, (first, end) in arena.ranges.items() if name in _ACCESSED
        }
        self.memory["votes"].fill(0)
        self._states = self.memory["warps"].view(np.int32).reshape(-1, STATE_BYTES // 4)
        self._states[:] = 0
        self._states[:, FUEL // 4] = layout.SLICE
        self.memory["local"].fill(POISON)  # so that a kernel cannot read what the host left there

        self.native = native
        self._recorder = weakref.ref(recorder)  # a recorder refers to its workers
        self.words = self.memory["words"].view(np.int64)
        self.words[:] = fields
        self.words[arena.columns] = arena.offsets + start
        self["printed_limit"] = printed
        self["warp"], self["fallback"] = native.warp, fallback
        self["compile_fallback"] = _COMPILE_FALLBACK
        self.address = start + arena.ranges["words"][0]
        _workers[self.address] = self
        if resident:
            self._add_table(arena.block_sizes, resident)
        self._empty_site_caches()

    def _add_table(self, sizes: Mapping[str, int], resident: int) -> None:
        """Make the table `resident` of `layout.FIELDS`; `sizes` are the bytes of one block by field."""
        table = aligned(layout.BLOCK_ROW_BYTES * resident).view(np.int64).reshape(resident, -1)
        table[:] = 0
        for column, name in enumerate(layout.BLOCK_FIELDS):
            table[:, column] = self[name] + sizes[name] * np.arange(resident)
        self.memory["resident"] = table.reshape(-1).view(np.uint8)
        self["resident"] = table.ctypes.data

    def _empty_site_caches(self) -> None:
        """Give every access site an empty cache of the allocation that it accessed last."""
        caches = self.memory["site_caches"].view(np.int64)
        caches[:] = _empty_caches(len(caches))
        if (recorder := self._recorder()) is not None:
            recorder.attach(self)

    def compile_fallback(self) -> None:
        """Compile the fallback code, in which a warp has to continue; it has more access sites."""
        self["fallback"] = self.native.compile_fallback()
        self.memory["site_caches"] = aligned(layout.SITE_CACHE_BYTES * max(len(self.native.sites), 1))
        self["site_caches"] = address_of(self.memory["site_caches"])
        self._empty_site_caches()

    @property
    def unfinished(self) -> int:
        """The instructions that warps have executed which have not ended."""
        running = self._states[self._states[:, RESUME // 4] != DONE].astype(np.int64)
        return int((layout.SLICE * (running[:, SLICES // 4] + 1) - running[:, FUEL // 4]).sum())

    def __setitem__(self, name: str, value: int) -> None:
        self.words[_NUMBERS[name]] = value

    def __getitem__(self, name: str) -> int:
        return int(self.words[_NUMBERS[name]])


@dataclass(frozen=True)
class _Arena:
    """The layout of the memory of a worker, one array, since each array costs a launch some microseconds.

    Attributes
    ----------
    ranges : dict
        First byte and end of each part, by the field of `layout.FIELDS` that holds its address; "words" are
        the fields themselves.
    columns, offsets : array
        The numbers of these fields, and the first bytes of their parts.
    block_sizes : dict
        Bytes of one block of a cooperative launch.
    size : int
        Bytes of all parts.
    """

    ranges: dict[str, tuple[int, int]]
    columns: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    block_sizes: dict[str, int]
    size: int


@lru_cache(maxsize=256)
def _arena(
    warps: int, shared: int, local: int, saved: int, canonical: int, blocks: int, printed: int, sites: int
) -> _Arena:
    """Return the layout for `blocks` resident blocks; the sizes are those of a block, a thread or a warp."""
    block_sizes = {
        "shared": shared + 64,
        "local": warps * WARP * local,
        "saved": warps * saved,
        "canonical": warps * canonical,
        "warps": warps * STATE_BYTES,
        "arrivals": 16 * 8,
        "votes": 16 * 32,
    }
    block_sizes = {name: _whole_lines(size) for name, size in block_sizes.items()}
    sizes = {
        **{name: size * blocks for name, size in block_sizes.items()},
        "printed": printed,
        "words": 8 * len(layout.FIELDS),
        "site_caches": layout.SITE_CACHE_BYTES * max(sites, 1),
    }
    ends = list(accumulate(map(_whole_lines, sizes.values())))
    ranges = {
        name: (first, first + size) for (name, size), first in zip(sizes.items(), (0, *ends), strict=False)
    }
    starts = {_NUMBERS[name]: first for name, (first, _) in ranges.items() if name in _NUMBERS}
    columns, offsets = np.array(list(starts)), np.array(list(starts.values()))
    return _Arena(ranges, columns, offsets, block_sizes, ends[-1])


def _whole_lines(size: int) -> int:
    """Round a size up to lines of the host's caches."""
    return -(-size // 64) * 64


@lru_cache(maxsize=256)
def _empty_caches(words: int) -> npt.NDArray[np.int64]:
    """Return empty caches: an odd base address and a size of 0, so that no access lies inside."""
    caches = np.zeros(words, np.int64)
    caches[:: layout.SITE_CACHE_BYTES // 8] = 1
    return caches


def weak_callback(prototype: Any, method: Callable[..., None]) -> Any:
    """Return a C function that calls a method of the object that stores it.

    It holds no reference to the object, which would otherwise be freed, with its arrays, only when Python
    searches for cycles. It must live as long as generated code can call it.
    """
    reference = weakref.WeakMethod(method)

    def call(*arguments: object) -> None:
        if (bound := reference()) is not None:
            bound(*arguments)

    return prototype(call)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _on_fallback(context: int) -> None:
    """Compile the fallback code; running code calls this when a warp has to continue there."""
    if (worker := _workers.get(context)) is not None:
        worker.compile_fallback()


_COMPILE_FALLBACK = ctypes.cast(_on_fallback, ctypes.c_void_p).value or 0


def aligned(size: int) -> npt.NDArray[np.uint8]:
    """Return uninitialized bytes that start on a cache line."""
    raw = np.empty(size + 64, np.uint8)
    start = -address_of(raw) % 64
    return raw[start : start + size]


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of an array that is not empty, in a third of the time that `array.ctypes` takes."""
    return ctypes.addressof(ctypes.c_byte.from_buffer(array.data))


def field_values(fields: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """Return the values of all fields of a context; 0 for those that are not in `fields`."""
    values = np.zeros(len(layout.FIELDS), np.int64)
    values[[_NUMBERS[name] for name in fields]] = list(fields.values())
    return values
