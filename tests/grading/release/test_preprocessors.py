"""nbgrader's steps as gpulab has them: stubs in two languages, and submissions that are not lost."""

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
    ExecuteToTheEnd,
    is_kernel_cell,
)
from tests.grading.conftest import KERNEL, PYTHON, nbgrader_cell

PYTHON_NOTEBOOK = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}

ANSWERS = """predicted = {"A": None, "B": None}
### BEGIN SOLUTION
predicted = {"A": 1, "B": 2}
### END SOLUTION"""


def cleared(source: str) -> list[str]:
    """Lines of a solution cell after the solutions were taken out."""
    cell = nbgrader_cell("some_cell", source, solution=True)
    notebook = new_notebook(cells=[cell], metadata=PYTHON_NOTEBOOK)
    ClearKernelSolutions().preprocess(notebook, {})
    return notebook.cells[0].source.splitlines()


class TestTheStub:
    def test_of_a_kernel_cell_is_c(self) -> None:
        lines = [line.strip() for line in cleared(KERNEL)]
        assert "// YOUR CODE HERE" in lines
        assert sum(line.startswith('#error "') for line in lines) == 1
        assert not any("NotImplementedError" in line for line in lines)

    def test_of_a_kernel_cell_stands_between_the_signature_and_the_closing_brace(self) -> None:
        lines = cleared(KERNEL)
        assert lines[:3] == KERNEL.splitlines()[:3]
        assert lines[-1] == "}"

    def test_names_the_kernel_in_the_words_of_its_error(self) -> None:
        assert any("#error" in line and "stencil.opt_1" in line for line in cleared(KERNEL))

    def test_of_a_python_cell_is_python(self) -> None:
        assert cleared(PYTHON) == [
            "def double(x):",
            "    # YOUR CODE HERE",
            "    raise NotImplementedError()",
        ]

    def test_of_a_cell_that_names_its_answers_raises_nothing(self) -> None:
        first, second = cleared(ANSWERS)
        assert first == ANSWERS.splitlines()[0]
        assert second.startswith("# YOUR ANSWER HERE")

    def test_of_a_kernel_cell_without_markers_keeps_the_header(self) -> None:
        lines = cleared("%%cuda stencil.opt_2 --block 16 16\n__global__ void secret() {}")
        assert lines[0] == "%%cuda stencil.opt_2 --block 16 16"
        assert lines[1] == "// YOUR CODE HERE"
        assert lines[2].startswith("#error")
        assert len(lines) == 3

    def test_of_a_python_cell_is_python_after_a_kernel_cell(self) -> None:
        cells = [nbgrader_cell("a", KERNEL, solution=True), nbgrader_cell("b", "x = 1", solution=True)]
        notebook = new_notebook(cells=cells, metadata=PYTHON_NOTEBOOK)
        ClearKernelSolutions().preprocess(notebook, {})
        assert "raise NotImplementedError()" in notebook.cells[1].source

    def test_leaves_a_given_kernel_alone(self) -> None:
        given = new_code_cell("%%cuda stencil.naive\n__global__ void block2D_naive() {}")
        notebook = new_notebook(cells=[given.copy()], metadata=PYTHON_NOTEBOOK)
        ClearKernelSolutions().preprocess(notebook, {})
        assert notebook.cells[0].source == given.source


@pytest.mark.parametrize(
    ("cell", "is_kernel"),
    [
        (new_code_cell("%%cuda stencil.opt_1 --block 32 8\nint x;"), True),
        (new_code_cell("\n%%cuda name"), True),
        (new_code_cell("%%cudalike"), False),
        (new_code_cell("x = 1  # %%cuda"), False),
        (new_code_cell(""), False),
        (new_markdown_cell("%%cuda stencil.opt_1"), False),
    ],
)
def test_a_kernel_cell_is_one_whose_first_line_is_the_magic(
    cell: nbformat.NotebookNode, is_kernel: bool
) -> None:
    assert is_kernel_cell(cell) == is_kernel


def test_a_copied_cell_becomes_an_ordinary_one() -> None:
    twice = [nbgrader_cell("same", "x = 1", solution=True), nbgrader_cell("same", "x = 2", solution=True)]
    twice[1].id = "the-copy"
    notebook = new_notebook(cells=twice)
    DropDuplicates().preprocess(notebook, {})
    assert [utils.is_solution(cell) for cell in notebook.cells] == [False, True]
    assert "nbgrader" not in notebook.cells[0].metadata


class Process(ExecuteToTheEnd):
    """Runs cells by their text alone, and keeps a list of what ran and of new starts."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.forget()

    def run(self, *sources: str) -> list[nbformat.NotebookNode]:
        self.nb = new_notebook(cells=[nbgrader_cell(f"c{i}", text) for i, text in enumerate(sources)])
        for index, cell in enumerate(self.nb.cells):
            if cell.source.startswith("test"):
                cell.metadata.nbgrader.update(grade=True, points=1)
            self.preprocess_cell(cell, {}, index)
        return list(self.nb.cells)

    def _cleanup_kernel(self) -> None:
        self.ran.append("a new process")

    def create_kernel_manager(self) -> None:
        return None

    start_new_kernel = start_new_kernel_client = create_kernel_manager


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    def execute(self: Process, cell: nbformat.NotebookNode, resources: object, index: int) -> object:
        self.ran.append(cell.source)
        self.nb.cells[index] = cell
        if cell.source == "dies":
            raise DeadKernelError
        if "raises" in cell.source or "loses" in cell.source:
            words = LOST_CONTEXT if "loses" in cell.source else "wrong"
            cell.outputs = [new_output("error", ename="LaunchError", evalue=words, traceback=[])]
        return cell, resources

    monkeypatch.setattr(Execute, "preprocess_cell", execute)
    return Process()


class TestACellThatEndsItsProcess:
    def test_gets_no_points_and_those_around_it_keep_theirs(self, process: Process) -> None:
        cells = process.run("test before", "dies", "test after")
        assert [utils.has_failed(cell) for cell in cells] == [False, True, False]

    def test_has_the_others_repeated_in_a_new_process_without_tests_and_failures(
        self, process: Process
    ) -> None:
        process.run("a", "test a", "raises", "b", "dies", "c")
        assert process.ran[5:] == ["a new process", "a", "b", "c"]

    def test_is_one_that_lost_the_gpu_too(self, process: Process) -> None:
        process.run("a", "loses the context", "b")
        assert process.ran == ["a", "loses the context", "a new process", "a", "b"]

    def test_leaves_what_the_repeated_cells_showed_first(self, process: Process) -> None:
        cells = process.run("a", "dies", "b")
        assert cells[0] is process.nb.cells[0]

    def test_is_not_started_again_for_ever(self, process: Process) -> None:
        cells = process.run(*["dies"] * 9, "test after")
        assert process.ran.count("a new process") == Process.most_restarts
        assert utils.determine_grade(cells[-1])[0] == 0

    def test_a_kernel_that_is_only_wrong_needs_no_new_process(self, process: Process) -> None:
        process.run("raises", "b")
        assert process.ran == ["raises", "b"]


def test_the_words_of_a_lost_gpu_are_those_of_the_cuda_device() -> None:
    error = Exception("cudaErrorIllegalAddress")
    error.status = 700  # type: ignore[attr-defined]
    lost = lost_context(error, "`kernel`", "cuda:0")
    assert lost is not None
    assert all(LOST_CONTEXT in words for words in (str(lost[0]), lost[1]))


def with_outputs(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    cell = nbgrader_cell("test", "check()", points=4)
    cell.outputs = list(outputs)
    DropStandardError().preprocess_cell(cell, {}, 0)
    return cell


def test_a_warning_on_stderr_costs_no_points() -> None:
    cell = with_outputs(new_output("stream", name="stderr", text="DeprecationWarning: …"))
    assert utils.determine_grade(cell)[0] == 4


def test_an_error_costs_the_points_with_or_without_a_warning() -> None:
    warning = new_output("stream", name="stderr", text="a warning")
    error = new_output("error", ename="WrongResult", evalue="", traceback=[])
    assert utils.determine_grade(with_outputs(warning, error))[0] == 0
