"""The time of a launch: the largest of what each part of the GPU needs for it, wave after wave of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from gpulab.gpus.architectures import Timings
from gpulab.gpus.catalogue import GpuSpec

__all__ = ["Estimate", "Work", "estimate"]

# How sharply the largest part decides: the time is the parts' norm of this order. Fitted on the Tesla T10;
# a part that takes half as long as the largest adds nothing to it, one that takes as long 4 %.
SHARPNESS = 16.0


@dataclass(frozen=True)
class Work:
    """What a launch asks of a GPU.

    blocks: of the grid. resident: blocks that an SM holds at once. warps: of a block.
    warp_cycles: of one warp from its start to its end, when nothing is in its way.
    instructions: by warps, all of them. pipes: by unit, cycles that the launch keeps the unit of one SM.
    l1_cycles: likewise, of the SM's way to L1 and shared memory. l2_bytes, dram_bytes: that come and go.
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
    """The whole launch.

    terms: by part of the GPU, the milliseconds that it needs by itself. bound: the one that decides.
    waves: of blocks; 1.5 is a full one and half of another.
    """

    time_ms: float
    terms: Mapping[str, float]
    bound: str
    waves: float


def estimate(spec: GpuSpec, timings: Timings, work: Work) -> Estimate:
    """How long `work` takes. Blocks run in waves of as many as fit; the last one may be smaller.

    In each wave the slowest part says how long it takes. By itself
        DRAM, L2            takes bytes by bandwidth
        L1, issue, units    take the cycles that the blocks of one SM need
        latency             takes a warp's own cycles, however few warps there are (Little's law)
    """
    clock = spec.boost_clock_mhz * 1e3  # cycles a millisecond
    fits = spec.sms * work.resident
    whole, rest = divmod(work.blocks, fits)
    on_an_sm = {"issue": work.instructions / timings.issue_per_cycle, "L1": work.l1_cycles, **work.pipes}
    of_one = {name: cycles / work.blocks / clock for name, cycles in on_an_sm.items()}
    of_all = {"DRAM": work.dram_bytes / work.blocks / (timings.dram_efficiency * spec.dram_gb_s * 1e6)}
    if timings.l2_bytes_per_cycle:
        of_all["L2"] = work.l2_bytes / work.blocks / (timings.l2_bytes_per_cycle * clock)

    def wave(blocks: int) -> dict[str, float]:
        busiest = -(-blocks // spec.sms)
        parts = {name: ms * blocks for name, ms in of_all.items()}
        parts |= {name: ms * busiest for name, ms in of_one.items()}
        return parts | {"latency": work.warp_cycles / clock if blocks else 0.0}

    full, last = wave(fits if whole else 0), wave(rest)
    launch_ms = timings.launch_us / 1e3
    time_ms = launch_ms + whole * _together(full, timings.queueing) + _together(last, timings.queueing)
    terms = {name: whole * ms + last[name] for name, ms in full.items()}
    bound = max(terms, key=lambda name: terms[name])
    return Estimate(time_ms, terms | {"launch": launch_ms}, bound, work.blocks / fits)


def _together(parts: Mapping[str, float], queueing: float) -> float:
    """The parts at once: about the largest, and a little more where others come close to it."""
    others = [ms for name, ms in parts.items() if name not in ("latency", "DRAM")]
    others.append(_queued(parts["latency"], parts["DRAM"], queueing))
    largest = max(others)
    if not largest:
        return 0.0
    total = sum((ms / largest) ** SHARPNESS for ms in others)
    return float(largest * total ** (1 / SHARPNESS))


def _queued(latency: float, dram: float, queueing: float) -> float:
    """Time of warps that wait for a DRAM that is busy for `dram` of it.

    A request to a server that is busy for a share u of the time waits in its queue: its latency grows by
    `queueing` * u / (1 - u), where 1 is requests at random of random length (M/M/1), 1/2 those that all take
    equally long (M/D/1) and 0 requests that never meet. With
    u = dram / time that is the larger solution of (time - latency) (time - dram) = queueing latency dram:
    the larger of the two for 0, their sum for 1.
    """
    return (latency + dram + sqrt((latency - dram) ** 2 + 4 * queueing * latency * dram)) / 2
