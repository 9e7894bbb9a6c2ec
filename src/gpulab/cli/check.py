"""`gpulab check`: check one kernel for correct results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gpulab.cli.options import add_command, add_kernel_options
from gpulab.cli.output import check_with_progress, print_outcome, print_usage_error
from gpulab.errors import UsageError
from gpulab.views.terminal import say

__all__ = ["add_commands"]

DETAILS = (
    "The kernel is run on several sizes and compared with a reference. Memory faults, data races and unmet "
    "requirements of its lab step are reported. Exit codes: 0 correct, 1 wrong, 2 not checked."
)


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab check`."""
    check = add_command(subparsers, "check", "check one kernel for correct results", run_check, DETAILS)
    check.add_argument(
        "file",
        type=Path,
        metavar="FILE.cu",
        help="source file; its first line is // %%%%cuda PROBLEM.VARIANT",
    )
    add_kernel_options(check, "check this size only, such as 128 or 65x47x9; default: the problem's sizes")


def run_check(args: argparse.Namespace) -> int:
    from gpulab.cell import read_cells, require_kernel_cell
    from gpulab.devices import open_device

    if args.file.suffix != ".cu":
        raise UsageError(f"{args.file}: `gpulab check` takes a .cu file; use `gpulab run` for a notebook.")
    cell = require_kernel_cell(read_cells(args.file)[0])
    shapes = [cell.config.problem.parse_shape(args.size)] if args.size is not None else None
    device = open_device(args.device)
    outcome = check_with_progress(cell, device, args.device, shapes)

    if outcome.refused:
        return print_usage_error(outcome.refused, as_json=args.json)
    if args.json:
        say(json.dumps(outcome.as_dict(), indent=2))
    else:
        print_outcome(outcome, device)
    return outcome.exit_code
