"""Lab 2: structure of the notebook, a full run, the release, cells out of order, and wrong answers."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.errors import CompileError
from gpulab.exercises.lab2_exercises import FAULTY_LINE
from gpulab.verification.check import load_cell
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
    kernel_cells,
    kernel_headers,
    nbgrader_metadata,
    output_text,
    read,
    run_one_after_another,
    static_picture,
    value_of,
)

LAB = Lab("02_matmul", "matmul")
GRADED = ("K1", "K2", "K2u", "K3", "K4", "K5", "K6")
CHOSEN = ("K34", "K4g")  # one of the two is graded
IDS = tuple(map(str.lower, CHOSEN))
WRITTEN = ("Ks", *GRADED, *CHOSEN)
HEADERS = [
    "%%cuda matmul.K1 --block 64",
    "%%cuda matmul.Ks --block 1 32",
    "%%cuda row_major_case --block 16 16",
    "%%cuda row_major --block 16 16",
    "%%cuda matmul.K2 --block 64 --tile 1 1 1",
    "%%cuda matmul.K2u --block 64 --tile 1 1 4",
    "%%cuda matmul.K3 --block 64 --tile 2 1 4",
    "%%cuda matmul.K4 --block 128 --tile 1 4 4",
    "%%cuda matmul.K34 --block 128 --tile 2 4 4",
    "%%cuda matmul.K4g --block 128 --tile 1 4 4",
    "%%cuda matmul.K5 --block 16 16",
    "%%cuda matmul.K6 --block 16 16 --tile 8 8",
    "%%cuda tensor_product --block 128 --tile 4 2",
]

# Replacements that turn the correct K2 into a kernel with a mistake that the lab warns of.
WRONG = {
    "no second barrier": (
        "__syncthreads();                         // all have read the",
        "// all have read the",
    ),
    "K1 under another name": (r"strip[k]", "c[ks + k + p * j]"),
}


def cells_after_a_restart() -> list[NotebookNode]:
    """Return all Python cells that students do not write, each after a reset of the session's names."""
    cells = [
        cell
        for cell in read(LAB.notebook).cells
        if cell.cell_type == "code"
        and not cell.source.startswith("%%cuda")
        and not nbgrader_metadata(cell).get("solution")
        and cell.id != "student"
    ]
    return [each for cell in cells for each in (new_code_cell("%reset -f"), cell)]


def wrong_answers() -> list[NotebookNode]:
    """Return wrong kernels and a prediction that is partly right, each with its test cell."""
    source = by_id(read(LAB.notebook))
    cells = [source["setup"]]
    for number, (right, wrong) in enumerate(WRONG.values()):
        kernel, test = deepcopy(source["k2"]), deepcopy(source["k2-test"])
        assert right in kernel.source
        kernel.source = kernel.source.replace(right, wrong)
        kernel.id, test.id = f"wrong-{number}", f"test-{number}"
        cells += [kernel, test]
    prediction = source["occupancy"]
    prediction.source = f"{prediction.source}\nwarps['t1'], warps['t2'] = 1, None"
    return [*cells, source["occupancy-limits"], prediction, source["occupancy-test"]]


def choices(stubs: NotebookNode) -> list[list[NotebookNode]]:
    """Return, for each kernel to choose, the cells of both and their test, with the other one unwritten."""
    parts = []
    for chosen in CHOSEN:
        cells = deepcopy(by_id(stubs))
        kernels = [by_id(read(LAB.notebook))[name] if name == chosen.lower() else cells[name] for name in IDS]
        parts.append([*kernels, cells["choose-test"]])
    return parts


@pytest.fixture(scope="module")
def one_session(released: Path, tmp_path_factory: pytest.TempPathFactory) -> list[NotebookNode]:
    """The Python cells as after a restart, then the wrong answers and the choices, in one session."""
    parts = [cells_after_a_restart(), wrong_answers(), *choices(read(released))]
    return run_one_after_another(read(LAB.notebook), parts, tmp_path_factory.mktemp("session"))


@pytest.fixture(scope="module")
def after_a_restart(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[0]


@pytest.fixture(scope="module")
def answered(one_session: list[NotebookNode]) -> NotebookNode:
    return one_session[1]


def cell_that_tests(notebook: NotebookNode, variant: str) -> NotebookNode:
    return by_grade_id(notebook)[f"{variant.lower()}_test"]


class TestSourceNotebook(SourceNotebookTests):
    def test_kernel_cells_are_in_the_order_of_the_versions(self, source: NotebookNode) -> None:
        assert kernel_headers(source) == HEADERS

    def test_sections_have_minutes_that_add_up_to_the_labs(self, source: NotebookNode) -> None:
        sections = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        minutes = re.findall(r"^## (.*) \((\d+) minutes\)$", sections, re.MULTILINE)
        first = next(number for number, (name, _) in enumerate(minutes) if name.startswith("Choose one"))
        in_session = sum(int(number) for _, number in minutes[:first])
        challenge = sum(int(number) for name, number in minutes if name.startswith("Challenge"))
        others = sum(int(number) for _, number in minutes) - in_session - challenge

        stated = [int(number) for number in re.findall(r"(\d+) minutes", source.cells[0].source)]
        assert stated == [in_session, others, challenge]
        assert "100 points" in source.cells[0].source

    @pytest.mark.parametrize(
        ("geometry", "option"),
        [
            ("--block 64 --tile 4 2", "--block 128"),
            ("--block 128 --tile 3 2", "--tile"),
            ("--tile 4 2", "--block"),
        ],
    )
    def test_tensor_product_refuses_launches_that_its_table_cannot_make(
        self, source: NotebookNode, geometry: str, option: str
    ) -> None:
        text = kernel_cells(source)["tensor_product"].source
        with pytest.raises(CompileError, match=f"line [0-9]+: error: .*{option}"):
            load_cell(parse_cell(text.replace("--block 128 --tile 4 2", geometry)), open_device("sim"))

    @pytest.mark.parametrize("variant", WRITTEN)
    def test_signature_is_outside_the_solution(self, source: NotebookNode, variant: str) -> None:
        text = kernel_cells(source)[f"matmul.{variant}"].source
        before, *parts, after = re.split(r"// (?:BEGIN|END) SOLUTION", text)
        assert "mmkernel(float* a, const float* b, const float* c, int n, int m, int p)" in before
        assert all(solution.strip() for solution in parts[::2])
        assert after.strip() == "}"

    @pytest.mark.parametrize("variant", GRADED)
    def test_test_cell_follows_its_kernel(self, source: NotebookNode, variant: str) -> None:
        kernel = kernel_cells(source)[f"matmul.{variant}"]
        following = source.cells[source.cells.index(kernel) + 1]
        assert nbgrader_metadata(kernel)["solution"]
        assert following is cell_that_tests(source, variant)
        assert f'"matmul.{variant}"' in following.source

    def test_one_test_cell_follows_the_kernels_to_choose_from(self, source: NotebookNode) -> None:
        test = by_grade_id(source)["k34_or_k4g_test"]
        before = source.cells[: source.cells.index(test)]
        assert all(kernel_cells(source)[f"matmul.{variant}"] in before for variant in CHOSEN)
        assert all(f'"matmul.{variant}"' in test.source for variant in CHOSEN)

    def test_sliders_follow_the_first_kernel(self, source: NotebookNode) -> None:
        code = [cell.id for cell in source.cells if cell.cell_type == "code"]
        assert code[code.index("k1") :][:3] == ["k1", "k1-test", "explore"]

    def test_cells_that_are_not_solutions_are_short(self, source: NotebookNode) -> None:
        for cell in source.cells:
            data = nbgrader_metadata(cell)
            if cell.cell_type == "code" and not data.get("solution") and not cell.source.startswith("%%cuda"):
                assert len(cell.source.splitlines()) <= 12, cell.id

    def test_planted_fault_is_on_the_line_of_the_exercise(self, source: NotebookNode) -> None:
        line = by_id(source)["case"].source.splitlines()[FAULTY_LINE - 1]
        assert "B[k * rows + x]" in line

    def test_written_answers_have_a_mark_scheme(self, source: NotebookNode) -> None:
        written = [cell for name, cell in by_grade_id(source).items() if name.startswith("answer")]
        assert len(written) == 3
        assert all("=== BEGIN MARK SCHEME ===" in cell.source for cell in written)


class TestRun(RunTests, RooflineTests):
    @pytest.mark.parametrize("cell", ["k1-beside", "k4-beside", "k5-beside"])
    def test_comparison_has_the_published_figures(self, executed: NotebookNode, cell: str) -> None:
        assert "Published: " in output_text(by_id(executed)[cell])

    def test_last_table_contains_all_variants(self, executed: NotebookNode) -> None:
        assert all(name in output_text(by_id(executed)["ladder"]) for name in WRITTEN)

    def test_epilogue_compares_the_tensor_cores_with_k6(self, executed: NotebookNode) -> None:
        cells = by_id(executed)
        assert "TF32" in output_text(cells["tensor-values"])
        assert f"{2 * 512**3:,} operations of tensor cores" in output_text(cells["tensor-counts"])
        picture = static_picture(cells["tensor-roofline"])
        assert all(text in picture for text in ("tensor_product", "K6", "tensor tf32 494,7"))

    def test_last_test_cell_shows_all_automatic_points(self, executed: NotebookNode) -> None:
        automatic = sum(
            float(str(nbgrader_metadata(cell)["points"]))
            for cell in executed.cells
            if cell.cell_type == "code" and nbgrader_metadata(cell).get("grade")
        )
        text = output_text(by_id(executed)["k6-test"])
        assert f"{automatic:g} of {automatic:g} so far" in text


class TestReleasedNotebook(ReleasedNotebookTests):
    @pytest.mark.parametrize("variant", GRADED)
    def test_unsolved_kernel_gives_no_points(self, unsolved: NotebookNode, variant: str) -> None:
        assert errors(cell_that_tests(unsolved, variant))

    def test_unsolved_choice_gives_no_points(self, unsolved: NotebookNode) -> None:
        assert errors(by_grade_id(unsolved)["k34_or_k4g_test"])

    def test_cells_that_are_not_graded_run(self, unsolved: NotebookNode) -> None:
        for cell in unsolved.cells:
            data = nbgrader_metadata(cell)
            if cell.cell_type == "code" and not data.get("solution") and not data.get("grade"):
                assert not errors(cell), cell.id

    def test_baseline_stands_in_for_the_unsolved_k1(self, unsolved: NotebookNode) -> None:
        assert "baseline that ships with gpulab" in output_text(by_id(unsolved)["explore"])

    @pytest.mark.parametrize("loops", ["host_jki_test", "strip_test", "interchange_test"])
    def test_unsolved_loops_raise_usage_errors(self, unsolved: NotebookNode, loops: str) -> None:
        (error,) = errors(by_grade_id(unsolved)[loops])
        assert error.ename == "UsageError"


class TestExportedPage(PageTests):
    """The executed notebook in every window."""


class TestCellsOutOfOrder:
    def test_cell_runs_or_raises_an_error_of_the_lab(self, after_a_restart: NotebookNode) -> None:
        for cell in after_a_restart.cells:
            for error in errors(cell):
                assert error.ename in ("UsageError", "WrongResult", "AssertionError"), (cell.id, error.evalue)
                assert error.evalue, cell.id


class TestWrongAnswers:
    @pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
    def test_wrong_kernel_gives_no_points(self, answered: NotebookNode, number: int) -> None:
        (error,) = errors(by_id(answered)[f"test-{number}"])
        assert error.ename == "WrongResult"

    def test_partly_right_prediction_gives_partial_points(self, answered: NotebookNode) -> None:
        assert value_of(answered.cells[-1]) == 2


@pytest.mark.parametrize("number", range(len(CHOSEN)), ids=CHOSEN)
def test_choice_of_one_kernel_raises_nothing(one_session: list[NotebookNode], number: int) -> None:
    cells = one_session[2 + number].cells
    assert not [error for cell in cells for error in errors(cell)]
    assert "✓" in output_text(cells[-1])
