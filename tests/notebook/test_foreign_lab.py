"""A lab with problems of its own in a notebook: cells, tables, sliders, roofline and sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulab
from gpulab.devices import open_device
from gpulab.errors import UsageError, WrongResult
from tests.foreign_problems import CONVOLUTION, HISTOGRAM, TRANSPOSE, write_problems
from tests.notebook.conftest import Notebook


@pytest.fixture
def lab(no_labs: None, empty_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    write_problems(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    return Notebook(lambda: open_device("sim"))


def test_right_cell_is_checked_counted_and_timed(lab: Notebook) -> None:
    cell = lab.run(TRANSPOSE)
    assert cell.error is None
    assert "transpose.naive is correct on" in cell.text
    assert "one element for each thread" in cell.text  # a row of the speed-up table
    assert "modelled" in cell.text


def test_wrong_cell_shows_the_picture_and_the_mistake(lab: Notebook) -> None:
    cell = lab.run(TRANSPOSE.replace("b[x * rows + y]", "b[y * columns + x]"))
    assert isinstance(cell.error, WrongResult)
    assert "the output is a copy of the input" in cell.text
    assert "<svg" in cell.html


def test_tables_without_a_name_are_of_the_cell_that_ran_last(lab: Notebook) -> None:
    with pytest.raises(UsageError, match="no kernel of a problem has run"):
        gpulab.speedup_table()
    lab.run(HISTOGRAM)
    assert "an atomic operation for each element" in gpulab.speedup_table().text
    lab.run(TRANSPOSE)
    assert "one element for each thread" in gpulab.speedup_table().text
    assert "per 32 points" in gpulab.traffic_table().text
    assert "transpose at 4096x4096" in gpulab.ladder_table(gpu="h200").text
    assert "naive" in gpulab.waves_table(caps=(0,)).text


def test_rates_are_in_gb_s_for_a_problem_without_operations(lab: Notebook) -> None:
    lab.run(TRANSPOSE)
    picture = gpulab.explore()
    assert "GFLOPS" not in picture.text
    assert "GB/s" in picture.text
    with pytest.raises(UsageError, match="transpose declares none"):
        gpulab.roofline()


def test_roofline_has_the_operations_of_the_declaration(lab: Notebook) -> None:
    lab.run(CONVOLUTION)
    (point,) = gpulab.roofline().roofline.points
    assert point.flops == 2 * 5 * (1 << 24)


def test_sweep_times_other_blocks(lab: Notebook) -> None:
    lab.run(TRANSPOSE)
    table = gpulab.sweep_table("transpose.naive", blocks=[(32, 8), (64, 4)])
    assert "64x4" in table.text
    assert "GFLOPS" not in table.text


def test_declaration_that_fails_is_shown_in_one_sentence(lab: Notebook, tmp_path: Path) -> None:
    path = tmp_path / "problem.py"
    path.write_text(path.read_text().replace("lambda a: a.T", "lambda a: a"))
    cell = lab.run(TRANSPOSE)
    assert "the reference returned the shape" in str(cell.error)
