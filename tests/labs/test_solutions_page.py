"""The kernels that grading/solutions.md prints are correct."""

from __future__ import annotations

import re

import pytest

from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.verification.check import check_cell
from tests.labs.lab import REPOSITORY

PAGE = (REPOSITORY / "grading" / "solutions.md").read_text(encoding="utf-8")
KERNELS = [text for text in re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL) if text.startswith("// %%cuda ")]


def test_page_prints_kernels() -> None:
    assert KERNELS


@pytest.mark.weekly
@pytest.mark.parametrize("text", KERNELS, ids=lambda text: text.split()[2])
def test_printed_kernel_computes_right_values(text: str) -> None:
    verdict = check_cell(parse_cell(text), open_device("sim")).verdict
    assert verdict is not None
    assert verdict.correct
