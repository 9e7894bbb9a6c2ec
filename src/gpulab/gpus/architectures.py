"""How fast the parts of an SM and its memories are: what the performance model takes of an architecture.

Every figure is a property of the machine, with a unit; none belongs to a kernel. Where each was read or
measured stands in `catalogue.toml`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpulab.gpus.catalogue import GpuSpec

__all__ = ["Timings", "checked", "sources", "timings"]


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Figures of one architecture, or of one card where its own are known.

    Cycles are those of the clock that the arithmetic units run at.

    schedulers: of an SM; each has its own part of the units. issue_per_cycle: warp instructions that an SM
    begins each cycle, over all schedulers.
    *_lanes: threads for which an SM begins an operation each cycle: integer arithmetic, double precision,
    special functions and conversions, addresses of loads and stores. (Single precision: `cores_per_sm`.)
    *_cycles: from issue to the result: of arithmetic, of special functions, of a load from constant memory,
    shared memory, L1 and L2. dram_ns: of a load that goes to DRAM, in nanoseconds.
    barrier_cycles, barrier_cycles_per_warp: of `__syncthreads()`, and for each warp of the block besides.
    l1_bytes: of an SM, together with its shared memory where those share one store (`l1_is_shared`); 0 where
    global loads have no L1. l1_ways, l2_ways: lines of a set.
    l2_bytes_per_cycle: that L2 hands to all SMs together. dram_efficiency: of the published bandwidth,
    what a stream of reads and writes reaches.
    l2_clusters: groups of SMs (GPCs) that each send requests for one line, made at about the same time, to
    L2 as one; 0 where each goes by itself.
    dram_burst_bytes: what a transaction takes of the bus at least. dram_partitions, partition_bytes: memory
    channels, and how many neighbouring bytes lie in one (compute capability 1.x only; later ones scatter
    addresses); 0 where unknown or scattered.
    queueing: how much requests to DRAM wait for each other: 0 for requests that never meet, 1/2 and 1 for
    requests at random that take equally long, or randomly long.
    launch_us: from one mark to another around an empty kernel, in microseconds.
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
    dram_partitions: int = 0
    partition_bytes: int = 0
    queueing: float
    launch_us: float


@cache
def timings(spec: GpuSpec) -> Timings:
    """The figures of a GPU: its own where they are known, else its architecture's.

    Of a compute capability without a table, the nearest earlier one's.
    """
    document = _document()
    tables = {tuple(map(int, name.split("."))): table for name, table in document["architecture"].items()}
    at_most = [cc for cc in tables if cc <= spec.compute_capability]
    figures = tables[max(at_most) if at_most else min(tables)] | document["gpu"].get(spec.key, {})
    return Timings(**{name: value for name, value in figures.items() if name not in ("sources", "checked")})


def checked(spec: GpuSpec) -> str:
    """What the model's times of a GPU were compared with, and how far off they were."""
    words = _document()["gpu"].get(spec.key, {}).get("checked", "")
    return str(words) or "uncalibrated: nobody here measured this GPU"


def sources(spec: GpuSpec) -> dict[str, tuple[str, str]]:
    """By figure: how it is known (published, measured, fitted or assumed), and where it is from."""
    document = _document()
    tables = [document["architecture"].get(".".join(map(str, spec.compute_capability)), {})]
    tables.append(document["gpu"].get(spec.key, {}))
    return {
        figure: (entry["known"], document["sources"].get(entry["source"], entry["source"]))
        for table in tables
        for entry in table.get("sources", ())
        for figure in entry["figures"]
    }


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.gpus").joinpath("architectures.toml").read_text(encoding="utf-8"))
