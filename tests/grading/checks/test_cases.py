"""The repaired kernels of lab 1: right repairs pass; the faults and other methods are rejected."""

from __future__ import annotations

import pytest

from gpulab import session
from gpulab.devices import open_device
from gpulab.errors import UsageError, WrongResult
from gpulab.exercises import find_exercise
from gpulab.exercises.lab1_kernels import KERNELS
from gpulab.exercises.lab_session import current_lab
from gpulab.grading.checks import require_kernel
from gpulab.verification.check import compile_cell
from tests.labs.stencil_cases import FAULTY, REPAIRED, case_cell

FINDINGS = {
    "case_1": "a barrier is missing after the last read",
    "case_2": "a barrier is missing",
    "case_3": "may not have finished. Wait for it, and then call __syncthreads()",
}


each_case = pytest.mark.parametrize("name", [exercise.name for exercise in KERNELS])


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim:h200")
    current_lab().points.clear()


def run(text: str) -> None:
    cell = case_cell(text)
    session.keep_cell(cell, compile_cell(cell, open_device()))


@each_case
def test_repaired_kernel_gets_the_points(name: str) -> None:
    run(REPAIRED[name])
    assert require_kernel(name, points=2) is None
    assert current_lab().points[name] == 2


@each_case
def test_each_case_has_an_exercise(name: str) -> None:
    assert find_exercise(f"stencil.{name}").name == f"stencil.{name}"


def test_wrong_values_name_the_first_one() -> None:
    run(REPAIRED["case_1"].replace("63 - t", "t"))
    with pytest.raises(WrongResult, match=r"values of out are wrong; out\[0\]"):
        require_kernel("case_1", points=2)
    assert current_lab().points["case_1"] == 0


def test_kernel_without_shared_memory_is_rejected() -> None:
    run(
        "__global__ void case_1(const float* in, float* out, int rows)\n{\n"
        "    for (int row = 0; row < rows; ++row)\n"
        "        out[64 * row + threadIdx.x] = in[64 * row + 63 - threadIdx.x];\n}"
    )
    with pytest.raises(WrongResult, match="repair the kernel"):
        require_kernel("case_1", points=2)


def test_cell_that_did_not_run_is_named() -> None:
    with pytest.raises(UsageError, match="case_1"):
        require_kernel("case_1", points=2)


def test_unknown_case_is_refused() -> None:
    with pytest.raises(UsageError, match="case_9"):
        require_kernel("case_9", points=2)


@each_case
def test_fault_of_the_notebook_is_found(name: str) -> None:
    run(FAULTY[name])
    with pytest.raises(WrongResult, match=FINDINGS[name]):
        require_kernel(name, points=2)
