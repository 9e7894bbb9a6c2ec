"""A cell checked in a process of its own, here on the simulator."""

from __future__ import annotations

import pytest

from gpulab.cell import Cell, parse_cell
from gpulab.evidence.isolated import outcome_in_process
from tests.kernels.corpus import FOLDER


def cell(file: str) -> Cell:
    return parse_cell((FOLDER / "stencil" / file).read_text(encoding="utf-8"), file)


@pytest.mark.parametrize(
    ("file", "exit_code"),
    [("right/naive_macros.cu", 0), ("wrong/skips_last_frame.cu", 1), ("wrong/syntax_error.cu", 1)],
)
def test_the_outcome_comes_back_from_the_process(file: str, exit_code: int) -> None:
    outcome = outcome_in_process(cell(file), "sim", "simulator")
    assert outcome.exit_code == exit_code
    assert outcome.stopped == ""


def test_a_process_that_takes_too_long_is_ended_and_the_kernel_is_wrong() -> None:
    outcome = outcome_in_process(cell("right/naive_macros.cu"), "sim", "simulator", limit_s=0.01)
    assert outcome.exit_code == 1
    assert "did not end" in outcome.reasons[0]


def test_an_error_that_is_not_about_the_kernel_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="no_such_gpu"):
        outcome_in_process(cell("right/naive_macros.cu"), "sim:no_such_gpu", "simulator")
