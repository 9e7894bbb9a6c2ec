"""The sanitizer names the one cause of each wrong kernel of its corpus and is silent about the right ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device, Kernel
from tests.kernels.findings.findings import FOLDER, SanitizerCase, cases

CASES = cases()


@cache
def simulator() -> Device:
    return gpulab.device("sim")


def test_files_agree_with_the_index() -> None:
    files = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.cu"))
    assert sorted(case.file for case in CASES) == files
    assert [f"{case.id}: {fault}" for case in CASES for fault in _faults(case)] == []


def _faults(case: SanitizerCase) -> Iterator[str]:
    """Yield where a file disagrees with its row of the index."""
    if case.file.split("/")[0] != (case.tool or "right"):
        yield "its folder contradicts its tool"
    if not re.match(r"// \S", case.comment):
        yield "its second line is not a comment"

    lines = case.text.split("\n")
    named = (case.fault_line, *case.lines)
    if case.tool and not all(line is not None and lines[line - 1].strip() for line in named):
        yield "its comment or its row does not name lines of the kernel"
    if case.tool and not (case.kinds and case.lines):
        yield "its row has no kinds or no lines"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_sanitizer_names_the_cause_and_nothing_else(case: SanitizerCase) -> None:
    kernel, args = simulator().compile(case.source), case.device_arguments(simulator())
    assert kernel.program.warnings == ()
    assert len(kernel.program.signatures[kernel.name]) == len(case.args)

    findings = gpulab.sanitize(kernel, case.grid, case.block, args, shared_mem=case.shared_mem)
    assert any(map(case.names, findings)) == (case.tool is not None), findings
    assert [finding for finding in findings if not case.allows(finding)] == []
    _assert_values(case, kernel, args)


def _assert_values(case: SanitizerCase, kernel: Kernel, args: list[Any]) -> None:
    """Assert that a launch of a right kernel has left the expected values in its arguments."""
    names = [parameter.name for parameter in kernel.program.signatures[kernel.name]]
    before = {name: argument.host for name, argument in zip(names, case.arguments, strict=True)}
    after = dict(zip(names, args, strict=True))
    for name, expression in case.expect.items():
        actual = simulator().asnumpy(after[name])
        expected = eval(expression, {"np": np, **before})
        np.testing.assert_allclose(actual, np.reshape(expected, actual.shape), rtol=1e-5, atol=1e-5)
