"""Latencies, throughputs and caches of GPU architectures: the parameters of the performance model.

Every figure is a property of the hardware and has a unit; none depends on a kernel. `architectures.toml` says
where each was published or how it was measured.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpulab.gpus.catalogue import GpuSpec

__all__ = ["Architecture", "architecture", "calibration", "sources"]


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The figures of an architecture, with those of a card where they differ.

    Latencies are in cycles of the clock of the arithmetic units, from issue to result. Throughputs are in
    threads (lanes) per cycle and SM: the number of threads for which an SM starts the operation in a cycle.

    Attributes
    ----------
    schedulers : int
        Warp schedulers per SM; each has its own part of the arithmetic units.
    issue_per_cycle : float
        Warp instructions that an SM issues per cycle, over all schedulers.
    integer_lanes, fp64_lanes, special_lanes, load_lanes : float
        Throughput of integer arithmetic, of double precision, of special functions and conversions, and of
        the addresses of loads and stores. That of single precision is `GpuSpec.cores_per_sm`.
    arithmetic_cycles, special_cycles, constant_cycles, shared_cycles, l1_cycles, l2_cycles : float
        Latency of arithmetic, of special functions, and of loads that hit constant memory, shared memory, L1
        and L2.
    tensor_cycles : float
        Latency of a tensor-core instruction.
    dram_ns : float
        Latency of a load from DRAM, in nanoseconds.
    barrier_cycles, barrier_cycles_per_warp : float
        Latency of `__syncthreads()`, and its increase for each warp of the block.
    l1_bytes : int
        L1 cache per SM, including shared memory if both use the same storage (`l1_is_shared`); 0 if global
        loads are not cached in L1.
    l1_is_shared : bool
        L1 and shared memory use the same storage.
    l1_ways, l2_ways : int
        Associativity of the caches.
    l2_bytes_per_cycle : float
        Bandwidth of L2 to all SMs together, in bytes per cycle.
    dram_efficiency : float
        Share of the published DRAM bandwidth that a stream of reads and writes achieves, 0 to 1.
    dram_burst_bytes : int
        Smallest transaction on the DRAM bus, in bytes.
    l2_clusters : int
        Groups of SMs that each combine simultaneous requests for one line into one request to L2; 0 if
        requests are not combined.
    l2_far_cycles : float
        Increase of the latency of L2 and DRAM for the half of L2 that is further away. `l2_cycles` is the
        latency of the nearer half, `dram_ns` the mean of both. 0 if L2 has one part.
    dram_partitions, partition_bytes : int
        Memory channels, and adjacent bytes in one channel. Compute capability 1.x only: later GPUs hash
        addresses. 0 if unknown or hashed.
    l2_write_cost : float
        Time that L2 takes to write, divided by the time that it takes to read as many bytes.
    l2_part_bytes : float
        Additional time of L2 for a sector of which one word is written, as the bytes that it could read
        in it.
    queueing, l2_queueing : float
        Wait in the queues of DRAM and of L2 if they are busy for half of the time, as a share of their
        latency.
    write_delay : float
        Delay of a load that arrives while DRAM writes, as a share of the latency of DRAM.
    sm_queueing : float
        Wait in the queues of L1 and of the schedulers if they are busy for half of the time, as a share of
        the time of service: 0 for warps that never wait for each other, 1/2 and 1 for random arrivals with
        constant and with exponentially distributed service times.
    barrier_queueing : float
        Increase of these waits for a kernel that waits only at barriers.
    atomic_cycles : float
        Cycles of a slice of L2 for an atomic operation or a store, during which it begins no other one.
    block_cycles : float
        Cycles in which an SM starts a block.
    block_gap_cycles : float
        Cycles from the end of a block to the start of the next one in its place.
    launch_us : float
        Time between two events around an empty kernel, in microseconds.
    """

    schedulers: int
    issue_per_cycle: float
    integer_lanes: float
    fp64_lanes: float
    special_lanes: float
    load_lanes: float
    arithmetic_cycles: float
    special_cycles: float
    constant_cycles: float
    shared_cycles: float
    l1_cycles: float
    l2_cycles: float
    dram_ns: float
    barrier_cycles: float
    barrier_cycles_per_warp: float
    l1_bytes: int
    l1_is_shared: bool
    l1_ways: int
    l2_ways: int
    l2_bytes_per_cycle: float
    dram_efficiency: float
    dram_burst_bytes: int = 32
    l2_clusters: int = 0
    l2_far_cycles: float = 0.0
    dram_partitions: int = 0
    partition_bytes: int = 0
    queueing: float
    launch_us: float
    l2_write_cost: float = 0.0
    l2_part_bytes: float = 0.0
    l2_queueing: float = 0.0
    write_delay: float = 0.0
    sm_queueing: float = 0.0
    barrier_queueing: float = 0.0
    atomic_cycles: float = 0.0
    block_cycles: float = 0.0
    block_gap_cycles: float = 0.0
    tensor_cycles: float = 0.0


@cache
def architecture(spec: GpuSpec) -> Architecture:
    """Return the figures of a GPU: the card's own where they are known, else its architecture's.

    A compute capability without a table has the figures of the nearest earlier one.
    """
    document = _document()
    tables = {tuple(map(int, name.split("."))): table for name, table in document["architecture"].items()}
    at_most = [capability for capability in tables if capability <= spec.compute_capability]
    figures = tables[max(at_most) if at_most else min(tables)] | document["gpu"].get(spec.key, {})
    not_figures = ("sources", "calibration")
    return Architecture(**{name: value for name, value in figures.items() if name not in not_figures})


def calibration(spec: GpuSpec) -> str:
    """Return how far the model's times of a GPU are from known times, or that none are known."""
    note = _document()["gpu"].get(spec.key, {}).get("calibration", "")
    return str(note) or "uncalibrated: not compared with measurements of this GPU"


def sources(spec: GpuSpec) -> dict[str, tuple[str, str]]:
    """Return for each figure its basis (published, measured, fitted or assumed) and its source."""
    document = _document()
    tables = [document["architecture"].get(".".join(map(str, spec.compute_capability)), {})]
    tables.append(document["gpu"].get(spec.key, {}))
    return {
        figure: (entry["basis"], document["sources"].get(entry["source"], entry["source"]))
        for table in tables
        for entry in table.get("sources", ())
        for figure in entry["figures"]
    }


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.gpus").joinpath("architectures.toml").read_text(encoding="utf-8"))
