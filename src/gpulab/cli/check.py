"""`gpulab check`: the verdict on one kernel."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gpulab.cli.check_progress import judged, show
from gpulab.cli.options import add_kernel_options
from gpulab.cli.refusal import refuse
from gpulab.errors import UsageError
from gpulab.views.terminal import say

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check`."""
    check = subparsers.add_parser(
        "check", help="the verdict on one kernel: exit 0 right, 1 wrong, 2 unusable"
    )
    check.add_argument(
        "file", type=Path, metavar="FILE.cu", help="its first line is // %%%%cuda PROBLEM.VARIANT …"
    )
    add_kernel_options(check, "check at this size only, as 128 or 65x47x9")
    check.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    from gpulab.cell import read_cells
    from gpulab.devices import open_device
    from gpulab.problems import problem

    if args.file.suffix != ".cu":
        raise UsageError(
            f"{args.file}: `gpulab check` takes a .cu file; for a notebook there is `gpulab run`."
        )
    cell = read_cells(args.file)[0]
    if cell.header.problem is None:
        raise UsageError(
            f"{args.file}: `{cell.header.name}` belongs to no problem: there is nothing to check it against; "
            "its header must name PROBLEM.VARIANT."
        )
    shapes = [problem(cell.header.problem).parse_shape(args.size)] if args.size is not None else None
    device = open_device(args.device)
    outcome = judged(cell, device, args.device, shapes)
    if outcome.refused:
        return refuse(outcome.refused, as_json=args.json)
    if args.json:
        say(json.dumps(outcome.as_dict(), indent=2))
    else:
        show(outcome, device)
    return outcome.exit_code
