"""Tests of the instruction budget, which ends a kernel that does not terminate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.cell import KernelCell, parse_cell
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.problems import load_problems
from gpulab.verification.check import CheckResult, check_cell, compile_cell
from gpulab.verification.timed_launch import TimedInputs
from gpulab.verification.verify import verify

ONE_THREAD = """\
%%cuda matmul.Ks --block 32 1 --tile 1 1
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y) return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < p; k++) sum += b[i + n * k] * c[k + p * j];
            a[i + n * j] = sum;
        }
}"""
ENDLESS = 'extern "C" __global__ void k(volatile int* a) { while (*a == 0); }'


def simulator() -> SimulatedDevice:
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    return device


def test_budget_of_the_values_suffices_for_one_thread_that_does_all_the_work() -> None:
    cell = parse_cell(ONE_THREAD)
    assert isinstance(cell, KernelCell)
    assert verify(compile_cell(cell, simulator()), cell.config).correct


@pytest.mark.parametrize(("device_budget", "argument"), [(1 << 24, 1 << 22), (1 << 22, 1 << 24)])
def test_smaller_of_two_budgets_applies(
    device_budget: int, argument: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = simulator()
    monkeypatch.setattr(device, "budget", device_budget)
    kernel = device.compile(ENDLESS)
    (finding,) = gpulab.sanitize(kernel, 1, 32, (device.zeros(1, np.int32),), budget=argument)
    assert finding.kind == "never_ends"
    assert f"{1 << 22:,}" in finding.message


# -- launches whose warps end, but that execute far too much ------------------------------------

OFTEN = """\
__global__ void k(float* y, const float* x, int times)
{
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += i;
    for (int i = 0; i < times; i++)
        sum += x[(i + threadIdx.x) % 256];
    y[threadIdx.x] = sum;
}"""
HUGE_GRID = """\
__global__ void k(float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < 100; j++) y[i] += j;
}"""


def often(device: SimulatedDevice, times: int, blocks: int = 256) -> None:
    x, y = (device.zeros(256) for _ in range(2))
    device.compile(OFTEN)(blocks, 256, (y, x, times))


# The warps use many time slices, or fewer than one, after which the launch is checked between blocks.
@pytest.mark.parametrize("times", [100_000, 1000])
def test_launch_of_warps_that_end_is_stopped_at_the_line_that_executes_most(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = simulator()
    monkeypatch.setattr(device, "launch_budget", 1 << 22)
    with pytest.raises(gpulab.LaunchError) as raised:
        often(device, times)
    (finding,) = raised.value.findings
    assert (finding.kind, finding.line) == ("too_long", 5)
    assert f"{1 << 22:,}" in finding.message
    assert "dev.launch_budget" in finding.message  # how to permit it


def test_launch_within_its_budget_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    device = simulator()
    monkeypatch.setattr(device, "launch_budget", 1 << 22)
    often(device, times=1000, blocks=16)
    device.compile(HUGE_GRID)(200_000, 64, (device.zeros(64), 64))  # all blocks but one return at once


def test_endless_loop_with_a_barrier_is_stopped_at_the_budget_of_the_launch() -> None:
    device = simulator()
    kernel = device.compile("__global__ void k(float* y) { while (true) { y[0] = 1; __syncthreads(); } }")
    (finding,) = gpulab.sanitize(kernel, 1, 1024, (device.zeros(1),), budget=1 << 18)
    assert finding.kind == "never_ends"


LOOP = """\
%%cuda matmul.{step} --block {block} --tile 1 1
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    {loop} {{
        float sum = 0;
        for (int k = 0; k < p; k++) sum += b[i + n * k] * c[k + p * j];
        a[i + n * j] = sum;
    }}
}}"""
WAVE = """\
%%cuda looped.grid --tile 4
__global__ void looped(float* y, const float* x, float a, int n)
{
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x; i < n; STEP)
        y[i] = a * x[i];
}"""


# A problem that is counted on a large launch, as waves of blocks need.
PROBLEM = """\
from gpulab.problems import Input, Output, Problem, Requirement, Scalar, Step

class Large(Problem):
    def counted_shape(self, variant, block, tile):
        return (1 << 18,)

once = Requirement("global_loads", "elements loaded per element", at_most=1.1)
looped = Large(
    "looped",
    arguments=(Output("y", ("n",)), Input("x", ("n",)), Scalar("a", (1.5, 3.0)), "n"),
    sizes={"n": 1 << 18},
    reference=lambda a, x: a * x,
    error_bound=lambda a, x: 2.0**-23 * abs(a * x),
    steps=(Step("grid", "a loop over the grid", requirements=(once,)), Step("free", "any loop")),
)
"""


@pytest.fixture
def problem_of_this_file(no_labs: None, tmp_path: Path) -> None:
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM)
    load_problems(file)


def checked(text: str, **options: Any) -> CheckResult:
    cell = parse_cell(text)
    assert isinstance(cell, KernelCell)
    return check_cell(cell, simulator(), **options)


@pytest.mark.usefixtures("problem_of_this_file")
@pytest.mark.parametrize("step", ["i++", "i += gridDim.x", "i += BLOCK_X"])
def test_wrong_step_of_a_loop_is_rejected_by_the_requirement_that_it_misses(
    step: str,
) -> None:
    result = checked(WAVE.replace("STEP", step))
    assert not result.correct
    assert result.verdict is not None
    assert result.verdict.correct  # on the sizes of the check
    assert result.technique is not None
    (missed,) = result.technique.results
    assert missed.value > 20
    assert missed.lines == (5,)
    assert "elements loaded per element" in result.reasons[0]


@pytest.mark.usefixtures("problem_of_this_file")
def test_right_step_of_a_loop_is_accepted() -> None:
    assert checked(WAVE.replace("STEP", "i += gridDim.x * BLOCK_X")).correct


@pytest.mark.usefixtures("problem_of_this_file")
def test_wrong_step_without_a_requirement_is_a_fault_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator(), "launch_budget", 1 << 24)
    text = WAVE.replace("STEP", "i++").replace("looped.grid", "looped.free")
    result = checked(text, timed=TimedInputs(((1 << 18,),), seed=1))
    assert not result.correct
    assert [finding.kind for finding in result.findings] == ["too_long"]
    assert "line 4" in result.reasons[0]


def test_kernel_that_repeats_its_work_in_each_block_ends() -> None:
    result = checked(LOOP.format(step="K1", block="64 1", loop="for (int j = 0; j < m; j++)"))
    assert not result.correct
    assert "stopped" in result.reasons[0]
