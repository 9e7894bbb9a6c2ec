"""Run the kernels of cuda-samples, rodinia, llm.c and SGEMM_CUDA, and compare their values with NumPy.

python -m benchmarks.compatibility FOLDER... [--kernels TEXT] [--again] [--limit SECONDS]
python -m benchmarks.compatibility --table

Each FOLDER is a copy of a repository; none is part of gpulab. The first form lists the `__global__`
functions, extracts each (as `gpulab extract`), launches it as declared in this folder, plainly and under
`gpulab.sanitize`, and writes the outcomes to benchmarks/figures/compatibility.json and
docs/compatibility.md. Each outcome is stored at once; a launch whose stored outcome is right is not run
again, unless --again is given. With --kernels, it runs the kernels whose file or name contains TEXT,
prints their outcomes and stores nothing. Kernels that use cuRAND need the extra `curand`.

The second form writes docs/compatibility.md from the stored outcomes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.compatibility import declared as _  # noqa: F401
from benchmarks.compatibility.checking import STATUSES, Outcome, checker, instances_of
from benchmarks.compatibility.launches import declarations
from benchmarks.compatibility.listing import ListedKernel, list_kernels, suite_of
from benchmarks.compatibility.page import FIGURES, Row, Rows, summary, write_page
from gpulab.worker_process import Worker, WorkerDied

__all__ = ["main"]

LIMIT_S = 60.0  # for one launch with compilation; the slowest takes a third of it on one core


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compatibility")
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="a copy of a repository")
    parser.add_argument("--kernels", metavar="TEXT", help="print the outcomes of these kernels")
    parser.add_argument(
        "--again", action="store_true", help="run launches whose stored outcome is right, too"
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="time limit of one launch"
    )
    parser.add_argument("--table", action="store_true", help="write the page from the stored outcomes")
    options = parser.parse_args(arguments)
    if bool(options.folders) == options.table:
        parser.error("give the folders of the repositories, or --table")
    rows = Rows.read(FIGURES)
    if options.folders:
        folders = {suite_of(folder).name: folder.resolve() for folder in options.folders}
        listed = [kernel for folder in folders.values() for kernel in list_kernels(folder)]
        chosen = [each for each in listed if (options.kernels or "") in f"{each.file}:{each.name}"]
        stale = [key for key in _missing(listed) if key[0] in folders]
        if stale:
            parser.error(f"declared, but not in the folders: {stale}")
        _run(chosen, folders, rows, options)
        if options.kernels:
            return
        rows = rows.only((*kernel.key, instance) for kernel, _, instance in _launches(listed))
        rows.store(FIGURES)
    print("\n".join(summary(rows)))
    write_page(rows)


def _missing(listed: Sequence[ListedKernel]) -> list[tuple[str, str, str]]:
    return sorted(declarations.keys() - {kernel.key for kernel in listed})


def _run(
    kernels: Sequence[ListedKernel], folders: dict[str, Path], rows: Rows, options: argparse.Namespace
) -> None:
    """Check all launches of the kernels, each in a process that can be ended."""
    console = Console(stderr=True)
    launches = list(_launches(kernels))
    again = options.again or options.kernels
    with Progress(console=console, transient=True) as progress, Worker(checker, folders) as worker:
        task = progress.add_task("", total=len(launches))
        for kernel, number, instance in launches:
            progress.update(task, description=f"{kernel.file} {kernel.name}")
            if number is None:
                row = Row(*kernel.key, instance, "not declared")
            elif (stored := rows.stored(*kernel.key, instance)) and stored.is_right and not again:
                row = stored
            else:
                outcome = _outcome(worker, kernel, number, options.limit)
                row = Row(*kernel.key, instance, outcome.status, outcome.message)
            progress.advance(task)
            if options.kernels or row.status not in ("right", "explained", "not declared"):
                print(f"{row.status}: {row.file} {row.name} {row.instance} {row.message[:300]}", flush=True)
            if not options.kernels:
                rows.add(row)
                rows.store(FIGURES)


def _launches(kernels: Sequence[ListedKernel]) -> Iterator[tuple[ListedKernel, int | None, str]]:
    for kernel in kernels:
        if kernel.key not in declarations:
            yield kernel, None, ""
        else:
            for number, instance in enumerate(instances_of(kernel)):
                yield kernel, number, instance


def _outcome(worker: Worker, kernel: ListedKernel, number: int, limit_s: float) -> Outcome:
    """Return the worse of the outcomes of a plain and a sanitized launch."""
    outcomes = []
    for tier in ("plain", "sanitized"):
        try:
            outcome: Outcome = worker.call(kernel, number, tier, limit_s=limit_s)
        except WorkerDied as error:
            outcome = Outcome("stopped", f"{tier}: {error}")
        except RuntimeError as error:
            outcome = Outcome("fault", f"{tier}: {error}")
        outcomes.append(outcome)
        if outcome.status == "refused":
            break
    return max(outcomes, key=lambda outcome: STATUSES.index(outcome.status))


if __name__ == "__main__":
    main()
