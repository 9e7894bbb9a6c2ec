"""Options that several commands share: files, kernels, block and tile numbers, devices."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.cell import Cell, KernelCell

__all__ = [
    "add_command",
    "add_csv",
    "add_device",
    "add_input_file",
    "add_json",
    "add_kernel_options",
    "check_outputs",
    "input_file",
    "parse_numbers",
    "positive_int",
    "select_cells",
]

DEVICES = "sim, sim:GPU (such as sim:gtx280) or cuda:N"
SOURCE_SUFFIXES = (".cu", ".ipynb")
INT32_MAX = 2**31 - 1  # the largest grid extent of CUDA, and the largest `int` of a kernel


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    details: str = "",
) -> argparse.ArgumentParser:
    """Add the parser of one command.

    summary: a phrase for the list of commands. details: sentences for the help of this command, after the
    summary. run: a function of the parsed arguments that returns the exit code.
    """
    description = f"{summary[0].upper()}{summary[1:]}. {details}".strip()
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=summary, description=description)
    parser.set_defaults(run=run)
    return parser


def add_device(parser: argparse.ArgumentParser, devices: str = DEVICES) -> None:
    """Add `--device NAME`. devices: the accepted names, for the help."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help=f"device to run on: {devices}; default: a CUDA GPU if one is available, else the simulator",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_csv(parser: argparse._ActionsContainer, row: str) -> None:
    """Add `--csv [FILE]`, whose value is None if it is left out and `-` if FILE is left out."""
    parser.add_argument(
        "--csv",
        nargs="?",
        const="-",
        metavar="FILE",
        help=f"write a CSV table with one row per {row} to FILE; without FILE print it",
    )


def check_outputs(args: argparse.Namespace) -> None:
    """Raise `UsageError` if `--json` and `--csv` would both print to the terminal."""
    if args.json and args.csv == "-":
        raise UsageError("--json and --csv both print to the terminal; give --csv a file, or leave one out.")


def add_kernel_options(parser: argparse.ArgumentParser, size_help: str) -> None:
    """Add `--device`, `--size` and `--json`."""
    add_device(parser)
    parser.add_argument("--size", metavar="SIZE", help=size_help)
    add_json(parser)


def add_input_file(parser: argparse.ArgumentParser) -> None:
    """Add the notebook or .cu file; `input_file` returns it, also if it follows a list option."""
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="notebook (.ipynb) or source file (.cu) with the kernels",
    )


def input_file(args: argparse.Namespace, *list_options: str) -> Path:
    """Return the notebook or .cu file on the command line.

    argparse assigns a file that follows an option with several values (`--kernel K1 K4 lab.ipynb`) to that
    option. list_options: names of such options, whose last value is taken as the file if it looks like one.
    """
    for name in list_options:
        values = getattr(args, name)
        takes_file = isinstance(values, list) and len(values) > 1 and values[-1].endswith(SOURCE_SUFFIXES)
        if args.file is None and takes_file:
            args.file = Path(values.pop())

    csv = getattr(args, "csv", None)
    if csv is not None and csv.endswith(SOURCE_SUFFIXES):
        raise UsageError(f"--csv would overwrite {csv}; give the table another name, such as out.csv.")
    if args.file is None:
        raise UsageError("no FILE was given: name a notebook or a .cu file first, as in lab.ipynb.")
    file: Path = args.file
    return file


def parse_numbers(values: Sequence[str], option: str, least: int) -> tuple[int, ...]:
    """Return the one to three integers of an option such as --block.

    least: the smallest integer allowed; 0 stands for the whole axis. Raises `UsageError` for other values.
    """
    if not 1 <= len(values) <= 3:
        raise UsageError(f"{option} has {len(values)} numbers; it takes one to three: X [Y [Z]].")
    for value in values:
        if not re.fullmatch(r"[0-9]{1,10}", value) or not least <= int(value) <= INT32_MAX:
            whole_axis = "" if least else "; 0 means the whole axis"
            raise UsageError(f"{option}: `{value}` is not an integer of at least {least}{whole_axis}.")
    return tuple(int(value) for value in values)


def positive_int(text: str) -> int:
    """Return `text` as an integer of at least 1; a `type` for argparse."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not an integer from 1 to 999999")
    return int(text)


def select_cells(cells: Sequence[Cell], names: Sequence[str], file: Path) -> list[KernelCell]:
    """Return the cells of the named kernels: variants (`K4`), full names (`matmul.K4`) or `all`.

    If several cells have one name the last is returned, as if the notebook was run from top to bottom.
    """
    from gpulab.cell import KernelCell

    by_name = {cell.name: cell for cell in cells if isinstance(cell, KernelCell)}
    if not by_name:
        raise UsageError(f"{file}: none of its kernels belongs to a problem, so no launch is defined.")
    selected: dict[str, KernelCell] = {}
    for name in names:
        matches = list(by_name) if name == "all" else _matching_names(name, list(by_name))
        if not matches:
            raise UsageError(f"{file} has no kernel `{name}`; choose from {', '.join(by_name)} or `all`.")
        selected |= {match: by_name[match] for match in matches}
    return list(selected.values())


def _matching_names(name: str, full_names: Sequence[str]) -> list[str]:
    """Return the full names that `name` matches, exactly or else with the case of letters ignored."""
    for normalise in (str, str.casefold):
        wanted = normalise(name)
        matches = [
            full for full in full_names if wanted in (normalise(full), normalise(full.partition(".")[2]))
        ]
        if matches:
            return matches
    return []
