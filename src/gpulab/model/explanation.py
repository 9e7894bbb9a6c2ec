"""An estimate in a sentence: what bounds the launch, and what there could be more of."""

from __future__ import annotations

from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.estimate import Estimate, Work

__all__ = ["PARTS", "bound_words"]

PARTS = {
    "DRAM": "the bandwidth of global memory",
    "L2": "the bandwidth of L2",
    "L1": "accesses to L1 and shared memory",
    "issue": "the number of instructions",
    "fp32": "single precision arithmetic",
    "fma": "integer multiplication",
    "integer": "integer arithmetic",
    "fp64": "double precision arithmetic",
    "special": "special functions and conversions",
    "launch": "the launch itself",
    "latency": "latency",
}


def bound_words(spec: GpuSpec, work: Work, found: Estimate, warps_with: dict[int, int]) -> str:
    """As in: bound by latency: 8 warps of 32 per SM; with 64 threads a block it would be 16.

    warps_with: warps on an SM by threads of a block, for other blocks of this kernel.
    """
    share = found.terms[found.bound] / found.time_ms
    if found.bound != "latency":
        return f"bound by {PARTS[found.bound]}: busy for {min(share, 1):.0%} of the time"
    blocks = -(-work.blocks // spec.sms)
    held = min(work.resident, blocks)
    warps = held * work.warps
    text = f"bound by latency: {warps} warps of {spec.max_warps_per_sm} per SM"
    if blocks < work.resident:
        return f"{text}; the grid has no more blocks"
    better = [(count, threads) for threads, count in warps_with.items() if count > warps]
    if better:
        most = max(count for count, _ in better)
        threads = min(threads for count, threads in better if count == most)
        text += f"; with {threads} threads a block it would be {most}"
    return text
