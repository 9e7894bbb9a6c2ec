"""The kernels that students write in lab 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpulab.exercises.kernel_exercise import KernelCase, KernelExercise
from gpulab.profiling.counts.metrics import IDEAL_SECTORS, SECTOR_BYTES

if TYPE_CHECKING:
    from gpulab.profiling.counts.metrics import Counters

__all__ = ["KERNELS"]

TILE = 32  # edge of the tile of `turned`
PAIR = 64  # threads of a block of `paired`
MAX_LOADS = 3  # loads of any memory by `histogram`, for each element of x; one is enough
MAX_SECTORS = 2  # relative to the sectors of all elements; 1 is enough, and a stride of 4 floats takes 4
WARP = 32  # threads
BARRIERS = ("BAR", "bar", "barrier")  # in machine code and in PTX
LOADS = ("load", "copy", "bulk copy", "atomic")  # kinds of accesses that return what they read
FLOAT_ERROR = 1e-5  # relative; of a sum of 5000 floats
START = 7  # *sum before a launch of `total`
# Words that the warps of a block of `total` load one after the other, at most: a sum of one element after the
# other loads 256, and a tree whose active threads are spread over all warps 104.
SERIAL_LOADS = 160
AXPY_RACE = (
    "several threads access the same element, and each element needs only one thread. Does the index count "
    "the threads of the blocks before, blockIdx.x * blockDim.x?"
)


def _axpy_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    a = np.float32(rng.uniform(1.5, 3.0))
    for n in (1, 32, 1000, int(rng.integers(2000, 3000))):
        x, y = rng.random(n, np.float32), rng.random(n + 500, np.float32)
        right = y.copy()
        right[:n] += a * x
        yield KernelCase(f"n = {n}", -(-n // 128), 128, (n, a, x, y), {3: right})


def _axpy_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    n = case.args[0]
    if index >= n:
        return "This element is past the end: is there a guard?"
    if found == case.args[position][index]:
        return "No thread changed it: does every thread of every block compute its own index?"
    a, x, y = case.args[1], case.args[2][index], case.args[3][index]
    return f"a * x[{index}] + y[{index}] is {a:g} * {x:g} + {y:g}."


def _axpy_requirement(counters: Counters, case: KernelCase) -> str:
    requests, n = counters.global_load_requests, case.args[0]
    if requests <= n // 4:
        return ""
    return (
        f"there are {requests} load requests; {2 * -(-n // WARP)} load both elements of each thread: let "
        "each thread compute one element."
    )


def _coalesced_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    threads = 2 * 128
    for each in (4, int(rng.integers(5, 12))):
        x = rng.random(threads * each, np.float32)
        yield KernelCase(f"n = {x.size}", 2, 128, (x, np.zeros_like(x), x.size), {1: 2 * x})


def _coalesced_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    del case, position, index
    return "No thread wrote it: the threads must cover all elements together." if found == 0 else ""


def _coalesced_requirement(counters: Counters, case: KernelCase) -> str:
    sectors = max(counters.sectors_per_load_request, counters.sectors_per_store_request)
    if sectors > IDEAL_SECTORS:
        return (
            f"a request of a warp touches {sectors:g} sectors, and {IDEAL_SECTORS} are enough for 32 "
            "neighbouring floats: neighbouring threads must access neighbouring elements."
        )
    if counters.global_load_requests > case.args[2] // 32:
        needed = case.args[2] // 32
        return f"there are {counters.global_load_requests} load requests; {needed} read every element once."
    return _too_many_sectors(counters, case)


def _too_many_sectors(counters: Counters, case: KernelCase) -> str:
    """Return a sentence if all accesses together touch far more sectors than the first two arguments have.

    Accesses that touch few sectors lower the mean of the requests, but not this sum.
    """
    touched = sum(access.sectors for access in counters.accesses)
    enough = sum(array.nbytes for array in case.args[:2]) // SECTOR_BYTES
    if touched <= MAX_SECTORS * enough:
        return ""
    return (
        f"the accesses to global memory touch {touched:,} sectors, and {enough:,} hold all elements: access "
        "each element once, and neighbouring elements by neighbouring threads."
    )


def _turned_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    for tiles in (1, int(rng.integers(2, 5))):
        a = rng.random((tiles, TILE, TILE), np.float32)
        label = f"{tiles} tile{'s' * (tiles > 1)}"
        yield KernelCase(label, tiles, TILE, (a, np.zeros_like(a)), {1: a.transpose(0, 2, 1)})


def _turned_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    del position
    tile, row, column = np.unravel_index(index, case.args[0].shape)
    if found == case.args[0][tile, row, column]:
        return f"This is the value of a[{index}]: rows of the tile must become columns."
    if found == 0:
        return "No thread wrote it: block k transposes the 1024 floats from element 1024 * k on."
    return f"The right value is that in row {column} and column {row} of tile {tile} of a."


def _turned_requirement(counters: Counters, case: KernelCase) -> str:
    conflicts = counters.shared_load_bank_conflicts + counters.shared_store_bank_conflicts
    requests = counters.shared_load_requests + counters.shared_store_requests
    sectors = max(counters.sectors_per_load_request, counters.sectors_per_store_request)
    if sectors > IDEAL_SECTORS:
        return (
            f"a request to global memory touches {sectors:g} sectors: load and store rows, and turn the tile "
            "in shared memory."
        )
    if conflicts:
        return (
            f"{conflicts:,} bank conflicts in {requests:,} requests to shared memory: in which bank is "
            "tile[lane][row] for each lane?"
        )
    return _too_many_sectors(counters, case)


def _histogram_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    for n in (1, 1000, int(rng.integers(2000, 4000))):
        x = rng.integers(0, 16, n, np.int32)
        bins = rng.integers(0, 9, 16, np.int32)
        right = bins + np.bincount(x, minlength=16).astype(np.int32)
        yield KernelCase(f"n = {n}", -(-n // 128), 128, (x, n, bins), {2: right})


def _histogram_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    ask = "does each thread add 1 to bins[x[i]], for its own i?"
    if found < case.expected[position][index]:
        return f"Too few: {ask} Without an atomic operation, updates are lost."
    return f"Too many: {ask}"


def _histogram_requirement(counters: Counters, case: KernelCase) -> str:
    n = case.args[1]
    loads = [access for access in counters.accesses if access.kind in LOADS]
    if sum(access.requests for access in loads if access.space == "global") > n // 2:
        return "one thread counts all elements: let each thread count one element."
    if sum(access.threads for access in loads) > MAX_LOADS * n:
        return "each element is loaded several times: let each thread count one element."
    return ""


def _in_turn_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    del rng
    for threads in (32, 64):
        order = np.full(threads, -1, np.int32)
        yield KernelCase(f"{threads} threads", 1, threads, (order,), {0: np.arange(threads, dtype=np.int32)})


def _in_turn_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    del case, position
    if found == -1:
        return f"No thread stored to it: is there a turn for thread {index}?"
    return "Do all threads use one `turn`, in shared memory, which starts at 0 and grows by 1 in each turn?"


def _in_turn_requirement(counters: Counters, case: KernelCase) -> str:
    if any("volatile" in access.opcode for access in counters.accesses):
        return (
            "there are volatile accesses, which order no other accesses: remove `volatile`, and separate the "
            "turns by __syncthreads()."
        )
    updates = sum(counters.total("threads", "shared", kind) for kind in ("store", "atomic", "reduction"))
    if updates < case.threads:
        return (
            f"there are {updates} updates of shared memory; each of the {case.threads} threads must increase "
            "`turn`."
        )
    if counters.global_store_requests < case.threads:
        return (
            f"the threads store to `order` in {counters.global_store_requests} requests; in turn, "
            f"{case.threads} threads make {case.threads} requests."
        )
    barriers = sum(counters.opcodes.get(name, 0) for name in BARRIERS) * WARP // case.threads
    polls = counters.total("threads", "shared", "atomic")
    if barriers < case.threads - 1 and polls < 2 * case.threads:
        return (
            f"a thread reaches {barriers} barriers; {case.threads - 1} separate {case.threads} turns. Let "
            "all threads reach a barrier after each turn."
        )
    return ""


def _paired_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    for n in (PAIR, PAIR + 20, int(rng.integers(3, 6)) * PAIR + int(rng.integers(33, 60))):
        x = rng.random(n, np.float32)
        padded = np.zeros(-(-n // PAIR) * PAIR, np.float32)
        padded[:n] = x
        partners = np.arange(n) ^ (PAIR // 2)
        yield KernelCase(f"n = {n}", -(-n // PAIR), PAIR, (x, np.zeros_like(x), n), {1: x + padded[partners]})


def _paired_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    del position
    x, n = case.args[0], case.args[2]
    partner = index ^ (PAIR // 2)
    if found == 0:
        return "No thread wrote it: does every block compute its own elements?"
    if partner >= n:
        return f"Its partner, element {partner}, is past the end and counts as 0."
    return f"x[{index}] + x[{partner}] is {x[index]:g} + {x[partner]:g}."


def _paired_requirement(counters: Counters, case: KernelCase) -> str:
    # What a thread loads from shared memory, another one has stored, if each element is loaded once: the
    # check refuses elements that are not initialised.
    loads = sum(counters.total("threads", "global", kind) for kind in LOADS)
    if counters.shared_load_requests and loads <= case.args[2]:
        return ""
    return (
        "the threads do not exchange their elements in shared memory any more: repair the kernel, do not "
        "replace it."
    )


def _total_cases(rng: np.random.Generator) -> Iterator[KernelCase]:
    for n in (1, 256, 1000, int(rng.integers(3000, 5000))):
        largest = 2_000_000_000 // n  # the sum fits in an int and has more digits than a float
        x = (
            rng.integers(largest // 2, largest, n, np.int32) | 8
        )  # so that rounding is never an error of START
        start = np.array([START], np.int32)
        yield KernelCase(f"n = {n}", -(-n // 256), 256, (x, n, start), {2: start + x.sum(dtype=np.int32)})


def _total_hint(case: KernelCase, position: int, index: int, found: float) -> str:
    n = case.args[1]
    if found == case.expected[position][index] - START:
        return f"*sum was {START} before the launch: add to it."
    if found == START:
        return "No thread changed it."
    if abs(found - case.expected[position][index]) < FLOAT_ERROR * found:
        return "It is nearly right, as sums in floats are: add ints."
    if n == 1:
        return "Only thread 0 has an element: what do the other threads store?"
    if n <= 256:
        return "This is one block: look at what each thread stores, and at each step of the loop."
    return "One block is right, and several are not: look at the index, and at the sum of each block."


def _total_requirement(counters: Counters, case: KernelCase) -> str:
    accesses = [access for access in counters.accesses if access.space == "global"]
    stores = sum(access.threads for access in accesses if access.kind == "store")
    atomics = sum(access.threads for access in accesses if access.kind in ("atomic", "reduction"))
    if stores:
        return f"there are {stores:,} stores to global memory; only atomic operations may write the sum."
    if atomics != case.blocks:
        return (
            f"there are {atomics:,} atomic operations for {case.blocks} blocks; each block must make exactly "
            "one."
        )
    loads = sum(access.requests * access.width // 4 for access in counters.accesses if access.kind in LOADS)
    if loads > SERIAL_LOADS * case.blocks:
        return (
            f"the warps of a block load {loads // case.blocks:,} values one after the other: half of the "
            "threads must add the values of the other half, then a quarter, and so on."
        )
    return ""


KERNELS = (
    KernelExercise("axpy", _axpy_cases, hint=_axpy_hint, race=AXPY_RACE, requirement=_axpy_requirement),
    KernelExercise("coalesced", _coalesced_cases, hint=_coalesced_hint, requirement=_coalesced_requirement),
    KernelExercise("turned", _turned_cases, hint=_turned_hint, requirement=_turned_requirement),
    KernelExercise("histogram", _histogram_cases, hint=_histogram_hint, requirement=_histogram_requirement),
    KernelExercise(
        "in_turn",
        _in_turn_cases,
        hint=_in_turn_hint,
        requirement=_in_turn_requirement,
        exchange=True,
        lockstep=True,
    ),
    KernelExercise(
        "paired", _paired_cases, hint=_paired_hint, requirement=_paired_requirement, exchange=True
    ),
    KernelExercise("total", _total_cases, hint=_total_hint, requirement=_total_requirement),
)
