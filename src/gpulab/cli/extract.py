"""`gpulab extract`: print the kernels of a CUDA program as cells."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.cli.options import add_command
from gpulab.errors import GpulabError, UsageError
from gpulab.views.terminal import say

if TYPE_CHECKING:
    from gpulab.compiler.extraction.device_side import ExtractedCell

__all__ = ["add_commands"]

DETAILS = (
    "Each __global__ function becomes a %%cuda cell with the functions, types, macros and constants that it "
    "needs; kernels that share a __device__ variable stay in one cell. Host code is left out. Files that it "
    "includes are read from its folder and from those of -I."
)
_FIRST_CELL = "%load_ext gpulab\nimport gpulab"
_SOURCES = (".cu", ".cpp", ".c")
_HEADERS = (".cuh", ".h", ".hpp")
_NOT_READ = 6  # headers of which a note lists the names


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab extract`."""
    extract = add_command(
        subparsers, "extract", "print the kernels of a CUDA program as cells", run_extract, DETAILS
    )
    extract.add_argument("file", type=Path, metavar="FILE.cu", help="source file, with or without host code")
    extract.add_argument(
        "-I",
        dest="folders",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="look for included files in this folder, too; may be repeated",
    )
    extract.add_argument(
        "-D",
        dest="defines",
        type=_macro,
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="define a macro, as the program's makefile does; may be repeated",
    )
    extract.add_argument(
        "--notebook", type=Path, metavar="OUT.ipynb", help="write the cells to this notebook"
    )


def run_extract(args: argparse.Namespace) -> int:
    from gpulab.compiler.extraction.device_side import extract, read_items

    if args.notebook is not None and args.notebook.suffix != ".ipynb":
        raise UsageError(f"--notebook: the name of a notebook ends with .ipynb, not `{args.notebook.name}`.")
    file = read_items(args.file, args.folders, args.defines)
    cells = extract(file.items)
    if not cells:
        raise UsageError(f"{args.file}: no `__global__` function is defined here.")

    for program in _including_programs(args.file):  # it declares names before the line with the `#include`
        with contextlib.suppress(GpulabError):
            kernels = {name for cell in cells for name in cell.kernels}
            whole = read_items(program, args.folders, args.defines)
            within = [cell for cell in extract(whole.items) if kernels.intersection(cell.kernels)]
            if kernels.issubset(name for cell in within for name in cell.kernels):
                file, cells = whole, within
                say(f"read as {program.name} includes it.", error=True)
                break

    texts = [cell_text(cell) for cell in cells]
    if args.notebook is None:
        sys.stdout.write("\n".join(texts))
    else:
        write_notebook(args.notebook, texts)
        say(f"{args.notebook}: {len(cells)} cell{'s' * (len(cells) > 1)}", error=True)
    say(_missing(file.missing), error=True)
    return 0


def cell_text(cell: ExtractedCell) -> str:
    """Return a cell with its header."""
    from gpulab.problems import problem_names

    name = cell.kernels[0]
    header = f"%%cuda {name}{'_kernel' * (name in problem_names())}"
    named = (each for each in cell.instances if each.partition("<")[0].rpartition("::")[2] == name)
    instance = next(named, name)
    if "<" in instance:
        header += f' --kernel "{instance}"'
    return f"{header}\n{cell.source}"


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook with these cells; an existing file is not overwritten."""
    sources = [_FIRST_CELL, *(cell.rstrip("\n") for cell in cells)]
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{number}",
                "metadata": {},
                "outputs": [],
                "source": source.splitlines(keepends=True),
            }
            for number, source in enumerate(sources)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def _missing(names: Sequence[str]) -> str:
    """Return a note about headers that were not found, except those of host code; "" if there are none."""
    from gpulab.compiler.preprocess.header_advice import is_host_header

    shown = [name for name in dict.fromkeys(names) if not is_host_header(name)]
    if not shown:
        return ""
    more = f" and {len(shown) - _NOT_READ} more" if len(shown) > _NOT_READ else ""
    return f"not found, so left out: {', '.join(shown[:_NOT_READ])}{more} (-I DIR names their folder)."


def _macro(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*(=[^\n]*)?", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME or NAME=VALUE")
    return text


def _including_programs(path: Path) -> list[Path]:
    """Return the files that include this one, one through another, the last first."""
    files = [path.resolve()]
    while program := _including_file(files):
        files.insert(0, program)
    return files[:-1]


def _including_file(files: Sequence[Path]) -> Path | None:
    """Return another file that includes the first of these; None if none does.

    It is in the same folder or in the one above. A source file is preferred to a header.
    """
    own = files[0].parent
    written = {own: files[0].name, own.parent: f"{own.name}/{files[0].name}"}
    for suffixes in (_SOURCES, _HEADERS):
        for folder, name in written.items():
            include = re.compile(
                rf'^[ \t]*#[ \t]*include[ \t]*["<](?:\./)?{re.escape(name)}[">]', re.MULTILINE
            )
            for other in sorted(folder.glob("*")):
                if other.suffix in suffixes and other not in files and include.search(_text(other)):
                    return other
    return None


def _text(path: Path) -> str:
    """Return the text of a file; "" if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""
