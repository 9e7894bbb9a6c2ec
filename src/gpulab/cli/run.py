"""`gpulab run`: check and time the kernels of a file, or with --kernel time some of them at one size."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_command, add_input_file, add_kernel_options, input_file
from gpulab.cli.output import check_with_progress, print_outcome
from gpulab.cli.run_kernel import add_kernel_run_options, refuse_kernel_run_options, run_kernels
from gpulab.views.terminal import say

if TYPE_CHECKING:
    from gpulab.problems import Shape
    from gpulab.profiling.speedup import SpeedupTable

__all__ = ["add_commands"]

DETAILS = (
    "Without --kernel every kernel cell is compiled and checked, correct kernels are timed, and a speed-up "
    "table follows. Exit codes: 0 all correct, 1 a kernel is wrong, 2 a kernel was not checked."
)


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab run`."""
    run = add_command(
        subparsers, "run", "check and time the kernels of a notebook or .cu file", run_command, DETAILS
    )
    add_input_file(run)
    add_kernel_options(run, "time at this size, such as 128 or 65x47x9; default: the problem's timing size")
    add_kernel_run_options(run)


def run_command(args: argparse.Namespace) -> int:
    file = input_file(args, "kernel", "block", "tile")
    if args.kernel:
        return run_kernels(args, file)
    refuse_kernel_run_options(args)
    return run_file(args, file)


def run_file(args: argparse.Namespace, file: Path) -> int:
    """Check and time all kernels of a file; return the highest exit code of a cell."""
    from gpulab.cell import Cell, KernelCell, read_cells
    from gpulab.devices import open_device
    from gpulab.problems import problem
    from gpulab.profiling.speedup import SpeedupTable
    from gpulab.views.tables.speedup_view import speedup_view

    def problem_of(cell: Cell) -> str | None:
        return cell.config.problem.name if isinstance(cell, KernelCell) else None

    cells = read_cells(file)
    sizes: dict[str | None, Shape | None] = {None: None}
    for name in {problem_of(cell) for cell in cells} - {None}:
        sizes[name] = problem(str(name)).parse_shape(args.size) if args.size is not None else None

    device = open_device(args.device)
    tables: dict[str, SpeedupTable] = {}
    outcomes = []
    for cell in cells:
        outcome = check_with_progress(cell, device, args.device, time_at=sizes[problem_of(cell)], timed=True)
        outcomes.append(outcome)
        if not args.json:
            print_outcome(outcome, device)
        if outcome.timing is not None:
            name = outcome.timing.config.problem.name
            tables.setdefault(name, SpeedupTable(name)).add(outcome.timing)

    if args.json:
        rows = {name: table.as_list() for name, table in tables.items()}
        data = {
            "device": device.name,
            "cells": [outcome.as_dict() for outcome in outcomes],
            "speedup": rows,
        }
        say(json.dumps(data, indent=2))
    else:
        for table in tables.values():
            say(f"\n{speedup_view(table).text}")
    return max(outcome.exit_code for outcome in outcomes)
