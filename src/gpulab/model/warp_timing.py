"""Execution time of one warp: its instructions in order, each of which waits for its operands.

A warp issues its instructions in program order. An instruction that reads a register waits until the
instruction that writes it has finished; a result that is never read costs only the issue. Several loads in a
row therefore cost their latency once, and a load whose value is used immediately costs it every time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.limits import TENSOR_TYPES

__all__ = [
    "SCOREBOARD",
    "BlockTime",
    "CodeBlock",
    "Operation",
    "Unit",
    "block_times",
    "execution_units",
    "loads_per_stall",
    "pipe_cycles",
    "requests_since_stall",
    "runs_by_site",
    "share_at_barriers",
    "stalls",
    "uses_of_units",
    "waits_by_site",
    "warp_cycles",
]

PASSES = 3  # over the code, so that every block knows what was in flight when its predecessor ended
# Issue slots of an instruction of compute capability 1.x that reads an operand from shared memory (V. Volkov
# and J. Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, 2008).
FOLDED = 1.5
SCOREBOARD = "SB"  # prefix of the names of scoreboard barriers, which operations read and write as registers
READ_CYCLES = 10  # until a load or store has read its operands; assumed
# Lanes of the unit for loads from constant memory, barriers and special registers. By Nsight Compute's
# counters of 100 kernels on an H100 (sm__inst_executed_pipe_adu), the first two take 2 cycles of it, the last
# take 1.
CONSTANT_LANES = 16
# Operations of the unit for loads and stores. By the same counters (sm__inst_executed_pipe_lsu), they take a
# cycle of it, exchanges between lanes and reads of special registers half a cycle.
MEMORY_ACCESSES = ("load", "store", "shared", "shared_store", "local", "local_store")
SYSTEM = ("system", "uniform_system")  # reads of special registers
DOMINANT = 1e6  # cycles; next to it all other latencies are negligible


@dataclass(frozen=True)
class Operation:
    """One instruction.

    Attributes
    ----------
    unit : str
        The unit that executes it, a key of `execution_units`.
    reads, writes : tuple of str
        Registers.
    site : int or None
        The PTX row of an instruction that accesses memory.
    size : float
        Multiply-adds of a tensor-core instruction, addresses of a load from constant memory, otherwise 1.
    stall : float
        Cycles until the same warp may issue the next operation.
    releases : tuple of str
        Scoreboard barriers that are set until the operands are read.
    words : int
        Words of 4 bytes per lane of an access to local memory, otherwise 1.
    """

    unit: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    site: int | None = None
    size: float = 1.0
    stall: float = 1.0
    releases: tuple[str, ...] = ()
    words: int = 1


@dataclass(frozen=True)
class CodeBlock:
    """A basic block.

    Attributes
    ----------
    operations : tuple of Operation
    runs : float
        Executions by warps, over the whole launch.
    before : int or None
        Index of the block that most often precedes it.
    """

    operations: tuple[Operation, ...]
    runs: float
    before: int | None = None

    @property
    def issue_slots(self) -> float:
        """Issue slots of one execution by a warp."""
        return sum(FOLDED if operation.unit == "fp32_shared" else 1 for operation in self.operations)


@dataclass(frozen=True)
class Unit:
    """Timing of an execution unit, for one warp.

    Attributes
    ----------
    cycles : float
        From issue to the result.
    busy : float
        Until the same warp can use the unit again, for an operation of size 1.
    """

    cycles: float
    busy: float


Latency = Callable[[Operation], float]
# The cycles at which registers have their values, relative to the start of a block, each with the site of the
# load from global memory that writes the value.
_Ready = dict[str, tuple[float, int | None]]


class BlockTime(NamedTuple):
    """The cycles of a block, and those of them in which the warp waits for the loads of each site."""

    cycles: float
    waits: dict[int, float]


def block_times(blocks: Sequence[CodeBlock], units: Mapping[str, Unit], latency: Latency) -> list[BlockTime]:
    """Return the time of each block when it follows the block that most often precedes it.

    `latency` gives the cycles of an operation that accesses global or shared memory.
    """
    times = [BlockTime(0.0, {}) for _ in blocks]
    pending: list[tuple[_Ready, dict[str, float]]] = [({}, {}) for _ in blocks]
    for _ in range(PASSES):
        for number, block in enumerate(blocks):
            ready, free = pending[block.before] if block.before is not None else ({}, {})
            cycles, waits, ready, free = _issue(block.operations, units, latency, dict(ready), dict(free))
            times[number], pending[number] = BlockTime(cycles, waits), (ready, free)
    return times


def warp_cycles(blocks: Sequence[CodeBlock], times: Sequence[BlockTime], warps: float) -> float:
    """Return the cycles from a warp's first instruction to its last, averaged over `warps` warps."""
    return sum(time.cycles * block.runs for time, block in zip(times, blocks, strict=True)) / warps


def waits_by_site(blocks: Sequence[CodeBlock], times: Sequence[BlockTime]) -> dict[int, float]:
    """Return the cycles that warps wait for the loads of each site, over the whole launch."""
    totals: dict[int, float] = {}
    for block, time in zip(blocks, times, strict=True):
        for site, cycles in time.waits.items():
            totals[site] = totals.get(site, 0.0) + cycles * block.runs
    return totals


def _issue(
    operations: Sequence[Operation],
    units: Mapping[str, Unit],
    latency: Latency,
    ready: _Ready,
    free: dict[str, float],
) -> tuple[float, dict[int, float], _Ready, dict[str, float]]:
    """Return the cycles of a block, the waits for each site in it, and what is still pending after it.

    `free` has the cycles at which units become free, relative to the start of the block; those of `ready` and
    `free` that are returned are relative to its end.
    """
    now, none = 0.0, (0.0, None)
    waits: dict[int, float] = {}
    for operation in operations:
        unit = units[operation.unit]
        start = possible = max(now, free.get(operation.unit, 0.0))
        awaited = None
        for name in operation.reads:
            at, site = ready.get(name, none)
            if at > start:
                start, awaited = at, site
        if awaited is not None:
            waits[awaited] = waits.get(awaited, 0.0) + start - possible

        free[operation.unit] = start + unit.busy * operation.size
        done = start + (unit.cycles if operation.site is None else latency(operation))
        result = done, operation.site if operation.unit == "load" else None
        for name in operation.writes:
            if not name.startswith(SCOREBOARD) or done >= ready.get(name, none)[0]:
                ready[name] = result
        for name in operation.releases:
            if start + READ_CYCLES > ready.get(name, none)[0]:
                ready[name] = start + READ_CYCLES, None
        now = done if operation.unit == "barrier" else start + operation.stall

    later = {name: (at - now, site) for name, (at, site) in ready.items() if at > now}
    return now, waits, later, {name: at - now for name, at in free.items() if at > now}


def stalls(code: Sequence[CodeBlock], units: Mapping[str, Unit], unit: str = "load") -> float:
    """Return how often warps wait for the loads of a unit, over the whole launch.

    The unit is "load" for loads from global memory and "shared" for those from shared memory.
    """
    times = block_times(code, units, lambda op: DOMINANT if op.unit == unit else 0.0)
    return warp_cycles(code, times, 1) / DOMINANT


def loads_per_stall(code: Sequence[CodeBlock], units: Mapping[str, Unit]) -> int:
    """Return the requests to global memory that a warp has in flight when it waits for one of them."""
    waits = stalls(code, units)
    requests = sum(block.runs for block in code for op in block.operations if op.unit in ("load", "store"))
    return max(round(requests / waits), 1) if waits >= 1 else 1


def requests_since_stall(code: Sequence[CodeBlock]) -> dict[int, int]:
    """Return for each site the requests to global memory from the last wait for a load to its own.

    Lines that were requested earlier have arrived, because the warp has waited for them. A site with several
    instructions has the largest of their numbers.
    """
    largest: dict[int, int] = {}
    pending: list[tuple[frozenset[str], int]] = [(frozenset(), 0) for _ in code]
    for _ in range(PASSES):
        for number, block in enumerate(code):
            loading, requests = pending[block.before] if block.before is not None else (frozenset(), 0)
            for operation in block.operations:
                if not loading.isdisjoint(operation.reads):
                    loading, requests = frozenset(), 0
                if operation.unit in ("load", "store"):
                    requests += 1
                    if operation.site is not None and block.runs:
                        largest[operation.site] = max(largest.get(operation.site, 0), requests)
                if operation.unit == "load":
                    loading |= frozenset(operation.writes)
            pending[number] = loading, requests
    return largest


def share_at_barriers(code: Sequence[CodeBlock], requests: Mapping[int, float]) -> float:
    """Return the share of the warps at a barrier that have accessed memory since the barrier before.

    `requests` has the requests of each site, over the whole launch. If no instruction between the barriers
    accesses memory, all warps count.
    """
    runs = runs_by_site(code)
    since: list[list[float]] = [[] for _ in code]  # the requests of each access since the last barrier
    for _ in range(PASSES):
        at_work = at_barriers = 0.0
        for number, block in enumerate(code):
            accesses = list(since[block.before]) if block.before is not None else []
            for operation in block.operations:
                if operation.unit == "barrier":
                    at_work += min(max(accesses, default=block.runs), block.runs)
                    at_barriers += block.runs
                    accesses = []
                elif operation.site is not None and operation.site in requests:
                    accesses.append(block.runs * requests[operation.site] / max(runs[operation.site], 1e-9))
            since[number] = accesses
    return at_work / at_barriers if at_barriers else 1.0


def runs_by_site(code: Sequence[CodeBlock]) -> dict[int, float]:
    """Return how often warps execute each instruction that accesses memory."""
    runs: dict[int, float] = {}
    for block in code:
        for operation in block.operations:
            if operation.site is not None:
                runs[operation.site] = runs.get(operation.site, 0.0) + block.runs
    return runs


def uses_of_units(code: Sequence[CodeBlock]) -> dict[str, float]:
    """Return how often warps use each unit; an access to local memory is one use for each word."""
    totals: defaultdict[str, float] = defaultdict(float)
    for block in code:
        for operation in block.operations:
            totals[operation.unit] += block.runs * operation.words
    return totals


def execution_units(spec: GpuSpec, architecture: Architecture, warps: int) -> dict[str, Unit]:
    """Return the units of an SM as one warp uses them, which is its scheduler's share of the SM.

    `warps` is the number of warps of a block, on which the time of a barrier depends.
    """

    def unit(cycles: float, lanes: float, slots: float = 1.0) -> Unit:
        return Unit(cycles, slots * spec.warp_size * architecture.schedulers / lanes)

    arithmetic, clock = architecture.arithmetic_cycles, spec.boost_clock_mhz / 1e3
    load = Unit(0.0, spec.warp_size / architecture.load_lanes)
    slot = architecture.schedulers / architecture.issue_per_cycle
    tensor = {
        unit: Unit(architecture.tensor_cycles, architecture.schedulers / fmas)
        for unit, fmas in _tensor_fmas(spec).items()
    }
    return {
        **tensor,
        "fp32": unit(arithmetic, spec.cores_per_sm),
        "fp32_shared": unit(architecture.shared_cycles, spec.cores_per_sm, FOLDED),
        "fma": unit(arithmetic, architecture.integer_lanes),
        "integer": unit(arithmetic, architecture.integer_lanes),
        "fp64": unit(4 * arithmetic, architecture.fp64_lanes),
        "special": unit(architecture.special_cycles, architecture.special_lanes),
        "load": load,
        "store": load,
        "shared": Unit(architecture.shared_cycles, load.busy),
        "shared_store": load,
        "exchange": Unit(architecture.shared_cycles, load.busy),
        "local": Unit(architecture.l1_cycles or architecture.dram_ns * clock, load.busy),
        "local_store": load,
        "constant": Unit(architecture.constant_cycles, slot),
        "system": Unit(architecture.constant_cycles, slot),
        "uniform_system": Unit(architecture.constant_cycles, slot),
        "move": Unit(architecture.constant_cycles, slot),
        "uniform": Unit(2 * arithmetic, slot),
        "branch": Unit(arithmetic, slot),
        "barrier": Unit(architecture.barrier_cycles + warps * architecture.barrier_cycles_per_warp, slot),
    }


def pipe_cycles(code: Sequence[CodeBlock], spec: GpuSpec, architecture: Architecture) -> dict[str, float]:
    """Return the cycles for which the launch keeps each unit of one SM busy with instructions."""
    memory = architecture.load_lanes
    lanes: dict[str, dict[str, float]] = {  # lanes of each unit, by the kinds of operations it executes
        "fp32": {"fp32": spec.cores_per_sm, "fp32_shared": spec.cores_per_sm / FOLDED},
        "fma": {"fma": architecture.integer_lanes},
        "integer": {"integer": architecture.integer_lanes},
        "fp64": {"fp64": architecture.fp64_lanes},
        "special": {"special": architecture.special_lanes},
        "constant": {
            **dict.fromkeys(("constant", "barrier"), CONSTANT_LANES),
            **dict.fromkeys(SYSTEM, 2 * CONSTANT_LANES),
        },
        "load_store": {
            **dict.fromkeys(MEMORY_ACCESSES, memory), **dict.fromkeys(("exchange", *SYSTEM), 2 * memory),
        },
    }  # fmt: skip
    sizes: defaultdict[str, float] = defaultdict(float)
    for block in code:
        for operation in block.operations:
            sizes[operation.unit] += block.runs * operation.size
    tensor = sum(sizes[unit] / fmas for unit, fmas in _tensor_fmas(spec).items())
    return {
        pipe: sum(sizes[unit] * spec.warp_size / count for unit, count in units.items())
        for pipe, units in lanes.items()
    } | {"tensor": tensor}


def _tensor_fmas(spec: GpuSpec) -> dict[str, float]:
    """Return the multiply-adds that an SM starts in a cycle, by the unit of a tensor-core instruction.

    Cycles are those of the boost clock. A GPU without tensor cores for a type computes it as single
    precision, which bounds the time from below.
    """
    peaks = {kind: spec.peak_tensor_gflops(kind) or spec.peak_fp32_gflops for kind in TENSOR_TYPES}
    return {
        f"tensor_{kind}": 1e3 * gflops / (2 * spec.sms * spec.boost_clock_mhz)
        for kind, gflops in peaks.items()
    }
