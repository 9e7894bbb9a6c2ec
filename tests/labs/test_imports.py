"""The imports of the labs' notebooks: released notebooks keep working only if they use public names."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpulab

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "labs").glob("*/*.ipynb"))


def python_cells(notebook: Path) -> Iterator[str]:
    """Return the sources of the Python cells, without IPython magics."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("%%"):
            yield "\n".join("" if line.startswith("%") else line for line in source.splitlines())


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_notebook_imports_only_public_modules(notebook: Path) -> None:
    modules = set()
    for source in python_cells(notebook):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module or "")
    assert {name for name in modules if name.startswith("gpulab")} <= {"gpulab", "gpulab.grading.checks"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_notebook_uses_only_public_names(notebook: Path) -> None:
    used = {
        node.attr
        for source in python_cells(notebook)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gpulab"
    }
    assert used <= set(gpulab.__all__)
