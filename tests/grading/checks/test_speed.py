"""`require_speed`: points by fraction of the baseline, grading without a GPU, and invalid arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import gpulab.devices
import gpulab.grading.checks.counted_speed
import gpulab.profiling.baseline
import gpulab.verification.check
from gpulab import session
from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks import speed
from gpulab.grading.checks.counted_speed import count_against_shipped
from gpulab.grading.checks.speed import require_speed
from gpulab.notebook import level, screen
from gpulab.problems.requirement import Requirement
from gpulab.profiling.baseline import BaselineComparison
from gpulab.profiling.benchmark import Benchmark
from gpulab.provenance import Provenance
from gpulab.verification.requirements import RequirementResult, Technique
from gpulab.views.html import View
from tests.kernels.corpus import load

STEPS = {0.5: 5, 0.7: 10, 0.85: 15}
CELL = parse_cell("%%cuda stencil.opt_4\n__global__ void block2D_opt_4() {}")
FEW_REGISTERS = "__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, 2048 / BLOCK_X / BLOCK_Y)"  # 32
LOADS = Requirement("global_loads", "loads of A0", at_most=1.5, baseline_value=7)


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level, "STATE", level.LevelState())
    session.keep_cell(CELL)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[View]:
    views: list[View] = []
    monkeypatch.setattr(screen, "show", views.append)
    return views


def open_on(monkeypatch: pytest.MonkeyPatch, kind: str, fraction: float = 1.0, technique: Any = None) -> None:
    """Open a device of this kind, on which the kernel is correct and reaches a fraction of the baseline."""
    time = Benchmark.from_samples([1.0], Provenance("measured", "a GPU"))
    comparison = BaselineComparison("copy", (512, 512, 512), time, time, fraction * 1000, 1000.0, "GB/s")
    monkeypatch.setattr(
        gpulab.devices,
        "open_device",
        lambda: SimpleNamespace(kind=kind, name=kind, measures_time=kind == "cuda"),
    )
    kernel = SimpleNamespace(program=SimpleNamespace(ptx="…"))
    result = SimpleNamespace(correct=True, kernel=kernel, technique=technique)
    monkeypatch.setattr(speed, "recheck_cell", lambda *_: result)
    monkeypatch.setattr(gpulab.profiling.baseline, "time_against_baseline", lambda *_, **__: comparison)


@pytest.mark.parametrize(
    ("fraction", "value"),
    [(0.2, "0"), (0.5, "5"), (0.69, "5"), (0.7, "10"), (0.849, "10"), (0.85, "None"), (1.04, "None")],
)
def test_highest_step_reached_gives_the_points(
    monkeypatch: pytest.MonkeyPatch, shown: list[View], fraction: float, value: str
) -> None:
    open_on(monkeypatch, "cuda", fraction)
    assert repr(require_speed("stencil.opt_4", of="copy", steps=STEPS)) == value
    assert "measured" in shown[0].text


def test_correct_kernel_without_shipped_counts_gets_full_points_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, shown: list[View]
) -> None:
    monkeypatch.setattr(gpulab.grading.checks.counted_speed, "shipped_cost", lambda *_: None)
    result = RequirementResult(LOADS, 1.25, 1.5, (4,))
    open_on(monkeypatch, "sim", technique=Technique("opt_4", (34, 34, 34), (result,)))
    assert require_speed("stencil.opt_4", of="copy", steps=STEPS) is None
    assert "loads of A0" in shown[0].text
    assert "1.25" in shown[0].text


def test_wrong_kernel_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(monkeypatch, "cuda")

    def wrong(*_: object) -> None:
        raise WrongResult("stencil.opt_4 is not correct.")

    monkeypatch.setattr(speed, "recheck_cell", wrong)
    with pytest.raises(WrongResult):
        require_speed("stencil.opt_4", of="copy", steps=STEPS)


def test_given_kernel_earns_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(monkeypatch, "cuda")
    level.record_given(CELL)
    with pytest.raises(UsageError, match=r"stencil\.opt_4"):
        require_speed("stencil.opt_4", of="copy", steps=STEPS)


def test_cell_that_did_not_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(monkeypatch, "cuda")
    with pytest.raises(UsageError, match=r"%%cuda matmul\.K6"):
        require_speed("matmul.K6", of="sgemm", steps=STEPS)


@pytest.mark.parametrize("steps", [{}, {0.5: 0}, {0: 5}, {0.5: 5, 0.7: 5}, {0.5: 9, 0.7: 5}, {"a": 1}, 5])
def test_invalid_steps_are_refused(steps: Any) -> None:
    with pytest.raises(UsageError, match="steps"):
        require_speed("stencil.opt_4", of="copy", steps=steps)


def test_unknown_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match=r"copy.*sgemm"):
        require_speed("stencil.opt_4", of="light", steps=STEPS)


REFERENCE = next(kernel.cell for kernel in load("stencil/right/opt_4_float4.cu"))


@pytest.fixture
def reference() -> Iterator[None]:
    session.set_reference("stencil.opt_4", require_kernel_cell(REFERENCE))
    yield
    session.set_reference("stencil.opt_4", None)


@pytest.mark.usefixtures("reference", "shown")
@pytest.mark.parametrize(
    ("milliseconds", "value"),
    [(0.9, "None"), (1 / 0.91, "None"), (1 / 0.89, "10"), (1 / 0.73, "5"), (1 / 0.5, "0")],
)
def test_points_are_judged_against_the_reference_solution(
    monkeypatch: pytest.MonkeyPatch, milliseconds: float, value: str
) -> None:
    open_on(monkeypatch, "cuda")
    time, best = (Benchmark.from_samples([ms], Provenance("measured", "a GPU")) for ms in (milliseconds, 1.0))
    slow = BaselineComparison("copy", (512, 512, 512), time, time, 100.0, 1000.0, "GB/s", best)
    monkeypatch.setattr(gpulab.profiling.baseline, "time_against_baseline", lambda *_, **__: slow)
    monkeypatch.setattr(gpulab.verification.check, "compile_cell", lambda *_: None)
    assert repr(require_speed("stencil.opt_4", of="copy", steps=STEPS)) == value


@pytest.mark.usefixtures("shown")
def test_impossible_time_earns_nothing_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(monkeypatch, "cuda", fraction=1.2)
    time, copy = (Benchmark.from_samples([ms], Provenance("measured", "a GPU")) for ms in (0.5, 1.0))
    fast = BaselineComparison("copy", (512, 512, 512), time, copy, 2000.0, 1000.0, "GB/s")
    monkeypatch.setattr(gpulab.profiling.baseline, "time_against_baseline", lambda *_, **__: fast)
    with pytest.raises(WrongResult, match="reported for review"):
        require_speed("stencil.opt_4", of="copy", steps=STEPS)


@pytest.mark.usefixtures("shown")
def test_wrong_values_of_a_timed_launch_earn_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(monkeypatch, "cuda")
    time = Benchmark.from_samples([1.0], Provenance("measured", "a GPU"))
    wrong = BaselineComparison("copy", (8, 8, 8), time, time, 1.0, 1.0, "GB/s", mismatch="(z=1) is wrong")
    monkeypatch.setattr(gpulab.profiling.baseline, "time_against_baseline", lambda *_, **__: wrong)
    with pytest.raises(WrongResult, match=r"\(z=1\) is wrong"):
        require_speed("stencil.opt_4", of="copy", steps=STEPS)


@pytest.mark.parametrize("graded", [True, False], ids=["grader", "notebook"])
@pytest.mark.parametrize(
    ("file", "value"),
    [("opt_4_float4", "None"), ("opt_4_float4_shared_tile", "5"), ("opt_4_warp_shuffle", "5")],
)
def test_counts_are_judged_against_the_reference_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    shown: list[View],
    request: pytest.FixtureRequest,
    file: str,
    value: str,
    graded: bool,
) -> None:
    if graded:
        request.getfixturevalue("reference")
    simulator = gpulab.device("sim")
    monkeypatch.setattr(gpulab.devices, "open_device", lambda *_: simulator)
    (kernel,) = load(f"stencil/right/{file}.cu")
    session.keep_cell(kernel.cell)
    assert repr(require_speed("stencil.opt_4", of="copy", steps=STEPS)) == value
    assert "reference" in shown[0].text
    assert ("ship with gpulab" in shown[0].text) is not graded


def test_cost_contains_the_registers_that_are_spilled() -> None:
    simulator = gpulab.device("sim")
    (written,) = (require_kernel_cell(kernel.cell) for kernel in load("stencil/right/opt_4_float4.cu"))
    few = replace(written, source=written.source.replace("__global__ void", FEW_REGISTERS))
    kernels = [gpulab.verification.check.compile_cell(cell, simulator) for cell in (written, few)]
    costs = [
        count_against_shipped(cell, kernel) for cell, kernel in zip((written, few), kernels, strict=True)
    ]
    assert [kernel.resources.spill_bytes > 0 for kernel in kernels] == [False, True]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[1][0].requests > 1.1 * costs[0][0].requests
    assert costs[1][0].data > costs[0][0].data
