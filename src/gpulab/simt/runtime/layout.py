"""The memory that a running launch and its host share: where each field of a worker's context lies.

Everything here is a 64-bit word, so that the generated code, the runtime and Python agree without a
compiler in between.
"""

from __future__ import annotations

__all__ = [
    "DEFAULT_BUDGET",
    "FALLBACK",
    "FAULTS",
    "FIELDS",
    "LOCAL_WINDOW",
    "PATIENCE",
    "SHARED_WINDOW",
    "SITE_CACHE_BYTES",
    "SLICE",
    "field",
]

FIELDS = (
    "next_block",  # address of the counter that all workers take blocks from
    "blocks",  # blocks to run
    "order",  # address of their numbers; 0 where all of the grid runs
    "stop",  # address of a 64-bit flag: not 0 asks every worker to end
    "params",  # address of the kernel's parameters
    "grid_x", "grid_y", "grid_z",
    "ctaid_x", "ctaid_y", "ctaid_z",
    "block",  # linear number of the block that runs
    "shared",  # address of the block's shared memory
    "poison",  # the byte that shared memory is filled with before a block begins
    "local",  # address of the block's local memory, thread after thread
    "allocations",  # address of the table (base, bytes, host address, shadow), sorted by base
    "allocation_count",
    "saved",  # address of the warps' registers across barriers
    "canonical",  # address of the warps' registers on their way to, and in, the plain code
    "fallback",  # address of the plain code's `warp`; 0 until it is made
    "compile_fallback",  # address of a function (context) that makes it
    "wraps",  # set when a row of integers wraps around between active lanes
    "warps",  # address of the warps' states: (where to go on, instructions used)
    "symbols",  # address of the module variables' device addresses
    "slots",  # address of the access caches: (base, places for an element, host address, bytes, shadow)
    "printed", "printed_bytes", "printed_limit",
    "budget",  # instructions a warp may execute
    "arrivals",  # address of 16 counts: threads that came to a barrier by `bar.arrive`
    # Address of (voted, voters, yes, asked) for each of 16 barriers: threads whose predicate of a `bar.red`
    # held, and threads, since it was last lifted, and the same when it was.
    "votes",
    "recorded",  # address of the memory that the tier records into
    "callback",  # racecheck: address of the host function that checks undecided lanes
    "fault", "fault_access", "fault_lane", "fault_warp", "fault_address", "fault_block", "fault_detail",
)  # fmt: skip

SITE_CACHE_BYTES = 40
ALLOCATION_BYTES = 32
SHARED_WINDOW = 0x7E01_0000_0000  # generic addresses of the block's shared memory …
LOCAL_WINDOW = 0x7E02_0000_0000  # … and of the thread's local memory
WINDOW_BYTES = 1 << 32
DEFAULT_BUDGET = 1 << 27  # instructions a warp may execute before it counts as never ending
FALLBACK = 1 << 20  # numbers of places in the plain code begin here
PATIENCE = 64  # times that a waiting loop goes round before its lanes give way to others
SLICE = 1 << 22  # instructions that a warp executes before it looks whether the launch is to end
FIRST_ADDRESS = 0x7F00_0000_0000  # device addresses of allocations begin here

FAULTS = {
    "out_of_bounds": 1,
    "misaligned": 2,
    "budget": 3,
    "divergent_barrier": 4,
    "trap": 5,
    "assert": 6,
    "no_fallback_code": 7,
    "stopped": 8,
    "barrier_deadlock": 9,
    "different_barriers": 10,
    "missing_lanes": 11,
    "mask_without_caller": 12,
    "barrier_count": 13,
    "exited_threads": 14,
}


def field(name: str) -> int:
    """Byte offset of a context field."""
    return 8 * FIELDS.index(name)
