"""Options that several commands take, and what their words mean: a file, its kernels, a block, a device."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.cell import Cell

__all__ = [
    "add_csv",
    "add_device",
    "add_file",
    "add_json",
    "add_kernel_options",
    "at_least_one",
    "chosen",
    "file_of",
    "numbers",
]

DEVICE_HELP = "sim, sim:GPU (as in sim:gtx280) or cuda:N; a GPU if one answers, else the simulator"
SOURCES = (".cu", ".ipynb")
LARGEST = 2**31 - 1


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device NAME`, as `open_device` takes it."""
    parser.add_argument("--device", metavar="NAME", help=DEVICE_HELP)


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_csv(parser: argparse.ArgumentParser, row: str) -> None:
    """`--csv [FILE]`: None where it is left out, `-` for the terminal."""
    parser.add_argument(
        "--csv",
        nargs="?",
        const="-",
        metavar="FILE",
        help=f"write a table to plot, one row for each {row}; without FILE print it",
    )


def add_kernel_options(parser: argparse.ArgumentParser, size: str) -> None:
    """Device, size (its help is given) and JSON."""
    add_device(parser)
    parser.add_argument("--size", metavar="SIZE", help=size)
    add_json(parser)


def add_file(parser: argparse.ArgumentParser) -> None:
    """The notebook or .cu file; `file_of` gives it, also where it stands behind a list of words."""
    parser.add_argument("file", type=Path, nargs="?", metavar="NOTEBOOK_OR_CU")


def file_of(args: argparse.Namespace, *lists: str) -> Path:
    """The file that is meant. An option of many words takes a file behind it too: it is given back here."""
    for name in lists:
        words = getattr(args, name)
        if args.file is None and isinstance(words, list) and len(words) > 1 and words[-1].endswith(SOURCES):
            args.file = Path(words.pop())
    csv = getattr(args, "csv", None)
    if csv is not None and csv.endswith(SOURCES):
        raise UsageError(f"--csv would write over {csv}; give the table another name, such as out.csv.")
    if args.file is None:
        raise UsageError("say which notebook or .cu file, as the first word of the command.")
    file: Path = args.file
    return file


def numbers(words: Sequence[str], option: str, least: int) -> tuple[int, ...]:
    """One to three whole numbers; `UsageError` that says what is allowed."""
    if not 1 <= len(words) <= 3:
        raise UsageError(f"{option} has {len(words)} numbers; it takes one to three: X, Y and Z.")
    for word in words:
        if not re.fullmatch(r"[0-9]{1,10}", word) or not least <= int(word) <= LARGEST:
            also = "" if least else "; 0 for the whole axis"
            raise UsageError(f"`{word}` is no number for {option}: whole numbers from {least} on{also}.")
    return tuple(int(word) for word in words)


def at_least_one(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 1 on")
    return int(text)


def chosen(cells: Sequence[Cell], names: Sequence[str], file: Path) -> list[Cell]:
    """The cells of these kernels: variants (`K4`), full names (`matmul.K4`) or `all`.

    Of several cells with one name it is the last, as in a notebook that was run from top to bottom.
    """
    known = {cell.header.name: cell for cell in cells if cell.header.problem is not None}
    if not known:
        raise UsageError(f"{file}: no kernel of it belongs to a problem, so nobody knows how to launch it.")
    found: dict[str, Cell] = {}
    for name in names:
        meant = list(known) if name == "all" else _meant(name, known)
        if not meant:
            raise UsageError(f"{file} has no kernel `{name}`; it has: {', '.join(known)}, and `all`.")
        found |= {one: known[one] for one in meant}
    return list(found.values())


def _meant(name: str, known: dict[str, Cell]) -> list[str]:
    """Full names that `name` stands for; upper and lower case matter only where they tell two apart."""
    for same in (str, str.casefold):
        meant = [full for full in known if same(name) in (same(full), same(full.partition(".")[2]))]
        if meant:
            return meant
    return []
