"""Time of a launch: in each wave of blocks, the largest of the times that the parts of the GPU need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from gpulab.gpus.architectures import Architecture
from gpulab.gpus.catalogue import GpuSpec

__all__ = ["Estimate", "Work", "estimate", "explain_bound"]

# Order of the norm that combines the parts: one that takes as long as the largest adds 4 % to the time, one
# that takes half as long adds nothing. Fitted to the published times of the Tesla T10.
SHARPNESS = 16.0

DESCRIPTIONS = {
    "DRAM": "the bandwidth of global memory",
    "L2": "the bandwidth of L2",
    "L1": "accesses to L1 and shared memory",
    "issue": "the number of instructions",
    "fp32": "single precision arithmetic",
    "fma": "integer multiplication",
    "integer": "integer arithmetic",
    "fp64": "double precision arithmetic",
    "special": "special functions and conversions",
    "tensor": "the tensor cores",
    "latency": "latency",
}


@dataclass(frozen=True)
class Work:
    """The work of a launch, as the model sees it.

    Attributes
    ----------
    blocks : int
        Blocks of the grid.
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
    - latency is the cycles of one warp, however many warps there are (Little's law),

    and a wave takes about as long as the largest of these.
    """
    clock = spec.boost_clock_mhz * 1e3  # cycles per millisecond
    capacity = spec.sms * work.resident
    full_waves, remainder = divmod(work.blocks, capacity)

    sm_cycles = {
        "issue": work.instructions / architecture.issue_per_cycle,
        "L1": work.l1_cycles,
        **work.pipes,
    }
    sm_ms = {name: cycles / work.blocks / clock for name, cycles in sm_cycles.items()}
    gpu_ms = {"DRAM": work.dram_bytes / work.blocks / (architecture.dram_efficiency * spec.dram_gb_s * 1e6)}
    if architecture.l2_bytes_per_cycle:
        gpu_ms["L2"] = work.l2_bytes / work.blocks / (architecture.l2_bytes_per_cycle * clock)

    def wave(blocks: int) -> dict[str, float]:
        busiest_sm = -(-blocks // spec.sms)
        parts = {name: ms * blocks for name, ms in gpu_ms.items()}
        parts |= {name: ms * busiest_sm for name, ms in sm_ms.items()}
        return parts | {"latency": work.warp_cycles / clock if blocks else 0.0}

    full, last = wave(capacity if full_waves else 0), wave(remainder)
    launch_ms = architecture.launch_us / 1e3
    time_ms = (
        launch_ms + full_waves * _combine(full, architecture.queueing) + _combine(last, architecture.queueing)
    )
    terms = {name: full_waves * ms + last[name] for name, ms in full.items()}
    bound = max(terms, key=lambda name: terms[name])
    return Estimate(time_ms, terms | {"launch": launch_ms}, bound)


def explain_bound(spec: GpuSpec, work: Work, estimated: Estimate, warps_by_threads: Mapping[int, int]) -> str:
    """Return what bounds a launch, as in "bound by latency: 8 of 32 warps per SM".

    `warps_by_threads` gives the resident warps per SM for other block sizes, by threads per block.
    """
    share = estimated.terms[estimated.bound] / estimated.time_ms
    if estimated.bound != "latency":
        return f"bound by {DESCRIPTIONS[estimated.bound]}, busy for {min(share, 1):.0%} of the time"

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


def _combine(parts: Mapping[str, float], queueing: float) -> float:
    """Return the time of parts that work in parallel: the largest, and a little more if others are close."""
    times = [ms for name, ms in parts.items() if name not in ("latency", "DRAM")]
    times.append(_with_queue(parts["latency"], parts["DRAM"], queueing))
    largest = max(times)
    if not largest:
        return 0.0
    return float(largest * sum((ms / largest) ** SHARPNESS for ms in times) ** (1 / SHARPNESS))


def _with_queue(latency: float, dram: float, queueing: float) -> float:
    """Return the time of warps that wait for a DRAM that is busy for `dram` of it.

    A request to a server that is busy for a share u of the time waits in its queue: its latency grows by
    queueing * u / (1 - u). The factor is 1 if requests arrive and are served at random (M/M/1), 1/2 if they
    arrive at random and take equally long (M/D/1), and 0 if they never meet. With u = dram / time, the time
    is the larger solution of (time - latency) (time - dram) = queueing * latency * dram: the larger of
    `latency` and `dram` if the factor is 0, their sum if it is 1.
    """
    return (latency + dram + sqrt((latency - dram) ** 2 + 4 * queueing * latency * dram)) / 2
