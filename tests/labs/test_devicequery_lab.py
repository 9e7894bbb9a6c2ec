"""Lab 0: structure of the notebook, a full run, the release, cells out of order, and wrong answers."""

from __future__ import annotations

import re

import pytest
from nbformat import NotebookNode

from tests.labs.html_page import PageTests
from tests.labs.lab import (
    Lab,
    ReleasedNotebookTests,
    RunTests,
    SourceNotebookTests,
    by_grade_id,
    by_id,
    errors,
    max_points,
    nbgrader_metadata,
    output_text,
    read,
    run_one_after_another,
    value_of,
)

LAB = Lab("00_devicequery", "devicequery")

PREDICTIONS = {
    "sectors": "predicted_sectors",
    "occupancy": "predicted_occupancy",
    "copy_bound": "predicted_copy",
}
KERNELS = ("axpy", "total")
# Solutions with a mistake that the lab teaches to avoid: the kernel, and its body.
WRONG = {
    "no guard": ("axpy", "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    y[i] = a * x[i] + y[i];\n"),
    "one block": ("axpy", "    int i = threadIdx.x;\n    if (i < n) y[i] = a * x[i] + y[i];\n"),
    "one atomic per thread": (
        "total",
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) atomicAdd(sum, x[i]);\n",
    ),
    "no barrier": (
        "total",
        """
    __shared__ int part[BLOCK_X];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t;
    part[t] = i < n ? x[i] : 0;
    for (int half = BLOCK_X / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
    }
    if (t == 0) atomicAdd(sum, part[0]);
""",
    ),
}


def cells_of(*ids: str) -> list[NotebookNode]:
    """Return the cells of these ids, read again from the file."""
    cells = by_id(read(LAB.notebook))
    return [cells[name] for name in ids]


def cells_without_kernels() -> list[NotebookNode]:
    """Return all Python cells except solutions."""
    return [
        cell
        for cell in read(LAB.notebook).cells
        if cell.cell_type == "code"
        and not cell.source.startswith("%%cuda")
        and not nbgrader_metadata(cell).get("solution")
    ]


def wrong_answers() -> list[NotebookNode]:
    """Return wrong kernels and a prediction that is partly right, each with its test cell."""
    cells = cells_of("setup")
    for number, (kernel, body) in enumerate(WRONG.values()):
        wrong, test = cells_of(kernel, f"{kernel}-test")
        solution = r"// BEGIN SOLUTION.*// END SOLUTION"
        wrong.source = re.sub(solution, body, wrong.source, flags=re.DOTALL)
        wrong.id, test.id = f"wrong-{number}", f"test-{number}"
        cells += [wrong, test]
    prediction, test = cells_of("sectors", "sectors-test")
    prediction.source = 'predicted_sectors = {"shifted": 4, "pairs": 2, "far": 32}'
    return [*cells, prediction, test]


@pytest.fixture(scope="module")
def one_session() -> list[NotebookNode]:
    """The Python cells without any kernel, and then the wrong answers, in one session."""
    parts = [cells_without_kernels(), wrong_answers()]
    return run_one_after_another(read(LAB.notebook), parts, LAB.folder)


@pytest.fixture(scope="module")
def without_kernels(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[0]


@pytest.fixture(scope="module")
def answered(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[1]


class TestSourceNotebook(SourceNotebookTests):
    def test_ten_of_forty_points_are_graded_by_hand(self, source: NotebookNode) -> None:
        points = max_points(source)
        assert sum(points.values()) == 40
        assert sum(number for name, number in points.items() if name.startswith("answer")) == 10

    def test_sections_have_minutes_that_add_up_to_the_labs(self, source: NotebookNode) -> None:
        sections = [
            cell.source
            for cell in source.cells
            if cell.cell_type == "markdown" and re.match(r"## \d", cell.source)
        ]
        minutes = [re.search(r"\*(\d+) minutes", text) for text in sections]
        assert all(minutes)
        assert sum(int(match[1]) for match in minutes if match) == 90

    def test_predictions_start_as_none(self, source: NotebookNode) -> None:
        for grade_id, name in PREDICTIONS.items():
            before, _, after = re.split(r"### (?:BEGIN|END) SOLUTION", by_grade_id(source)[grade_id].source)
            assert before.startswith(f"{name} = {{")
            assert len(re.findall(r": None", before)) == 3
            assert not after.strip()

    def test_python_cells_import_what_they_need(self, source: NotebookNode) -> None:
        """After a restart every cell runs once its kernels are compiled, in any order."""
        for cell in source.cells:
            python = cell.cell_type == "code" and not cell.source.startswith("%%cuda")
            if python and not nbgrader_metadata(cell).get("solution") and cell.id != "doctor":
                assert re.search(r"^(?:import gpulab|from gpulab)", cell.source, re.MULTILINE), cell.id

    def test_slider_updates_when_it_is_released(self, source: NotebookNode) -> None:
        assert "continuous_update=False" in by_id(source)["slider"].source


class TestRun(RunTests):
    def test_nothing_is_written_to_stderr(self, executed: NotebookNode) -> None:
        assert not any(
            output.get("name") == "stderr" for cell in executed.cells for output in cell.get("outputs", [])
        )

    def test_device_query_ends_as_the_cuda_sample_does(self, executed: NotebookNode) -> None:
        assert "Test PASSED" in output_text(by_id(executed)["device-query"])

    def test_table_of_strides_has_sectors_bytes_and_percent(self, executed: NotebookNode) -> None:
        table = output_text(by_id(executed)["stride-table"])
        assert re.search(r"\b1 +4 +128 +100 %", table)
        assert re.search(r"\b32 +32 +1024 +12 %", table)

    def test_deadlock_occurs_before_volta_only(self, executed: NotebookNode) -> None:
        before, since = re.split("since Volta: ", output_text(by_id(executed)["deadlock"]))
        assert "deadlock" in before
        assert re.search(r"\[ *0 +1 +2 +3 ", since)  # the order of the threads

    def test_local_memory_is_used_for_a_varying_index(self, executed: NotebookNode) -> None:
        table = output_text(by_id(executed)["registers-compare"])
        assert re.search(r"counts_known +\d+ +0 +0\b", table)
        assert re.search(r"counts_unknown +\d+ +[1-9]\d* +[1-9]", table)


class TestExportedPage(PageTests):
    """The executed notebook in every window."""


class TestReleasedNotebook(ReleasedNotebookTests):
    @pytest.mark.parametrize("grade_id", [*PREDICTIONS, *KERNELS])
    def test_unsolved_cell_gives_no_points(self, unsolved: NotebookNode, grade_id: str) -> None:
        assert errors(by_grade_id(unsolved)[f"{grade_id}_test"])

    def test_unanswered_prediction_raises_wrong_result(self, unsolved: NotebookNode) -> None:
        (error,) = errors(by_grade_id(unsolved)["sectors_test"])
        assert error.ename == "WrongResult"

    def test_cells_that_are_not_graded_run(self, unsolved: NotebookNode) -> None:
        failed = {cell.id for cell in unsolved.cells if errors(cell)}
        graded = {
            cell.id
            for cell in unsolved.cells
            if nbgrader_metadata(cell).get("grade") or nbgrader_metadata(cell).get("solution")
        }
        assert failed <= graded


class TestCellsOutOfOrder:
    def test_cell_without_its_kernel_names_the_cell_to_run(self, without_kernels: NotebookNode) -> None:
        for cell in without_kernels.cells:
            for error in errors(cell):
                if "graded_numbers" in cell.source:
                    assert error.ename == "WrongResult", cell.id
                else:
                    assert error.ename == "UsageError", (cell.id, error.evalue)
                    assert "%%cuda" in error.evalue, cell.id


class TestWrongAnswers:
    @pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
    def test_wrong_kernel_compiles_and_gives_no_points(self, answered: NotebookNode, number: int) -> None:
        cells = by_id(answered)
        assert not errors(cells[f"wrong-{number}"])
        assert errors(cells[f"test-{number}"])

    def test_partly_right_prediction_gives_partial_points(self, answered: NotebookNode) -> None:
        assert value_of(answered.cells[-1]) == 4
