"""Verdicts of the simulator on every kernel of the corpus."""

from __future__ import annotations

from functools import cache

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import CompileError
from gpulab.verification.check import CheckResult, check_cell
from tests.kernels.corpus import CorpusKernel, load

KERNELS = [kernel for kernel in load() if not kernel.file.startswith("programs/")]
FAULT_TOOLS = {"memcheck", "synccheck"}  # values of `detected_by` in the index


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@cache
def checked(kernel: CorpusKernel) -> CheckResult:
    """Return the check of a kernel, which is run once for all tests."""
    return check_cell(kernel.cell, simulator())


def kernels_with(verdict: str, *detected_by: str) -> pytest.MarkDecorator:
    """Parametrize a test with the kernels of a verdict; `detected_by` restricts them to these values."""
    chosen = [k for k in KERNELS if k.verdict == verdict]
    if detected_by:
        chosen = [k for k in chosen if k.detected_by in detected_by]
    return pytest.mark.parametrize("kernel", chosen, ids=lambda kernel: kernel.id)


@kernels_with("right")
def test_correct_kernel_passes(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert result.reasons == ()
    assert result.correct


@kernels_with("wrong")
def test_wrong_kernel_fails(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert not result.correct
    assert result.reasons


@kernels_with("wrong", *FAULT_TOOLS)
def test_fault_is_found_at_its_line(kernel: CorpusKernel) -> None:
    (finding,) = checked(kernel).findings
    assert finding.tool == kernel.tool
    assert finding.line in kernel.lines


@kernels_with("wrong", "racecheck")
def test_race_is_found_at_its_lines(kernel: CorpusKernel) -> None:
    findings = checked(kernel).findings
    assert findings
    assert {f.tool for f in findings} == {"racecheck"}
    assert {f.line for f in findings} <= set(kernel.lines)


@kernels_with("wrong", "technique")
def test_unmet_requirement_fails_a_kernel_with_correct_values(kernel: CorpusKernel) -> None:
    result = checked(kernel)
    assert result.verdict is not None
    assert result.verdict.correct
    assert result.technique is not None
    assert not result.technique.met
    assert result.reasons == result.technique.reasons
    assert not result.correct


@kernels_with("compile_error")
def test_compile_error_names_its_line(kernel: CorpusKernel) -> None:
    with pytest.raises(CompileError) as error:
        check_cell(kernel.cell, simulator())
    assert error.value.diagnostics[0].line in kernel.lines
