"""Preprocessors: stubs in two languages, copied cells, ended processes, and stderr."""

from __future__ import annotations

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute

from gpulab.devices.cuda_errors import lost_context
from gpulab.grading.release.preprocessors import (
    LOST_CONTEXT,
    ClearKernelSolutions,
    DropDuplicates,
    DropStandardError,
    ExecuteWithRestarts,
)
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


def test_copied_cell_becomes_an_ordinary_cell() -> None:
    twice = [nbgrader_cell("same", "x = 1", solution=True), nbgrader_cell("same", "x = 2", solution=True)]
    twice[1].id = "the-copy"
    notebook = new_notebook(cells=twice)
    DropDuplicates().preprocess(notebook, {})
    assert [utils.is_solution(cell) for cell in notebook.cells] == [False, True]
    assert "nbgrader" not in notebook.cells[0].metadata


class FakeExecute(ExecuteWithRestarts):
    """Preprocessor without a Jupyter kernel, which records the cells that ran and the restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.reset()

    def run(self, *sources: str) -> list[nbformat.NotebookNode]:
        self.nb = new_notebook(cells=[nbgrader_cell(f"c{i}", text) for i, text in enumerate(sources)])
        for index, cell in enumerate(self.nb.cells):
            if cell.source.startswith("test"):
                cell.metadata.nbgrader.update(grade=True, points=1)
            self.preprocess_cell(cell, {}, index)
        return list(self.nb.cells)

    def _cleanup_kernel(self) -> None:
        self.ran.append("restart")

    def create_kernel_manager(self) -> None:
        return None

    start_new_kernel = start_new_kernel_client = create_kernel_manager


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> FakeExecute:
    def execute(self: FakeExecute, cell: nbformat.NotebookNode, resources: object, index: int) -> object:
        self.ran.append(cell.source)
        self.nb.cells[index] = cell
        if cell.source == "dies":
            raise DeadKernelError
        if "raises" in cell.source or "loses" in cell.source:
            message = LOST_CONTEXT if "loses" in cell.source else "wrong"
            cell.outputs = [new_output("error", ename="LaunchError", evalue=message, traceback=[])]
        return cell, resources

    monkeypatch.setattr(Execute, "preprocess_cell", execute)
    return FakeExecute()


class TestEndedProcess:
    def test_only_the_cell_that_ended_it_fails(self, process: FakeExecute) -> None:
        cells = process.run("test before", "dies", "test after")
        assert [utils.has_failed(cell) for cell in cells] == [False, True, False]

    def test_successful_cells_run_again_without_test_cells(self, process: FakeExecute) -> None:
        process.run("a", "test a", "raises", "b", "dies", "c")
        assert process.ran[5:] == ["restart", "a", "b", "c"]

    def test_lost_cuda_context_restarts_the_process(self, process: FakeExecute) -> None:
        process.run("a", "loses the context", "b")
        assert process.ran == ["a", "loses the context", "restart", "a", "b"]

    def test_repeated_cells_keep_their_outputs(self, process: FakeExecute) -> None:
        cells = process.run("a", "dies", "b")
        assert cells[0] is process.nb.cells[0]

    def test_restarts_are_limited(self, process: FakeExecute) -> None:
        cells = process.run(*["dies"] * 9, "test after")
        assert process.ran.count("restart") == FakeExecute.max_restarts
        assert utils.determine_grade(cells[-1])[0] == 0

    def test_failed_cell_does_not_restart_the_process(self, process: FakeExecute) -> None:
        process.run("raises", "b")
        assert process.ran == ["raises", "b"]


def test_lost_context_text_is_part_of_the_messages_of_the_cuda_device() -> None:
    error = Exception("cudaErrorIllegalAddress")
    error.status = 700  # type: ignore[attr-defined]
    lost = lost_context(error, "`kernel`", "cuda:0")
    assert lost is not None
    assert all(LOST_CONTEXT in message for message in (str(lost[0]), lost[1]))


def with_outputs(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    cell = nbgrader_cell("test", "check()", points=4)
    cell.outputs = list(outputs)
    DropStandardError().preprocess_cell(cell, {}, 0)
    return cell


def test_stderr_output_keeps_the_points() -> None:
    cell = with_outputs(new_output("stream", name="stderr", text="DeprecationWarning: …"))
    assert utils.determine_grade(cell)[0] == 4


def test_error_gives_no_points() -> None:
    warning = new_output("stream", name="stderr", text="a warning")
    error = new_output("error", ename="WrongResult", evalue="", traceback=[])
    assert utils.determine_grade(with_outputs(warning, error))[0] == 0
