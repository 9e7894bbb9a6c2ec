"""Lab 2 as an instructor has it and as a student gets it: structure, a full run, and the released stubs."""

from __future__ import annotations

import re
from copy import deepcopy

import nbformat
import pytest
from nbformat import NotebookNode

from tests.labs.lab import (
    Lab,
    ReleasedNotebook,
    RunFromTopToBottom,
    SourceNotebook,
    by_grade_id,
    by_id,
    errors,
    headers,
    kernel_cells,
    marks,
    read,
    run,
    shown,
)
from tests.labs.reading import ReadablePage

LAB = Lab("02_matmul", "matmul")
GIVEN = ("Ks", "K1")
WRITTEN = ("K2", "K3", "K4", "K34", "K5", "K4g", "K6")
HEADERS = [
    "%%cuda matmul.Ks --block 1 32",
    "%%cuda matmul.K1 --block 64",
    "%%cuda matmul.K2 --block 64 --tile 1 1 4",
    "%%cuda matmul.K3 --block 64 --tile 2 1 4",
    "%%cuda matmul.K4 --block 128 --tile 1 4 4",
    "%%cuda matmul.K34 --block 128 --tile 2 4 4",
    "%%cuda matmul.K5 --block 16 16",
    "%%cuda mmul_tiled --block 16 16",
    "%%cuda matmul.K4g --block 128 --tile 1 4 4",
    "%%cuda matmul.K6 --block 16 16 --tile 8 8",
]

# What to make of the right K2, and the kernel is wrong in a way that the lab warns of.
WRONG = {
    "no second barrier": ("__syncthreads();                         // all have read", "// all have read"),
    "K1 under another name": (r"strip[k]", "c[ks + k + p * j]"),
}


@pytest.fixture(scope="module")
def alone(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """Every Python cell as after a restart: no name of another cell is known, and no kernel compiled."""
    notebook = read(lab.notebook)
    cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.source.startswith("%%cuda") and cell.id != "driver"
    ]
    notebook.cells = [one for cell in cells for one in (nbformat.v4.new_code_cell("%reset -f"), cell)]
    return run(notebook, tmp_path_factory.mktemp("alone"), allow_errors=True)


@pytest.fixture(scope="module")
def answered(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """Wrong kernels, each with its test cell, and a prediction that is partly right, in one session."""
    notebook = read(lab.notebook)
    cells = by_id(notebook)
    notebook.cells = [cells["setup"]]
    for number, (right, wrong) in enumerate(WRONG.values()):
        kernel, test = deepcopy(cells["k2"]), deepcopy(cells["k2-test"])
        assert right in kernel.source
        kernel.source = kernel.source.replace(right, wrong)
        kernel.id, test.id = f"wrong-{number}", f"test-{number}"
        notebook.cells += [kernel, test]
    prediction = cells["occupancy"]
    prediction.source = 'warps = {"32 threads": 8, "64 threads": 16, "128 threads": 16}'
    notebook.cells += [prediction, cells["occupancy-test"]]
    return run(notebook, tmp_path_factory.mktemp("answered"), allow_errors=True)


def locked_test_of(notebook: NotebookNode, variant: str) -> NotebookNode:
    return by_grade_id(notebook)[f"{variant.lower()}_test"]


class TestTheSourceNotebook(SourceNotebook):
    def test_has_the_kernel_cells_in_the_order_of_the_ladder(self, source: NotebookNode) -> None:
        assert headers(source) == HEADERS

    def test_gives_a_hundred_points_in_four_hours(self, source: NotebookNode) -> None:
        assert "240 minutes" in source.cells[0].source
        assert "100 points" in source.cells[0].source
        sections = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        assert sum(int(m) for m in re.findall(r"^## .*\((\d+) minutes\)$", sections, re.MULTILINE)) == 240

    @pytest.mark.parametrize("variant", WRITTEN)
    def test_keeps_the_signature_outside_the_solution(self, source: NotebookNode, variant: str) -> None:
        text = kernel_cells(source)[f"matmul.{variant}"].source
        before, solution, after = re.split(r"// (?:BEGIN|END) SOLUTION", text)
        assert "mmkernel(float* a, const float* b, const float* c, int n, int m, int p)" in before
        assert before.rstrip().endswith("{")
        assert solution.strip()
        assert after.strip() == "}"

    @pytest.mark.parametrize("variant", WRITTEN)
    def test_checks_every_kernel_in_the_cell_after_it(self, source: NotebookNode, variant: str) -> None:
        kernel = kernel_cells(source)[f"matmul.{variant}"]
        after = source.cells[source.cells.index(kernel) + 1]
        assert marks(kernel)["solution"]
        assert after is locked_test_of(source, variant)
        assert f'"matmul.{variant}"' in after.source

    def test_tells_the_marker_how_to_mark_each_written_answer(self, source: NotebookNode) -> None:
        written = [cell for name, cell in by_grade_id(source).items() if name.startswith("answer")]
        assert len(written) == 3
        assert all("=== BEGIN MARK SCHEME ===" in cell.source for cell in written)


class TestARunFromTopToBottom(RunFromTopToBottom):
    def test_shows_that_a_square_size_hides_what_the_checks_sizes_find(self, executed: NotebookNode) -> None:
        text = by_id(executed)["wrong-shapes"].outputs[0]["data"]["text/plain"]
        at_a_square = [line for line in text.splitlines() if "64x64x64 " in line]
        assert any(line.rstrip().endswith("right") for line in at_a_square)
        assert sum(line.rstrip().endswith("right") for line in text.splitlines()) == 1

    @pytest.mark.parametrize("cell", ["k1-beside", "k4-beside", "k34-beside", "k5-beside"])
    def test_puts_the_published_figures_beside_the_sessions_kernels(
        self, executed: NotebookNode, cell: str
    ) -> None:
        assert "Published: " in shown(by_id(executed)[cell])

    def test_ends_in_tables_of_all_variants(self, executed: NotebookNode) -> None:
        for table in ("speedups", "ladder"):
            assert all(name in shown(by_id(executed)[table]) for name in (*GIVEN, *WRITTEN))

    def test_multiplies_row_major_with_the_same_memory(self, executed: NotebookNode) -> None:
        (output,) = by_id(executed)["row-major-run"].outputs
        assert float(output["text"].split()[-1]) < 1e-4

    def test_runs_the_driver_on_this_very_notebook(self, executed: NotebookNode) -> None:
        assert "137438953472" in shown(by_id(executed)["driver"])


class TestTheReleasedNotebook(ReleasedNotebook):
    @pytest.mark.parametrize("variant", WRITTEN)
    def test_fails_in_the_test_cell_of_an_unwritten_kernel(
        self, unsolved: NotebookNode, variant: str
    ) -> None:
        assert errors(locked_test_of(unsolved, variant))

    def test_fails_in_a_cell_of_numbers_only_where_numbers_are_asked_for(
        self, unsolved: NotebookNode
    ) -> None:
        """Solution cells raise, test cells refuse; every other cell of Python runs."""
        for cell in unsolved.cells:
            if cell.cell_type == "code" and not marks(cell).get("solution") and not marks(cell).get("grade"):
                assert not errors(cell), cell.id

    def test_says_in_a_sentence_that_loops_are_not_written(self, unsolved: NotebookNode) -> None:
        for loops in ("host_jki_test", "host_tiled_test"):
            (error,) = errors(by_grade_id(unsolved)[loops])
            assert error.ename == "UsageError"


class TestTheExportedPage(ReadablePage):
    """Of the run above, in every window."""


class TestCellsOutOfOrder:
    def test_a_cell_runs_or_says_what_is_missing(self, alone: NotebookNode) -> None:
        for cell in alone.cells:
            for error in errors(cell):
                assert error.ename in ("UsageError", "WrongResult", "AssertionError"), (cell.id, error.evalue)
                assert error.evalue, cell.id


class TestWrongAnswers:
    @pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
    def test_a_wrong_kernel_gives_no_points(self, answered: NotebookNode, number: int) -> None:
        (error,) = errors(by_id(answered)[f"test-{number}"])
        assert error.ename == "WrongResult"

    def test_a_prediction_that_is_partly_right_gives_its_part(self, answered: NotebookNode) -> None:
        (result,) = [o for o in answered.cells[-1].outputs if o.output_type == "execute_result"]
        assert float(result.data["text/plain"]) == 2
