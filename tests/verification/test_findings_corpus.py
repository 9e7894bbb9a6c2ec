"""The sanitizer names the one cause of each wrong kernel of its corpus and is silent about the right ones."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device, Kernel
from tests.kernels.findings.findings import FOLDER, SanitizerCase, cases

CASES = cases()
RIGHT = [case for case in CASES if case.tool is None]
WRONG = [case for case in CASES if case.tool is not None]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
every_right_one = pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.id)
every_wrong_one = pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@cache
def compiled(source: str) -> Kernel:
    return simulator().compile(source)


def findings_of(case: SanitizerCase) -> list[gpulab.Finding]:
    from gpulab import sanitize

    args = case.device_arguments(simulator())
    found: list[gpulab.Finding] = sanitize(
        compiled(case.source), case.grid, case.block, args, shared_mem=case.shared_mem
    )
    return found


def values_by_name(case: SanitizerCase, kernel: Kernel, values: list[Any]) -> dict[str, Any]:
    names = [parameter.name for parameter in kernel.program.signatures[kernel.name]]
    return dict(zip(names, values, strict=True))


def test_every_file_stands_in_the_index_once() -> None:
    files = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.cu"))
    assert sorted(case.file for case in CASES) == files


@every_case
def test_the_kernel_compiles_without_a_warning(case: SanitizerCase) -> None:
    kernel = compiled(case.source)
    assert kernel.program.warnings == ()
    assert len(kernel.program.signatures[kernel.name]) == len(case.args)


@every_case
def test_the_folder_says_which_tool_is_meant(case: SanitizerCase) -> None:
    assert case.file.split("/")[0] == (case.tool or "right")
    assert re.match(r"// \S", case.comment)


@every_wrong_one
def test_a_wrong_kernel_says_in_which_line_its_fault_is(case: SanitizerCase) -> None:
    lines = case.text.split("\n")
    assert case.fault_line is not None
    assert all(lines[line - 1].strip() for line in (case.fault_line, *case.lines))
    assert case.kinds
    assert case.lines


@every_right_one
def test_a_right_kernel_leaves_the_right_values(case: SanitizerCase) -> None:
    kernel, args = compiled(case.source), case.device_arguments(simulator())
    kernel(case.grid, case.block, args, shared_mem=case.shared_mem)
    before = values_by_name(case, kernel, [argument.host for argument in case.arguments])
    after = values_by_name(case, kernel, args)
    for name, expression in case.expect.items():
        expected = eval(expression, {"np": np, **before})
        found = simulator().asnumpy(after[name])
        np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-5, atol=1e-5)


@every_right_one
def test_nothing_is_found_in_a_right_kernel(case: SanitizerCase) -> None:
    assert findings_of(case) == []


@every_wrong_one
def test_the_cause_is_named_and_nothing_else(case: SanitizerCase) -> None:
    found = findings_of(case)
    assert any(case.names(finding) for finding in found), found
    assert [finding for finding in found if not case.allows(finding)] == []
