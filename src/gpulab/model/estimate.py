"""Time of a launch: in each wave of blocks, the largest of the times that the parts of the GPU need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.l2_cycles import NO_CYCLES, L2Cycles

__all__ = ["DESCRIPTIONS", "Estimate", "Work", "estimate", "explain_bound"]

# Order of the norm that combines the parts: one that takes as long as the largest adds 4 % to the time, one
# that takes half as long adds nothing. Fitted to the published times of the Tesla T10.
SHARPNESS = 16.0

# Cycles from the start of a block without work to its end. On an H100, an SM executes one such block of 1,024
# threads, of which it holds two, in 262 cycles.
IDLE_BLOCK_CYCLES = 94

STEPS = 50  # of the bisection that solves for the time; its error is 2**-50 of the time

DESCRIPTIONS = {
    "DRAM": "the bandwidth of global memory",
    "L2": "the bandwidth of L2",
    "atomics": "stores and atomic operations on the same elements",
    "L1": "accesses to L1 and shared memory",
    "issue": "the number of instructions",
    "blocks": "the rate at which an SM starts blocks",
    "fp32": "single precision arithmetic",
    "fma": "integer multiplication",
    "integer": "integer arithmetic",
    "fp64": "double precision arithmetic",
    "special": "special functions and conversions",
    "constant": "loads from constant memory, such as those of arguments, and barriers",
    "load_store": "the instructions that access memory",
    "tensor": "the tensor cores",
    "latency": "latency",
}


@dataclass(frozen=True)
class Work:
    """The work of a launch, as the model sees it.

    Attributes
    ----------
    blocks : int
        Blocks of the grid with work.
    resident : int
        Blocks that an SM holds at once.
    warps : int
        Warps of a block.
    warp_cycles : float
        Cycles of one warp from its first instruction to its last, if it never competes for a unit.
    instructions : float
        Issue slots of all warps.
    pipes : mapping of str to float
        Cycles for which the launch keeps each arithmetic unit of one SM busy.
    l1_cycles : float
        The same for the data path of the SM to L1 and shared memory.
    l2_bytes, dram_bytes : float
        Bytes read and written.
    dram_written : float
        Those of `dram_bytes` that are written.
    dram_waits, l2_waits : float
        How often a warp waits for a load from DRAM, and for one that hits in L2.
    l2_cycles : L2Cycles
        Cycles of the slices of L2 by Nsight Compute's rules; the time does not depend on them.
    atomic_cycles : float
        Cycles of a slice of L2 for stores and atomic operations on one piece of memory.
    barrier_share : float
        Share of the waits of a warp that are barriers.
    longest_chain, busiest_sm : float
        Work of the longest chain of blocks, and of the busiest SM, divided by those of equal blocks.
    idle_blocks : int
        Other blocks of the grid, which end at once.
    """

    blocks: int
    resident: int
    warps: int
    warp_cycles: float
    instructions: float
    pipes: Mapping[str, float]
    l1_cycles: float
    l2_bytes: float
    dram_bytes: float
    dram_written: float = 0.0
    dram_waits: float = 0.0
    l2_waits: float = 0.0
    l2_cycles: L2Cycles = NO_CYCLES
    atomic_cycles: float = 0.0
    barrier_share: float = 0.0
    longest_chain: float = 1.0
    busiest_sm: float = 1.0
    idle_blocks: int = 0


@dataclass(frozen=True)
class Estimate:
    """The modelled time of a launch.

    Attributes
    ----------
    time_ms : float
    terms : mapping of str to float
        Milliseconds that each part of the GPU needs by itself.
    bound : str
        The part that needs the most.
    """

    time_ms: float
    terms: Mapping[str, float]
    bound: str


def estimate(spec: GpuSpec, architecture: Architecture, work: Work) -> Estimate:
    """Return the modelled time of a launch.

    Blocks run in waves of as many as the GPU holds; the last wave may be smaller. By itself

    - DRAM or L2 needs its bytes divided by its bandwidth,
    - L1, issue or an arithmetic unit needs the cycles of the blocks of one SM,
    - an SM starts its blocks one after the other,
    - latency is the cycles of one warp, however many warps there are (Little's law). In the first wave, the
      last block begins when all others have begun; later, an SM starts a block some time after another one
      has ended.

    and a wave takes about as long as the largest of these. Blocks without work run in the room that the last
    wave leaves, and after it.
    """
    clock = spec.boost_clock_mhz * 1e3  # cycles per millisecond
    capacity = spec.sms * work.resident
    full_waves, remainder = divmod(work.blocks, capacity)

    sm_cycles = {
        "issue": work.instructions / architecture.issue_per_cycle,
        "L1": work.l1_cycles,
        "blocks": work.blocks * architecture.block_cycles,
        **work.pipes,
    }
    sm_ms = {name: work.busiest_sm * cycles / work.blocks / clock for name, cycles in sm_cycles.items()}
    gpu_ms = {"DRAM": work.dram_bytes / work.blocks / (architecture.dram_efficiency * spec.dram_gb_s * 1e6)}
    if architecture.l2_bytes_per_cycle:
        gpu_ms["L2"] = work.l2_bytes / work.blocks / (architecture.l2_bytes_per_cycle * clock)
    gpu_ms["atomics"] = work.atomic_cycles / work.blocks / clock
    # At a barrier, a block waits for its slowest warp, whose requests have waited longer than others.
    slowest = 1 + architecture.barrier_queueing * work.barrier_share
    of_sm = slowest * architecture.sm_queueing
    # A load from DRAM goes through L2, so it waits in both queues.
    waits_for_dram = slowest * work.longest_chain * work.dram_waits
    waits_for_l2 = slowest * work.longest_chain * (work.dram_waits + work.l2_waits)
    dram_ms, l2_ms = architecture.dram_ns / 1e6, architecture.l2_cycles / clock  # latencies
    of_gpu = {
        ("DRAM",): architecture.queueing * waits_for_dram * dram_ms,
        ("L2", "atomics"): architecture.l2_queueing * waits_for_l2 * l2_ms,
    }
    write_delay_ms = architecture.write_delay * waits_for_dram * dram_ms
    written = work.dram_written / work.dram_bytes if work.dram_bytes else 0.0
    # A scheduler issues at most one instruction per cycle, which the unit for single precision can accept.
    # The other units accept one every other cycle or less often, so warps wait for them, too. The constant
    # unit is mostly used when a warp begins, and what loads and stores wait for is L1.
    slower = tuple(name for name in work.pipes if name not in ("fp32", "constant", "load_store"))
    shared_by = {("issue", "fp32"): architecture.schedulers, slower: architecture.schedulers, ("L1",): 1}

    def wave(blocks: int, gap_cycles: float) -> tuple[dict[str, float], float]:
        """Return the times of the parts in a wave of blocks, and the time of the wave."""
        busiest_sm = -(-blocks // spec.sms)
        latency = (work.longest_chain * work.warp_cycles + gap_cycles) / clock if blocks else 0.0
        parts = {name: ms * blocks for name, ms in gpu_ms.items()}
        parts |= {name: ms * busiest_sm for name, ms in sm_ms.items()}

        queues: dict[tuple[str, ...], float] = dict(of_gpu) if blocks else {}
        # To start a block always takes equally long, so that one waits for half of that time (M/D/1).
        queues[("blocks",)] = architecture.block_cycles / 2 / clock if busiest_sm > 1 else 0.0
        for names, servers in shared_by.items():
            # A warp waits while the others that share a server with it are served.
            warps = max(busiest_sm * work.warps / servers, 1)
            served_ms = max((parts.get(name, 0.0) for name in names), default=0.0) / warps
            queues[names] = of_sm * served_ms * (1 - 1 / warps)
        delay = write_delay_ms, written * parts["DRAM"]
        return parts | {"latency": latency}, _combine(parts, latency, queues, delay)

    first_blocks = -(-min(work.blocks, capacity) // spec.sms)
    ramp_cycles = first_blocks * architecture.block_cycles
    later = architecture.block_gap_cycles
    waves = [  # how many of them, and what one of them needs
        (min(full_waves, 1), wave(capacity, ramp_cycles)),
        (max(full_waves - 1, 0), wave(capacity, later)),
        (1, wave(remainder, later if full_waves else ramp_cycles)),
    ]

    launch_ms = architecture.launch_us / 1e3
    idle_cycles = max(architecture.block_cycles, (later + IDLE_BLOCK_CYCLES) / work.resident)
    idle_ms = work.idle_blocks / spec.sms * idle_cycles / clock
    beside_ms = (1 - remainder / capacity) * waves[-1][1][1]
    time_ms = launch_ms + sum(count * wave_ms for count, (_, wave_ms) in waves) + max(idle_ms - beside_ms, 0)
    first_parts, _ = waves[0][1]
    terms = {name: sum(count * parts[name] for count, (parts, _) in waves) for name in first_parts}
    terms["blocks"] += idle_ms
    bound = max(terms, key=lambda name: terms[name])
    return Estimate(time_ms, terms | {"launch": launch_ms}, bound)


def explain_bound(spec: GpuSpec, work: Work, estimated: Estimate, warps_by_threads: Mapping[int, int]) -> str:
    """Return what bounds a launch, as in "bound by latency: 8 of 32 warps per SM".

    `warps_by_threads` gives the resident warps per SM for other block sizes, by threads per block.
    """
    share = estimated.terms[estimated.bound] / estimated.time_ms
    if estimated.bound != "latency":
        return f"bound by {DESCRIPTIONS[estimated.bound]}, busy for {100 * min(share, 1):.0f} % of the time"

    blocks = -(-work.blocks // spec.sms)
    warps = min(work.resident, blocks) * work.warps
    text = f"bound by latency: {warps} of {spec.max_warps_per_sm} warps per SM"
    if blocks < work.resident:
        return f"{text}, because the grid has no more blocks"

    most = max(warps_by_threads.values(), default=0)
    if most > warps:
        threads = min(threads for threads, count in warps_by_threads.items() if count == most)
        text += f"; blocks of {threads} threads would give {most}"
    return text


def _combine(
    parts: Mapping[str, float],
    latency: float,
    queues: Mapping[tuple[str, ...], float],
    delay: tuple[float, float],
) -> float:
    """Return the time of parts that work in parallel: the largest, and a little more if others are close.

    `queues` has the parts in whose queues warps wait, some of which have one queue, and the time that a warp
    waits there if the busiest of them is busy for half of the time. `delay` is explained at `_with_queues`.
    """
    waiting = {names: wait for names, wait in queues.items() if wait}
    queued = {name for names in waiting for name in names}
    times = [ms for name, ms in parts.items() if name not in queued]
    busy = [(max(parts.get(name, 0.0) for name in names), wait) for names, wait in waiting.items()]
    times.append(_with_queues(latency, busy, delay))
    largest = max(times)
    if not largest:
        return 0.0
    return float(largest * sum((ms / largest) ** SHARPNESS for ms in times) ** (1 / SHARPNESS))


def _with_queues(latency: float, queues: Sequence[tuple[float, float]], delay: tuple[float, float]) -> float:
    """Return the time of warps that wait for parts of the GPU; each is given by its time and its wait.

    A request to a server that is busy for a share u of the time waits in its queue for wait * u / (1 - u). If
    requests arrive and are served at random (M/M/1), the wait is the time of service; if they take equally
    long (M/D/1), half of it; and 0 if they never meet. `delay` is the wait of a request that arrives while
    DRAM writes, and the time of these writes. With u = busy / time, the time is the largest solution of
    time = latency + wait * writes / time + sum of wait * busy / (time - busy).
    """
    wait_for_writes, writes = delay
    low = max([latency, *(busy for busy, _ in queues)])
    high = low + latency + wait_for_writes + sum(busy + wait for busy, wait in queues)
    for _ in range(STEPS):
        middle = (low + high) / 2
        waits = 0.0
        if middle:
            waits = sum(wait * busy / max(middle - busy, 1e-12 * middle) for busy, wait in queues)
            waits += wait_for_writes * min(writes / middle, 1.0)
        if latency + waits > middle:
            low = middle
        else:
            high = middle
    return high
