"""The graded cells of a notebook, read from the instructor's copy."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulab.cell import is_kernel_cell
from gpulab.errors import HeaderError, UsageError
from gpulab.grading.judge.python_cell import parse_python
from gpulab.grading.pipeline.notebook_source import last_level_choice
from gpulab.problems.registry import problem_text

__all__ = ["NotebookPlan", "PlanCell", "defined_names", "read_plan"]

SETUP, TEST, ANSWERS, SOLUTION, KERNEL, OTHER = "setup", "test", "answers", "solution", "kernel", "other"


@dataclass(frozen=True)
class PlanCell:
    """A code cell of the instructor's notebook.

    Attributes
    ----------
    kind : {"setup", "test", "answers", "solution", "kernel", "other"}
        "setup" is a locked cell without points. "answers" is a Python cell that students complete, and
        "solution" a kernel that they write. "kernel" is a kernel that the notebook shows.
    grade_id : str
        nbgrader's name of the cell; empty if it has none.
    source : str
        The text, with the instructor's solution.
    points : float
        Maximum of a test cell.
    names : tuple of str
        Variables and functions that an "answers" cell defines.
    """

    kind: str
    grade_id: str
    source: str
    points: float = 0.0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotebookPlan:
    """The graded content of one notebook of an assignment.

    Attributes
    ----------
    name : str
        File name without extension.
    cells : tuple of PlanCell
        In the order of the notebook.
    given : mapping of str to str
        Text of the kernel that is given at level 2, by the name in its header.
    problem : (str, str) or None
        Path and text of the `problem.py` next to the notebook; None if there is none.
    """

    name: str
    cells: tuple[PlanCell, ...]
    given: Mapping[str, str] = field(default_factory=dict)
    problem: tuple[str, str] | None = None

    def of_kind(self, *kinds: str) -> tuple[PlanCell, ...]:
        """Return the cells of these kinds."""
        return tuple(cell for cell in self.cells if cell.kind in kinds)

    @property
    def answer_names(self) -> tuple[str, ...]:
        """The names that students define, in the order of the notebook."""
        return tuple(dict.fromkeys(name for cell in self.of_kind(ANSWERS) for name in cell.names))

    @property
    def references(self) -> dict[str, str]:
        """The instructor's kernels, with their headers, by the name in the header."""
        from gpulab.cell import parse_cell

        references = {}
        for cell in self.of_kind(SOLUTION):
            try:
                references[parse_cell(cell.source).name] = cell.source
            except HeaderError:  # a cell of which students write the header, too
                continue
        return references


def read_plan(path: Path) -> NotebookPlan:
    """Read the instructor's notebook.

    Raises
    ------
    UsageError
        If the file is not a notebook, or a file of a given kernel cannot be read.
    """
    from gpulab.grading.release.assignments import read_notebook

    code = [cell for cell in read_notebook(path).cells if cell.cell_type == "code"]
    choice = last_level_choice(cell.source for cell in code)
    given = {
        name: _given_text(path.parent / file, name) for name, file in (choice.given if choice else {}).items()
    }
    cells = tuple(_plan_cell(cell) for cell in code)
    return NotebookPlan(path.stem, cells, given, problem_text(path.parent))


def _plan_cell(cell: Any) -> PlanCell:
    marks = cell.metadata.get("nbgrader", {})
    name, source = str(marks.get("grade_id", "")), cell.source
    if marks.get("grade") and not marks.get("solution"):
        return PlanCell(TEST, name, source, points=float(marks.get("points", 0)))
    if is_kernel_cell(source):
        return PlanCell(SOLUTION if marks.get("solution") else KERNEL, name, source.lstrip("\n"))
    if marks.get("solution"):
        return PlanCell(ANSWERS, name, source, names=defined_names(source))
    return PlanCell(SETUP if marks.get("locked") else OTHER, name, source)


def defined_names(source: str) -> tuple[str, ...]:
    """Return the names that a Python cell defines at its top level."""
    names: dict[str, None] = {}
    for node in parse_python(source).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = None
        names |= dict.fromkeys(
            name.id
            for target in targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
    return tuple(names)


def _given_text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path}, the given file of {name}, cannot be read.") from None
