"""`gpulab counters`: count the memory traffic of kernels, source line by source line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_command, add_kernel_options
from gpulab.errors import UsageError
from gpulab.views.terminal import Bar, say, say_heat

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.profiling.counts.cell_counts import LaunchReport

__all__ = ["add_commands"]

DETAILS = "The simulator counts requests, sectors and bank conflicts; a GPU is not needed."


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab counters`."""
    counters = add_command(
        subparsers, "counters", "count the memory traffic of each source line", run_counters, DETAILS
    )
    counters.add_argument(
        "file", type=Path, metavar="FILE", help="notebook (.ipynb) or source file (.cu) with the kernels"
    )
    counters.add_argument(
        "--line", type=int, metavar="N", help="draw the accesses of one warp at line N instead"
    )
    add_kernel_options(counters, "count at this size, such as 128 or 65x47x9; default: a size per problem")


def run_counters(args: argparse.Namespace) -> int:
    """Count the kernels of a file on the simulator and print the counts of each line."""
    from gpulab.cell import KernelCell, read_cells
    from gpulab.devices import open_device
    from gpulab.profiling.counts.cell_counts import count_cell
    from gpulab.verification.check import compile_cell

    cells = [cell for cell in read_cells(args.file) if isinstance(cell, KernelCell)]
    if not cells:
        raise UsageError(f"{args.file}: none of its kernels belongs to a problem, so no launch is defined.")

    device = open_device(args.device)
    counted = []
    for cell in cells:
        shape = cell.config.problem.parse_shape(args.size) if args.size is not None else None
        with Bar(f"counting {cell.name}"):
            kernel = compile_cell(cell, device)
            counts = (
                count_cell(cell, kernel, shape=shape, sampled=True).report if kernel.program.ptx else None
            )
        if counts is None:
            raise UsageError(f"{cell.origin}: this kernel has no PTX, which the simulator needs to count it.")

        counted.append({"name": cell.name, "origin": cell.origin, **counts.as_dict()})
        if not args.json:
            print_counts(cell, counts, args.line)

    if args.json:
        say(json.dumps({"device": device.name, "cells": counted}, indent=2))
    return 0


def print_counts(cell: Cell, counts: LaunchReport, line: int | None) -> None:
    """Print the counts of all lines or, if `line` is given, the drawings of that line's accesses."""
    from gpulab.views.counts_view import drawings_view, heat_text, totals_view

    say(f"{cell.header} ({cell.origin})", "bold")
    if line is None:
        say(totals_view(counts).text)
        say_heat([[], *heat_text(counts)])
        return

    with_accesses = {counted.number: counted for counted in counts.lines if counted.accesses}
    if line not in with_accesses:
        numbers = ", ".join(map(str, with_accesses)) or "none"
        raise UsageError(f"line {line} of {cell.name} accesses no memory; lines with accesses: {numbers}.")
    say(f"{line:>4} | {with_accesses[line].text}")
    say(drawings_view(with_accesses[line]).text)
    say(f"All figures {counts.origin}.")
