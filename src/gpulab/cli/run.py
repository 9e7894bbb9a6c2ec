"""`gpulab run`: the kernels of a file, checked and timed; with --kernel, chosen ones driven at one size."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.check_progress import judged, show
from gpulab.cli.driver import add_driver_options, drive, refuse_driver_options
from gpulab.cli.options import add_file, add_kernel_options, file_of
from gpulab.views.terminal import say

if TYPE_CHECKING:
    from gpulab.problems import Shape
    from gpulab.profiling.speedup import SpeedupTable

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run`."""
    run = subparsers.add_parser(
        "run", help="run the kernels of a notebook or .cu file: compile, check, table"
    )
    add_file(run)
    add_kernel_options(run, "time at this size, as 128 or 65x47x9")
    add_driver_options(run)
    run.set_defaults(run=run_file)


def run_file(args: argparse.Namespace) -> int:
    file = file_of(args, "kernel", "block", "tile")
    if args.kernel:
        return drive(args, file)
    refuse_driver_options(args)
    return run_all(args, file)


def run_all(args: argparse.Namespace, file: Path) -> int:
    """Exit code 2 when a cell cannot be used as asked, 1 when one is wrong."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.problems import problem
    from gpulab.profiling.speedup import SpeedupTable
    from gpulab.views.tables.speedup_view import speedup_view

    cells = read_cells(file)
    sizes: dict[str | None, Shape | None] = {None: None}
    for name in {cell.header.problem for cell in cells} - {None}:
        sizes[name] = problem(str(name)).parse_shape(args.size) if args.size is not None else None
    device = open_device(args.device)
    tables: dict[str, SpeedupTable] = {}
    outcomes = []
    for cell in cells:
        outcome = judged(cell, device, args.device, time_at=sizes[cell.header.problem], timed=True)
        outcomes.append(outcome)
        if not args.json:
            show(outcome, device)
        if outcome.timing and cell.header.problem:
            tables.setdefault(cell.header.problem, SpeedupTable(cell.header.problem)).add(outcome.timing)
    if args.json:
        rows = {name: table.as_list() for name, table in tables.items()}
        data = {"device": device.name, "cells": [o.as_dict() for o in outcomes], "speedup": rows}
        say(json.dumps(data, indent=2))
    else:
        for table in tables.values():
            say(f"\n{speedup_view(table).text}")
    return max(outcome.exit_code for outcome in outcomes)
