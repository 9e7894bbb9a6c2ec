"""Layout of the race detector's state and of the shadow of an array.

The generated code, `racecheck.ll` and the recorder share these offsets and bits. Times are values of a
counter of the worker that advances at every barrier, `__syncwarp()`, fence and start of a block.
"""

from __future__ import annotations

__all__ = [
    "ACTIONS",
    "AFTER_PLAIN",
    "CALLBACKS",
    "FENCE_HISTORY",
    "LAUNCH_START",
    "MAX_INTERVALS",
    "MAX_SITE",
    "OTHER_BLOCKS",
    "OTHER_LANES",
    "OTHER_WARPS",
    "PENDING",
    "READER",
    "READ_TIME",
    "RECORDS_BYTES",
    "RECORD_BYTES",
    "RECORD_ROWS",
    "ROW_BYTES",
    "ROW_CELLS",
    "SETTLED",
    "SETTLED_FOREVER",
    "SHADOW",
    "SHADOW_ARRAYS",
    "SILENT",
    "SITE_SHIFT",
    "STATE",
    "STRONG",
    "SWAP",
    "THREAD_MASK",
    "UPDATE",
    "WRITER",
    "WRITE_TIME",
    "signed",
]

# An access word describes the last write or read of a cell: the thread in its block, the access site, flags.
THREAD_MASK = 1023
SITE_SHIFT = 10
MAX_SITE = (1 << 16) - 1
STRONG = 1 << 26  # an atomic operation, or another access that does not race with strong accesses
OTHER_LANES = 1 << 27  # of a read: other lanes of the warp have read the cell since the last synchronization
OTHER_BLOCKS = 1 << 28  # of a read: threads of other blocks have read the cell
SWAP = 1 << 29  # a compare-and-swap, which detects that an earlier plain read is out of date
SILENT = 1 << 30  # of a write: it stored the value that was already there, which is harmless to plain reads
UPDATE = OTHER_BLOCKS  # of a write, for which the bit is free: its value depends on a plain read of the cell
OTHER_WARPS = SILENT  # of a read, for which the bit is free: other warps have read the cell too
AFTER_PLAIN = 1 << 31  # an atomic operation after a plain write of its block that other blocks may not see

LAUNCH_START = (
    2  # first time of a launch; 1 means before the launch, 0 means written by the host or not at all
)
PENDING = (1 << 32) - 1  # time of a write by an asynchronous copy that has not completed

ACTIONS = ("reads", "writes", "updates")
_EVENTS = ("access", "barrier", "arrive", "syncwarp", "copy", "copy_group", "bulk_copy", "phase_test", "turn",
           "grid_barrier", "mbarrier_arrival", "expand_rows")  # fmt: skip
CALLBACKS = {name: number for number, name in enumerate(_EVENTS)}
FENCE_HISTORY = 4  # number of fences that are recorded for each thread

RECORD_BYTES = 64  # eight words, see `barrier_intervals`
RECORD_ROWS = 4  # most rows of an access in a record
RECORDS_BYTES = 2048 * RECORD_BYTES  # memory for records
MAX_INTERVALS = 8  # most intervals that a block records

# Byte offsets in a worker's state. A table of the grid has an element for each block.
STATE: dict[str, int] = {}
_END = 0
for _name, _size in (
    ("addresses", 8 * 32),  # the addresses of the lanes, or other arguments of a callback
    ("values", 16 * 32),  # the values that the lanes store
    ("now", 4),  # the current time
    ("start", 4),  # the time at which the current block started
    ("turn", 4),  # the time at which the current block continued; its start, except in a cooperative launch
    ("epoch", 4),  # the time of the last barrier of the grid: accesses before it are ordered
    ("collisions", 4),  # lanes of the current write whose cell was written by another lane of it
    ("no_shadow", 64),  # head of the shadow of arrays that have none
    ("read_only", 64),  # head of the shadow of arrays that are not recorded, because no write is expected
    ("warp_sync", 4 * 32),  # by warp: time of the last synchronization of its lanes
    ("block_sync", 4 * 32),  # by warp: accesses of all other warps before this time are ordered
    ("clocks", 4 * 32 * 32),  # by warp and other warp: accesses of that warp before this time are ordered
    ("barrier_clocks", 4 * 16 * 32),  # by barrier and warp: the clocks of the warps that have arrived
    ("fenced", FENCE_HISTORY * 4 * 1024),  # by thread: times of its last fences
    ("published", FENCE_HISTORY * 4 * 1024),  # by thread: times of its last strong writes
    ("acquired", 4 * 1024),  # by thread: time of its last atomic operation or strong read
    ("block_times", 8),  # address of a table: the time at which each block started
    ("block_fenced", 8),  # address of a table: as `fenced`, for each block
    ("block_published", 8),  # address of a table: as `published`
    ("block_acquired", 8),  # address of a table: as `acquired`
    ("shared_shadow", 8),  # address of the shadow of shared memory
    ("muted", 8),  # address of a byte for each access site: not 0 if it is no longer reported to the host
    # Records of accesses by barrier interval, see `barrier_intervals`.
    ("records", 8),  # address of the first one
    ("records_end", 8),
    ("free_record", 8),  # address of the next record to write
    ("first_record", 8),  # address of the current interval's first record, or that of the one it repeats
    ("next_record", 8),  # address of the record that the next access is compared with
    ("no_record", RECORD_BYTES),  # a record that equals no access
    ("interval_phase", 4),  # the number of one of `barrier_intervals.PHASES`
    ("interval_count", 4),  # number of intervals that this block has recorded
    ("intervals", 8 * MAX_INTERVALS),  # addresses of their first records
):
    _END = -(-_END // min(_size, 8)) * min(_size, 8)
    STATE[_name] = _END
    _END += _size
STATE["end"] = _END

# A shadow is a head and then five arrays of 32-bit words with an element for each cell. The head has the
# smallest time that counts as written, the distance between two arrays in bytes, and a flag.
SHADOW = {"oldest_valid": 0, "stride": 8, "in_rows": 16, "cells": 64}
SETTLED, WRITE_TIME, WRITER, READ_TIME, READER = range(5)
SHADOW_ARRAYS = 5
# While the flag `in_rows` is 1, no cell has been read, and each row of 32 aligned cells has been written at
# most once in the launch, by one warp. A record of four words for each row, after the arrays, then takes the
# place of the cells' words: the time (0: not written), the access word of lane 0, the lanes, and those whose
# write was silent.
ROW_CELLS = 32
ROW_BYTES = 16
# An element of SETTLED is the time of a barrier after which another read of the cell changes nothing, because
# the last write is ordered for all threads and several threads have read the cell.
SETTLED_FOREVER = (1 << 32) - 1


def signed(word: int) -> int:
    """Return an unsigned 32-bit integer as LLVM writes it, as a signed one."""
    return word - (1 << 32) if word >> 31 else word
