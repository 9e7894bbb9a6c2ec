"""The level of a lab that a session works at: which kernels are given, and which given kernels ran.

Level 1 gives no kernel. At level 2 the cell of a given kernel may stay as it was released; the source of a
file then runs in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from gpulab.cell import Cell, read_cells
from gpulab.errors import UsageError
from gpulab.grading.release.stub import is_untouched
from gpulab.views.html import View, paragraph

__all__ = [
    "LEVELS",
    "choose_level",
    "current_level",
    "given_replacement",
    "is_given",
    "read_given",
    "record_given",
    "set_level",
]

LEVELS = MappingProxyType({1: "you write every kernel", 2: "some kernels are given"})


@dataclass
class LevelState:
    """The level that was chosen last, its given kernels by name, and all given cells that ran."""

    level: int = 1
    given: Mapping[str, Cell] = field(default_factory=dict)
    ran: list[Cell] = field(default_factory=list)


STATE = LevelState()


def choose_level(level: int, given: Mapping[str, str | os.PathLike[str]] | None = None) -> View:
    """Choose the level at which this notebook is done.

    At level 1 you write every kernel. At level 2 some kernels are given: as long as the cell of such a
    kernel is the released stub, the source of a file runs in its place and earns no points. A cell with
    code of your own runs as it is.

    Parameters
    ----------
    level : {1, 2}
        The level.
    given : mapping of str to path, optional
        A ``.cu`` file for each given kernel by its name in the header, such as
        ``{"stencil.opt_1": "given/opt_1.cu"}``. Paths are relative to the folder of the notebook. Used at
        level 2 only.

    Returns
    -------
    View
        A line that names the level and the given kernels.

    Raises
    ------
    UsageError
        There is no such level, or a file is missing or holds another kernel. The level does not change.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.choose_level(1)
    Level 1: you write every kernel.
    """
    if type(level) is not int or level not in LEVELS:
        choices = "; ".join(f"{number} ({meaning})" for number, meaning in LEVELS.items())
        raise UsageError(f"there is no level {level!r}; choose from {choices}.")
    cells = {name: read_given(name, path) for name, path in _given_files(given).items()} if level == 2 else {}
    STATE.level, STATE.given = level, cells

    if not cells:
        return paragraph(f"Level {level}: {LEVELS[1]}.")
    files = ", ".join(f"{name} ({cell.origin})" for name, cell in cells.items())
    return paragraph(
        f"Level {level}: given kernels: {files}. Run their cells without a change; write the others yourself."
    )


def set_level(level: int, given: Mapping[str, Cell]) -> None:
    """Set the level of this process and its given kernels, as the grader knows them."""
    STATE.level, STATE.given = level, given
    STATE.ran.clear()


def _given_files(given: object) -> Mapping[str, str | os.PathLike[str]]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    raise UsageError('`given` must be a dictionary such as {"PROBLEM.STEP": "given/step.cu"}.')


def current_level() -> int:
    """Return the level that was chosen last, or 1 if none was chosen."""
    return STATE.level


def given_replacement(cell: Cell) -> Cell | None:
    """Return the given kernel to run in place of a released stub, or None if the cell itself runs."""
    replacement = STATE.given.get(cell.name)
    return replacement if replacement is not None and is_untouched(cell.source) else None


def record_given(cell: Cell) -> None:
    """Record that this given kernel ran, so that its source never earns points."""
    if cell not in STATE.ran:
        STATE.ran.append(cell)


def is_given(cell: Cell) -> bool:
    """Return True if this cell ran as a given kernel in this session, at whatever level."""
    return cell in STATE.ran


def read_given(name: str, path: str | os.PathLike[str], folder: Path | None = None) -> Cell:
    """Return the kernel of a given file; its `origin` is `path` as it was written.

    folder: the folder that a relative path starts from; None for the current one, which is the notebook's.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"the given file of {name} must be a path such as 'given/opt_1.cu', not {path!r}.")
    folder = folder or Path.cwd()
    file, origin = folder / path, os.fspath(path)
    if file.suffix != ".cu":
        raise UsageError(f"{origin}, the given file of {name}, is not a .cu file.")
    if not file.is_file():
        raise UsageError(
            f"{origin}, the given file of {name}, is not in {folder}. Keep the notebook in its folder, with "
            "all files, as it was handed out. If it was handed out without this file, choose level 1."
        )

    (cell,) = read_cells(file)
    if cell.name != name:
        raise UsageError(f"{origin} contains {cell.name}, not {name}.")
    return replace(cell, origin=origin)
