"""A launch: the grid's blocks shared out to the host's cores, and what went wrong, if anything did."""

from __future__ import annotations

import os
import struct
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from gpulab.errors import LaunchError
from gpulab.finding import unravel
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.memory_access import AccessSite
from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Memory
from gpulab.simt.runtime.worker import LaunchWorker

__all__ = ["Fault", "LaunchOutcome", "PrintRecord", "launch"]

MEMORY_LIMIT = 1 << 30  # bytes of the host that all cores together may use for local memory
THREAD_LIMIT = 1 << 29  # threads of one launch
_STARTING = threading.Lock()  # the size of new threads' stacks is one for the process


def cores() -> int:
    """Host cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _workers(stack: int) -> ThreadPoolExecutor:
    """One thread for each core, kept from launch to launch, for kernels that take so much stack.

    The system's own size is 8 MiB, or less; of a larger one only what is used is taken. All threads start
    here: one that cannot later would leave its work behind. Raises `LaunchError` where they cannot.
    """
    count = cores()
    pool = ThreadPoolExecutor(count, thread_name_prefix="gpulab")
    started = threading.Barrier(count)  # none of them is free for a second of these calls
    with _STARTING:
        before = threading.stack_size()
        try:
            threading.stack_size(stack)
            wait([pool.submit(started.wait) for _ in range(count)])
        except (RuntimeError, ValueError) as error:
            started.abort()
            pool.shutdown(wait=False, cancel_futures=True)
            raise LaunchError(
                f"this kernel's code needs {stack >> 20} MiB of stack on each core, which the host does not "
                f"give ({error}): use a smaller kernel."
            ) from error
        finally:
            threading.stack_size(before)
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # threads do not survive a fork


@dataclass(frozen=True)
class Fault:
    """Why a launch ended early: `kind` is a name in `layout.FAULTS`.

    other_line: of `different_barriers`, where the thread is instead.
    """

    kind: str
    access: AccessSite
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int
    other_line: int = 0


@dataclass(frozen=True)
class PrintRecord:
    """One call of `printf` by one thread: the format's device address and its packed arguments."""

    format: int
    block: int
    thread: int
    arguments: bytes


@dataclass
class LaunchOutcome:
    fault: Fault | None = None
    printed: list[PrintRecord] = field(default_factory=list)
    print_lost: bool = False


def launch(
    native: NativeKernel,
    memory: Memory,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    params: bytes,
    symbols: list[int],
    shared_bytes: int,
    prints: bool,
    budget: int = layout.DEFAULT_BUDGET,
    recorder: Recorder | None = None,
    order: npt.NDArray[np.int64] | None = None,
) -> LaunchOutcome:
    """Run a grid to its end. Raises `LaunchError` when the host has no memory for it.

    recorder: of the tier that `native` was made for. order: numbers of the blocks to run, where that
    is not all of them.
    A KeyboardInterrupt asks every core to stop, waits for them, and goes on to the caller.
    """
    blocks = grid[0] * grid[1] * grid[2]
    threads = blocks * block[0] * block[1] * block[2]
    if threads > THREAD_LIMIT:
        raise LaunchError(
            f"this launch asks for {threads:,} threads; the simulator runs at most {THREAD_LIMIT:,}: "
            "use a smaller size, or let each thread do more."
        )
    recorder = recorder or Recorder()
    blocks = blocks if order is None else len(order)
    count = min(recorder.cores or cores(), cores(), blocks)
    need = count * native.warps * WARP * native.local_bytes
    if need > MEMORY_LIMIT:
        raise LaunchError(
            f"this launch needs {need} bytes of local memory on the host ({native.local_bytes} a thread); "
            f"{MEMORY_LIMIT} is the most: use smaller arrays in the kernel or smaller blocks."
        )
    shared_words = np.zeros(2, np.int64)  # the block counter and the stop flag
    parameters = np.frombuffer(params or b"\0", np.uint8).copy()
    recorder.prepare(native, shared_bytes)
    table = recorder.table(memory)
    symbol_table = np.array(symbols or [0], np.int64)
    workers = []
    for _ in range(count):
        worker = LaunchWorker(native, shared_bytes, prints, recorder.poison, recorder.attach)
        worker["next_block"] = shared_words.ctypes.data
        worker["stop"] = shared_words.ctypes.data + 8
        worker["blocks"] = blocks
        worker["order"] = 0 if order is None else order.ctypes.data
        worker["params"] = parameters.ctypes.data
        worker["grid_x"], worker["grid_y"], worker["grid_z"] = grid
        worker["allocations"] = table.ctypes.data
        worker["allocation_count"] = len(table)
        worker["symbols"] = symbol_table.ctypes.data
        worker["budget"] = budget
        workers.append(worker)
    _run(native, workers, shared_words)
    return _outcome(native, workers, grid, block)


def _run(native: NativeKernel, workers: list[LaunchWorker], shared_words: npt.NDArray[np.int64]) -> None:
    pool = _workers(1 << (native.stack_bytes - 1).bit_length())
    futures = [pool.submit(native.run, worker.words.ctypes.data) for worker in workers]
    try:
        pending = set(futures)
        while pending:
            _, pending = wait(pending, timeout=0.1)
    except BaseException:
        shared_words[1] = 1
        wait(futures)
        raise
    for future in futures:
        future.result()


def _outcome(
    native: NativeKernel, workers: list[LaunchWorker], grid: tuple[int, int, int], block: tuple[int, int, int]
) -> LaunchOutcome:
    outcome = LaunchOutcome()
    kinds = {code: name for name, code in layout.FAULTS.items()}
    faults = [w for w in workers if w["fault"] and kinds[w["fault"]] != "stopped"]
    if faults:
        first = min(faults, key=lambda w: w["fault_block"])  # the same one whichever core was faster
        thread = first["fault_warp"] * WARP + first["fault_lane"]
        kind, address = kinds[first["fault"]], first["fault_address"]
        outcome.fault = Fault(
            kind,
            native.sites[first["fault_access"]],
            unravel(first["fault_block"], grid),
            unravel(thread, block),
            address & (1 << 64) - 1,
            native.sites[address].line if kind == "different_barriers" else 0,
        )
    for worker in workers:
        used, limit = worker["printed_bytes"], worker["printed_limit"]
        outcome.print_lost |= used > limit
        outcome.printed += _records(worker.memory["printed"][: min(used, limit)].tobytes())
    outcome.printed.sort(key=lambda r: r.block)
    return outcome


def _records(data: bytes) -> list[PrintRecord]:
    found, at = [], 0
    while at + 32 <= len(data):
        text, block, thread, size = struct.unpack_from("<QQQQ", data, at)
        if at + 32 + size > len(data) or not text:
            break
        found.append(PrintRecord(text, block, thread, data[at + 32 : at + 32 + size]))
        at += 32 + size
    return found
