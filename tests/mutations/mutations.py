"""Planted mistakes: wrong kernels and answers, each with a fragment of the message that it must cause.

A folder `LAB/EXERCISE` holds the mistakes of one exercise. A `.cu` file is one wrong kernel, whose second
line is

    // Mistake: WHAT IS WRONG. Message: FRAGMENT

Further mistakes are rows of `mistakes.toml`:

base : kernel that `edits` change, as a path in this folder, or else in `tests/kernels`; "solution" is the
       cell EXERCISE of the lab's notebook
[[mistake]]
name : what is wrong
message : fragment that the message must contain, or a list of fragments
file : a wrong kernel, as a path like that of `base`
edits : in place of `file`, pairs [old, new]; each old text occurs in the base exactly once
answer : in place of a kernel, the text of the answer's cell

A wrong kernel of a problem is checked as its cell is. Any other kernel, and an answer, is followed by the
test cell `EXERCISE_test` of the lab's notebook.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "LABS", "Exercise", "Mutation", "exercises", "lab_cells"]

FOLDER = Path(__file__).parent
KERNELS = FOLDER.parent / "kernels"
LABS = FOLDER.parents[1] / "labs"
SOLUTION = "solution"
_COMMENT = re.compile(r"// Mistake: (?P<name>.+)\. Message: (?P<message>.+)")


@dataclass(frozen=True)
class Mutation:
    """One planted mistake.

    Attributes
    ----------
    lab, exercise : str
        Names of the two folders.
    name : str
        What is wrong.
    fragments : tuple of str
        Texts that the message must contain.
    text : str
        The cell: a kernel with its header, or an answer.
    """

    lab: str
    exercise: str
    name: str
    fragments: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        """The name for pytest."""
        return f"{self.lab}/{self.exercise}/{re.sub(r'[^0-9A-Za-z]+', '_', self.name).strip('_')}"


@dataclass(frozen=True)
class Exercise:
    """The mistakes of one exercise, and the right kernels that rows edit."""

    lab: str
    name: str
    mutations: tuple[Mutation, ...]
    bases: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.lab}/{self.name}"


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return every exercise, sorted by lab and name."""
    folders = sorted(path for path in FOLDER.glob("*/*") if path.is_dir() and path.name != "__pycache__")
    return tuple(_exercise(folder) for folder in folders)


def _exercise(folder: Path) -> Exercise:
    lab, name = folder.parent.name, folder.name
    bases: dict[str, str] = {}
    mutations = []
    for found, fragments, text in [*_rows(folder, bases), *_files(folder)]:
        mutations.append(Mutation(lab, name, found, fragments, text))
    return Exercise(lab, name, tuple(mutations), tuple(bases.values()))


def _files(folder: Path) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield name, fragments and text of each wrong kernel in a folder."""
    for path in sorted(folder.glob("*.cu")):
        text = path.read_text(encoding="utf-8")
        match = _COMMENT.match(text.split("\n")[1])
        if match:
            yield match["name"], (match["message"],), text


def _rows(folder: Path, bases: dict[str, str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield name, fragments and text of each row of `mistakes.toml`; collect the texts of its bases."""
    path = folder / "mistakes.toml"
    if not path.exists():
        return
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for row in table["mistake"]:
        message = row["message"]
        fragments = (message,) if isinstance(message, str) else tuple(message)
        if "edits" in row:
            base = row.get("base", table.get("base"))
            bases[base] = _kernel(folder, base)
        yield row["name"], fragments, _text(folder, row, bases, row.get("base", table.get("base")))


def _text(folder: Path, row: dict[str, Any], bases: dict[str, str], base: str | None) -> str:
    """Return the cell of a row."""
    if "answer" in row:
        return row["answer"]
    if "file" in row:
        return _kernel(folder, row["file"])
    assert base is not None, f"{folder.name}: {row['name']} has no base"
    text = bases[base]
    for old, new in row["edits"]:
        count = text.count(old)
        assert count == 1, f"{folder.name}, {row['name']}: {old!r} occurs {count} times in {base}"
        text = text.replace(old, new)
    return text


def _kernel(folder: Path, path: str) -> str:
    """Return the text of a kernel by its path in a folder, or else in `tests/kernels`."""
    if path == SOLUTION:
        return re.sub(r"\n *// (?:BEGIN|END) SOLUTION", "", lab_cells(folder.parent.name)[folder.name])
    own = folder / path
    return (own if own.exists() else KERNELS / path).read_text(encoding="utf-8")


@cache
def lab_cells(lab: str) -> dict[str, str]:
    """Return the sources of a lab's cells by nbgrader's name of the cell."""
    (path,) = LABS.glob(f"*_{lab}/{lab}.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in cells
        if cell["cell_type"] == "code" and "nbgrader" in cell["metadata"]
    }
