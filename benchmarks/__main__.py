"""`python -m benchmarks`: the simulator beside its peers, in one run, as ratios."""

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

from benchmarks import report
from benchmarks.compare import Comparison, compare
from benchmarks.costs import compile_cost, import_cost, lab_kernels
from benchmarks.engines import Engine, NumbaSimulator, Simulator
from benchmarks.pocl import Pocl
from benchmarks.scaling import measure_scaling
from benchmarks.tiers import SIZES, Tiers, measure_tiers
from benchmarks.workloads import WORKLOADS


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpu = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        names = [line for line in facts.read_text(encoding="utf-8").splitlines() if line[:10] == "model name"]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "cpu": cpu,
        "cores": cores,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def open_engines(console: Console) -> list[Engine]:
    """gpulab first, then the peers that are here; says what is missing."""
    engines: list[Engine] = [Simulator()]
    peers: tuple[Callable[[], Engine], ...] = (Pocl, lambda: Pocl(hinted=True), NumbaSimulator)
    for peer in peers:
        try:
            engines.append(peer())
        except (ImportError, RuntimeError) as error:
            console.print(f"a peer is not here: {error}", style="yellow")
    return engines


def run_comparisons(console: Console, rounds: int) -> tuple[list[Comparison], dict[str, str]]:
    """All workloads on all engines."""
    engines = open_engines(console)
    versions = {engine.name: engine.version for engine in engines if engine.version}
    comparisons = []
    try:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("", total=rounds * sum(e.has(w) for w in WORKLOADS for e in engines))
            for workload in WORKLOADS:
                progress.update(task, description=workload.title)
                comparisons.append(compare(workload, engines, rounds, lambda: progress.advance(task)))
    finally:
        for engine in engines:
            engine.close()
    return comparisons, versions


def run_tiers(console: Console, rounds: int, *, peers: bool) -> tuple[list[Tiers], str]:
    """The simulator's tiers, and Oclgrind beside the sanitized one."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("the simulator's tiers", total=rounds * len(SIZES))
        return measure_tiers(rounds, peers=peers, step=lambda: progress.advance(task))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7)")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes a cost (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument("--skip-peers", action="store_true", help="measure only what gpulab itself costs")
    parser.add_argument("--only-tiers", action="store_true", help="measure only counting and sanitizing")
    options = parser.parse_args(arguments)
    if options.only_tiers and options.json:
        parser.error("--json holds everything that is measured; leave out --only-tiers")
    if options.rounds < 1 or options.repeats < 1:
        parser.error("--rounds and --repeats must be at least 1")

    console = Console()
    here = machine()
    console.print(report.machine_line(here))
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
            for kernel in progress.track(kernels, description="lab kernels, from text to code")
        ]
    console.print(report.compile_table(compiles))
    if options.json:
        data = report.as_data(here, versions, comparisons, imports, scaling, compiles, tiers)
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        console.print(f"every sample is in {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
