"""The texts of a submitted notebook. None of its code runs here, and its metadata is not trusted."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.cell import is_kernel_cell
from gpulab.errors import UsageError
from gpulab.grading.judge.plain_values import storable
from gpulab.grading.judge.plan import KERNEL, OTHER, SETUP, TEST, NotebookPlan
from gpulab.grading.judge.python_cell import parse_python

__all__ = [
    "SAVE_AGAIN",
    "SubmittedCell",
    "cells_to_run",
    "function_text",
    "header_name",
    "leaderboard_name",
    "read_submission",
    "too_large",
    "typed_student_id",
]

SAVE_AGAIN = "Open the notebook in JupyterLab, save it, and submit the saved file."
MAX_NOTEBOOK_BYTES = 50 << 20  # larger submissions are refused
MAX_CELLS = 2000
LARGEST_CONSTANT = 1e300  # Python writes no integer of more than 4300 digits, and infinity is no literal
MAX_NAME = 40  # characters of a name in the leaderboard


@dataclass(frozen=True)
class SubmittedCell:
    """A code cell of a submission.

    Attributes
    ----------
    source : str
        The text of the cell.
    grade_id : str
        nbgrader's name of the cell, as the submission claims it; "" if it claims none.
    outputs : tuple of dict or None
        The outputs that the submission saved; None if the cell was not run.
    """

    source: str
    grade_id: str = ""
    outputs: tuple[dict[str, Any], ...] | None = None

    @property
    def is_kernel(self) -> bool:
        return is_kernel_cell(self.source)


def read_submission(text: str) -> tuple[SubmittedCell, ...]:
    """Return the code cells of a submitted notebook; all other cells and metadata are left out.

    Raises
    ------
    UsageError
        If the text is not a notebook, or larger than `MAX_NOTEBOOK_BYTES`.
    """
    if reason := too_large(len(text)):
        raise UsageError(reason)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"the submitted file is not a notebook: it is not JSON. {SAVE_AGAIN}") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UsageError(f"the submitted file is not a notebook: it has no list of cells. {SAVE_AGAIN}")
    if len(cells) > MAX_CELLS:
        raise UsageError(
            f"the notebook has {len(cells):,} cells; at most {MAX_CELLS:,} are graded. Delete cells that you "
            "added and submit it again."
        )
    return tuple(_submitted_cell(cell) for cell in cells if _is_code(cell))


def too_large(size_bytes: int) -> str:
    """Return why a notebook of this size is not graded, or ""."""
    if size_bytes <= MAX_NOTEBOOK_BYTES:
        return ""
    return (
        f"the notebook has {size_bytes >> 20} MB; at most {MAX_NOTEBOOK_BYTES >> 20} MB are graded. Clear "
        "its outputs and submit it again."
    )


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def _submitted_cell(cell: dict[str, Any]) -> SubmittedCell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = marks.get("grade_id", "") if isinstance(marks, dict) else ""
    text = storable(source).replace("\r\n", "\n") if isinstance(source, str) else ""
    outputs = cell.get("outputs")
    shown = tuple(item for item in outputs if isinstance(item, dict)) if isinstance(outputs, list) else ()
    ran = bool(shown) or cell.get("execution_count") is not None
    return SubmittedCell(text, name if isinstance(name, str) else "", shown if ran else None)


def cells_to_run(submitted: Sequence[SubmittedCell], plan: NotebookPlan) -> frozenset[int]:
    """Return the indices of the Python and kernel cells to run for the answers and the reader's page.

    Test cells are left out, because the judge runs them. A cell of the instructor that is unchanged runs only
    if it defines a name that the student's own cells use: grading needs neither sliders nor tables. Imports
    that the setup cells make, too, are no such names.
    """
    tests = {cell.grade_id for cell in plan.of_kind(TEST)} | {cell.source for cell in plan.of_kind(TEST)}
    setup = {cell.source.strip() for cell in plan.of_kind(SETUP)}
    shown = {cell.source.strip() for cell in plan.of_kind(OTHER, KERNEL)}
    imported = {name for cell in submitted if cell.source.strip() in setup for name in _imports(cell.source)}

    chosen, needed = set(), set[str]()
    for index in reversed(range(len(submitted))):
        cell = submitted[index]
        text = cell.source.strip()
        if not text or cell.grade_id in tests or cell.source in tests:
            continue
        defined, used = _names(cell.source)
        defined -= {name for name, source in _imports(cell.source) & imported}
        if cell.is_kernel or text in setup or text not in shown or defined & needed:
            chosen.add(index)
            needed |= used
    return frozenset(chosen)


def _imports(source: str) -> set[tuple[str, str]]:
    """Return the names that the import statements of a Python cell bind, each with what it names."""
    found = set()
    for node in ast.walk(parse_python(source)):
        match node:
            case ast.Import(names=names):
                found |= {(name.asname or name.name.partition(".")[0], name.name) for name in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = f"{'.' * level}{module or ''}"
                found |= {(name.asname or name.name, f"{origin} {name.name}") for name in names}
    return found


def header_name(text: str) -> str:
    """Return the name in the header of a kernel cell, also of a header with an error."""
    words = text.split(maxsplit=2)
    return words[1] if len(words) > 1 else "?"


def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a Python cell stores at any level, and those that it loads."""
    return _names_in(parse_python(source))


def _names_in(tree: ast.AST) -> tuple[set[str], set[str]]:
    stored, loaded = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                loaded.add(name)
            case ast.Name(id=name):
                stored.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                stored.add(name)
            case ast.alias(name=name, asname=other):
                stored.add(other or name.partition(".")[0])
    return stored, loaded


def function_text(submitted: Sequence[SubmittedCell], name: str) -> str:
    """Return the last cell that defines a name, after the constants of all cells; "" if there is none."""
    constants: dict[str, str] = {}
    defining = ""
    for cell in submitted:
        tree = parse_python(cell.source)
        for node in tree.body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=constant)], value=ast.Constant(value=int() | float() as value)
                ) if abs(value) < LARGEST_CONSTANT:
                    constants[constant] = f"{constant} = {value!r}"
                    stored = {constant}
                case _:
                    stored = _names_in(node)[0]
            if name in stored:
                defining = cell.source
    return "\n".join([*constants.values(), defining]) if defining else ""


def leaderboard_name(submitted: Sequence[SubmittedCell]) -> str | None:
    """Return the text that a cell assigns to LEADERBOARD_NAME, which is the student's consent; or None."""
    names = [name for cell in submitted for name in _leaderboard_names(cell.source)]
    return _in_one_line(names[-1]) or None if names else None


def _leaderboard_names(source: str) -> Iterator[str]:
    if "LEADERBOARD_NAME" not in source:
        return
    for node in parse_python(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="LEADERBOARD_NAME")], value=ast.Constant(value=value)):
                yield value.strip() if isinstance(value, str) else ""


def typed_student_id(submitted: Sequence[SubmittedCell]) -> str:
    """Return the id that the notebook's last call of `gpulab.student` names as a text, or ""."""
    ids = [name for cell in submitted for name in _student_ids(cell.source)]
    return _in_one_line(ids[-1]) if ids else ""


def _in_one_line(text: str) -> str:
    """Return a text of a notebook as one short line for reports, whose characters are all visible.

    Line ends, terminal codes, marks of the direction of writing and unpaired surrogates become blanks.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_NAME]


def _student_ids(source: str) -> Iterator[str]:
    if "student" not in source:
        return
    for node in ast.walk(parse_python(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="gpulab"), attr="student"),
                args=[ast.Constant(value=str(typed))],
            ):
                yield typed
