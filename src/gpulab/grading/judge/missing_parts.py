"""Why an exercise has no kernel or no answers, as sentences for the student.

The judge compares what it got with the instructor's notebook. A cell may be missing, its first line may not
be readable, or it may not have run to its end. Each of these has a sentence of its own, so that nobody is
asked for code that is there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpulab import session
from gpulab.cell import unwritten_lines
from gpulab.grading.judge.plan import ANSWERS, SOLUTION, NotebookPlan, PlanCell, defined_names
from gpulab.grading.judge.python_cell import parse_python
from gpulab.grading.judge.submitted import SubmittedCell, header_name

__all__ = ["MissingParts"]

_HEADER = re.compile(r"^\W*%+\s*cuda\W+(\S+)", re.MULTILINE | re.IGNORECASE)
SIMILAR = 0.75  # least similarity of a misspelled name, as difflib measures it
SHOWN_CHARACTERS = 60  # longest part of a line that is shown


@dataclass(frozen=True)
class MissingParts:
    """The parts of a submission that its exercises lack.

    Attributes
    ----------
    submitted : sequence of SubmittedCell
        The code cells of the submission, after its kernels were registered.
    plan : NotebookPlan
        The graded content of the instructor's notebook.
    failures : mapping of int to str
        Why a Python cell did not run to its end, by its index in `submitted`.
    defined : collection of str
        The answers that the student's own run defined.
    """

    submitted: Sequence[SubmittedCell]
    plan: NotebookPlan
    failures: Mapping[int, str]
    defined: Collection[str]

    def kernel(self, part: PlanCell) -> str:
        """Return why no kernel of this solution cell was found; "" if there is one, or its stub."""
        name = header_name(part.source)
        if session.cell(name) is not None:
            return ""
        index = self._kernel_index(part, name)
        if index is None:
            return (
                f"the cell `%%cuda {name}` is not in the submitted notebook. Copy it from the notebook as it "
                "was handed out; it may have been deleted, or changed to Markdown."
            )
        lines = self.submitted[index].source.strip().splitlines()
        got = f"it is `{_cut(lines[0])}`" if lines else "the cell is empty"
        return (
            f"the first line of {_label(index)} must begin with `%%cuda {name}`; {got}. "
            "Correct this line: without it the cell is not found."
        )

    def repeated_kernel(self, part: PlanCell) -> str:
        """Return a sentence that says which of several cells with one header counts; "" for one cell."""
        name = header_name(part.source)
        cells = [
            index
            for index, cell in enumerate(self.submitted)
            if cell.is_kernel and header_name(cell.source) == name
        ]
        if len(cells) < 2:
            return ""
        return f"{len(cells)} cells begin with `%%cuda {name}`; the last one counts, {_label(cells[-1])}."

    def exercise(self, test: PlanCell) -> str:
        """Return why a test cell lacks a kernel or answers; "" if it has what it needs."""
        names = [name for name in _variables(test.source) if name in self.plan.answer_names]
        texts = _texts(test.source) - set(names)
        solutions = [part for part in self.plan.of_kind(SOLUTION) if header_name(part.source) in texts]
        cells = [session.cell(header_name(part.source)) for part in solutions]
        written = any(cell is not None and not unwritten_lines(cell.source) for cell in cells)
        kernels = [] if written else map(self.kernel, solutions)
        return next(filter(None, (*kernels, *map(self.answers, names))), "")

    def answers(self, name: str) -> str:
        """Return why a variable or function of the answers is missing; "" if its cell ran to the end."""
        part = next(part for part in self.plan.of_kind(ANSWERS) if name in part.names)
        cells = [
            index
            for index, cell in enumerate(self.submitted)
            if name in defined_names(cell.source) or (part.grade_id and cell.grade_id == part.grade_id)
        ]
        if not cells and name not in self.defined:  # a cell with a syntax error defines no names
            word = re.compile(rf"\b{name}\b")
            cells = [index for index in self.failures if word.search(self.submitted[index].source)]
            if not cells:
                return (
                    f"the cell that defines `{name}` is not in the submitted notebook. Copy it from the "
                    "notebook as it was handed out."
                )
        return self._failure(cells[-1]) if cells else ""

    def _failure(self, index: int) -> str:
        """Return why a Python cell did not run to its end; "" if it did."""
        reason = self.failures.get(index, "")
        first = next(iter(self.submitted[index].source.strip().splitlines()), "")
        return f"{_label(index)} (`{_cut(first)}`): {reason}" if reason else ""

    def _kernel_index(self, part: PlanCell, name: str) -> int | None:
        """Return the cell that was meant for a kernel: by nbgrader's name, else by a similar header."""
        solutions = {header_name(part.source): part.grade_id for part in self.plan.of_kind(SOLUTION)}
        similar = None
        for index, cell in enumerate(self.submitted):
            if part.grade_id and cell.grade_id == part.grade_id:
                return index
            if cell.grade_id and cell.grade_id in solutions.values():
                continue
            for header in _HEADER.finditer(cell.source):
                if get_close_matches(header[1], solutions, 1, SIMILAR) == [name]:
                    similar = index
        return similar


def _label(index: int) -> str:
    return f"code cell {index + 1}"


def _texts(source: str) -> set[str]:
    """Return the strings in a test cell, among them the names of its kernels."""
    nodes = ast.walk(parse_python(source))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _variables(source: str) -> Iterator[str]:
    """Yield the variables that a test cell reads, also by `globals().get("name")`."""
    for node in ast.walk(parse_python(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                yield name
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="globals")), attr="get"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


def _cut(line: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in line)
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[: SHOWN_CHARACTERS - 2]} …"
