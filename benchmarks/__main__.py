"""Compare the simulator's speed with its peers', and measure what gpulab itself costs.

python -m benchmarks [--rounds N] [--repeats N] [--json FILE] [--skip-peers] [--only-tiers]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.simulators import report
from benchmarks.simulators.compare import Comparison, compare
from benchmarks.simulators.compiled_c import CompiledC
from benchmarks.simulators.costs import compile_cost, import_cost, lab_kernels
from benchmarks.simulators.engines import Engine, NumbaSimulator, Simulator
from benchmarks.simulators.pocl import Pocl
from benchmarks.simulators.scaling import measure_scaling
from benchmarks.simulators.tiers import SIZES, Tiers, measure_tiers
from benchmarks.simulators.workloads import WORKLOADS


def machine() -> dict[str, Any]:
    """Return the CPU, its cores, the load and the versions of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line for line in cpuinfo.read_text(encoding="utf-8").splitlines() if line[:10] == "model name"
        ]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "cpu": cpu,
        "cores": cores,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def open_engines(console: Console) -> list[Engine]:
    """Return gpulab and the installed peers, in this order; print which peers are missing."""
    engines: list[Engine] = [Simulator()]
    peers: tuple[Callable[[], Engine], ...] = (Pocl, lambda: Pocl(hinted=True), NumbaSimulator, CompiledC)
    for peer in peers:
        try:
            engines.append(peer())
        except (ImportError, RuntimeError) as error:
            console.print(f"a peer is not installed: {error}", style="yellow")
    return engines


def run_comparisons(console: Console, rounds: int) -> tuple[list[Comparison], dict[str, str]]:
    """Return the comparison of all workloads on all engines, and the engines' versions."""
    engines = open_engines(console)
    versions = {engine.name: engine.version for engine in engines if engine.version}
    comparisons = []
    try:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task(
                "", total=rounds * sum(e.has(w) and not e.unavailable for w in WORKLOADS for e in engines)
            )
            for workload in WORKLOADS:
                progress.update(task, description=workload.title)
                comparisons.append(compare(workload, engines, rounds, lambda: progress.advance(task)))
    finally:
        for engine in engines:
            engine.close()
    return comparisons, versions


def run_tiers(console: Console, rounds: int, *, peers: bool) -> tuple[list[Tiers], str]:
    """Return the costs of the simulator's tiers, compared with Oclgrind, and a remark about Oclgrind."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("the simulator's tiers", total=rounds * len(SIZES))
        return measure_tiers(rounds, peers=peers, step=lambda: progress.advance(task))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7)")
    parser.add_argument("--repeats", type=int, default=3, help="new processes for each cost (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    parser.add_argument("--skip-peers", action="store_true", help="measure gpulab only")
    parser.add_argument("--only-tiers", action="store_true", help="measure only counting and sanitizing")
    options = parser.parse_args(arguments)
    if options.only_tiers and options.json:
        parser.error("--json needs all measurements; omit --only-tiers")
    if options.rounds < 1 or options.repeats < 1:
        parser.error("--rounds and --repeats must be at least 1")

    console = Console()
    host = machine()
    console.print(report.machine_line(host))
    tiers, remark = run_tiers(console, options.rounds, peers=not options.skip_peers)
    console.print(report.tiers_table(tiers, remark))
    if options.only_tiers:
        return 0
    comparisons: list[Comparison] = []
    versions: dict[str, str] = {}
    if not options.skip_peers:
        comparisons, versions = run_comparisons(console, options.rounds)
        console.print(report.comparison_table(comparisons, versions))
    scaling = measure_scaling()
    if scaling:
        console.print(report.scaling_table(scaling))
    imports = import_cost(options.repeats)
    console.print(report.import_line(imports))
    with Progress(console=console, transient=True) as progress:
        kernels = lab_kernels()
        compiles = [
            compile_cost(*kernel, options.repeats)
            for kernel in progress.track(kernels, description="lab kernels, from source to code")
        ]
    console.print(report.compile_table(compiles))
    if options.json:
        data = report.as_data(host, versions, comparisons, imports, scaling, compiles, tiers)
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        console.print(f"all samples are in {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
