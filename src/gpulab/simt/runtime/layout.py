"""Layout of a worker's context, which generated code, the runtime and Python share.

Every field is a 64-bit word, so that all three agree on the offsets.
"""

from __future__ import annotations

__all__ = [
    "BLOCK_FIELDS",
    "BLOCK_ROW_BYTES",
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
    "next_block",  # address of the counter from which workers take blocks
    "blocks",  # number of blocks to run
    "order",  # address of the numbers of the blocks to run; 0 for all blocks of the grid
    "stop",  # address of a flag that stops all workers if it is not 0
    "params",  # address of the kernel's parameters
    "grid_x", "grid_y", "grid_z",
    "ctaid_x", "ctaid_y", "ctaid_z",
    "block",  # linear number of the current block
    # Addresses of the memory of the current block, see BLOCK_FIELDS.
    "shared",  # shared memory
    "local",  # local memory of the threads
    "saved",  # registers of suspended warps
    "canonical",  # registers of warps that enter, or run, the fallback code
    "warps",  # the warps' states, see `codegen.suspension`
    "arrivals",  # 16 counters: threads that executed `bar.arrive`, by barrier
    # Four counters for each of 16 barriers: threads whose predicate of a `bar.red` is true, and all threads
    # that voted, in the current phase; then the same for the last completed phase.
    "votes",
    # Address of a table with a row for each block of a cooperative launch: the fields of BLOCK_FIELDS and a
    # flag that the block has ended; 0 for other launches, which run one block after the other.
    "resident",
    "grid_barrier",  # device address of the barrier of a cooperative launch, or 0
    "poison",  # byte that shared memory is filled with before a block starts
    "allocations",  # address of the table (base, bytes, host address, shadow), sorted by base
    "allocation_count",
    "warp",  # address of `warp`; Python replaces it when optimised code exists
    "fallback",  # address of the fallback code's `warp`; 0 until it is compiled
    "compile_fallback",  # address of a host function that compiles it; takes the context
    "wraps",  # set if an affine integer wraps around between active lanes of a row
    "symbols",  # address of the table of device addresses of module variables
    "site_caches",  # address of the allocation that each site accessed last, see SITE_CACHE_BYTES
    "printed", "printed_bytes", "printed_limit",
    "budget",  # instructions a warp may execute
    "recorded",  # address of the memory that the tier records into
    "heap",  # address of the host function for `malloc` and `free`
    "callback",  # racecheck: address of the host function that checks undecided lanes
    "fault", "fault_site", "fault_lane", "fault_warp", "fault_address", "fault_block",
    # `warned` is 1 if warps waited at two barriers of the code: the two sites, and a waiting thread.
    "warned", "warned_site", "warned_other", "warned_lane", "warned_warp", "warned_block",
)  # fmt: skip

BLOCK_FIELDS = ("shared", "local", "saved", "canonical", "warps", "arrivals", "votes")
BLOCK_ROW_BYTES = 64  # a row of the table `resident`
GRID_BARRIER_BYTES = 8  # the driver's workspace for cooperative groups: its size, then the barrier
GRID_BARRIER_OFFSET = 4  # of the barrier in the workspace

HEAP_BYTES = 8 << 20  # size of the heap of a device; CUDA's default

# Words of a site's cache: base address, number of positions of the access, host address, bytes, shadow.
SITE_CACHE_BYTES = 40
SHARED_WINDOW = 0x7E01_0000_0000  # generic address of the block's shared memory
LOCAL_WINDOW = 0x7E02_0000_0000  # generic address of the thread's local memory
WINDOW_BYTES = 1 << 32  # size of each of these windows
DEFAULT_BUDGET = 1 << 27  # instructions that a warp may execute before it is stopped
FALLBACK = 1 << 20  # smallest number of a suspend point in the fallback code
PATIENCE = 64  # iterations of a spin loop before its lanes yield to others
SLICE = 1 << 22  # instructions that a warp executes before it checks the stop flag
FIRST_ADDRESS = 0x7F00_0000_0000  # device address of the first allocation

FAULTS = {  # codes of `sim_fault`
    "out_of_bounds": 1,
    "misaligned": 2,
    "budget": 3,
    "divergent_barrier": 4,
    "trap": 5,
    "assert": 6,
    "no_fallback_code": 7,
    "stopped": 8,
    "barrier_deadlock": 9,
    "missing_lanes": 11,
    "mask_without_caller": 12,
    "barrier_count": 13,
    "exited_threads": 14,
    "partial_warp": 15,
    "invalid_free": 16,
}


def field(name: str) -> int:
    """Return the byte offset of a field in the context."""
    return 8 * FIELDS.index(name)
