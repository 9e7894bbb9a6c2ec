"""Where the counters of the counted tier lie: a head, the blocks of code, then a record for each site.

All of it is 64-bit words, one copy for each of the host's cores, named here by their offsets in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.simt.shapes import WARP

if TYPE_CHECKING:
    from gpulab.simt.values import Values

SECTOR_BYTES = 32

HEAD = 64  # bytes before the counters: how far this worker's maps lie from those in the launch's table

# A block's: executions by warps, their active threads, executions after which the lanes went two ways.
BLOCK_BYTES = 24

# A site's record: words of 64 bits, at these bytes.
EXECUTIONS, THREADS, EXCESS, IDEAL, WORST, LAST = 0, 8, 16, 24, 32, 40
SHARED, LOCAL = 64, 104  # the same for lanes of a generic access that go to shared and to local memory
FIRST_PICTURE = 128
PICTURE_BYTES = 288  # mask, block, warp, units, 32 addresses
WORST_PICTURE = FIRST_PICTURE + PICTURE_BYTES
MEMO = WORST_PICTURE + PICTURE_BYTES  # mask, the answer, up to …
MEMO_LANES = 64  # … 32 numbers that it was for
SHARED_MEMO = MEMO + MEMO_LANES + 8 * WARP
RECORD_BYTES = SHARED_MEMO + MEMO_LANES + 8 * WARP
MAP_PADDING = 16  # bytes behind a map of sectors, which is read in words


def head_bytes(blocks: int) -> int:
    """Where the sites' records begin, behind the blocks'."""
    return HEAD - (-BLOCK_BYTES * blocks // 64) * 64


def population(low: Values, mask: str) -> str:
    """How many lanes of a mask are on, in 64 bits."""
    found = low.b.call("llvm.ctpop.i32", "i32", ("i32", mask))
    return low.b.value(f"zext i32 {found} to i64")


def add(low: Values, place: str, by: str) -> None:
    """Count `by` more at a place."""
    b = low.b
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {by}')}, ptr {place}")
