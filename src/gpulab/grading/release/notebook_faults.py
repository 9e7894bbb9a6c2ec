"""Faults of a lab's notebook that are found without running it: see `gpulab lint`."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbgrader import utils

from gpulab.cell import is_kernel_cell, parse_cell
from gpulab.errors import GpulabError, UsageError
from gpulab.grading.judge.python_cell import parse_python, python_error
from gpulab.grading.pipeline.notebook_source import check_calls
from gpulab.grading.release.assignments import read_notebook
from gpulab.grading.release.preprocessors import grade_id
from gpulab.grading.release.sample_class import kernel_name
from gpulab.problems import Problem, problem_names
from gpulab.problems import problem as problem_named

__all__ = ["kernel_places", "names_step", "notebook_faults"]

MARKERS = ("BEGIN SOLUTION", "END SOLUTION")

Cells = Sequence[tuple[str, Any]]  # code cells, each with its place for messages


def notebook_faults(notebook: Path, declared: Mapping[str, Problem]) -> list[str]:
    """Return one sentence for each fault of a notebook. declared: the problems of the lab's own file."""
    cells = _code_cells(notebook)
    unusable = [*_not_loaded(cells), *_cells_with_one_name(cells), *_unreadable(cells)]
    return unusable or [*_steps(notebook, cells, declared), *_order(cells), *_late_kernels(cells)]


def kernel_places(notebook: Path) -> dict[str, str]:
    """Return the place of each kernel cell by the kernel's name."""
    return {kernel_name(cell.source): place for place, cell in _code_cells(notebook) if _is_kernel(cell)}


def names_step(name: str) -> bool:
    """Return True if a name is that of a step of a problem, such as "stencil.opt_1"."""
    problem, _, step = name.partition(".")
    return problem in problem_names() and step in problem_named(problem).variants


def _code_cells(notebook: Path) -> Cells:
    return [
        (f"{notebook.name}, cell {number}", cell)
        for number, cell in enumerate(read_notebook(notebook).cells, 1)
        if cell.cell_type == "code"
    ]


def _is_kernel(cell: Any) -> bool:
    return is_kernel_cell(cell.source)


def _not_loaded(cells: Cells) -> Iterator[str]:
    """Yield the first kernel cell if no cell before it loads gpulab."""
    for place, cell in cells:
        if re.search(r"^%(re)?load_ext gpulab\b", cell.source, re.MULTILINE):
            return
        if _is_kernel(cell):
            yield f"{place}: no cell before it has the line `%load_ext gpulab`, which %%cuda needs."
            return


def _cells_with_one_name(cells: Cells) -> Iterator[str]:
    """Yield cells that have the grade_id of an earlier one, such as copies."""
    first: dict[str, str] = {}
    for place, cell in cells:
        name = grade_id(cell)
        if name and first.setdefault(name, place) != place:
            yield f"{place}: {first[name]} has the same grade_id, `{name}`; give each cell its own."


def _unreadable(cells: Cells) -> Iterator[str]:
    """Yield nbgrader's cells whose header, Python or markers of a solution are not valid."""
    for place, cell in cells:
        if not grade_id(cell):
            continue
        begins, ends = (cell.source.count(marker) for marker in MARKERS)
        if begins != ends:
            yield f"{place}: it has {begins} of `{MARKERS[0]}` but {ends} of `{MARKERS[1]}`."
        if _is_kernel(cell):
            try:
                parse_cell(cell.source.lstrip("\n"))
            except GpulabError as error:
                yield f"{place}: {error}"
        elif wrong := python_error(cell.source):
            yield f"{place}: line {wrong.lineno} is not Python: {wrong.msg}. A kernel begins with %%cuda."


def _steps(notebook: Path, cells: Cells, declared: Mapping[str, Problem]) -> Iterator[str]:
    """Yield steps without a kernel cell or a test, and solutions that students would see."""
    tests = "\n".join(cell.source for _, cell in cells if utils.is_grade(cell))
    kernels = set()
    for place, cell in cells:
        name = kernel_name(cell.source) if _is_kernel(cell) else ""
        kernels.add(name)
        tested = name and f'"{name}"' in tests
        if utils.is_solution(cell):
            if name and MARKERS[0] not in cell.source:
                yield f"{place}: the solution of {name} is not between {' and '.join(MARKERS)}."
            if names_step(name) and not tested:
                yield f"{place}: no test cell checks {name}."
        elif tested:
            yield f"{place}: {name} is graded, but its cell is no solution cell, so students see its kernel."
    for problem in declared.values():
        for step, fact in problem.variants.items():
            if f"{problem.name}.{step}" not in kernels and f'"{problem.name}.{step}"' not in tests:
                yield f"{fact.line}: the step {step} has neither a kernel cell nor a test in {notebook.name}."


def _late_kernels(cells: Cells) -> Iterator[str]:
    """Yield test cells before the kernel that they check."""
    for number, (place, test) in enumerate(cells):
        checked = _checked_kernels(test)
        for later, kernel in cells[number + 1 :]:
            name = kernel_name(kernel.source) if _is_kernel(kernel) else ""
            if name in checked and utils.is_solution(kernel):
                yield f"{place}: it checks {name}, which {later} defines; put the test after the kernel."


def _checked_kernels(cell: Any) -> set[str]:
    """Return the kernels that a test cell checks; none if its points cannot be read, see `check_calls`."""
    try:
        calls = check_calls(cell.source, "") if utils.is_grade(cell) else ()
    except UsageError:
        return set()
    return {call.variant for call in calls if call.variant}


def _order(cells: Cells) -> Iterator[str]:
    """Yield names that a Python cell uses before the cell that defines them."""
    defined: dict[str, int] = {}
    trees = []
    for number, (place, cell) in enumerate(cells):
        tree = ast.Module([], []) if _is_kernel(cell) else parse_python(cell.source)
        trees.append((place, tree))
        for name in _names(tree, ast.Store):
            defined.setdefault(name, number)
    for number, (place, tree) in enumerate(trees):
        own = _names(tree, ast.Store)
        for name in sorted(_names(tree, ast.Load) - own - vars(builtins).keys()):
            if defined.get(name, -1) > number:
                yield f"{place}: it fails before {trees[defined[name]][0]} has run, which defines `{name}`."


def _names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a cell loads or stores; those that it stores include functions and imports."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}
    if context is ast.Store:
        for node in nodes:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.alias(name=name, asname=other):
                    names.add(other or name.partition(".")[0])
                case ast.arg(arg=name):
                    names.add(name)
    return names
