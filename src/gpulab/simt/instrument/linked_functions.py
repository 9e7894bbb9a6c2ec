"""Functions that unoptimised code calls, and that the library of a tier defines.

Unoptimised code is the same object file in the tiers values, racecheck and counters. Where an instrumentation
has a hook, it calls a function, and each tier is linked with its own definitions of these functions; those of
the values tier are empty. A kernel that has run is sanitized and counted without being compiled again.

An access to memory calls the function of its kind, its state space and the shape of its addresses. The
arguments are the context, the warp, the access site, the active lanes, the facts, the rows, an array for the
addresses of the lanes, and the elements that a write stores: one array of 32 lanes for each. The facts are
bits and small numbers in one word, whose low 32 bits are the description that `RacecheckRecorder.on_access`
takes. The rows are the addresses of the first lanes of two rows, and the distance between two lanes. With the
fact IN_ROWS, the function computes the addresses from them; otherwise the array contains the addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = [
    "ACCESSES",
    "FACTS",
    "FUNCTIONS",
    "OTHER_ACCESS",
    "RUNTIME_FUNCTIONS",
    "AccessKind",
    "access_function",
    "empty_functions",
    "signature",
]

OTHER_ACCESS = "tier_other"  # an access to local or constant memory

# Shapes of the addresses: each lane has its own, or all lanes of each of N rows have one.
SHAPES = {"lanes": 0} | {f"rows_{count}": count for count in (1, 2, 4, 8, 16, 32)}

FACTS = {
    "STRONG": 1 << 2,  # an atomic operation, or another access that does not race with strong accesses
    "SWAP": 1 << 3,  # see `shadow_layout.SWAP`
    "UPDATE": 1 << 4,  # see `shadow_layout.UPDATE`
    "HARMLESS": 1 << 5,  # see `ShadowCheck`
    "IN_ROWS": 1 << 6,  # the addresses are given as rows
    "GRANULE": 1 << 16,  # unit of the bytes of a cell, 8 bits
    "ELEMENTS": 1 << 24,  # unit of the number of elements to store, 8 bits
    "APART": 1 << 32,  # executions are counted at the site, and not taken from the basic block
    "PAIRS_LANES": 1 << 33,  # see `WavefrontCounter.pairs_lanes`
    "GENERIC": 1 << 34,  # the addresses are generic
    "SILENT": 1 << 35,  # writes of the value that is already there are recognized
    "SETTLES": 1 << 36,  # see `AccessForm.settles`
    "FENCES": 1 << 37,  # a fence precedes the access
    "PUBLISHES": 1 << 38,  # a strong write
    "ACQUIRES": 1 << 39,  # a strong read
    "ARRIVES": 1 << 40,  # an arrival at an `mbarrier` object
    "COPIES": 1 << 41,  # the write of an asynchronous copy
    "WIDTH": 1 << 42,  # unit of the number of lanes in a row, 6 bits
    "SIZE": 1 << 48,  # unit of the bytes of each lane's access
}

_ACCESS = (
    "ptr %ctx, i32 %warp, i32 %site, i32 %mask, i64 %facts, i64 %first, i64 %second, i64 %stride, "
    "ptr %addresses, ptr %values"
)


class AccessKind(NamedTuple):
    """The properties of an access that select its check, together with its state space and its addresses."""

    action: str
    strong: bool = False
    swap: bool = False
    update: bool = False


_KINDS = {
    "reads": AccessKind("reads"),
    "strong_reads": AccessKind("reads", strong=True),
    "writes": AccessKind("writes"),
    "strong_writes": AccessKind("writes", strong=True),
    "update_writes": AccessKind("writes", update=True),
    "updates": AccessKind("updates", strong=True),
    "swaps": AccessKind("updates", strong=True, swap=True),
}
# The functions of accesses to global and shared memory: kind, state space, and rows with one address.
# Generic addresses belong to the space "global".
ACCESSES = {
    f"tier_{name}_{space}_{shape}": (kind, space, rows)
    for name, kind in _KINDS.items()
    for space in ("global", "shared")
    for shape, rows in SHAPES.items()
}
_NAMES = {access: name for name, access in ACCESSES.items()}


def access_function(kind: AccessKind, space: str, rows: int) -> str:
    """Return the name of the function of an access; `rows` is 0 if each lane has its own address."""
    if space in ("local", "const"):
        return OTHER_ACCESS
    if kind.strong:
        kind = kind._replace(update=False)
    return _NAMES[kind, "shared" if space == "shared" else "global", rows]


# Result and parameters of the functions other than those of the runtime (see `InstrumentationHooks.runtime`).
# Functions with a result return false if they have reported a fault.
FUNCTIONS = dict.fromkeys((*ACCESSES, OTHER_ACCESS), ("void", _ACCESS)) | {
    # Store an arithmetic sequence for each row of lanes to an array, which an access or another hook reads.
    "tier_spread_32": ("void", "ptr %array, i32 %base, i32 %stride, i32 %lanes"),
    "tier_spread_64": ("void", "ptr %array, i64 %base, i64 %stride, i32 %lanes"),
    "tier_block": ("void", "ptr %ctx, i32 %block, i32 %mask"),
    "tier_branch": ("void", "ptr %ctx, i32 %block, i32 %here, i32 %there"),
    "tier_loop": ("void", "ptr %ctx, i32 %warp, i32 %loop"),  # the warp is about to enter a loop
    "tier_iteration": ("void", "ptr %ctx, i32 %warp, i32 %loop, i32 %mask"),
    # Lanes of `present` synchronize with those in their masks, if a predicate does not exclude them.
    "tier_warp_sync": (
        "i1",
        "ptr %ctx, i32 %warp, i32 %site, i32 %present, i32 %active, i32 %suspended, i1 %orders, ptr %masks",
    ),
    "tier_barrier": ("i1", "ptr %ctx, i32 %warp, i32 %site, i32 %mask, i32 %expected"),
    # The form is the position in `slow_path_code.FORMS`, the number that of the instruction's counter.
    "tier_division": ("void", "ptr %ctx, i32 %form, i32 %number, i32 %mask, ptr %operands"),
    "tier_selection": ("void", "ptr %ctx, i32 %number, i32 %lanes"),
    "tier_fence": ("void", "ptr %ctx, i32 %warp, i32 %mask"),
    "tier_event": ("void", "ptr %ctx, i32 %event, i32 %warp, ptr %words, i32 %mask, i32 %a, i32 %b"),
}
RUNTIME_FUNCTIONS = {
    "sim_on_block": ("void", "ptr %ctx"),
    "sim_on_barrier": ("void", "ptr %ctx, i32 %warps, i32 %barrier"),
    "sim_on_resume": ("void", "ptr %ctx"),
}


def signature(name: str) -> str:
    """Return the result, the name and the parameters of a function, as a definition begins."""
    result, parameters = (FUNCTIONS | RUNTIME_FUNCTIONS)[name]
    return f"{result} @{name}({parameters})"


def empty_functions(names: Iterable[str]) -> str:
    """Return definitions of functions without effects."""
    bodies = {"void": "ret void", "i1": "ret i1 true"}
    return "\n".join(
        f"define internal {signature(name)} {{\n  {bodies[FUNCTIONS[name][0]]}\n}}" for name in names
    )
