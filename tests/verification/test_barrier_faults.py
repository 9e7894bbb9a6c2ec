"""Threads that part at a barrier: the same finding in the plain run and in the checked run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.devices.base import Device
from gpulab.verification.check import check_cell

EARLY_RETURN = """__global__ void k(float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= 40) return;
    s[t] = x[t];
    __syncthreads();
    x[t] = s[63 - t];
}"""
BARRIER_IN_A_BRANCH = """__global__ void k(float* x) {
    if (threadIdx.x < 32) {
        x[threadIdx.x] = 1;
        __syncthreads();
    }
}"""
LANES_PART = """__global__ void k(float* x) {
    if (threadIdx.x % 2) {
        x[threadIdx.x] = 1;
        __syncthreads();
    } else
        __syncthreads();
}"""
TWO_BARRIERS = """__global__ void k(float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = t;
        __syncthreads();
    } else {
        s[t] = 2 * t;
        __syncthreads();
    }
    x[t] = s[63 - t];
}"""


PRODUCT = """%%cuda matmul.K1 --block 32 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (threadIdx.y == 0)
        __syncthreads();
    else
        __syncthreads();
    float sum = 0;
    for (int k = 0; k < p; k++)
        if (i < n && j < m) sum += b[i + n * k] * c[k + p * j];
    if (i < n && j < m) a[i + n * j] = sum;
}"""


@pytest.fixture(scope="module")
def simulator() -> Device:
    return gpulab.device("sim")


def plain_findings(source: str, device: Device) -> list[gpulab.Finding]:
    """Return the findings of the exception that a launch raises."""
    with pytest.raises(gpulab.LaunchError) as error:
        device.compile(source)(1, 64, (device.zeros(64),))
    return error.value.findings


@pytest.mark.parametrize(
    ("source", "kind", "line", "words"),
    [
        (EARLY_RETURN, "exited_threads", 6, ["threads left before __syncthreads() in line 6", "(line 4)"]),
        (BARRIER_IN_A_BRANCH, "exited_threads", 4, ["in line 4", "out of the branch"]),
        (LANES_PART, "divergent_barrier", 6, ["warp"]),
    ],
    ids=["early return", "branch", "lanes of a warp"],
)
def test_plain_run_and_check_report_the_same(
    source: str, kind: str, line: int, words: list[str], simulator: Device
) -> None:
    (plain,) = plain_findings(source, simulator)
    (checked,) = gpulab.sanitize(simulator.compile(source), 1, 64, (simulator.zeros(64),))
    assert plain == checked
    assert (plain.tool, plain.kind, plain.severity) == ("synccheck", kind, "error")
    assert plain.line == line
    assert [word for word in words if word not in plain.message] == []


def test_whole_warps_at_two_barriers_are_a_warning_in_both(simulator: Device) -> None:
    kernel, x = simulator.compile(TWO_BARRIERS), simulator.zeros(64)
    with pytest.warns(gpulab.LaunchWarning, match=r"line 6: whole warps .* line 9"):
        kernel(1, 64, (x,))
    assert simulator.asnumpy(x)[0] == 126
    (finding,) = gpulab.sanitize(kernel, 1, 64, (x,))
    assert (finding.severity, finding.line) == ("warning", 6)


@pytest.mark.parametrize("run", [gpulab.counters, gpulab.profile])
def test_whole_warps_at_two_barriers_are_a_warning_when_counted_and_modelled(
    run: Callable[..., object], simulator: Device
) -> None:
    kernel, x = simulator.compile(TWO_BARRIERS), simulator.zeros(64)
    with pytest.warns(gpulab.LaunchWarning, match=r"line 6: whole warps .* line 9"):
        run(kernel, 1, 64, (x,))


@pytest.mark.parametrize("source", [EARLY_RETURN, BARRIER_IN_A_BRANCH, LANES_PART])
def test_threads_that_part_are_an_error_when_counted(source: str, simulator: Device) -> None:
    with pytest.raises(gpulab.LaunchError) as error:
        gpulab.counters(simulator.compile(source), 1, 64, (simulator.zeros(64),))
    assert error.value.findings == plain_findings(source, simulator)


def test_check_accepts_whole_warps_at_two_barriers_with_a_warning(simulator: Device) -> None:
    result = check_cell(parse_cell(PRODUCT, "cell 1"), simulator)
    assert (result.correct, result.findings) == (True, ())
    assert sum("whole warps wait" in str(warning) for warning in result.warnings) == 1


def test_warning_does_not_stay_for_the_next_launch(simulator: Device) -> None:
    kernel, x = simulator.compile(TWO_BARRIERS), simulator.zeros(64)
    with pytest.warns(gpulab.LaunchWarning):
        kernel(1, 64, (x,))
    kernel(1, 32, (x,))
    assert kernel.warned == ()


def test_different_barriers_that_end_a_launch_are_named_as_its_cause(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        if (threadIdx.x < 32)
            __syncthreads();
        for (int i = 0; i < 2; i++)
            __syncthreads();
    }"""
    (finding,) = plain_findings(source, simulator)
    assert (finding.kind, finding.line, finding.severity) == ("divergent_barrier", 3, "error")


def test_endless_loop_around_a_barrier_is_reported_at_the_loop(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[64];
        int k = 0;
        while (k < 4) {
            s[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = s[63 - threadIdx.x];
            __syncthreads();
        }
    }"""
    args = (simulator.zeros(64),)
    (finding,) = gpulab.sanitize(simulator.compile(source), 1, 64, args, budget=1 << 16)
    assert (finding.kind, finding.line) == ("never_ends", 4)
    assert "loop" in finding.message
    assert "__syncthreads" not in finding.message
