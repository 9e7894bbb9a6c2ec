"""The recheck of a cell on a GPU, which also compares a whole launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpulab.cell import parse_cell
from gpulab.compiler.program import Resources
from gpulab.errors import WrongResult
from gpulab.grading.checks.recheck import last_result, recheck_cell
from gpulab.verification.check import CheckResult
from tests.profiling.test_checked_launches import SHAPE, NumpyGpu, StencilOf

CELL = parse_cell("%%cuda stencil.opt_1 --block 32 8\n__global__ void block2D_opt_1() {}")


def leave_out_last_frame(output: Any) -> None:
    output[-2] = np.nan


@pytest.fixture
def check_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], StencilOf]:
    """Return a function that makes the GPU run a kernel with a change in its output."""

    def install(change: Callable[[Any], None]) -> StencilOf:
        kernel = StencilOf(NumpyGpu(), 1.0, change)
        result = CheckResult(True, None, Resources(0, 0, 0, 0, 0), None, (), (), kernel=kernel)
        monkeypatch.setattr("gpulab.verification.check.check_cell", lambda *_, **__: result)
        monkeypatch.setattr("gpulab.grading.checks.sizes.random_timed_shape", lambda *_: SHAPE)
        return kernel

    return install


def test_wrong_whole_launch_on_a_gpu_is_not_correct(check_with: Any) -> None:
    kernel = check_with(leave_out_last_frame)
    with pytest.raises(WrongResult, match="34x18x10"):
        recheck_cell(CELL, kernel.gpu, whole_launch=True)
    result = last_result(CELL.name)
    assert result is not None
    assert not result.correct


def test_right_whole_launch_is_correct(check_with: Any) -> None:
    kernel = check_with(lambda _: None)
    assert recheck_cell(CELL, kernel.gpu, whole_launch=True).correct


def test_open_step_is_not_launched_twice(check_with: Any) -> None:
    kernel = check_with(leave_out_last_frame)
    assert recheck_cell(CELL, kernel.gpu).correct
