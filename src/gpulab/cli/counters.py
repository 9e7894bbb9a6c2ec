"""`gpulab counters`: what each line of a kernel asks of memory."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_kernel_options
from gpulab.errors import UsageError
from gpulab.views.terminal import Bar, say, say_heat

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.profiling.counts.cell_counts import CellCounts

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `counters`."""
    counted = subparsers.add_parser("counters", help="what each line of a kernel asks of memory")
    counted.add_argument("file", type=Path, metavar="NOTEBOOK_OR_CU")
    counted.add_argument("--line", type=int, metavar="N", help="draw one warp's access for each of line N's")
    add_kernel_options(counted, "count at this size, as 128 or 65x47x9")
    counted.set_defaults(run=run_counters)


def run_counters(args: argparse.Namespace) -> int:
    """Count the kernels of a file on the simulator and print them line by line."""
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.problems import problem
    from gpulab.profiling.counts.cell_counts import count_cell
    from gpulab.verification.check import compile_cell

    cells = [cell for cell in read_cells(args.file) if cell.header.problem is not None]
    if not cells:
        raise UsageError(
            f"{args.file}: no kernel of it belongs to a problem, so nobody knows how to launch it."
        )
    device = open_device(args.device)
    found = []
    for cell in cells:
        known = problem(str(cell.header.problem))
        shape = known.parse_shape(args.size) if args.size is not None else None
        with Bar(f"counting {cell.header.name}"):
            counts = count_cell(cell, compile_cell(cell, device), device, shape)
        if counts is None:
            raise UsageError(f"{cell.origin}: {device.name} has no PTX of this kernel to count.")
        found.append({"name": cell.header.name, "origin": cell.origin, **counts.as_dict()})
        if not args.json:
            show_counts(cell, counts, args.line)
    if args.json:
        say(json.dumps({"device": device.name, "cells": found}, indent=2))
    return 0


def show_counts(cell: Cell, counts: CellCounts, line: int | None) -> None:
    """A kernel's counts as the notebook has them; with a line, the drawings of its accesses alone."""
    from gpulab.views.counts_view import drawings_view, heat_text, totals_view

    say(f"{cell.header} ({cell.origin})", "bold")
    if line is None:
        say(totals_view(counts).text)
        say_heat([[], *heat_text(counts)])
        return
    drawn = [one for one in counts.lines if one.accesses]
    chosen = next((one for one in drawn if one.number == line), None)
    if chosen is None:
        numbers = ", ".join(str(one.number) for one in drawn) or "none"
        raise UsageError(f"line {line} of {cell.header.name} accesses no memory; lines that do: {numbers}.")
    say(f"{line:>4} | {chosen.text}")
    say(drawings_view(chosen).text)
    say(f"All figures {counts.origin}.")
