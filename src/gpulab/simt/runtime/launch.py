"""Launches: the blocks of a grid distributed over the host's cores, and the faults that occurred."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, prod
from queue import Empty, SimpleQueue

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
from gpulab.simt.runtime.heap import DeviceHeap
from gpulab.simt.runtime.heap_calls import HEAP_ROWS, HeapCalls
from gpulab.simt.runtime.host_threads import cores, host_threads
from gpulab.simt.runtime.worker import LaunchWorker, address_of, field_values

__all__ = ["Fault", "GridLaunch", "LaunchOutcome", "PrintRecord", "launch"]

MEMORY_LIMIT = 1 << 30  # bytes of the host for the local memory of all cores
THREAD_LIMIT = 1 << 29  # threads of one launch
POLL_S = 0.1  # seconds between two checks of a running launch
WORKER_S = 2e-4  # work for each thread that a launch wakes at its start; waking one takes up to 0.1 ms
LATE_S = 1e-3  # seconds after which the other workers start, too
_FAULT_KINDS = {code: name for name, code in layout.FAULTS.items()}


@dataclass(frozen=True)
class Fault:
    """The reason why a launch ended early.

    Attributes
    ----------
    kind : str
        A name in `layout.FAULTS`.
    site : AccessSite
        The site that faulted.
    block, thread : tuple of int
        Indices of the thread.
    address : int
        The faulting address, or another detail of the fault.
    """

    kind: str
    site: AccessSite
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int


@dataclass(frozen=True)
class MixedBarriers:
    """Warps of one block that waited for each other at two barriers of the code.

    Attributes
    ----------
    site, other : AccessSite
        The two barriers.
    block, thread : tuple of int
        Indices of a thread that waited at `other`.
    """

    site: AccessSite
    other: AccessSite
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


@dataclass(frozen=True)
class PrintRecord:
    """One call of `printf`.

    Attributes
    ----------
    format : int
        Device address of the format string.
    block, thread : int
        Linear numbers of the calling thread's block and of the thread in it.
    arguments : bytes
        The packed arguments.
    """

    format: int
    block: int
    thread: int
    arguments: bytes


@dataclass
class LaunchOutcome:
    """The result of a launch: its fault, if there was one, and what the kernel printed.

    `print_lost` is the number of calls of `printf` whose output did not fit into the print buffer.
    """

    fault: Fault | None = None
    mixed_barriers: MixedBarriers | None = None
    printed: list[PrintRecord] = field(default_factory=list)
    print_lost: int = 0


@dataclass(frozen=True)
class GridLaunch:
    """A launch of a grid.

    Attributes
    ----------
    native : NativeKernel
        The compiled kernel.
    memory : Memory
        The device's memory.
    grid, block : tuple of int
        Size of the grid in blocks, and of a block in threads.
    params : bytes
        The kernel's parameters, as the PTX manual lays them out.
    symbols : sequence of int
        Device addresses of `native.symbols`.
    shared_bytes : int
        Shared memory of a block.
    prints : bool
        The kernel calls `printf`.
    budget, launch_budget : int
        Numbers of instructions that a warp may execute, and all warps together.
    order : array of int64 or None
        Numbers of the blocks to run; None for all.
    grid_barrier : int
        For a cooperative launch, the device address of the barrier of the grid. All blocks are resident at
        once: one core runs them in turns, so that they can wait for each other.
    heap : DeviceHeap or None
        The heap from which the kernel allocates memory; None if it allocates none.
    textures : array of int64 or None
        The rows of `TextureTable`; None if the device has no textures.
    """

    native: NativeKernel
    memory: Memory
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: bytes
    symbols: Sequence[int]
    shared_bytes: int
    prints: bool
    budget: int = layout.DEFAULT_BUDGET
    launch_budget: int = layout.DEFAULT_LAUNCH_BUDGET
    order: npt.NDArray[np.int64] | None = None
    grid_barrier: int = 0
    heap: DeviceHeap | None = None
    textures: npt.NDArray[np.int64] | None = None

    @property
    def blocks(self) -> int:
        """The number of blocks that run."""
        return prod(self.grid) if self.order is None else len(self.order)

    @property
    def resident(self) -> int:
        """The blocks of a cooperative launch, all of which one worker runs; 0 for other launches."""
        return self.blocks if self.grid_barrier else 0


def launch(request: GridLaunch, recorder: Recorder) -> LaunchOutcome:
    """Run a grid. Raises `LaunchError` if it needs too much memory.

    A KeyboardInterrupt stops all cores before it reaches the caller.

    Parameters
    ----------
    request : GridLaunch
        The launch.
    recorder : Recorder
        Recorder of the tier that the kernel was compiled for.
    """
    native, heap = request.native, request.heap
    count = _worker_count(request, recorder)
    if native.spent_s >= native.patience_s:
        native.optimize()

    recorder.spare_rows = HEAP_ROWS if heap else 0
    recorder.prepare(native, request.shared_bytes, request.params)
    allocations = table = recorder.table(request.memory)
    if heap:
        table = np.concatenate([allocations, np.zeros((recorder.spare_rows, 4), np.uint64)])
    common = np.zeros(3, np.int64)  # of all workers: the block counter, the stop flag, what they have spent
    common_address = address_of(common)
    parameters = np.frombuffer(bytearray(request.params or b"\0"), np.uint8)
    symbols = np.array(request.symbols or [0], np.int64)
    grid_x, grid_y, grid_z = request.grid
    fields = {
        "next_block": common_address,
        "stop": common_address + 8,
        "spent": common_address + 16,
        "blocks": request.blocks,
        "order": 0 if request.order is None else request.order.ctypes.data,
        "params": address_of(parameters),
        "grid_x": grid_x,
        "grid_y": grid_y,
        "grid_z": grid_z,
        "grid_barrier": request.grid_barrier,
        "allocations": address_of(table) if len(table) else 0,
        "allocation_count": len(allocations),
        "symbols": address_of(symbols),
        "textures": 0 if request.textures is None else request.textures.ctypes.data,
        "texture_count": 0 if request.textures is None else len(request.textures),
        "budget": request.budget,
        "launch_budget": request.launch_budget,
        "slice": layout.SLICE,
        "poison": recorder.poison,
        "local_poison": recorder.local_poison,
    }
    workers: list[LaunchWorker] = []
    waiting = _made_workers(request, recorder, field_values(fields), count, workers)
    calls = None
    if heap:  # its calls refer to all workers
        waiting = iter(list(waiting))
        calls = HeapCalls(heap, recorder, table, workers)

    _run(native, waiting, count, workers, common, request.blocks)
    if calls and calls.error:
        raise calls.error
    return _outcome(native, workers, request.grid, request.block, int(common[2]))


def _worker_count(request: GridLaunch, recorder: Recorder) -> int:
    """Return the number of workers. Raises `LaunchError` if the launch is too large."""
    threads = prod(request.grid) * prod(request.block)
    if threads > THREAD_LIMIT:
        raise LaunchError(
            f"the launch has {threads:,} threads, and the simulator runs at most {THREAD_LIMIT:,}; "
            "use a smaller problem, or compute more elements per thread."
        )

    native = request.native
    available = cores()
    count = 1 if request.grid_barrier else min(recorder.cores or available, available, request.blocks)
    needed = max(count, request.resident) * native.warps * WARP * native.local_bytes
    if needed > MEMORY_LIMIT:
        raise LaunchError(
            f"the launch needs {needed:,} bytes of host memory for local memory ({native.local_bytes:,} per "
            f"thread), and the limit is {MEMORY_LIMIT:,}; use smaller arrays in the kernel or smaller blocks."
        )
    return count


def _made_workers(
    request: GridLaunch,
    recorder: Recorder,
    fields: npt.NDArray[np.int64],
    count: int,
    workers: list[LaunchWorker],
) -> Iterator[LaunchWorker]:
    """Append one worker after the other to `workers`, and yield it, while those before it run already."""
    for _ in range(count):
        worker = LaunchWorker(
            request.native,
            request.shared_bytes,
            request.prints,
            recorder,
            request.resident,
            fields,
        )
        workers.append(worker)
        yield worker


def _run(
    native: NativeKernel,
    waiting: Iterator[LaunchWorker],
    count: int,
    workers: Sequence[LaunchWorker],
    common: npt.NDArray[np.int64],
    blocks: int,
) -> None:
    """Run all blocks; replace the code while it runs once it has proved worth optimising.

    A short launch starts with fewer of the `count` waiting workers, because waking a thread can take longer
    than the blocks that it would run. How long a launch takes is estimated from the last one.
    """
    threads = host_threads(1 << (native.stack_bytes - 1).bit_length())
    before, start = native.spent_s, time.process_time()
    done: SimpleQueue[object] = SimpleQueue()
    running = 0
    wanted = int(min(max(native.block_s * blocks / WORKER_S, 1.0), count))
    try:
        while running or wanted:
            for worker in islice(waiting, wanted):
                threads.submit(native.run, worker.address, done)
                running += 1
            count, wanted = count - wanted, 0

            left = (native.patience_s - native.spent_s) / running
            try:
                result = done.get(timeout=min(max(left, 0.0), LATE_S if count else POLL_S))
                running -= 1
                if isinstance(result, BaseException):
                    raise result
                if running:
                    continue  # the others are about to end
            except Empty:
                wanted = count
            native.spent_s = before + time.process_time() - start
            if running and native.spent_s >= native.patience_s:
                native.optimize()
                for worker in workers:
                    worker["warp"] = native.warp
    except BaseException:
        common[1] = 1
        for _ in range(running):
            done.get()
        raise
    native.block_s = (native.spent_s - before) / blocks if blocks else inf


def _outcome(
    native: NativeKernel,
    workers: list[LaunchWorker],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    spent: int,
) -> LaunchOutcome:
    outcome = LaunchOutcome()

    faults = [w for w in workers if w["fault"] and _FAULT_KINDS[w["fault"]] != "stopped"]
    if faults:
        first = min(faults, key=lambda w: w["fault_block"])  # does not depend on timing
        thread = first["fault_warp"] * WARP + first["fault_lane"]
        kind, address = _FAULT_KINDS[first["fault"]], first["fault_address"]
        if kind == "launch_budget" and sum(worker.unfinished for worker in workers) > spent / 2:
            kind = "launch_never_ends"
        outcome.fault = Fault(
            kind,
            native.sites[first["fault_site"]],
            unravel(first["fault_block"], grid),
            unravel(thread, block),
            address & (1 << 64) - 1,
        )

    warned = [w for w in workers if w["warned"]]
    if warned:
        first = min(warned, key=lambda w: w["warned_block"])
        outcome.mixed_barriers = MixedBarriers(
            native.sites[first["warned_site"]],
            native.sites[first["warned_other"]],
            unravel(first["warned_block"], grid),
            unravel(first["warned_warp"] * WARP + first["warned_lane"], block),
        )

    for worker in workers:
        if used := worker["printed_bytes"]:
            limit = worker["printed_limit"]
            outcome.print_lost += worker["printed_lost"]
            outcome.printed += _records(worker.memory["printed"][: min(used, limit)].tobytes())
    outcome.printed.sort(key=lambda r: r.block)
    return outcome


def _records(data: bytes) -> list[PrintRecord]:
    records, at = [], 0
    while at + 32 <= len(data):
        text, block, thread, size = struct.unpack_from("<QQQQ", data, at)
        if at + 32 + size > len(data) or not text:
            break
        records.append(PrintRecord(text, block, thread, data[at + 32 : at + 32 + size]))
        at += 32 + size
    return records
