"""The level of a lab that this session is at: which kernels are given, and which text was given.

Level 1 gives nothing. At level 2 the cell of a given kernel may stay as it was released: the text of a
file then runs in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gpulab.cell import Cell, read_cells
from gpulab.errors import UsageError
from gpulab.grading.release.stub import is_untouched
from gpulab.views.html import View, paragraph

__all__ = ["LEVELS", "choose_level", "given_in_place_of", "is_given", "keep_given", "level", "read_given"]

LEVELS = MappingProxyType({1: "you write every kernel", 2: "some kernels are given"})


@dataclass
class _Session:
    """What was chosen last, and every given text that ran in this session."""

    level: int = 1
    given: Mapping[str, Cell] = field(default_factory=dict)
    ran: list[Cell] = field(default_factory=list)


_SESSION = _Session()


def choose_level(level: int, given: Mapping[str, str | os.PathLike[str]] | None = None) -> View:
    """Say at which level this notebook is done; returns a line that says what that means.

    given: at level 2, a `.cu` file for each kernel that is given, by its name in the header, such as
    `{"stencil.opt_1": "given/opt_1.cu"}`; a path counts from the notebook's folder. As long as the cell of
    such a kernel is the released stub, the file's text runs in its place. A cell with code of its own is
    its author's. At level 1 nothing is given.

    Raises `UsageError` for a level that is not there and for a file that is missing or holds another
    kernel; the level then stays what it was.
    """
    if type(level) is not int or level not in LEVELS:
        known = "; ".join(f"{number} ({words})" for number, words in LEVELS.items())
        raise UsageError(f"there is no level {level!r}; there is: {known}.")
    cells = {name: read_given(name, path) for name, path in _files(given).items()} if level == 2 else {}
    _SESSION.level, _SESSION.given = level, cells
    if not cells:
        return paragraph(f"Level {level}: {LEVELS[1]}.")
    files = ", ".join(f"{name} ({cell.origin})" for name, cell in cells.items())
    return paragraph(
        f"Level {level}: given is {files}. Leave its cell as it is and run it. You write the other kernels."
    )


def _files(given: object) -> Mapping[str, str | os.PathLike[str]]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    raise UsageError('given is a dictionary such as {"stencil.opt_1": "given/opt_1.cu"}.')


def level() -> int:
    """The level chosen last; 1 until one is chosen."""
    return _SESSION.level


def given_in_place_of(cell: Cell) -> Cell | None:
    """The given text for a cell that still is the released stub; None where the cell itself runs."""
    instead = _SESSION.given.get(cell.header.name)
    return instead if instead is not None and is_untouched(cell.source) else None


def keep_given(cell: Cell) -> None:
    """Remember that this text ran and was given: it never earns points."""
    if cell not in _SESSION.ran:
        _SESSION.ran.append(cell)


def is_given(cell: Cell) -> bool:
    """Whether this text was given in this session, whatever the level is now."""
    return cell in _SESSION.ran


def read_given(name: str, path: str | os.PathLike[str], folder: Path | None = None) -> Cell:
    """The kernel of a given file; `origin` is the path as it was written.

    folder: what the path counts from; None for the current folder, which is the notebook's.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"what is given for {name} is a path such as 'given/opt_1.cu', not {path!r}.")
    there = (folder or Path.cwd()) / path
    if there.suffix != ".cu":
        raise UsageError(f"{os.fspath(path)}, given for {name}, is no .cu file.")
    if not there.is_file():
        raise UsageError(
            f"the file {os.fspath(path)}, given for {name}, is not in {folder or Path.cwd()}: "
            "keep the lab's folder as it was handed out, with the notebook in it."
        )
    (cell,) = read_cells(there)
    if cell.header.name != name:
        raise UsageError(f"{os.fspath(path)} holds {cell.header.name}, not {name}.")
    return Cell(cell.header, cell.source, os.fspath(path))
