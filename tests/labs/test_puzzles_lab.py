"""Lab 3: structure of the notebook, a full run, the release, and its stars."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from nbformat import NotebookNode

import gpulab
from gpulab.cell import read_cells
from gpulab.problems import load_problems
from gpulab.verification.check import check_cell
from gpulab.verification.par import MOST_STARS
from tests.labs.html_page import PageTests
from tests.labs.lab import (
    Lab,
    ReleasedNotebookTests,
    RunTests,
    SourceNotebookTests,
    by_grade_id,
    by_id,
    errors,
    kernel_cells,
    max_points,
    nbgrader_metadata,
    output_text,
)

LAB = Lab("03_puzzles", "puzzles", ("problem.py",))
LONGEST = 10  # lines of a solution
PUZZLES = (
    "map.whole",
    "map.guarded",
    "outer.plane",
    "stride.unit",
    "particles.soa",
    "transpose.tiled",
    "transpose.padded",
    "warpsum.shuffle",
    "blocksum.reduced",
    "scan.inclusive",
    "binning.private",
    "convolution.halo",
    "vector.ragged",
    "wave.one",
)


def grade_id(puzzle: str) -> str:
    return f"{puzzle.replace('.', '_')}_test"


class TestSourceNotebook(SourceNotebookTests):
    def test_every_step_with_a_par_is_a_puzzle(self) -> None:
        problems = load_problems(LAB.folder / "problem.py")
        with_par = {
            f"{name}.{step}"
            for name, problem in problems.items()
            for step, fact in problem.variants.items()
            if fact.par
        }
        assert with_par == set(PUZZLES)

    def test_puzzles_are_in_order_and_each_has_a_test(self, source: NotebookNode) -> None:
        written = [name for name, cell in kernel_cells(source).items() if nbgrader_metadata(cell)]
        assert written == list(PUZZLES)
        assert list(max_points(source)) == [grade_id(name) for name in PUZZLES]

    @pytest.mark.parametrize("puzzle", PUZZLES)
    def test_solution_has_at_most_ten_lines(self, source: NotebookNode, puzzle: str) -> None:
        _, solution, _ = re.split(r"// (?:BEGIN|END) SOLUTION", kernel_cells(source)[puzzle].source)
        assert 1 <= len(solution.strip().splitlines()) <= LONGEST

    def test_sections_have_minutes_that_add_up_to_the_labs(self, source: NotebookNode) -> None:
        sections = "\n".join(cell.source for cell in source.cells[1:] if cell.cell_type == "markdown")
        (stated,) = re.findall(r"(\d+) minutes", source.cells[0].source)
        assert sum(map(int, re.findall(r"^\*(\d+) minutes", sections, re.MULTILINE))) == int(stated)


EXCHANGED = """// %%cuda outer.plane --block {block}
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{{
    int y = blockIdx.x * BLOCK_X + threadIdx.x, x = blockIdx.y * BLOCK_Y + threadIdx.y;
    for (; y < ny; y += gridDim.x * BLOCK_X)
        for (int i = x; i < nx; i += gridDim.y * BLOCK_Y)
            table[y * nx + i] = row[i] * column[y];
}}"""


@pytest.mark.parametrize(("block", "sectors"), [("32 8", 32), ("8 32", 8)])
def test_message_about_exchanged_axes_is_true_for_every_block(
    no_labs: None, tmp_path: Path, block: str, sectors: int
) -> None:
    shutil.copy(LAB.folder / "problem.py", tmp_path)
    (tmp_path / "kernel.cu").write_text(EXCHANGED.format(block=block))
    (cell,) = read_cells(tmp_path / "kernel.cu")
    (reason,) = check_cell(cell, gpulab.device("sim")).reasons
    assert f"sectors stored per 32 elements: {sectors} (line 7)" in reason
    assert "they write up to 32 sectors" in reason
    assert "has 8" not in reason


class TestRun(RunTests):
    @pytest.mark.parametrize("puzzle", PUZZLES)
    def test_solution_is_at_par(self, executed: NotebookNode, puzzle: str) -> None:
        text = output_text(kernel_cells(executed)[puzzle])
        assert f"{'★' * MOST_STARS} {puzzle}: at par" in text

    def test_drawing_of_an_access_is_unfolded_for_every_puzzle(self, executed: NotebookNode) -> None:
        for puzzle in PUZZLES:
            text = output_text(kernel_cells(executed)[puzzle])
            assert re.search(r'<details class="gp-line-of" open>.*?<svg', text), puzzle

    def test_table_has_all_stars(self, executed: NotebookNode) -> None:
        most = MOST_STARS * len(PUZZLES)
        assert f"{most} of {most} stars" in output_text(by_id(executed)["stars"])


class TestReleasedNotebook(ReleasedNotebookTests):
    @pytest.mark.parametrize("puzzle", PUZZLES)
    def test_unsolved_puzzle_gives_no_points(self, unsolved: NotebookNode, puzzle: str) -> None:
        assert errors(by_grade_id(unsolved)[grade_id(puzzle)])

    def test_table_has_no_star(self, unsolved: NotebookNode) -> None:
        assert f"0 of {MOST_STARS * len(PUZZLES)} stars" in output_text(by_id(unsolved)["stars"])


class TestExportedPage(PageTests):
    """The executed notebook in every window."""
