"""Counts by source line of kernels that belong to no problem."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpulab
from gpulab.errors import MemoryFault, UsageError
from gpulab.profiling.counts.cell_counts import count_launch
from tests.python_device import PythonDevice

STRIDED = """
// Consecutive threads read elements that are `stride` apart.
__global__ void strided(const float* x, float* y, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i * stride];
    y[i] = y[i] + value;
}
"""
SHARED = """
__global__ void reversed(float* y)
{
    extern __shared__ float tile[];
    tile[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""


@pytest.fixture
def device():
    return gpulab.device("sim:h200")


@pytest.fixture
def launch(device):
    """Return kernel, grid, block and arguments of a launch of `strided` on two blocks of 64 threads."""
    x = device.asarray(np.arange(2048, dtype=np.float32))
    return device.compile(STRIDED), (2, 1), (64,), [x, device.zeros(128), 4]


def test_lines_are_those_of_the_source(launch):
    counts = count_launch(*launch)
    assert [line.text for line in counts.lines] == STRIDED.strip("\n").splitlines()
    assert next(line for line in counts.lines if line.number == 6).sectors.per_request == 16


def test_arrays_are_named_after_the_parameters(launch):
    counts = count_launch(*launch)
    assert {group.array for line in counts.lines for group in line.accesses} == {"x", "y"}


def test_arrays_keep_their_values(device, launch):
    count_launch(*launch)
    assert not device.asnumpy(launch[3][1]).any()


def test_array_that_is_passed_twice_has_one_name(device, launch):
    kernel, grid, block, (x, _, stride) = launch
    counts = count_launch(kernel, grid, block, [x, x, stride])
    assert {group.array for line in counts.lines for group in line.accesses} == {"x"}


def test_size_names_grid_and_block(launch):
    assert re.findall(r"\d+", count_launch(*launch).size) == ["2", "64"]
    counts = count_launch(launch[0], (2, 2, 1), (16, 4), launch[3])
    assert "2 x 2" in counts.size
    assert "16 x 4" in counts.size
    assert counts.size in counts.origin


def test_dynamic_shared_memory_is_counted(device):
    counts = count_launch(device.compile(SHARED), 1, 64, [device.zeros(64)], 256)
    assert {(space, kind) for space, kind, _ in counts.totals} >= {("shared", "load"), ("shared", "store")}


def test_kernel_from_ptx_has_totals_and_no_lines(device, launch):
    kernel, *rest = launch
    counts = count_launch(device.load_ptx(kernel.program.ptx), *rest)
    assert counts.lines == ()
    assert counts.totals[0][2].per_request == pytest.approx(10)  # of x 16, of y 4


def test_fault_of_the_launch_is_raised(device, launch):
    kernel, grid, block, (_, y, stride) = launch
    with pytest.raises(MemoryFault, match="line 6"):
        count_launch(kernel, grid, block, [device.zeros(16), y, stride])


@pytest.mark.parametrize("count", [0, 2, 4])
def test_wrong_number_of_arguments_is_a_usage_error(launch, count):
    kernel, grid, block, args = launch
    with pytest.raises(UsageError, match="3"):
        count_launch(kernel, grid, block, (args * 2)[:count])


def test_object_that_is_no_kernel_is_a_usage_error():
    with pytest.raises(UsageError, match="str"):
        count_launch("strided", 1, 32, [])  # type: ignore[arg-type]


def test_kernel_without_ptx_is_a_usage_error():
    kernel = PythonDevice().kernel(lambda: None, "acted")
    with pytest.raises(UsageError, match="PTX"):
        count_launch(kernel, 1, 32, [])
