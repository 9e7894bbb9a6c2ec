"""Lab 1 as an instructor has it and as a student gets it, at both levels; what all labs keep is in lab.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode

from gpulab.grading.release.rubric import read_rubric
from tests.labs.lab import (
    REPOSITORY,
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
    points,
    read,
    run,
    shown,
)
from tests.labs.reading import ReadablePage

LAB = Lab("01_stencil", "stencil")
VARIANTS = ("opt_1", "opt_2", "opt_3", "opt_4")
HEADERS = [
    "%%cuda stencil.naive --block 32 8",
    "%%cuda stencil.opt_1 --block 32 8",
    "%%cuda stencil.opt_2 --block 32 8",
    "%%cuda stencil.opt_3 --block 32 8 --tile 1 2 0",
    "%%cuda stencil.opt_4 --block 16 8 --tile 4 1 4",
]
GIVEN = LAB.folder / "given" / "opt_1.cu"
TABLES = ("opt1-table", "opt2-table", "opt3-table", "table")


def code_of(text: str) -> list[str]:
    """A kernel's lines without its header and the markers of its solution."""
    lines = [line.rstrip() for line in text.splitlines() if "SOLUTION" not in line]
    return [line for line in lines[1:] if line]


@pytest.fixture(scope="module")
def level_2(source: NotebookNode, released: Path) -> NotebookNode:
    """The students' notebook at level 2: opt_1 as it came, opt_2 and opt_3 solved, and no other cells."""
    notebook, solved = read(released), kernel_cells(source)
    kept = {"setup", "level"} | {f"opt-{n}{end}" for n in (1, 2, 3) for end in ("", "-test")}
    notebook.cells = [cell for cell in notebook.cells if cell.id in kept]
    for cell in notebook.cells:
        cell.source = re.sub(r"^LEVEL = 1\b", "LEVEL = 2", cell.source, flags=re.MULTILINE)
    for name in ("stencil.opt_2", "stencil.opt_3"):
        kernel_cells(notebook)[name].source = solved[name].source
    return run(notebook, released.parent, allow_errors=True)


class TestTheSourceNotebook(SourceNotebook):
    def test_has_the_kernel_cells_in_the_order_of_the_ladder(self, source: NotebookNode) -> None:
        assert headers(source) == HEADERS

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_keeps_the_signature_outside_the_solution(self, source: NotebookNode, variant: str) -> None:
        text = kernel_cells(source)[f"stencil.{variant}"].source
        assert (text.count("// BEGIN SOLUTION"), text.count("// END SOLUTION")) == (1, 1)
        before, solution, after = re.split(r"// (?:BEGIN|END) SOLUTION", text)
        declared = f"block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)"
        assert declared in before
        assert before.rstrip().endswith("{")
        assert solution.strip()
        assert after.strip() == "}"

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_checks_every_kernel_in_the_cell_below_it(self, source: NotebookNode, variant: str) -> None:
        place = source.cells.index(kernel_cells(source)[f"stencil.{variant}"])
        kernel, test = source.cells[place], source.cells[place + 1]
        assert marks(kernel)["solution"]
        assert not marks(kernel)["grade"]
        assert marks(test)["grade"]
        assert f'"stencil.{variant}"' in test.source

    def test_shows_a_table_of_before_and_after_below_every_optimization(self, source: NotebookNode) -> None:
        order = [cell.id for cell in source.cells]
        for variant, table in zip(("opt-1", "opt-2", "opt-3", "opt-4"), TABLES, strict=True):
            assert order.index(table) > order.index(f"{variant}-test")
            assert "speedup_table" in by_id(source)[table].source

    def test_imports_gpulab_in_every_cell_that_calls_it_so_that_each_runs_after_a_restart(
        self, source: NotebookNode
    ) -> None:
        for cell in source.cells:
            if cell.cell_type == "code" and "gpulab." in cell.source:
                assert re.search(r"^(?:import|from) gpulab", cell.source, re.MULTILINE), cell.id

    def test_has_a_reference_and_a_scheme_for_the_marker_in_every_written_answer(
        self, source: NotebookNode
    ) -> None:
        written = [cell for cell in source.cells if cell.cell_type == "markdown" and marks(cell)]
        assert len(written) == 7
        for cell in written:
            assert marks(cell)["grade"]
            assert marks(cell)["solution"]
            assert "**Marking.**" in cell.source

    def test_gives_at_level_2_the_kernel_of_its_own_solution(self, source: NotebookNode) -> None:
        assert code_of(GIVEN.read_text(encoding="utf-8")) == code_of(
            kernel_cells(source)["stencil.opt_1"].source
        )


class TestARunFromTopToBottom(RunFromTopToBottom):
    def test_fills_its_tables_with_every_variant_so_far(self, executed: NotebookNode) -> None:
        for known, table in enumerate(TABLES, 2):
            text = shown(by_id(executed)[table])
            assert [variant in text for variant in VARIANTS] == [n < known - 1 for n in range(4)]

    def test_counts_and_models_every_variant(self, executed: NotebookNode) -> None:
        for name in ("traffic", "ladder"):
            text = shown(by_id(executed)[name])
            assert all(variant in text for variant in ("naive", *VARIANTS)), name

    def test_finds_a_time_for_every_configuration_it_tries(self, executed: NotebookNode) -> None:
        for name in ("opt1-sweep", "opt4-sweep"):
            assert "not timed" not in shown(by_id(executed)[name])


class TestTheExportedPage(ReadablePage):
    """The run above as an HTML page."""


class TestTheReleasedNotebook(ReleasedNotebook):
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_keeps_the_signature(self, released: Path, source: NotebookNode, variant: str) -> None:
        def opening(notebook: NotebookNode) -> list[str]:
            return kernel_cells(notebook)[f"stencil.{variant}"].source.splitlines()[:4]

        assert opening(read(released)) == opening(source)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_gives_nothing_for_an_unsolved_kernel(self, unsolved: NotebookNode, variant: str) -> None:
        assert errors(by_grade_id(unsolved)[f"{variant}_test"])

    def test_fails_nowhere_but_where_something_is_left_to_do(self, unsolved: NotebookNode) -> None:
        waiting = {"opt1-sweep", "opt4-sweep"}  # they say which cell to run first
        failed = {cell.id for cell in unsolved.cells if errors(cell)}
        assert failed - waiting == {
            "idle-test",
            *(f"opt-{n}{end}" for n in (1, 2, 3, 4) for end in ("", "-test")),
        }


class TestLevel2:
    def test_runs_the_given_kernel_in_the_untouched_cell(self, level_2: NotebookNode) -> None:
        cell = kernel_cells(level_2)["stencil.opt_1"]
        assert "#error" in cell.source
        assert not errors(cell)
        assert "given/opt_1.cu" in shown(cell)

    @pytest.mark.parametrize(("variant", "worth"), [("opt_1", 0), ("opt_2", 8), ("opt_3", 8)])
    def test_gives_its_own_points(self, level_2: NotebookNode, variant: str, worth: int) -> None:
        cell = by_grade_id(level_2)[f"{variant}_test"]
        assert not errors(cell)
        (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
        assert float(result.data["text/plain"]) == worth

    def test_has_the_points_that_the_first_cell_says(self, source: NotebookNode) -> None:
        rubric = read_rubric(REPOSITORY / "grading" / "rubric.toml", LAB.folder_name)
        most = sum(row.max_points(2) for row in rubric.values())
        assert most < sum(points(source).values())
        assert re.search(rf"level 2.* {most:g}\b", source.cells[0].source)
