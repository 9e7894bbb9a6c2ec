"""Every kernel of the corpus gets its verdict on the simulator: right ones pass, wrong ones do not."""

from __future__ import annotations

from functools import cache

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import CompileError
from gpulab.verification.check import CheckResult, check_cell
from tests.kernels.corpus import CorpusKernel, load

KERNELS = [kernel for kernel in load() if not kernel.file.startswith("programs/")]
TOLD_BY_A_FAULT = {"memcheck", "synccheck"}  # of `told_by` in the index


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@cache
def checked(kernel: CorpusKernel) -> CheckResult:
    """Each kernel is checked once, and all that is asked of it is asked of that."""
    return check_cell(kernel.cell, simulator())


def each(verdict: str, *told_by: str) -> pytest.MarkDecorator:
    """The kernels of a verdict, of these ways to tell it if any are named."""
    chosen = [k for k in KERNELS if k.verdict == verdict and (not told_by or k.told_by in told_by)]
    return pytest.mark.parametrize("kernel", chosen, ids=lambda kernel: kernel.id)


@each("right")
def test_a_right_kernel_passes(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert result.reasons == ()
    assert result.correct


@each("wrong")
def test_a_wrong_kernel_does_not_pass(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert not result.correct
    assert result.reasons


@each("wrong", *TOLD_BY_A_FAULT)
def test_a_fault_is_found_in_its_line(kernel: CorpusKernel) -> None:
    (found,) = checked(kernel).findings
    assert found.tool == kernel.tool
    assert found.line in kernel.lines


@each("wrong", "racecheck")
def test_a_race_is_found_in_its_lines(kernel: CorpusKernel) -> None:
    found = checked(kernel).findings
    assert found
    assert {f.tool for f in found} == {"racecheck"}
    assert all(f.line in kernel.lines for f in found), [str(f) for f in found]


@each("wrong", "technique")
def test_a_kernel_without_its_technique_has_right_values_and_is_told_so(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert result.verdict is not None
    assert result.verdict.correct
    assert result.technique is not None
    assert not result.technique.met
    assert result.reasons == result.technique.reasons
    assert not result.correct


@each("compile_error")
def test_a_kernel_that_does_not_compile_says_where(kernel: CorpusKernel) -> None:
    with pytest.raises(CompileError) as refused:
        check_cell(kernel.cell, simulator())
    assert refused.value.diagnostics[0].line in kernel.lines
