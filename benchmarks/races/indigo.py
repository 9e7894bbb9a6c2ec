"""Run `gpulab.sanitize` on the kernels of the Indigo suite, half of which have a planted data race.

python -m benchmarks.races.indigo FOLDER [--graphs GRAPH ...] [--kernels TEXT] [--jobs N]
python -m benchmarks.races.indigo --table

FOLDER is the suite, which is not part of gpulab: the artifact of HiRace (SC 2024),
https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24, or its folder `indigo`. The first form launches every
kernel on every graph, stores what gpulab reports in benchmarks/figures/indigo.json and writes docs/races.md.
With --kernels, it prints the reports of the kernels whose names contain TEXT and stores nothing.

The second form writes docs/races.md from the stored figures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.races.indigo_accesses import conflicts, log_accesses
from benchmarks.races.indigo_page import FIGURES, IndigoFigures, KernelVerdicts, summary, write_page
from benchmarks.races.indigo_suite import (
    BLOCK,
    GRAPHS,
    GRID,
    Graph,
    Integers,
    SuiteKernel,
    data_arrays,
    read_graph,
    read_suite,
)
from gpulab.errors import GpulabError

__all__ = ["check_kernel", "main"]

# Elements around the arrays of kernels with a bounds bug, so that their launches do not end at the first
# access outside: threads without the guard `i < numv` use their own index, and `nlist[end - 1]` can be -1.
BEFORE, AFTER = 32, GRID * BLOCK + 32


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.races.indigo")
    parser.add_argument("folder", type=Path, nargs="?", help="the suite")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS, metavar="GRAPH")
    parser.add_argument("--kernels", metavar="TEXT", help="print the reports of these kernels")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--table", action="store_true", help="write the page from the stored figures")
    options = parser.parse_args(arguments)
    if (options.folder is None) != options.table:
        parser.error("give the folder of the suite, or --table")
    if not options.table:
        kernels, inputs = read_suite(options.folder)
        chosen = [kernel for kernel in kernels if (options.kernels or "") in kernel.name]
        rows = run(chosen, inputs, options.graphs, options.jobs)
        if options.kernels:
            return
        IndigoFigures(tuple(options.graphs), tuple(rows)).store(FIGURES)
    print("\n".join(summary(IndigoFigures.read(FIGURES))))
    write_page()


def run(
    kernels: Sequence[SuiteKernel], inputs: Path, graphs: Sequence[str], jobs: int
) -> list[KernelVerdicts]:
    """Check the kernels in `jobs` processes; print a line for each."""
    check = partial(check_kernel, graphs=[inputs / f"{graph}.egr" for graph in graphs])
    rows = []
    start = time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        for row in pool.map(check, kernels):
            rows.append(row)
            progress = f"{len(rows)}/{len(kernels)}, {time.perf_counter() - start:.0f} s"
            print(
                f"{progress}: {row.name} {row.races} {row.conflicts} {row.bounds}", *row.reports, flush=True
            )
    return rows


def check_kernel(suite_kernel: SuiteKernel, graphs: Sequence[Path]) -> KernelVerdicts:
    """Launch one kernel on each graph under `gpulab.sanitize`."""
    races, differing, bounds, reports = "", "", "", []
    try:
        source = _device_side(suite_kernel.path)
        kernel = _simulator().compile(source, "test_kernel")
        for path in graphs:
            graph = read_graph(path)
            severity, others = _check_races(kernel, graph, suite_kernel.has_bounds_bug)
            races += severity
            reports += [f"{path.stem}: {text}" for text in others]
            differs = (severity != "-") != bool(suite_kernel.race_bugs)
            differing += _conflicts(source, graph, suite_kernel) if differs else "."
            if suite_kernel.has_bounds_bug:
                bounds += "b" if _is_outside(kernel, graph) else "-"
    except GpulabError as error:
        reports.append(f"not run: {error}")
    return KernelVerdicts(suite_kernel.name, races, differing, bounds, tuple(reports))


def _check_races(kernel: Any, graph: Graph, extended: bool) -> tuple[str, list[str]]:
    """Return the letter of `KernelVerdicts.races` for one launch, and the reports that are no races."""
    from gpulab import sanitize

    findings = sanitize(kernel, GRID, BLOCK, _arguments(graph, extended))
    others = [f"{each.tool}: {each}" for each in findings if each.tool != "racecheck"]
    severities = {each.severity for each in findings if each.tool == "racecheck"}
    return "r" if "error" in severities else "w" if severities else "-", others


def _conflicts(source: str, graph: Graph, suite_kernel: SuiteKernel) -> str:
    """Return the letter of `KernelVerdicts.conflicts` for one launch."""
    if "syncBug" in suite_kernel.bugs or "atomicRead" in source:
        return "?"  # shared memory is not logged, nor are accesses through functions
    accesses = log_accesses(_simulator(), source, _arguments(graph, suite_kernel.has_bounds_bug))
    return conflicts(accesses)[0]


def _is_outside(kernel: Any, graph: Graph) -> bool:
    """Return True if a launch with arrays of the suite's sizes is reported to access memory outside them."""
    from gpulab import sanitize

    findings = sanitize(kernel, GRID, BLOCK, _arguments(graph, extended=False))
    return any(each.tool == "memcheck" for each in findings)


def _arguments(graph: Graph, extended: bool) -> tuple[Any, ...]:
    """Return the arguments of a launch; extended: the arrays have zeros before and after them."""
    padding = (BEFORE, AFTER) if extended else (0, 0)
    neighbours = graph.neighbours if len(graph.neighbours) else np.zeros(1, np.int32)
    arrays: list[Integers] = [graph.index, neighbours, *data_arrays(graph)]
    device = _simulator()
    return (*(device.asarray(np.pad(array, padding))[padding[0] :] for array in arrays), graph.vertices)


@cache
def _simulator() -> Any:
    import gpulab

    return gpulab.device("sim")


def _device_side(path: Path) -> str:
    """Return the kernel of a source file without the file's host code."""
    from gpulab.compiler.extraction.device_side import extract, read_items

    (cell,) = extract(read_items(path).items)
    return cell.source


if __name__ == "__main__":
    main()
