"""Preprocessors: stubs in two languages."""

from __future__ import annotations

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from gpulab.grading.release.preprocessors import ClearKernelSolutions, ContinueAfterErrors
from tests.grading.conftest import KERNEL, PYTHON, nbgrader_cell

PYTHON_NOTEBOOK = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}

ANSWERS = """predicted = {"A": None, "B": None}
### BEGIN SOLUTION
predicted = {"A": 1, "B": 2}
### END SOLUTION"""


def cleared(source: str) -> list[str]:
    """Return the lines of a solution cell after the solution was removed."""
    cell = nbgrader_cell("some_cell", source, solution=True)
    notebook = new_notebook(cells=[cell], metadata=PYTHON_NOTEBOOK)
    ClearKernelSolutions().preprocess(notebook, {})
    return notebook.cells[0].source.splitlines()


class TestStub:
    def test_kernel_cell_has_a_c_stub(self) -> None:
        lines = [line.strip() for line in cleared(KERNEL)]
        assert "// YOUR CODE HERE" in lines
        assert sum(line.startswith('#error "') for line in lines) == 1
        assert not any("NotImplementedError" in line for line in lines)

    def test_kernel_stub_is_inside_the_function_body(self) -> None:
        lines = cleared(KERNEL)
        assert lines[:3] == KERNEL.splitlines()[:3]
        assert lines[-1] == "}"

    def test_kernel_stub_names_the_kernel(self) -> None:
        assert any("#error" in line and "stencil.opt_1" in line for line in cleared(KERNEL))

    def test_python_cell_has_a_python_stub(self) -> None:
        assert cleared(PYTHON) == [
            "def double(x):",
            "    # YOUR CODE HERE",
            "    raise NotImplementedError()",
        ]

    def test_answers_cell_has_a_comment_as_stub(self) -> None:
        first, second = cleared(ANSWERS)
        assert first == ANSWERS.splitlines()[0]
        assert second.startswith("# YOUR ANSWER HERE")

    def test_kernel_cell_without_markers_keeps_its_header(self) -> None:
        lines = cleared("%%cuda stencil.opt_2 --block 16 16\n__global__ void secret() {}")
        assert lines[0] == "%%cuda stencil.opt_2 --block 16 16"
        assert lines[1] == "// YOUR CODE HERE"
        assert lines[2].startswith("#error")
        assert len(lines) == 3

    def test_python_cell_after_a_kernel_cell_has_a_python_stub(self) -> None:
        cells = [nbgrader_cell("a", KERNEL, solution=True), nbgrader_cell("b", "x = 1", solution=True)]
        notebook = new_notebook(cells=cells, metadata=PYTHON_NOTEBOOK)
        ClearKernelSolutions().preprocess(notebook, {})
        assert "raise NotImplementedError()" in notebook.cells[1].source

    @pytest.mark.parametrize("source", ["%%cudalike\nx", "x = 1  # %%cuda", ""])
    def test_other_cell_has_a_python_stub(self, source: str) -> None:
        assert "    raise NotImplementedError()".strip() in [line.strip() for line in cleared(source)]

    def test_markdown_cell_has_no_c_stub(self) -> None:
        cell = new_markdown_cell("%%cuda stencil.opt_1")
        cell.metadata["nbgrader"] = dict(nbgrader_cell("answer", "", solution=True).metadata["nbgrader"])
        cell.metadata["nbgrader"]["cell_type"] = "markdown"
        notebook = new_notebook(cells=[cell], metadata=PYTHON_NOTEBOOK)
        ClearKernelSolutions().preprocess(notebook, {})
        assert "#error" not in notebook.cells[0].source

    def test_locked_kernel_cell_is_unchanged(self) -> None:
        given = new_code_cell("%%cuda stencil.naive\n__global__ void block2D_naive() {}")
        notebook = new_notebook(cells=[given.copy()], metadata=PYTHON_NOTEBOOK)
        ClearKernelSolutions().preprocess(notebook, {})
        assert notebook.cells[0].source == given.source


def test_every_code_cell_but_the_first_lets_run_all_continue() -> None:
    cells = [
        new_markdown_cell("text"),
        nbgrader_cell("setup", "%load_ext gpulab"),
        nbgrader_cell("answer", "x = None", solution=True),
        new_code_cell("x + 1", metadata={"tags": ["hide-input"]}),
        nbgrader_cell("answer_test", "assert x", points=1),
    ]
    notebook, _ = ContinueAfterErrors().preprocess(new_notebook(cells=cells), {})
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    assert tags == [[], [], ["raises-exception"], ["hide-input", "raises-exception"], ["raises-exception"]]
    assert ContinueAfterErrors().preprocess(notebook, {})[0].cells[2].metadata.tags == ["raises-exception"]
