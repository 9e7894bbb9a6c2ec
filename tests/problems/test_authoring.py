"""The exercise of docs/authoring.md, as a teacher copies it from there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.problems import METRICS, load_problems
from gpulab.verification.check import CheckResult, check_cell

PAGE = Path(__file__).parents[2] / "docs" / "authoring.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [(kind, text) for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
KERNELS = [text for kind, text in BLOCKS if kind == "cuda"]


@pytest.fixture(autouse=True)
def declared(no_labs: None, tmp_path: Path) -> None:
    path = tmp_path / "problem.py"
    path.write_text(next(text for kind, text in BLOCKS if kind == "python"), encoding="utf-8")
    load_problems(path)


def check(text: str) -> CheckResult:
    return check_cell(parse_cell(text), open_device("sim"), seed=1)


@pytest.mark.parametrize("number", [0, 1])
def test_kernel_of_the_page_is_correct(number: int) -> None:
    assert check(KERNELS[number]).reasons == ()


def test_mistake_of_the_page_is_named() -> None:
    (reason, *_) = check(KERNELS[0].replace("b[x * rows + y]", "b[y * columns + x]")).reasons
    assert "the output is a copy of the input" in reason


def test_kernel_without_its_condition_is_reported_with_line_and_thread() -> None:
    finding, *_ = check(KERNELS[0].replace("if (x < columns && y < rows)", "")).findings
    assert (finding.tool, finding.line) == ("memcheck", 6)
    assert finding.thread is not None


def test_refusal_of_the_page_is_that_of_the_first_kernel_under_the_other_name() -> None:
    message = next(text for kind, text in BLOCKS if kind == "text").strip()
    (reason,) = check(KERNELS[0].replace("naive --block 32 8", "tiled --block 32 32")).reasons
    assert reason.startswith(message)


def test_page_lists_the_metrics_of_requirements() -> None:
    rows = [f"| `{name}` | {text.format(work='point')} |" for name, text in METRICS.items()]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")
