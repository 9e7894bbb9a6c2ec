"""`gpulab sweep`: kernels over blocks, tiles and sizes, as a table that can be plotted."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gpulab.cli.options import (
    add_csv,
    add_device,
    add_file,
    add_json,
    at_least_one,
    chosen,
    file_of,
    numbers,
)
from gpulab.cli.plot_table import PlotTable
from gpulab.errors import UsageError
from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.problems import Shape
    from gpulab.profiling.point import Point
    from gpulab.profiling.sweep import Sweep

__all__ = ["add_commands"]

INTERRUPTED = 130  # as a shell reports SIGINT


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sweep`."""
    words = "time kernels over blocks, tiles and sizes; a table to plot"
    sweep = subparsers.add_parser(
        "sweep",
        help=words,
        description=f"{words[0].upper()}{words[1:]}. A combination that cannot be launched stays in the "
        "table with the reason. Ctrl-C ends it and keeps what was found.",
    )
    add_file(sweep)
    sweep.add_argument(
        "--kernel",
        nargs="+",
        required=True,
        metavar="NAME",
        help="K4, matmul.K4, several of them, or all of the file",
    )
    sweep.add_argument(
        "--blocks",
        nargs="+",
        metavar="X[xY[xZ]]",
        help="threads of a block, as 64 or 32x8; left out: powers of two in the shape of the kernel's block",
    )
    sweep.add_argument(
        "--tiles", nargs="+", metavar="X[xY[xZ]]", help="points of a thread, as 1x4; left out: the header's"
    )
    sweep.add_argument(
        "--sizes", nargs="+", metavar="SIZE", help="as 4096 or 65x47x9; left out: the lab's own"
    )
    sweep.add_argument(
        "--iterations", type=at_least_one, default=3, metavar="N", help="launches timed for each point; 3"
    )
    sweep.add_argument("--no-check", action="store_true", help="time without checking the values first")
    add_device(sweep)
    add_json(sweep)
    add_csv(sweep, "point")
    sweep.set_defaults(run=run_sweep)


def run_sweep(args: argparse.Namespace) -> int:
    """Exit code 0 when something was timed; else 1 for a wrong kernel, 2 when nothing could be launched."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.profiling.sweep import Sweep

    file = file_of(args, "kernel", "blocks", "tiles", "sizes")
    if args.json and args.csv == "-":
        raise UsageError("--json and --csv would both print: give --csv a file, or leave one of them out.")
    sweep = Sweep(
        chosen(read_cells(file), args.kernel, file),
        open_device(args.device),
        blocks=[numbers(word.lower().split("x"), "--blocks", 1) for word in args.blocks or ()],
        tiles=[numbers(word.lower().split("x"), "--tiles", 0) for word in args.tiles or ()],
        sizes=args.sizes or (),
        device_name=args.device,
        check=not args.no_check,
        iterations=args.iterations,
    )
    points: list[Point] = []
    interrupted = _collect(sweep, points, args.csv)
    _report(args, sweep, points, interrupted=interrupted)
    if interrupted:
        return INTERRUPTED
    if any(point.timing for point in points):
        return 0
    return 1 if any(point.wrong for point in points) else 2


def _collect(sweep: Sweep, points: list[Point], csv: str | None) -> bool:
    """Run the sweep into `points` and the table; whether it was interrupted."""
    problems = list(dict.fromkeys(str(cell.header.problem) for cell in sweep.cells))
    with PlotTable(csv, problems) if csv is not None else nullcontext() as table, Bar("sweeping") as step:
        try:
            names = [_name(cell, shape) for cell, shape in sweep.plan()]
            step(0, len(names), f"1 of {len(names)}, {names[0]}")
            for point in sweep:
                points.append(point)
                if table is not None:
                    table.add(point)
                next_one = len(points) + 1
                if next_one <= len(names):
                    step(len(points), len(names), f"{next_one} of {len(names)}, {names[len(points)]}")
        except KeyboardInterrupt:
            return True
    return False


def _name(cell: Cell, shape: Shape) -> str:
    """A point in a few words."""
    header = cell.header
    size, block, tile = ("x".join(map(str, numbers or ())) for numbers in (shape, header.block, header.tile))
    return f"{header.variant} at {size}, block {block}, tile {tile}"


def _report(args: argparse.Namespace, sweep: Sweep, points: list[Point], *, interrupted: bool) -> None:
    from gpulab.profiling.sweep import fastest
    from gpulab.views.tables.point_view import points_view

    if args.json:
        best = fastest(points)
        rows = [point.as_dict() | {"fastest": place in best} for place, point in enumerate(points)]
        say(json.dumps({"device": sweep.device.name, "interrupted": interrupted, "points": rows}, indent=2))
    elif args.csv != "-":
        say(f"on {sweep.device.name}", "bold")
        say(points_view(points, fastest(points)).text)
    if interrupted:
        say(f"interrupted: {len(points)} of {len(sweep)} points were timed.", "yellow", error=True)
    elif points and not any(point.timing for point in points):
        say("gpulab: nothing was timed; the last column says why.", "red", error=True)
