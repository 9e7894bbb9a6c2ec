"""Requests and sectors of a version of a kernel, per unit of the problem's work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpulab.cell import KernelCell
from gpulab.devices.base import Kernel
from gpulab.problems.base import Problem
from gpulab.problems.baselines import shipped_baseline
from gpulab.profiling.counts.cell_counts import count_cell

__all__ = ["LANES", "VersionTraffic", "baseline_traffic", "counted_traffic"]

LANES = 32  # units of work that counts refer to: those of one warp instruction


@dataclass(frozen=True)
class VersionTraffic:
    """Requests and sectors of one version per unit of work, and their origin.

    per_work: by name: "global_loads", "load_sectors", "global_stores", "shared_loads", "shared_stores".
    """

    variant: str
    per_work: Mapping[str, float]
    origin: str

    @property
    def requests(self) -> float:
        return sum(number for name, number in self.per_work.items() if name != "load_sectors")


def baseline_traffic(problem: Problem, variants: Collection[str]) -> VersionTraffic | None:
    """Return the counts of the baseline that ships with gpulab, unless the session has that version."""
    baseline = shipped_baseline(problem.name)
    if baseline is None or baseline.variant in variants:
        return None
    return VersionTraffic(
        f"{baseline.variant} (baseline)", baseline.counts, f"{baseline.variant}: {baseline.label}"
    )


def counted_traffic(cell: KernelCell, kernel: Kernel) -> VersionTraffic:
    """Count one launch of a cell's kernel on the simulator."""
    count = count_cell(cell, kernel)
    counters, config = count.recorded.counters, cell.config
    copies = [a for a in counters.accesses if (a.kind, a.space) == ("bulk copy", "global")]
    counts = {
        "global_loads": counters.global_load_requests + sum(a.requests for a in copies),
        "load_sectors": counters.global_load_sectors + sum(a.sectors for a in copies),
        "global_stores": counters.global_store_requests,
        "shared_loads": counters.shared_load_requests,
        "shared_stores": counters.shared_store_requests,
    }
    work = config.problem.work(count.launch.shape) / LANES
    per_work = {name: number / work for name, number in counts.items()}
    return VersionTraffic(config.variant, per_work, str(counters.provenance))
