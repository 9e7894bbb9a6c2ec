"""All accesses of an Indigo kernel to its two data arrays, and the conflicts among them.

This is a second opinion where the race check and a label of the suite differ. It shares nothing with the race
check: the parameters `data1` and `data2` of the source become objects that write each access to a log. Shared
memory is not logged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from benchmarks.races.indigo_suite import BLOCK, GRID

__all__ = ["Access", "conflicts", "log_accesses"]

LOG_SIZE = 1 << 22  # accesses
_KERNEL = re.compile(r"(__global__ void test_kernel\(.*)data_t\* data1, data_t\* data2, int numv\)\s*\{")
_LOGGING_KERNEL = (
    r"\1data_t* elements1, data_t* elements2, int numv, Record* records) {\n"
    r"Logged data1{elements1, records, 1}, data2{elements2, records, 2};"
)
_LOGGED = """
struct Record { int array, element, thread, kind, old_value, new_value; };
struct Logged {
    int* elements; Record* records; int array; int element = 0;
    __device__ int value() const { return elements[element]; }
    __device__ void log(int kind, int old_value, int new_value) const {
        int thread = blockIdx.x * blockDim.x + threadIdx.x;
        int number = atomicAdd(&records[0].array, 1) + 1;
        if (number < LOG_SIZE) records[number] = {array, element, thread, kind, old_value, new_value};
    }
    __device__ Logged operator[](int index) const { return {elements, records, array, element + index}; }
    __device__ Logged operator&() const { return *this; }
    __device__ operator int() const { log(0, value(), value()); return value(); }
    __device__ int operator=(int now) const {
        log(1, value(), now);
        return elements[element] = now;
    }
    __device__ int operator=(const Logged& other) const { return *this = int(other); }
    __device__ int operator+=(int more) const { return *this = int(*this) + more; }
    __device__ int operator++(int) const { int old = *this; *this = old + 1; return old; }
    __device__ int update(int old, int now) const { log(2, old, now); return old; }
};
#define UPDATE(name, result) \\
    __device__ int name(const Logged& at, int v) { \\
        int old = ::name(at.elements + at.element, v); return at.update(old, result); }
UPDATE(atomicAdd, old + v)
UPDATE(atomicMax, max(old, v))
UPDATE(atomicMin, min(old, v))
UPDATE(atomicExch, v)
UPDATE(atomicOr, old | v)
#define BOTH(name) \\
    __device__ int name(const Logged& a, int b) { return name(int(a), b); } \\
    __device__ int name(int a, const Logged& b) { return name(a, int(b)); } \\
    __device__ int name(const Logged& a, const Logged& b) { return name(int(a), int(b)); }
BOTH(max)
BOTH(min)
"""
_KINDS = ("read", "write", "update")


@dataclass(frozen=True)
class Access:
    """One access of a thread to an element.

    Attributes
    ----------
    array, element, thread : int
        1 for `data1` and 2 for `data2`; the index; the number of the thread in the grid.
    kind : {"read", "write", "update"}
        An update is an atomic operation.
    changes : bool
        The access changed the value.
    """

    array: int
    element: int
    thread: int
    kind: str
    changes: bool


def log_accesses(device: Any, source: str, arguments: Sequence[Any]) -> list[Access]:
    """Launch a kernel with logging data arrays; return its accesses in the order of the log."""
    logging, replaced = _KERNEL.subn(_LOGGING_KERNEL, source)
    if not replaced:
        raise ValueError("the kernel does not have the parameters of the suite")
    text = f"#define LOG_SIZE {LOG_SIZE}\n{_LOGGED}\n{logging}"
    records = device.zeros((LOG_SIZE, 6), np.int32)
    device.compile(text, "test_kernel")(GRID, BLOCK, (*arguments, records))
    table = device.asnumpy(records)
    if table[0, 0] >= LOG_SIZE:
        raise ValueError(f"the kernel makes {table[0, 0]} accesses, and the log has space for {LOG_SIZE - 1}")
    return [
        Access(array, element, thread, _KINDS[kind], old != new)
        for array, element, thread, kind, old, new in table[1 : table[0, 0] + 1].tolist()
    ]


def conflicts(accesses: Iterable[Access]) -> str:
    """Return what the accesses conflict in: "nothing", "equal values" or "values".

    Two accesses of an element by two threads conflict if one of them is a write or atomic, and not both are
    atomic. They conflict in equal values if no access changes the element. Barriers are ignored.

    Examples
    --------
    >>> one, other = Access(1, 0, 7, "write", False), Access(1, 0, 8, "read", False)
    >>> conflicts([one, other]), conflicts([other, other])
    ('equal values', 'nothing')
    """
    by_element: dict[tuple[int, int], list[Access]] = defaultdict(list)
    for access in accesses:
        by_element[access.array, access.element].append(access)
    conflicting = [access for each in by_element.values() if _is_conflict(each) for access in each]
    if not conflicting:
        return "nothing"
    return "values" if any(access.changes for access in conflicting) else "equal values"


def _is_conflict(accesses: Sequence[Access]) -> bool:
    """Return True if two accesses of one element conflict."""
    threads = {
        kind: {access.thread for access in group}
        for kind, group in groupby(sorted(accesses, key=attrgetter("kind")), attrgetter("kind"))
    }
    reads, writes, updates = (threads.get(kind, set()) for kind in _KINDS)
    pairs = ((writes, reads | writes | updates), (updates, reads))
    return any(some and len(some | others) > 1 for some, others in pairs if some and others)
