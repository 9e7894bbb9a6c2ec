"""Layout of the counters: a head, basic blocks, loops, single instructions, then a record for each access.

All counters are 64-bit words, with one copy for each worker; the constants are offsets in bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.ir import Builder

SECTOR_BYTES = 32

# Bytes before the counters. The words are the distance of this worker's sector maps, four offsets of
# `CounterLayout`, and the number of loops.
HEAD = 64
LOOPS_AT, ITERATIONS_AT, ROWS_AT, SITES_AT, LOOP_COUNT = 8, 16, 24, 32, 40

# Fields of a basic block: executions by warps, their active threads, executions that ended in a divergent
# branch.
BLOCK_BYTES = 24
# Fields of a loop, for groups of 2 and of 4 consecutive iterations: groups executed by warps, their active
# threads, and both for the first group after the loop was entered.
LOOP_BYTES = 64

# Fields of an access site.
EXECUTIONS, THREADS, EXCESS, IDEAL, WORST, LAST = 0, 8, 16, 24, 32, 40
# The form in which an access to shared memory is counted (see `Instrumentation.forms`): the logarithm of its
# bytes per lane, or -1 if it has been merged into another access, and its distance in bytes.
FORM_SHIFT, FORM_MOVED = 48, 56
SHARED, LOCAL = 64, 104  # the same for the lanes of a generic access to shared and to local memory
REPEATS = 120  # see `Count.repeats`
FIRST_SAMPLE = 128
SAMPLE_BYTES = 288  # lane mask, block, warp, sectors or wavefronts, 32 addresses
WORST_SAMPLE = FIRST_SAMPLE + SAMPLE_BYTES
MEMO = (
    WORST_SAMPLE + SAMPLE_BYTES
)  # the last request: its lane mask, its result, and at MEMO_LANES its addresses
MEMO_LANES = 64
SHARED_MEMO = MEMO + MEMO_LANES + 8 * WARP
# The home of an access to global memory: the allocation of its first request. Words: base address, number of
# bytes at which the access can begin, host address, bytes, shadow; then the addresses of the word by which
# all records of one access agree on the home and of this record's counts for other allocations; then the
# requests without a lane in the home.
HOME = SHARED_MEMO + MEMO_LANES + 8 * WARP
HOME_WORD, AWAY, MISSED = 40, 48, 56
RECORD_BYTES = HOME + 64
# Fields of the counts of one access for an allocation other than its home: requests with a lane in it, lanes,
# sectors.
AWAY_BYTES = 24
MAP_PADDING = 16  # bytes after a sector map, which is read in 64-bit words


@dataclass(frozen=True)
class CounterLayout:
    """Offsets of the counters of one kernel.

    Attributes
    ----------
    blocks : int
        Number of basic blocks.
    loops : mapping
        The innermost loops: the first block of each, and the blocks outside that lead into it.
    rows : sequence of int
        The instructions with a counter of their own, by their row in the PTX text: of a division or root, the
        executions by a warp of which a lane needs the slow path (see `slow_path_code`); of a selection, the
        threads that select the first value (see `select_code`).
    warps : int
        Warps of a thread block.
    """

    blocks: int
    loops: Mapping[int, Collection[int]]
    rows: Sequence[int]
    warps: int

    @property
    def loops_at(self) -> int:
        return HEAD + _padded(BLOCK_BYTES * self.blocks)

    @property
    def iterations_at(self) -> int:
        """Offset of the iterations of each warp and loop since the loop was entered."""
        return self.loops_at + LOOP_BYTES * len(self.loops)

    @property
    def rows_at(self) -> int:
        return self.iterations_at + _padded(8 * len(self.loops) * self.warps)

    @property
    def sites_at(self) -> int:
        return self.rows_at + _padded(8 * len(self.rows))


def _padded(size: int) -> int:
    return -(-size // 64) * 64


def population(b: Builder, mask: str) -> str:
    """Return the number of lanes of a mask as a 64-bit integer."""
    if mask == "-1":
        return str(WARP)
    count = b.call("llvm.ctpop.i32", "i32", ("i32", mask))
    return b.value(f"zext i32 {count} to i64")


def add(b: Builder, place: str, by: str) -> None:
    """Emit the addition of `by` to the counter at `place`."""
    before = b.value(f"load i64, ptr {place}")
    b.line(f"store i64 {b.value(f'add i64 {before}, {by}')}, ptr {place}")
