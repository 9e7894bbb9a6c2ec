"""Layout of a worker's context, which generated code, the runtime and Python share.

Every field is a 64-bit word, so that all three agree on the offsets.
"""

from __future__ import annotations

__all__ = [
    "ADDRESS_MODES",
    "BLOCK_FIELDS",
    "BLOCK_ROW_BYTES",
    "COMPLETE",
    "DEFAULT_BUDGET",
    "DEFAULT_LAUNCH_BUDGET",
    "FALLBACK",
    "FAULTS",
    "FIELDS",
    "GEOMETRIES",
    "IS_SURFACE",
    "LOCAL_WINDOW",
    "PATIENCE",
    "RETURNS_FLOATS",
    "SHARED_WINDOW",
    "SITE_CACHE_BYTES",
    "SLICE",
    "TEXTURE_FIELDS",
    "TEXTURE_FORMATS",
    "TEXTURE_SLOTS",
    "field",
    "texture_names",
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
    "local_poison",  # the same for local memory; negative: it keeps what earlier blocks have left there
    "local_written",  # with `local_poison`, not 0 if a block before the current one has written local memory
    "allocations",  # address of the table (base, bytes, host address, shadow), sorted by base
    "allocation_count",
    "running",  # number of the warp that runs
    "warp",  # address of `warp`; Python replaces it when optimised code exists
    "fallback",  # address of the fallback code's `warp`; 0 until it is compiled
    "compile_fallback",  # address of a host function that compiles it; takes the context
    "wraps",  # set if an affine integer wraps around between active lanes of a row
    "symbols",  # address of the table of device addresses of module variables
    "site_caches",  # address of the allocation that each site accessed last, see SITE_CACHE_BYTES
    "printed", "printed_bytes", "printed_limit",
    "printed_lost",  # calls of `printf` whose records did not fit
    "budget",  # instructions a warp may execute
    "launch_budget",  # instructions that all warps of the launch may execute
    "spent",  # address of the number of instructions that they have executed, as far as it is known
    "slice",  # instructions of the first time slice of a warp
    "recorded",  # address of the memory that the tier records into
    "heap",  # address of the host function for `malloc` and `free`
    "textures", "texture_count",  # address and rows of the table of texture and surface objects
    "callback",  # racecheck: address of the host function that checks undecided lanes
    "fault", "fault_site", "fault_lane", "fault_warp", "fault_address", "fault_block",
    # `warned` is 1 if warps waited at two barriers of the code: the two sites, and a waiting thread.
    "warned", "warned_site", "warned_other", "warned_lane", "warned_warp", "warned_block",
)  # fmt: skip

BLOCK_FIELDS = ("shared", "local", "saved", "canonical", "warps", "arrivals", "votes")
BLOCK_ROW_BYTES = 64  # a row of the table `resident`
GRID_BARRIER_BYTES = 8  # the driver's workspace for cooperative groups: its size, then the barrier
GRID_BARRIER_OFFSET = 4  # bytes from the start of the workspace to the barrier

HEAP_BYTES = 8 << 20  # size of the heap of a device; CUDA's default

# Words of a site's cache: base address, number of positions of the access, host address, bytes, shadow.
SITE_CACHE_BYTES = 40
SHARED_WINDOW = 0x7E01_0000_0000  # generic address of the block's shared memory
LOCAL_WINDOW = 0x7E02_0000_0000  # generic address of the thread's local memory
WINDOW_BYTES = 1 << 32  # size of each of these windows
DEFAULT_BUDGET = 1 << 27  # instructions that a warp may execute before it is stopped
DEFAULT_LAUNCH_BUDGET = 1 << 36  # and all warps together: at least a few minutes of one core
FALLBACK = 1 << 20  # smallest number of a suspend point in the fallback code
COMPLETE = 1 << 19  # flag in the number of a suspend point: a complete barrier, see `codegen.suspension`
PATIENCE = 64  # iterations of a spin loop before its lanes yield to others
SLICE = 1 << 16  # instructions that a warp executes before it checks the stop flag and the budgets
FIRST_ADDRESS = 0x7F00_0000_0000  # device address of the first allocation

# Fields of a texture or surface object in the table of objects, see `runtime.texture_table`.
TEXTURE_FIELDS = (
    "handle",
    "kind",  # a geometry and flags
    "host",  # host address of the first element
    "width", "height", "depth",  # in texels; the depth of a layered texture is its number of layers
    "row_bytes", "slice_bytes",
    "channels",
    "size",  # bytes of a channel
    "format",  # index in TEXTURE_FORMATS
    "dimensions",  # along which a linear filter averages
    "linear", "normalized", "read_normalized",  # 1 or 0
    "mode_x", "mode_y", "mode_z",  # an address mode
    "scale_x", "scale_y", "scale_z",  # doubles: steps per unit of normalised coordinates
    # Doubles, for integers that are read as normalised floats: an element is divided by `limit`, and a mean
    # of elements is multiplied by `unit`, rounded, and divided by `levels`.
    "limit", "unit", "levels",
)  # fmt: skip
TEXTURE_FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
ADDRESS_MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}  # cudaTextureAddressMode
TEXTURE_SLOTS = (1 << 24) - 1  # mask of the bits of a handle that are the number of its row

# Geometries of objects, in the low bits of their kind.
TEXTURE_GEOMETRY = 7
GEOMETRIES = {"linear": 0, "1d": 1, "2d": 2, "3d": 3, "a2d": 4}
RETURNS_FLOATS = 8  # flag of a texture whose fetches give floats
IS_SURFACE = 16  # flag of a surface

FAULTS = {  # codes of `sim_fault`
    "out_of_bounds": 1,
    "misaligned": 2,
    "budget": 3,
    "launch_budget": 21,
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
    "invalid_texture": 17,
    "wrong_texture": 18,
    "misaligned_surface": 19,
    "outside_surface": 20,
}


def field(name: str) -> int:
    """Return the byte offset of a field in the context."""
    return 8 * FIELDS.index(name)


def texture_names() -> dict[str, str]:
    """Return the names that `textures.ll` uses, with their values."""
    names = {f"t_{name}": 8 * number for number, name in enumerate(TEXTURE_FIELDS)}
    names |= {f"T_{name.upper()}": number for number, name in enumerate(TEXTURE_FORMATS)}
    names |= {name.upper(): number for name, number in ADDRESS_MODES.items()}
    names |= {
        "TEXTURE_ROW_BYTES": 8 * len(TEXTURE_FIELDS),
        "TEXTURE_SLOTS": TEXTURE_SLOTS,
        "TEXTURE_GEOMETRY": TEXTURE_GEOMETRY,
        "LINEAR": GEOMETRIES["linear"],
        "LAYERED": GEOMETRIES["a2d"],
    }
    return {name: str(value) for name, value in names.items()}
