"""Where the counters of the counted tier lie: a head, blocks of code, loops, then a record for each site.

All of it is 64-bit words, one copy for each of the host's cores, named here by their offsets in bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext

SECTOR_BYTES = 32

HEAD = 64  # bytes before the counters: how far this worker's maps lie from those in the launch's table

# A block's: executions by warps, their active threads, executions after which the lanes went two ways.
BLOCK_BYTES = 24
# A loop's: for groups of 2 and of 4 rounds in a row, those that warps went, their active threads, and both
# for the first group since the loop was entered.
LOOP_BYTES = 64

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


@dataclass(frozen=True)
class Record:
    """Where everything of one kernel lies.

    blocks: how many blocks of code. loops: the innermost ones whose rounds are counted, by their first
    blocks, with the blocks that lead into them. warps: of a block of threads.
    """

    blocks: int
    loops: Mapping[int, Collection[int]]
    warps: int

    @property
    def loops_at(self) -> int:
        return HEAD + _padded(BLOCK_BYTES * self.blocks)

    @property
    def rounds_at(self) -> int:
        """For each warp, and each loop, the rounds since it was entered."""
        return self.loops_at + LOOP_BYTES * len(self.loops)

    @property
    def sites_at(self) -> int:
        return self.rounds_at + _padded(8 * len(self.loops) * self.warps)


def _padded(size: int) -> int:
    return -(-size // 64) * 64


def population(cg: CodegenContext, mask: str) -> str:
    """How many lanes of a mask are on, in 64 bits."""
    found = cg.b.call("llvm.ctpop.i32", "i32", ("i32", mask))
    return cg.b.value(f"zext i32 {found} to i64")


def add(cg: CodegenContext, place: str, by: str) -> None:
    """Count `by` more at a place."""
    b = cg.b
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {by}')}, ptr {place}")
