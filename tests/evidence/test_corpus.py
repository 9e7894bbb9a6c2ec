"""Every kernel of the corpus gets its verdict on the simulator: right ones pass, wrong ones do not."""

from __future__ import annotations

from functools import cache

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import CompileError
from gpulab.evidence.check import check_cell
from tests.kernels.corpus import CorpusKernel, load

KERNELS = [kernel for kernel in load() if not kernel.file.startswith("programs/")]
RIGHT = [kernel for kernel in KERNELS if kernel.verdict == "right"]
WRONG = [kernel for kernel in KERNELS if kernel.verdict == "wrong"]
REFUSED = [kernel for kernel in KERNELS if kernel.verdict == "compile_error"]

# `told_by` of the index: what a plain check on the simulator can tell. The rest needs tools that come later.
TOLD_BY_A_FAULT = {"memcheck", "synccheck"}
TOLD_BY_A_CHECK = {"values", "budget"} | TOLD_BY_A_FAULT


@cache
def simulator() -> Device:
    return gpulab.device("sim")


def named(kernel: CorpusKernel) -> str:
    return kernel.id


@pytest.mark.parametrize("kernel", RIGHT, ids=named)
def test_a_right_kernel_passes(kernel: CorpusKernel) -> None:
    result = check_cell(kernel.cell, simulator())
    assert result.reasons == ()
    assert result.correct


@pytest.mark.parametrize("kernel", WRONG, ids=named)
def test_a_wrong_kernel_does_not_pass(kernel: CorpusKernel) -> None:
    if kernel.told_by not in TOLD_BY_A_CHECK:
        pytest.skip(f"its fault is told by {kernel.told_by}, not by a plain check")
    result = check_cell(kernel.cell, simulator())
    assert not result.correct
    assert result.reasons


@pytest.mark.parametrize("kernel", [k for k in WRONG if k.told_by in TOLD_BY_A_FAULT], ids=named)
def test_a_fault_is_found_in_its_line(kernel: CorpusKernel) -> None:
    (found,) = check_cell(kernel.cell, simulator()).findings
    assert found.tool == kernel.tool
    assert found.line in kernel.lines


@pytest.mark.parametrize("kernel", [k for k in WRONG if k.told_by == "technique"], ids=named)
def test_a_kernel_without_its_technique_still_has_right_values(kernel: CorpusKernel) -> None:
    # So that the test of the technique, when there is one, tests that and nothing else.
    verdict = check_cell(kernel.cell, simulator()).verdict
    assert verdict is not None
    assert verdict.correct


@pytest.mark.parametrize("kernel", REFUSED, ids=named)
def test_a_kernel_that_does_not_compile_says_where(kernel: CorpusKernel) -> None:
    with pytest.raises(CompileError) as refused:
        check_cell(kernel.cell, simulator())
    assert refused.value.diagnostics[0].line in kernel.lines
