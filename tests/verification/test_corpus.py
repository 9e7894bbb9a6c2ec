"""Verdicts of the simulator on every kernel of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import CompileError
from gpulab.verification.check import CheckResult, check_cell
from tests.kernels.corpus import CorpusKernel, load

KERNELS = [kernel for kernel in load() if not kernel.file.startswith("programs/")]
FAULT_TOOLS = {"memcheck", "synccheck"}  # values of `detected_by` in the index
every_kernel = pytest.mark.parametrize(
    "kernel", [k for k in KERNELS if k.verdict != "compile_error"], ids=lambda kernel: kernel.id
)


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@every_kernel
def test_verdict_and_findings_are_those_of_the_index(kernel: CorpusKernel) -> None:
    assert list(_differences(kernel, check_cell(kernel.cell, simulator()))) == []


def _differences(kernel: CorpusKernel, result: CheckResult) -> Iterator[str]:
    """Yield where a check differs from the index."""
    if result.correct != (kernel.verdict == "right"):
        yield f"the verdict is {result.correct}"
    if bool(result.reasons) == result.correct:
        yield f"the reasons are {result.reasons}"

    tools = [finding.tool for finding in result.findings]
    lines = [finding.line for finding in result.findings]
    if kernel.detected_by in FAULT_TOOLS and tools != [kernel.tool]:
        yield f"the findings are of {tools}, not one of {kernel.tool}"
    if kernel.detected_by == "racecheck" and set(tools) != {"racecheck"}:
        yield f"the findings are of {tools}"
    if kernel.detected_by in {*FAULT_TOOLS, "racecheck"} and not set(lines) <= set(kernel.lines):
        yield f"the findings are in lines {lines}, not {kernel.lines}"

    if kernel.detected_by == "technique":
        if result.verdict is None or not result.verdict.correct:
            yield "the values are not right"
        if result.technique is None or result.technique.met:
            yield "no requirement is missed"
        elif result.reasons != result.technique.reasons:
            yield f"not only requirements are reasons: {result.reasons}"


@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS if k.verdict == "compile_error"], ids=lambda kernel: kernel.id
)
def test_compile_error_names_its_line(kernel: CorpusKernel) -> None:
    with pytest.raises(CompileError) as error:
        check_cell(kernel.cell, simulator())
    assert error.value.diagnostics[0].line in kernel.lines
