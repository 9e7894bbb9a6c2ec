"""Lab 1 at both levels: structure of the notebook, a full run, and the release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode

from gpulab.grading.release.rubric import read_rubric
from tests.labs.html_page import PageTests
from tests.labs.lab import (
    REPOSITORY,
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
    max_points,
    nbgrader_metadata,
    output_text,
    read,
    release_notebook,
    run,
    value_of,
)
from tests.labs.stencil_cases import FAULTY, REPAIRED

LAB = Lab("01_stencil", "stencil", programs=("copy.cu", "opt_1.cu"))
VARIANTS = ("naive", "opt_1", "opt_2", "opt_3", "opt_4")
OPTIMIZATIONS = VARIANTS[1:]
CASES = ("case_1", "case_2", "case_3")
HEADERS = [
    "%%cuda stencil.naive --block 32 8",
    "%%cuda stencil.opt_1 --block 32 8",
    "%%cuda case_1",
    "%%cuda stencil.opt_2 --block 32 8",
    "%%cuda case_2",
    "%%cuda stencil.opt_3 --block 32 8 --tile 1 2 0",
    "%%cuda stencil.opt_4 --block 16 8 --tile 4 1 4",
    "%%cuda case_3",
]
GIVEN = LAB.folder / "given" / "opt_1.cu"
TABLES = ("opt1-table", "opt2-table", "opt3-table", "table")


def code_of(text: str) -> list[str]:
    """Return a kernel's lines without its header and the markers of its solution."""
    lines = [line.rstrip() for line in text.splitlines() if "SOLUTION" not in line]
    return [line for line in lines[1:] if line]


@pytest.fixture(scope="module")
def level_2(source: NotebookNode, tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The students' notebook at level 2 with opt_1 unchanged, opt_2 and opt_3 solved, and no other cells."""
    released = release_notebook(LAB, tmp_path_factory.mktemp("course"))
    notebook, solved = read(released), kernel_cells(source)
    ids = {"setup", "level"} | {f"opt-{n}{end}" for n in (1, 2, 3) for end in ("", "-test")}
    notebook.cells = [cell for cell in notebook.cells if cell.id in ids]
    for cell in notebook.cells:
        cell.source = re.sub(r"^LEVEL = 1\b", "LEVEL = 2", cell.source, flags=re.MULTILINE)
    for name in ("stencil.opt_2", "stencil.opt_3"):
        kernel_cells(notebook)[name].source = solved[name].source
    return run(notebook, released.parent, allow_errors=True)


class TestSourceNotebook(SourceNotebookTests):
    def test_kernel_cells_are_in_the_order_of_the_versions(self, source: NotebookNode) -> None:
        assert kernel_headers(source) == HEADERS

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_signature_is_outside_the_solution(self, source: NotebookNode, variant: str) -> None:
        text = kernel_cells(source)[f"stencil.{variant}"].source
        parts = re.split(r"// (?:BEGIN|END) SOLUTION", text)
        declaration = f"block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)"
        assert declaration in parts[0]
        assert len(parts) % 2 == 1
        assert all(solution.strip() for solution in parts[1::2])
        given = "".join([parts[0].partition(declaration)[2], *parts[2::2]])
        lines = {re.sub(r"//.*", "", line).strip() for line in given.splitlines()}
        assert lines <= {"", "{", "}", "for (int z = 1; z < nz - 1; ++z) {"}

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_test_cell_follows_its_kernel(self, source: NotebookNode, variant: str) -> None:
        position = source.cells.index(kernel_cells(source)[f"stencil.{variant}"])
        kernel, test = source.cells[position], source.cells[position + 1]
        assert nbgrader_metadata(kernel)["solution"]
        assert not nbgrader_metadata(kernel)["grade"]
        assert nbgrader_metadata(test)["grade"]
        assert f'"stencil.{variant}"' in test.source

    def test_speedup_table_follows_every_optimization(self, source: NotebookNode) -> None:
        order = [cell.id for cell in source.cells]
        for variant, table in zip(("opt-1", "opt-2", "opt-3", "opt-4"), TABLES, strict=True):
            assert order.index(table) > order.index(f"{variant}-test")
            assert "speedup_table" in by_id(source)[table].source

    def test_cells_that_call_a_check_import_it(self, source: NotebookNode) -> None:
        for cell in source.cells:
            if cell.cell_type == "code" and re.search(r"\bchecks\b", cell.source):
                assert re.search(r"^from gpulab.grading.checks import", cell.source, re.MULTILINE), cell.id

    def test_written_answers_have_a_reference_and_a_mark_scheme(self, source: NotebookNode) -> None:
        written = [cell for cell in source.cells if cell.cell_type == "markdown" and nbgrader_metadata(cell)]
        assert len(written) == 4
        for cell in written:
            assert nbgrader_metadata(cell)["grade"]
            assert nbgrader_metadata(cell)["solution"]
            assert "**Marking.**" in cell.source

    def test_lab_starts_with_the_points_of_its_test_cells(self, source: NotebookNode) -> None:
        tests = [
            float(str(nbgrader_metadata(cell)["points"]))
            for cell in source.cells
            if cell.cell_type == "code" and nbgrader_metadata(cell).get("grade")
        ]
        level_2 = sum(tests) - 10 - 2 - 2  # opt_1 is given, opt_2 and opt_3 give 8 points each
        assert f"points={{1: {sum(tests):g}, 2: {level_2:g}}})" in by_id(source)["setup"].source

    def test_hints_open_one_by_one(self, source: NotebookNode) -> None:
        hints = [cell.source for cell in source.cells if cell.id.endswith("-hints")]
        assert len(hints) == len(VARIANTS)
        for text in hints:
            assert re.findall(r"<b>Hint (\d) of 3</b>", text) == ["1", "2", "3"]
            assert text.rstrip().endswith("</details>\n</details>\n</details>")

    def test_program_to_read_is_linked(self, source: NotebookNode) -> None:
        assert "](copy.cu)" in by_id(source)["host-check"].source
        assert "int main()" in (LAB.folder / "copy.cu").read_text(encoding="utf-8")

    def test_given_file_is_the_solution_of_opt_1(self, source: NotebookNode) -> None:
        assert code_of(GIVEN.read_text(encoding="utf-8")) == code_of(
            kernel_cells(source)["stencil.opt_1"].source
        )


class TestRun(RunTests, RooflineTests):
    def test_each_table_contains_the_variants_up_to_it(self, executed: NotebookNode) -> None:
        for number, table in enumerate(TABLES):
            text = output_text(by_id(executed)[table])
            assert [variant in text for variant in OPTIMIZATIONS] == [n <= number for n in range(4)]

    def test_traffic_and_model_tables_contain_every_variant(self, executed: NotebookNode) -> None:
        for name in ("traffic", "ladder"):
            text = output_text(by_id(executed)[name])
            assert all(variant in text for variant in VARIANTS), name

    def test_no_table_shows_the_baseline_next_to_an_own_kernel(self, executed: NotebookNode) -> None:
        for name in (*TABLES, "traffic", "ladder", "roofline"):
            assert "baseline" not in output_text(by_id(executed)[name]), name

    def test_predictions_are_followed_by_their_truth(self, executed: NotebookNode) -> None:
        assert "slower" in output_text(by_id(executed)["predict-opt-1-commit"])
        assert "register cap" in output_text(by_id(executed)["ablation-commit"])
        assert output_text(by_id(executed)["ablation-table"]).count("opt_3") >= 8

    def test_waves_table_shows_every_kernel_with_and_without_a_cap(self, executed: NotebookNode) -> None:
        text = output_text(by_id(executed)["waves-table"])
        assert all(variant in text for variant in VARIANTS[:-1])
        assert "not timed" not in text

    def test_sweeps_have_a_time_for_every_configuration(self, executed: NotebookNode) -> None:
        for name in ("opt1-sweep", "opt4-sweep"):
            assert "not timed" not in output_text(by_id(executed)[name])


class TestExportedPage(PageTests):
    """The executed notebook in every window."""


class TestReleasedNotebook(ReleasedNotebookTests):
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_release_keeps_the_signature(self, released: Path, source: NotebookNode, variant: str) -> None:
        def first_lines(notebook: NotebookNode) -> list[str]:
            return kernel_cells(notebook)[f"stencil.{variant}"].source.splitlines()[:4]

        assert first_lines(read(released)) == first_lines(source)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_unsolved_kernel_gives_no_points(self, unsolved: NotebookNode, variant: str) -> None:
        assert errors(by_grade_id(unsolved)[f"{variant}_test"])

    def test_only_test_cells_and_those_that_need_a_kernel_fail(self, unsolved: NotebookNode) -> None:
        need_a_kernel = {"host", "opt1-sweep", "opt4-sweep"}
        failed = {cell.id for cell in unsolved.cells if errors(cell)}
        kernels = ("naive", "opt-1", "opt-2", "opt-3", "opt-4", "case-1", "case-2", "case-3")
        numbers = ("idle", "tile", "waves", "case-1-answer", "case-2-answer", "case-3-answer")
        assert failed - need_a_kernel == {
            *(f"{kernel}-test" for kernel in kernels),
            *(f"{exercise}-test" for exercise in numbers),
        }

    def test_tables_of_the_unsolved_notebook_show_the_baseline(self, unsolved: NotebookNode) -> None:
        for name in ("explore", *TABLES, "roofline", "roofline-old"):
            assert "baseline that ships with gpulab" in output_text(by_id(unsolved)[name]), name

    def test_ablation_is_hidden_without_a_prediction(self, unsolved: NotebookNode) -> None:
        assert "Commit your predictions first" in output_text(by_id(unsolved)["ablation-table"])

    @pytest.mark.parametrize("name", CASES)
    def test_text_of_a_case_shows_the_fault(self, name: str) -> None:
        assert code_of(f"\n{FAULTY[name]}") != code_of(f"\n{REPAIRED[name]}")


class TestLevel2:
    def test_release_that_forbids_level_2_lacks_the_given_kernel_only(
        self, released: Path, tmp_path: Path
    ) -> None:
        without = release_notebook(LAB, tmp_path, level=1).parent
        files = [
            {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
            for folder in (released.parent, without)
        ]
        assert files[0] - files[1] == {GIVEN.relative_to(LAB.folder)}

    def test_text_says_when_level_2_cannot_be_chosen(self, source: NotebookNode) -> None:
        text = by_id(source)["level-text"].source
        assert re.search(r"no file `given/opt_1.cu`, choose level 1", text)

    def test_given_kernel_runs_in_place_of_the_unchanged_stub(self, level_2: NotebookNode) -> None:
        cell = kernel_cells(level_2)["stencil.opt_1"]
        assert "#error" in cell.source
        assert not errors(cell)
        assert "given/opt_1.cu" in output_text(cell)

    @pytest.mark.parametrize(("variant", "points"), [("opt_1", 0), ("opt_2", 8), ("opt_3", 8)])
    def test_points_are_those_of_level_2(self, level_2: NotebookNode, variant: str, points: int) -> None:
        cell = by_grade_id(level_2)[f"{variant}_test"]
        assert not errors(cell)
        assert value_of(cell) == points

    def test_first_cell_has_the_points_of_level_2(self, source: NotebookNode) -> None:
        rubric = read_rubric(REPOSITORY / "grading" / "rubric.toml", LAB.folder_name)
        points = sum(criterion.max_points(2) for criterion in rubric.values())
        assert points < sum(max_points(source).values())
        assert re.search(rf"level 2.* {points:g}\b", source.cells[0].source)
