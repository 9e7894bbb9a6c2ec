"""Exercises without their kernel or their answers: the cause is named, not the stub of the release."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.judge.plan import NotebookPlan, PlanCell
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.judge.supervisor import judge
from gpulab.grading.reports.feedback_summary import GradedCell, summary_row

KERNEL = """\
%%cuda axpy
__global__ void axpy(int n, float a, const float* x, float* y)
{
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = fmaf(a, x[i], y[i]);
}"""
STENCIL = KERNEL.replace("%%cuda axpy", "%%cuda stencil.opt_1 --block 32 8")
COMMIT = 'gpulab.commit("devicequery.peak", globals().get("peak"), points=4)'
PLAN = NotebookPlan(
    "lab",
    (
        PlanCell("setup", "setup", "%load_ext gpulab\nimport gpulab"),
        PlanCell("solution", "axpy", KERNEL),
        PlanCell(
            "test",
            "axpy_test",
            'from gpulab.grading.checks import require_kernel\nrequire_kernel("axpy", points=3)',
            points=3,
        ),
        PlanCell("solution", "opt_1", STENCIL),
        PlanCell(
            "test",
            "opt_1_test",
            'from gpulab.grading.checks import require_correct\nrequire_correct("stencil.opt_1", points=10)',
            points=10,
        ),
        PlanCell("answers", "peak", "peak = {}", names=("peak",)),
        PlanCell("test", "peak_test", COMMIT, points=4),
    ),
)
PEAK = 'peak = {"cores": None, "tflops": None, "gb_s": None, "ridge": None}'


def judged(*cells: tuple[str, str]) -> JudgedSubmission:
    """Judge a notebook with these cells: nbgrader's name, which some programs delete, and the text."""
    code = [
        {"cell_type": "code", "source": text, "outputs": [], "metadata": {"nbgrader": {"grade_id": name}}}
        for name, text in cells
    ]
    task = JudgeTask("lab", "ada", PLAN, json.dumps({"cells": code}), b"secret", "sim", sandboxed=False)
    result = judge(task)
    assert result.error == ""
    return result


def row(result: JudgedSubmission, test: str) -> str:
    """Return what the feedback page says about a test cell."""
    cell = next(cell for cell in result.cells if cell.grade_id == test)
    source = next(part.source for part in PLAN.cells if part.grade_id == test)
    kernels = {kernel["name"]: kernel for kernel in result.as_dict()["kernels"]}
    graded = GradedCell(test, cell.score, cell.max_score, source=source, outputs=cell.outputs)
    line = summary_row(graded, kernels)
    return f"{line.result} {line.advice}"


@pytest.mark.parametrize("name", ["opt_1", ""])
@pytest.mark.parametrize(
    "text",
    [
        STENCIL.replace("opt_1 ", "opt1 ", 1),
        STENCIL.replace("stencil.opt_1 ", "stencl.opt_1 ", 1),
        f"// my kernel\n{STENCIL}",
        STENCIL.replace("%%cuda", "%cuda", 1),
    ],
    ids=["variant", "problem", "comment", "one percent sign"],
)
def test_unreadable_first_line_is_the_reason(name: str, text: str) -> None:
    said = row(judged((name, text)), "opt_1_test")
    assert "code cell 1 must begin with `%%cuda stencil.opt_1`" in said
    assert text.splitlines()[0].split(" --block")[0] in said
    assert "#error" not in said


@pytest.mark.parametrize("name", ["", "axpy"])
def test_deleted_kernel_is_the_reason(name: str) -> None:
    result = judged((name, KERNEL))
    assert "not in the submitted notebook" in row(result, "opt_1_test")
    assert "not in the submitted notebook" in row(result, "peak_test")
    assert result.scores["axpy_test"] == 3


def test_unchanged_stub_is_not_written_yet() -> None:
    stub = '%%cuda axpy\n// YOUR CODE HERE\n#error "axpy is not written yet: put your kernel here"'
    assert "not written yet" in row(judged(("axpy", stub)), "axpy_test")


def test_page_says_which_of_two_cells_with_one_header_counts() -> None:
    result = judged(("axpy", KERNEL), ("", KERNEL.replace("(a,", "(2 * a,")))
    assert result.scores["axpy_test"] == 0
    assert "2 cells begin with `%%cuda axpy`; the last one counts, code cell 2." in row(result, "axpy_test")
    right = judged(("axpy", KERNEL.replace("(a,", "(2 * a,")), ("", KERNEL))
    assert "the last one counts, code cell 2." in row(right, "axpy_test")


@pytest.mark.parametrize(
    ("answer", "cause", "kind"),
    [
        (f"{PEAK}\npeak['cores'] = int(input())", "input() gets no answer", "failed"),
        (f"import nonesuch\n{PEAK}", "No module named 'nonesuch'", "failed"),
        ("peak = {'cores': 3", "SyntaxError", "failed"),
        ("import os\nos._exit(3)\npeak = {}", "ended in this cell", "crashed"),
    ],
    ids=["input", "import", "syntax", "exit"],
)
@pytest.mark.parametrize("name", ["peak", ""])
def test_cell_that_fails_is_the_reason_at_its_exercise(answer: str, cause: str, kind: str, name: str) -> None:
    result = judged(("", "x = 1"), (name, answer))
    said = row(result, "peak_test")
    assert "code cell 2 (`" in said.lower()
    assert cause in said
    assert [incident.kind for incident in result.incidents] == [kind]


def test_cell_that_does_not_end_is_the_reason_at_its_exercise_and_an_incident() -> None:
    result = judged(("peak", f"{PEAK}\nimport time\ntime.sleep(60)"))
    assert "did not end within 20 s" in row(result, "peak_test")
    assert [incident.kind for incident in result.incidents] == ["hung"]


def test_answers_that_are_not_right_have_no_other_reason() -> None:
    peak = PEAK.replace("None", "1")
    result = judged(("peak", peak), ("", "print(peak['nonesuch'])"))
    assert "code cell" not in row(result, "peak_test")
    assert result.incidents == ()
