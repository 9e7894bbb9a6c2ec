"""Lab 0 as an instructor has it and as a student gets it: structure, a full run, and the released stubs."""

from __future__ import annotations

import re

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
    marks,
    points,
    read,
    run,
    shown,
)
from tests.labs.reading import ReadablePage

LAB = Lab("00_devicequery", "devicequery")

PREDICTIONS = {
    "sectors": "predicted_sectors",
    "occupancy": "predicted_occupancy",
    "copy_bound": "predicted_copy",
}
KERNELS = ("axpy", "total")
# Kernels of one's own that are wrong in a way that the lab teaches to avoid.
WRONG = {
    "no guard": ("axpy", "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    y[i] = a * x[i] + y[i];\n"),
    "one block": ("axpy", "    int i = threadIdx.x;\n    if (i < n) y[i] = a * x[i] + y[i];\n"),
    "an atomic a thread": (
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


def chosen(*wanted: str) -> list[NotebookNode]:
    """The cells of these ids, fresh from the file."""
    cells = by_id(read(LAB.notebook))
    return [cells[one] for one in wanted]


@pytest.fixture(scope="module")
def alone() -> NotebookNode:
    """Every Python cell after a restart, with none of the kernels compiled."""
    notebook = read(LAB.notebook)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and not cell.source.startswith("%%cuda")
        and not marks(cell).get("solution")
    ]
    return run(notebook, LAB.folder, allow_errors=True)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """Wrong kernels and a prediction that is partly right, each with its test cell, in one session."""
    notebook = read(LAB.notebook)
    notebook.cells = chosen("setup")
    for number, (kernel, text) in enumerate(WRONG.values()):
        wrong, test = chosen(kernel, f"{kernel}-test")
        solution = r"// BEGIN SOLUTION.*// END SOLUTION"
        wrong.source = re.sub(solution, text, wrong.source, flags=re.DOTALL)
        wrong.id, test.id = f"wrong-{number}", f"test-{number}"
        notebook.cells += [wrong, test]
    prediction, test = chosen("sectors", "sectors-test")
    prediction.source = 'predicted_sectors = {"shifted": 4, "pairs": 2, "far": 32}'
    notebook.cells += [prediction, test]
    return run(notebook, tmp_path_factory.mktemp("wrong"), allow_errors=True)


class TestTheSourceNotebook(SourceNotebook):
    def test_gives_forty_points_of_which_ten_by_hand(self, source: NotebookNode) -> None:
        given = points(source)
        assert sum(given.values()) == 40
        assert sum(number for name, number in given.items() if name.startswith("answer")) == 10

    def test_says_the_minutes_of_every_section(self, source: NotebookNode) -> None:
        sections = [
            c.source for c in source.cells if c.cell_type == "markdown" and c.source.startswith("## ")
        ]
        minutes = [re.search(r"\*(\d+) minutes", text) for text in sections if re.match(r"## \d", text)]
        assert all(minutes)
        assert sum(int(found[1]) for found in minutes if found) == 90

    def test_places_nothing_but_none_outside_a_prediction(self, source: NotebookNode) -> None:
        for grade_id, name in PREDICTIONS.items():
            before, _, after = re.split(r"### (?:BEGIN|END) SOLUTION", by_grade_id(source)[grade_id].source)
            assert before.startswith(f"{name} = {{")
            assert len(re.findall(r": None", before)) == 3
            assert not after.strip()

    def test_needs_no_cell_but_kernels_and_the_first_to_have_run(self, source: NotebookNode) -> None:
        """A Python cell makes what it needs itself, so that the order of cells is free."""
        for cell in source.cells:
            python = cell.cell_type == "code" and not cell.source.startswith("%%cuda")
            if python and not marks(cell).get("solution") and cell.id != "doctor":
                assert re.search(r"^(?:import gpulab|from gpulab)", cell.source, re.MULTILINE), cell.id

    def test_has_a_slider_that_waits_for_the_hand_to_let_go(self, source: NotebookNode) -> None:
        assert "continuous_update=False" in by_id(source)["slider"].source


class TestARunFromTopToBottom(RunFromTopToBottom):
    def test_writes_nothing_to_stderr(self, executed: NotebookNode) -> None:
        assert not any(
            output.get("name") == "stderr" for c in executed.cells for output in c.get("outputs", [])
        )

    def test_ends_its_query_with_test_passed(self, executed: NotebookNode) -> None:
        assert "Test PASSED" in shown(by_id(executed)["device-query"])

    def test_shows_the_sectors_of_every_stride(self, executed: NotebookNode) -> None:
        table = shown(by_id(executed)["stride-table"])
        assert re.search(r"\b1 +4 +128 +100 %", table)
        assert re.search(r"\b32 +32 +1024 +12 %", table)

    def test_finds_the_deadlock_before_volta_and_none_since(self, executed: NotebookNode) -> None:
        text = shown(by_id(executed)["deadlock"])
        assert "deadlock" in text
        assert "since Volta: it ends" in text

    def test_finds_local_memory_where_an_index_is_not_known(self, executed: NotebookNode) -> None:
        table = shown(by_id(executed)["registers-compare"])
        assert re.search(r"counts_known +\d+ +0 +0\b", table)
        assert re.search(r"counts_unknown +\d+ +[1-9]\d* +[1-9]", table)


class TestTheExportedPage(ReadablePage):
    """Of the run above, in every window."""


class TestTheReleasedNotebook(ReleasedNotebook):
    @pytest.mark.parametrize("grade_id", [*PREDICTIONS, *KERNELS])
    def test_gives_nothing_for_an_unsolved_cell(self, unsolved: NotebookNode, grade_id: str) -> None:
        assert errors(by_grade_id(unsolved)[f"{grade_id}_test"])

    def test_says_that_nothing_is_answered(self, unsolved: NotebookNode) -> None:
        (error,) = errors(by_grade_id(unsolved)["sectors_test"])
        assert error.ename == "WrongResult"

    def test_runs_every_cell_that_needs_no_answer(self, unsolved: NotebookNode) -> None:
        failed = {cell.id for cell in unsolved.cells if errors(cell)}
        graded = {
            cell.id for cell in unsolved.cells if marks(cell).get("grade") or marks(cell).get("solution")
        }
        assert failed <= graded


class TestCellsOutOfOrder:
    def test_a_cell_runs_or_says_what_is_missing(self, alone: NotebookNode) -> None:
        for cell in alone.cells:
            for error in errors(cell):
                if "graded_numbers" in cell.source:
                    assert error.ename == "WrongResult", cell.id
                else:
                    assert error.ename == "UsageError", (cell.id, error.evalue)
                    assert "%%cuda" in error.evalue, cell.id


class TestWrongAnswers:
    @pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
    def test_a_wrong_kernel_compiles_and_gives_no_points(self, answered: NotebookNode, number: int) -> None:
        cells = by_id(answered)
        assert not errors(cells[f"wrong-{number}"])
        assert errors(cells[f"test-{number}"])

    def test_a_prediction_that_is_partly_right_gives_its_part(self, answered: NotebookNode) -> None:
        (result,) = [o for o in answered.cells[-1].outputs if o.output_type == "execute_result"]
        assert float(result.data["text/plain"]) == 4
