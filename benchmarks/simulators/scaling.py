"""Scaling of the simulator's rate with the number of cores and the size of the problem."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

from benchmarks.simulators.costs import ROOT
from benchmarks.simulators.workloads import WORKLOADS, Workload

__all__ = ["SIZES", "Scaling", "measure_scaling"]

SIZES = {"stencil_naive": (128, 256, 512), "sgemm_tiled": (128, 256, 512, 1024)}

_RUN = """
import json, os, sys
from statistics import median
kernel, sizes, cores = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
if cores:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
from dataclasses import replace
from benchmarks.simulators.engines import Simulator
from benchmarks.simulators.workloads import WORKLOADS
workload = next(w for w in WORKLOADS if w.kernel == kernel)
rates = []
for size in sizes:
    engine = Simulator()
    launch = engine.prepare(replace(workload, size=size))
    seconds = []
    while len(seconds) < 3 or (sum(seconds) < 1 and len(seconds) < 20):
        seconds.append(engine.run())
    rates.append(launch.work / median(seconds))
print(json.dumps(rates))
"""


@dataclass(frozen=True)
class Scaling:
    """Points or FMAs per second of one kernel at one size, on one core and on all `cores` cores."""

    workload: Workload
    size: int
    cores: int
    one_core: float
    all_cores: float


def _rates(kernel: str, sizes: tuple[int, ...], cores: int) -> list[float]:
    """Return the rates of a kernel in a new process that uses `cores` cores, or all if that is 0."""
    command = [sys.executable, "-c", _RUN, kernel, json.dumps(sizes), str(cores)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rates: list[float] = json.loads(run.stdout)
    return rates


def measure_scaling() -> list[Scaling]:
    """Return the rates at every size of `SIZES`; empty if a process cannot be bound to a core."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    cores = len(os.sched_getaffinity(0))
    rows = []
    for workload in WORKLOADS:
        sizes = SIZES.get(workload.kernel, ())
        if sizes:
            one_core, all_cores = (_rates(workload.kernel, sizes, number) for number in (1, 0))
            pairs = zip(sizes, one_core, all_cores, strict=True)
            rows += [Scaling(workload, size, cores, one, every) for size, one, every in pairs]
    return rows
