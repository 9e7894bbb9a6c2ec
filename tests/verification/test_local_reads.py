"""Tests of the finding for reads of local memory that a thread has not written."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device

WRONG = {
    "one element too many": (
        """__global__ void k(float* out, const int* n) {
    float best[8];
    for (int i = 0; i < n[0]; ++i) best[i] = i;
    float sum = 0;
    for (int i = 0; i <= n[0]; ++i)
        sum += best[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}""",
        6,
        (0, 0, 0),
        (0, 0, 0),
        "`best`",
    ),
    "bins that are not cleared": (
        """__global__ void k(float* out, const int* n) {
    int bins[16];
    for (int i = 0; i < n[1]; ++i)
        bins[(i * threadIdx.x) % 16]++;
    out[blockIdx.x * blockDim.x + threadIdx.x] = bins[3];
}""",
        4,
        (0, 0, 0),
        (0, 0, 0),
        "`bins`",
    ),
    "in the second block only": (
        """__global__ void k(float* out, const int* n) {
    double stack[4];
    int top = 0;
    if (blockIdx.x == 0 || threadIdx.x != 5)
        for (; top < n[0] % 4; ++top) stack[top] = top;
    out[blockIdx.x * blockDim.x + threadIdx.x] = stack[n[0] % 4 - 1];
}""",
        6,
        (1, 0, 0),
        (5, 0, 0),
        "`stack`",
    ),
    "in a function that is called": (
        """__device__ __noinline__ float sum(const float* values, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i)
        total += values[i];
    return total;
}
__global__ void k(float* out, const int* n) {
    float own[8];
    for (int i = 1; i < n[0]; ++i) own[i] = i;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum(own, n[0]);
}""",
        4,
        (0, 0, 0),
        (0, 0, 0),
        "a local array or variable",
    ),
}

RIGHT = {
    "the value is minus one": """__global__ void k(float* out, const int* n) {
    int last[16];
    for (int i = 0; i < 16; ++i) last[i] = -1;
    for (int i = 0; i < n[1]; ++i) last[(i * threadIdx.x) % 16] = i;
    out[blockIdx.x * blockDim.x + threadIdx.x] = last[n[0]];
}""",
    "the value is discarded": """__global__ void k(float* out, const int* n) {
    float own[16];
    for (int i = 0; i < n[0]; ++i) own[i] = i;
    float sum = 0;
    for (int i = 0; i < 16; ++i) {
        float value = own[i];
        sum += i < n[0] ? value : 0.0f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}""",
    "structs with padding": """struct Item { double weight; char kind; int index; char last; };
__global__ void k(Item* out, const int* n) {
    Item items[8];
    for (int i = 0; i < 8; ++i) {
        items[i].weight = i;
        items[i].kind = 1;
        items[i].index = i;
        items[i].last = 2;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = items[(n[0] + threadIdx.x) % 8];
}""",
    "a random sine": """__global__ void k(float* out, const int* n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = sinf(1e6f * t * n[0]) + cosf(1e7f * t);
}""",
}


@pytest.fixture(scope="module")
def simulator() -> Device:
    return gpulab.device("sim")


def sanitized(source: str, simulator: Device, itemsize: int = 4) -> gpulab.Findings:
    kernel = simulator.compile(source)
    arguments = simulator.zeros(2 * 32 * itemsize // 4), simulator.asarray(np.array([5, 40], np.int32))
    return gpulab.sanitize(kernel, 2, 32, arguments)


@pytest.mark.parametrize("name", WRONG)
def test_read_of_an_unwritten_local_element_is_reported(name: str, simulator: Device) -> None:
    source, line, block, thread, named = WRONG[name]
    (finding,) = sanitized(source, simulator)
    place = finding.tool, finding.kind, finding.line, finding.block, finding.thread
    assert place == ("initcheck", "uninitialized_read", line, block, thread)
    assert named in finding.message


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernel_with_local_memory_has_no_finding(name: str, simulator: Device) -> None:
    assert list(sanitized(RIGHT[name], simulator, itemsize=24)) == []


def test_repeated_launches_keep_results_and_output(simulator: Device) -> None:
    kernel = simulator.compile("""#include <cstdio>
__global__ void k(int* out, const int* n, float* unwritten) {
    int own[4];
    for (int i = 0; i < n[0] % 4; ++i) own[i] = 7 + i;
    printf("%d\\n", own[0]);
    out[0] += own[n[0] % 4];
}""")
    out, unwritten = simulator.zeros(1, np.int32), simulator.empty(4)
    n = simulator.asarray(np.array([1], np.int32))
    (finding,) = gpulab.sanitize(kernel, 1, 1, (out, n, unwritten))
    assert finding.line == 6
    assert (simulator.asnumpy(out)[0], kernel.printed) == (-1, "7\n")

    reader = simulator.compile("__global__ void k(float* x, const float* y) { x[0] = y[0]; }")
    findings = gpulab.sanitize(reader, 1, 1, (simulator.zeros(1), unwritten))
    assert [each.kind for each in findings] == ["uninitialized_read"]
