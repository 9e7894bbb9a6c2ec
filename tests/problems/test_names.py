"""No module knows the labs' own problems by name: they are declared as any teacher's problems are."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpulab.problems

PACKAGE = Path(gpulab.__file__).parent
NAMES = re.compile(r"stencil|matmul(?!t)", re.IGNORECASE)  # ast.MatMult is Python's operator @
DECLARATIONS = [PACKAGE / "problems" / name for name in ("stencil.py", "matmul.py")]
OTHERS = sorted(set(PACKAGE.rglob("*.py")) - set(DECLARATIONS))


def documentation_lines(tree: ast.AST) -> set[int]:
    """Return the lines of docstrings, whose examples may name a lab."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def named_in(path: Path) -> Iterator[str]:
    """Yield the tokens of a module, comments and texts included, that name a problem of the labs."""
    text = path.read_text(encoding="utf-8")
    documentation = documentation_lines(ast.parse(text))
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # numpy.matmul and cupy.matmul, and the method of Python's operator @
        numpys = token.string == "matmul" and before == "."
        numpys = numpys or (token.string == '"matmul"' and path.name == "host_operations.py")
        if NAMES.search(token.string) and not numpys and token.start[0] not in documentation:
            yield f"{token.start[0]}: {token.string}"
        before = token.string


def test_no_module_names_a_problem_of_the_labs() -> None:
    assert [path.name for path in OTHERS if NAMES.search(path.name)] == []
    suspects = [path for path in OTHERS if NAMES.search(path.read_text(encoding="utf-8"))]
    assert suspects  # docstrings have examples
    assert {path.name: named for path in suspects if (named := list(named_in(path)))} == {}


def test_data_other_than_figures_names_no_problem() -> None:
    data = {path for path in PACKAGE.rglob("*.toml") if path.parent != PACKAGE / "problems"}
    assert [path.name for path in sorted(data) if NAMES.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", DECLARATIONS, ids=lambda path: path.name)
def test_declaration_imports_public_names_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpulab"):
            assert node.module == "gpulab.problems"
            assert {alias.name for alias in node.names} <= set(gpulab.problems.__all__)
        elif isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if alias.name.startswith("gpulab.")]
