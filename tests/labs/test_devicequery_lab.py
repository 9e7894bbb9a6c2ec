"""Lab 0: structure of the notebook, a full run, the release, cells out of order, and wrong answers."""

from __future__ import annotations

import re

import pytest
from nbformat import NotebookNode

from tests.labs.html_page import PageTests
from tests.labs.lab import (
    Lab,
    ReleasedNotebookTests,
    RooflineTests,
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
    "peak": "predicted_peak",
    "occupancy": "predicted_occupancy",
    "copy_bound": "predicted_copy",
    "overlap": "predicted_overlap",
    "sectors": "predicted_sectors",
    "case_branch": "case_branch",
}
KERNELS = ("axpy", "turned", "coalesced", "in_turn", "paired", "histogram", "total")
# Given kernels with the fault that students repair: the test of the repaired kernel must refuse each.
FAULTY = {
    "turned": "turned-slow",
    "coalesced": "scattered",
    "in_turn": "waits",
    "paired": "suspect",
    "histogram": "lost",
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


def faulty_kernels() -> list[NotebookNode]:
    """Return the given faulty kernels under the names of the repaired ones, each with its test cell."""
    cells = cells_of("setup")
    for name, shown in FAULTY.items():
        faulty, test = cells_of(shown, f"{name.replace('_', '-')}-test")
        (given,) = re.findall(r"__global__ void (\w+)", faulty.source)
        faulty.source = re.sub(rf"\b{given}\b", name, faulty.source)
        faulty.id, test.id = f"faulty-{name}", f"test-{name}"
        cells += [faulty, test]
    return cells


def partly_right_answer() -> list[NotebookNode]:
    """Return an exercise whose answers are partly right, with its test cell."""
    task, prediction, test = cells_of("case-branch-task", "case-branch", "case-branch-test")
    prediction.source = 'case_branch = {"line": 10, "who": "threads with i < n", "order": None}'
    return [task, prediction, test]


@pytest.fixture(scope="module")
def one_session() -> list[NotebookNode]:
    """The Python cells without any kernel, and then wrong kernels and answers, in one session."""
    parts = [cells_without_kernels(), faulty_kernels(), partly_right_answer()]
    return run_one_after_another(read(LAB.notebook), parts, LAB.folder)


@pytest.fixture(scope="module")
def without_kernels(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[0]


@pytest.fixture(scope="module")
def faulty(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[1]


@pytest.fixture(scope="module")
def partly_right(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[2]


class TestSourceNotebook(SourceNotebookTests):
    def test_four_of_forty_points_are_graded_by_hand(self, source: NotebookNode) -> None:
        points = max_points(source)
        assert sum(points.values()) == 40
        assert sum(number for name, number in points.items() if name.startswith("answer")) == 4

    def test_sections_have_minutes_that_add_up_to_the_labs(self, source: NotebookNode) -> None:
        head, *cells = [cell.source for cell in source.cells if cell.cell_type == "markdown"]
        sections = [text for text in cells if re.match(r"## \d", text) and "*Optional.*" not in text]
        minutes = [re.search(r"\*(\d+) minutes", text) for text in sections]
        assert all(minutes)
        (total,) = re.findall(r"about (\d+) minutes", head)
        assert sum(int(match[1]) for match in minutes if match) == int(total)

    def test_sections_have_points_that_add_up_to_the_labs(self, source: NotebookNode) -> None:
        head = source.cells[0].source
        rows = re.findall(r"^\| \d+ [^|]*\| *[^|]* *\| *(\d*) *\|", head, re.MULTILINE)
        assert sum(int(points) for points in rows if points) == 40

    def test_predictions_start_as_none(self, source: NotebookNode) -> None:
        for grade_id, name in PREDICTIONS.items():
            before, _, after = re.split(r"### (?:BEGIN|END) SOLUTION", by_grade_id(source)[grade_id].source)
            assert before.startswith(f"{name} = {{")
            assert 3 <= len(re.findall(r": None", before)) <= 4
            assert not after.strip()

    def test_python_cells_import_what_they_need(self, source: NotebookNode) -> None:
        """After a restart every cell runs once the setup cell and its kernels have run, in any order."""
        for cell in source.cells:
            python = cell.cell_type == "code" and not cell.source.startswith("%%cuda")
            if python and not nbgrader_metadata(cell).get("solution"):
                assert ("np." in cell.source) == ("import numpy as np" in cell.source), cell.id
                one_line = "\n" not in cell.source
                assert one_line or "gpulab" in cell.source.splitlines()[0] or cell.id == "copy4-predict", (
                    cell.id
                )

    def test_faulty_line_of_the_case_is_the_right_answer(self, source: NotebookNode) -> None:
        from gpulab.exercises.lab0_exercises import BARRIER_LINE

        assert "__syncthreads()" in by_id(source)["suspect"].source.splitlines()[BARRIER_LINE - 1]

    def test_lines_of_drawings_access_memory(self, source: NotebookNode) -> None:
        cells = by_id(source)
        for look, kernel in (("turned-look", "turned-slow"), ("scattered-look", "scattered")):
            (line,) = re.findall(r"line=(\d+)", cells[look].source)
            assert "[" in cells[kernel].source.splitlines()[int(line) - 1], look


class TestRun(RunTests, RooflineTests):
    def test_nothing_is_written_to_stderr(self, executed: NotebookNode) -> None:
        assert not any(
            output.get("name") == "stderr" for cell in executed.cells for output in cell.get("outputs", [])
        )

    def test_device_query_ends_as_the_cuda_sample_does(self, executed: NotebookNode) -> None:
        assert "Test PASSED" in output_text(by_id(executed)["device-query"])

    def test_table_of_strides_has_sectors_bytes_and_percent(self, executed: NotebookNode) -> None:
        table = output_text(by_id(executed)["stride-table"])
        assert re.search(r"\b1 +4 +128 +100 %", table)
        assert re.search(r"\b32 +32 +1024 +12.5 %", table)

    def test_deadlock_occurs_before_volta_only(self, executed: NotebookNode) -> None:
        table = output_text(by_id(executed)["deadlock"])
        assert re.search(r"before Volta +it does not end +line 8: .*deadlock", table)
        assert re.search(r"since Volta +it ends +0 1 2 3 ", table)  # the order of the threads

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
                if "commit(" in cell.source:
                    assert error.ename == "WrongResult", cell.id
                else:
                    assert error.ename == "UsageError", (cell.id, error.evalue)
                    assert "%%cuda" in error.evalue, cell.id


class TestWrongAnswers:
    @pytest.mark.parametrize("name", FAULTY)
    def test_faulty_kernel_compiles_and_gives_no_points(self, faulty: NotebookNode, name: str) -> None:
        cells = by_id(faulty)
        assert not errors(cells[f"faulty-{name}"])
        assert errors(cells[f"test-{name}"])

    def test_partly_right_answers_give_partial_points(self, partly_right: NotebookNode) -> None:
        assert value_of(partly_right.cells[-1]) == 0.5
