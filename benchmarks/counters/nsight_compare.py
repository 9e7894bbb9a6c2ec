"""Compare gpulab's counters with those that Nsight Compute measured on an H200.

python -m benchmarks.counters.nsight_compare [--group GROUP] [--page] [--pack FILE ... --on LINE ...]

No GPU is needed. --page writes docs/counters.md. --pack first makes the figures under benchmarks/figures from
results of `python -m benchmarks.counters.nsight`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.counters.nsight_comparison import LaunchComparison, agreement, compare
from benchmarks.counters.nsight_figures import NsightFigures, pack
from benchmarks.counters.nsight_launches import launches
from benchmarks.counters.nsight_page import PAGE, page

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counters.nsight_compare", description=__doc__)
    parser.add_argument("--group", choices=("micro", "stencil", "matmul"), help="compare only these launches")
    parser.add_argument("--page", action="store_true", help="write docs/counters.md")
    parser.add_argument("--pack", type=Path, nargs="+", metavar="FILE", help="make the figures from FILEs")
    parser.add_argument(
        "--on", nargs="+", default=[], help="with --pack: device, driver and CUDA version, one line each"
    )
    options = parser.parse_args(arguments)

    if options.pack:
        pack(options.pack, options.on)
    figures = NsightFigures.read()
    selected = [launch for launch in launches() if options.group in (None, launch.group)]
    comparisons = list(compare(figures, selected))
    _print_agreement(Console(), comparisons)
    if options.page:
        PAGE.write_text(page(figures, comparisons), encoding="utf-8")
    return 0


def _print_agreement(console: Console, comparisons: Sequence[LaunchComparison]) -> None:
    table = Table("metric", "exact", "of", "worst", "gpulab", "Nsight Compute", "launch")
    for name, (exact, launches_of_metric, worst) in agreement(comparisons).items():
        row = [name, str(exact), str(launches_of_metric)]
        if worst is not None:
            row += [f"{worst.relative:+.2%}", f"{worst.counted:,}", f"{worst.measured:,}", worst.launch]
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
