"""`gpulab sweep`: time kernels for several blocks, tiles and sizes."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gpulab.cli.csv_table import CsvTable
from gpulab.cli.options import (
    add_command,
    add_csv,
    add_device,
    add_input_file,
    add_json,
    check_outputs,
    input_file,
    parse_numbers,
    positive_int,
    select_cells,
)
from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import KernelCell
    from gpulab.problems import Shape
    from gpulab.profiling.point import Point
    from gpulab.profiling.sweep import Sweep

__all__ = ["add_commands"]

INTERRUPTED = 130  # exit code, as a shell reports SIGINT
DETAILS = (
    "A combination that cannot be launched is listed with the reason. Ctrl-C stops the sweep and prints the "
    "points timed so far. Exit codes: 0 at least one point was timed, 1 a kernel is wrong, 2 no combination "
    "could be launched, 130 interrupted."
)


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab sweep`."""
    sweep = add_command(
        subparsers, "sweep", "time kernels for several blocks, tiles and sizes", run_sweep, DETAILS
    )
    add_input_file(sweep)
    sweep.add_argument(
        "--kernel",
        nargs="+",
        required=True,
        metavar="NAME",
        help="kernels to time: VARIANT, PROBLEM.VARIANT, or all; several allowed",
    )
    sweep.add_argument(
        "--blocks",
        nargs="+",
        metavar="X[xY[xZ]]",
        help="threads per block, such as 64 or 32x8; default: powers of two",
    )
    sweep.add_argument(
        "--tiles",
        nargs="+",
        metavar="X[xY[xZ]]",
        help="output points per thread, such as 1x4; default: the kernel's header",
    )
    sweep.add_argument(
        "--sizes",
        nargs="+",
        metavar="SIZE",
        help="such as 4096 or 65x47x9; default: the problem's timing size",
    )
    sweep.add_argument(
        "--iterations",
        type=positive_int,
        default=3,
        metavar="N",
        help="timed launches per point; default: 3",
    )
    sweep.add_argument(
        "--no-check", action="store_true", help="time the kernels without checking their values"
    )
    add_device(sweep)
    add_json(sweep)
    add_csv(sweep, "point")


def run_sweep(args: argparse.Namespace) -> int:
    """Run the sweep and print its points.

    Return the exit code: 130 after Ctrl-C, 0 if at least one point was timed, 1 if a kernel is wrong, else 2.
    """
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.profiling.sweep import Sweep

    file = input_file(args, "kernel", "blocks", "tiles", "sizes")
    check_outputs(args)
    sweep = Sweep(
        select_cells(read_cells(file), args.kernel, file),
        open_device(args.device),
        blocks=[parse_numbers(block.lower().split("x"), "--blocks", 1) for block in args.blocks or ()],
        tiles=[parse_numbers(tile.lower().split("x"), "--tiles", 0) for tile in args.tiles or ()],
        sizes=args.sizes or (),
        device_name=args.device,
        check=not args.no_check,
        iterations=args.iterations,
    )

    points: list[Point] = []
    interrupted = _run_points(sweep, points, args.csv)
    _print_points(args, sweep, points, interrupted=interrupted)

    if interrupted:
        return INTERRUPTED
    if any(point.timing for point in points):
        return 0
    return 1 if any(point.wrong for point in points) else 2


def _run_points(sweep: Sweep, points: list[Point], csv: str | None) -> bool:
    """Append the points of the sweep to `points` and to the CSV table; return whether it was interrupted."""
    problems = list(dict.fromkeys(cell.config.problem.name for cell, _ in sweep.plan()))
    with CsvTable(csv, problems) if csv is not None else nullcontext() as table, Bar("sweeping") as step:
        try:
            names = [_describe(cell, shape) for cell, shape in sweep.plan()]
            step(0, len(names), f"1 of {len(names)}, {names[0]}")
            for point in sweep:
                points.append(point)
                if table is not None:
                    table.add(point)
                done = len(points)
                if done < len(names):
                    step(done, len(names), f"{done + 1} of {len(names)}, {names[done]}")
        except KeyboardInterrupt:
            return True
    return False


def _describe(cell: KernelCell, shape: Shape) -> str:
    """Return a phrase that names a point for the progress bar."""
    config = cell.config
    size, block, tile = ("x".join(map(str, numbers)) for numbers in (shape, config.block, config.tile))
    return f"{config.variant} at {size}, block {block}, tile {tile}"


def _print_points(args: argparse.Namespace, sweep: Sweep, points: list[Point], *, interrupted: bool) -> None:
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
        say("gpulab: no point was timed; the last column has the reasons.", "red", error=True)
