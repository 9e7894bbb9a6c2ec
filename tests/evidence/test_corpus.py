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

TOLD_BY_A_FAULT = {"memcheck", "synccheck"}  # of `told_by` in the index


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
    result = check_cell(kernel.cell, simulator())
    assert not result.correct
    assert result.reasons


@pytest.mark.parametrize("kernel", [k for k in WRONG if k.told_by in TOLD_BY_A_FAULT], ids=named)
def test_a_fault_is_found_in_its_line(kernel: CorpusKernel) -> None:
    (found,) = check_cell(kernel.cell, simulator()).findings
    assert found.tool == kernel.tool
    assert found.line in kernel.lines


@pytest.mark.parametrize("kernel", [k for k in WRONG if k.told_by == "racecheck"], ids=named)
def test_a_race_is_found_in_its_lines(kernel: CorpusKernel) -> None:
    found = check_cell(kernel.cell, simulator()).findings
    assert found
    assert {f.tool for f in found} == {"racecheck"}
    assert all(f.line in kernel.lines for f in found), [str(f) for f in found]


@pytest.mark.parametrize("kernel", [k for k in WRONG if k.told_by == "technique"], ids=named)
def test_a_kernel_without_its_technique_has_right_values_and_is_told_so(kernel: CorpusKernel) -> None:
    result = check_cell(kernel.cell, simulator())
    assert result.verdict is not None
    assert result.verdict.correct
    assert result.technique is not None
    assert not result.technique.met
    assert result.reasons == result.technique.reasons
    assert not result.correct


@pytest.mark.parametrize("kernel", REFUSED, ids=named)
def test_a_kernel_that_does_not_compile_says_where(kernel: CorpusKernel) -> None:
    with pytest.raises(CompileError) as refused:
        check_cell(kernel.cell, simulator())
    assert refused.value.diagnostics[0].line in kernel.lines
