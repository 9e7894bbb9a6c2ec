"""Races of plain reads with atomic operations, and of updates that leave values as they are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.devices.base import Device
from gpulab.finding import Findings
from gpulab.verification.check import check_cell

THREADS = 256
VOLATILE_GUARD = "if (*(volatile int*)d < v[i]) atomicMax(d, v[i]);"
PRODUCT = """%%cuda matmul.K1 --block 32 2
__device__ int largest;
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (largest < i) atomicMax(&largest, i);
    float sum = 0;
    for (int k = 0; k < p; k++)
        if (i < n && j < m) sum += b[i + n * k] * c[k + p * j];
    if (i < n && j < m) a[i + n * j] = sum;
}"""


@cache
def simulator() -> Device:
    return gpulab.device("sim")


def findings_of(body: str, block: int = 64, *, initialized: bool = True, below: int = 100) -> Findings:
    """Sanitize a kernel on an array `d` of zeros, an array `v` of numbers from 0 to `below`, and `o`."""
    device = simulator()
    source = f"""__global__ void k(int* d, const int* v, int* o) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
        {body}
    }}"""
    numbers = np.arange(THREADS, dtype=np.int32) * 7 % below
    d = device.zeros(THREADS, np.int32) if initialized else device.empty(THREADS, np.int32)
    arrays = (d, device.asarray(numbers), device.zeros(THREADS, np.int32))
    return gpulab.sanitize(device.compile(source), THREADS // block, block, arrays)


@pytest.mark.parametrize(
    "body",
    [
        "if (d[0] < v[i]) atomicMax(d, v[i]);",
        "if (i < 3 && d[0] < i) atomicMax(d, i);",
        "int far = d[v[i]] - v[i]; if (far < d[v[i] + 1] && atomicMin(&d[v[i] + 1], far) > far) o[0] = 1;",
        "atomicMin(&d[v[i]], d[v[i] / 2] - i);",
    ],
)
@pytest.mark.parametrize("block", [64, THREADS])
def test_guess_before_an_atomic_is_a_warning(body: str, block: int) -> None:
    findings = findings_of(body, block)
    assert {(finding.tool, finding.severity) for finding in findings} == {("racecheck", "warning")}
    assert all("cuda::atomic_ref" in finding.message for finding in findings)


@pytest.mark.parametrize(
    "body",
    [
        "atomicMax(d, v[i]); o[i] = d[0];",
        "atomicMax(d, v[i]); o[i] = max(d[0], 5) + 1;",
        "if (d[0] < v[i]) atomicMax(d, v[i]); o[i] = d[0];",
        "atomicMax(d, v[i]); if (d[0] > 50) atomicAdd(&o[i], d[0]);",
        "atomicMax(d, v[i]); atomicMax(&o[d[0]], i);",
        "atomicAdd(d, v[i]); if (d[0] > 50) o[i] = 1;",
        "__shared__ int s; if (t == 0) s = 0; __syncthreads(); if (s < v[i]) atomicMax(&s, v[i]);",
    ],
)
def test_value_of_an_atomic_that_is_used_too_early_is_an_error(body: str) -> None:
    assert {(finding.tool, finding.severity) for finding in findings_of(body)} == {("racecheck", "error")}


@pytest.mark.parametrize(
    "body",
    [
        VOLATILE_GUARD,
        "for (int old = d[0], seen = ~old; old < v[i] && old != seen;) old = atomicCAS(d, seen = old, v[i]);",
    ],
)
def test_strong_read_and_first_guess_of_a_swap_are_not_reported(body: str) -> None:
    assert findings_of(body) == []


def test_warning_does_not_hide_an_uninitialized_read() -> None:
    findings = findings_of("if (d[0] < v[i]) atomicMax(d, v[i]);", initialized=False)
    severities = {finding.tool: finding.severity for finding in findings}
    assert severities == {"racecheck": "warning", "initcheck": "error"}


def test_check_accepts_a_guess_with_a_warning() -> None:
    result = check_cell(parse_cell(PRODUCT, "cell 1"), simulator())
    assert (result.correct, result.findings) == (True, ())
    assert any("largest" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    "body",
    [
        "d[0] = max(d[0], v[i]);",
        "if (i < 2) d[0] = max(d[0], v[i]);",
        "if (t == 0) d[0] = max(d[0], v[i]);",
        "if (t < 8) d[v[t + 8]] = d[v[t + 8]] | v[i];",
        "d[t % 32] += v[i];",
        "d[t % 32] += 0 * t; if (t >= 32) d[t % 32] *= 1 + v[i];",
    ],
)
def test_update_by_several_threads_is_an_error_if_no_value_changes(body: str) -> None:
    findings = findings_of(body, below=1)
    assert {(finding.tool, finding.severity) for finding in findings} == {("racecheck", "error")}
    assert all("updates by other threads can be lost" in finding.message for finding in findings)


@pytest.mark.parametrize(
    "body",
    [
        "d[v[i]] = 0;",
        "o[i] = d[i * 7 % 256]; d[i] = max(d[i], v[i]);",
        "if (t < 32) d[t] += v[i]; __syncthreads(); if (t >= 32) d[t - 32] += v[i];",
        "if (t < 16) d[t] += v[i]; __syncwarp(); if (t >= 16 && t < 32) d[t - 16] += v[i];",
        "for (int k = 0; k < 8; ++k, __syncthreads()) d[t] = min(d[t], d[t / 8 * 8 + k] + d[8 * k + t % 8]);",
    ],
)
def test_writes_that_change_no_value_and_no_other_update_are_right(body: str) -> None:
    assert findings_of(body, THREADS, below=1) == []
