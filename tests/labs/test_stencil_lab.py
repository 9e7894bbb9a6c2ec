"""Lab 1 as an instructor has it and as a student gets it: structure, a full run, and the released stubs."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

pytest.importorskip("nbgrader", reason="the labs are nbgrader notebooks")

from nbclient import NotebookClient
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
from nbgrader.preprocessors import CheckCellMetadata

REPOSITORY = Path(__file__).resolve().parents[2]
LAB = REPOSITORY / "labs" / "01_stencil"
NOTEBOOK = LAB / "stencil.ipynb"
VARIANTS = ("opt_1", "opt_2", "opt_3")
HEADERS = {
    "naive": "%%cuda stencil.naive --block 32 8",
    "opt_1": "%%cuda stencil.opt_1 --block 32 8",
    "opt_2": "%%cuda stencil.opt_2 --block 32 8",
    "opt_3": "%%cuda stencil.opt_3 --block 32 8 --tile 1 2 0",
}
TIMEOUT_S = 300  # for one cell, on a slow machine


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def marks(cell: NotebookNode) -> dict[str, object]:
    return dict(cell.metadata.get("nbgrader", {}))


def by_grade_id(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {str(marks(cell)["grade_id"]): cell for cell in notebook.cells if marks(cell)}


def kernel_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The `%%cuda` cells by variant."""
    cells = [cell for cell in notebook.cells if cell.source.startswith("%%cuda")]
    return {cell.source.split()[1].removeprefix("stencil."): cell for cell in cells}


def errors(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.outputs if output.output_type == "error"]


def run(notebook: NotebookNode, folder: Path, *, allow_errors: bool = False) -> NotebookNode:
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        allow_errors=allow_errors,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


@pytest.fixture(scope="module")
def source() -> NotebookNode:
    return read(NOTEBOOK)


@pytest.fixture(scope="module")
def executed() -> NotebookNode:
    """The source notebook after a run from top to bottom."""
    return run(read(NOTEBOOK), LAB)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook that students get."""
    from gpulab.grading.course import open_course
    from gpulab.grading.release import release

    work = tmp_path_factory.mktemp("desk")
    course = open_course(REPOSITORY / "grading" / "nbgrader_config.py", work=work)
    (notebook,) = release(course, "01_stencil").notebooks
    return notebook


@pytest.fixture(scope="module")
def unsolved(released: Path) -> NotebookNode:
    """The students' notebook after a run in which nobody has solved anything."""
    return run(read(released), released.parent, allow_errors=True)


class TestTheSourceNotebook:
    def test_is_a_notebook_with_cell_ids_and_a_python_kernel(self, source: NotebookNode) -> None:
        nbformat.validate(source)
        assert (source.nbformat, source.nbformat_minor) == (4, 5)
        assert source.metadata.kernelspec.name == "python3"

    def test_has_no_outputs(self, source: NotebookNode) -> None:
        code = [cell for cell in source.cells if cell.cell_type == "code"]
        assert code
        assert all(not cell.outputs and cell.execution_count is None for cell in code)

    def test_is_a_valid_nbgrader_assignment(self, source: NotebookNode) -> None:
        MetadataValidatorV3().validate_nb(source)
        CheckCellMetadata().preprocess(source.copy(), {"unique_key": "01_stencil+stencil"})

    def test_names_every_graded_cell_once(self, source: NotebookNode) -> None:
        names = [marks(cell)["grade_id"] for cell in source.cells if marks(cell)]
        assert len(names) == len(set(names))

    def test_has_the_kernel_cells_in_the_order_of_the_ladder(self, source: NotebookNode) -> None:
        headers = {name: cell.source.splitlines()[0] for name, cell in kernel_cells(source).items()}
        assert list(headers.items()) == list(HEADERS.items())

    def test_says_in_each_kernel_cells_second_line_what_it_changes(self, source: NotebookNode) -> None:
        for cell in kernel_cells(source).values():
            assert re.match(r"// \w", cell.source.splitlines()[1])

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_keeps_the_signature_outside_the_solution(self, source: NotebookNode, variant: str) -> None:
        text = kernel_cells(source)[variant].source
        assert (text.count("// BEGIN SOLUTION"), text.count("// END SOLUTION")) == (1, 1)
        before, solution, after = re.split(r"// (?:BEGIN|END) SOLUTION", text)
        assert (
            f"block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)" in before
        )
        assert before.rstrip().endswith("{")
        assert solution.strip()
        assert after.strip() == "}"

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_checks_every_kernel_in_a_locked_cell_that_gives_points(
        self, source: NotebookNode, variant: str
    ) -> None:
        place = source.cells.index(kernel_cells(source)[variant])
        kernel, test = marks(source.cells[place]), source.cells[place + 1]
        assert kernel["solution"]
        assert not kernel["grade"]
        assert marks(test)["grade"]
        assert marks(test)["locked"]
        assert marks(test)["points"] == 10
        assert f'require_correct("stencil.{variant}")' in test.source

    def test_gives_points_by_hand_for_written_answers(self, source: NotebookNode) -> None:
        written = [cell for cell in source.cells if cell.cell_type == "markdown" and marks(cell)]
        assert len(written) == 2
        assert all(marks(cell)["grade"] and marks(cell)["solution"] for cell in written)

    def test_shows_only_figures_that_exist_and_describes_each(self, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        figures = re.findall(r"!\[(.*?)\]\((.*?)\)", text)
        assert all(words and (LAB / path).is_file() for words, path in figures)
        assert {Path(path).name for _, path in figures} == {p.name for p in (LAB / "figures").glob("*.svg")}


class TestARunFromTopToBottom:
    def test_ends_without_an_error(self, executed: NotebookNode) -> None:
        assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")

    def test_shows_something_under_every_kernel(self, executed: NotebookNode) -> None:
        assert all(cell.outputs for cell in kernel_cells(executed).values())

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_passes_its_own_test_cells_without_a_word(self, executed: NotebookNode, variant: str) -> None:
        assert by_grade_id(executed)[f"{variant}_test"].outputs == []

    def test_ends_in_a_table_of_all_variants(self, executed: NotebookNode) -> None:
        table = next(cell for cell in executed.cells if "speedup_table" in cell.source)
        shown = "".join(str(output.get("data", output.get("text", ""))) for output in table.outputs)
        assert all(variant in shown for variant in HEADERS)


class TestTheReleasedNotebook:
    def test_brings_its_figures_along(self, released: Path) -> None:
        assert {path.name for path in (released.parent / "figures").glob("*.svg")} == {
            path.name for path in (LAB / "figures").glob("*.svg")
        }

    def test_holds_nothing_of_the_solutions(self, released: Path, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in read(released).cells)
        assert "__shared__" not in text
        assert "SOLUTION" not in text
        answers = [cell for name, cell in by_grade_id(source).items() if name.startswith("answer")]
        assert all(answer.source not in text for answer in answers)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_keeps_the_header_the_comment_and_the_signature(
        self, released: Path, source: NotebookNode, variant: str
    ) -> None:
        def opening(notebook: NotebookNode) -> list[str]:
            return kernel_cells(notebook)[variant].source.splitlines()[:4]

        assert opening(read(released)) == opening(source)

    def test_runs_the_given_kernel(self, unsolved: NotebookNode) -> None:
        assert not errors(kernel_cells(unsolved)["naive"])

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_fails_in_a_kernel_cell_with_the_stubs_message(
        self, unsolved: NotebookNode, variant: str
    ) -> None:
        (error,) = errors(kernel_cells(unsolved)[variant])
        assert error.ename == "CompileError"
        stub = kernel_cells(unsolved)[variant].source
        (message,) = re.findall(r'#error "(.*)"', stub)
        assert message in error.evalue

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_fails_in_the_test_cell_too(self, unsolved: NotebookNode, variant: str) -> None:
        assert errors(by_grade_id(unsolved)[f"{variant}_test"])
