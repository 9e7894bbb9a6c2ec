"""Any launch counted line by line: the kernels of no problem, with the arrays that a notebook gives them."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.errors import MemoryFault, UsageError
from gpulab.profiling.counts.cell_counts import count_launch
from tests.python_device import PythonDevice

STRIDED = """
// every thread takes one element, `stride` elements from its neighbour's
__global__ void strided(const float* x, float* y, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i * stride];
    y[i] = y[i] + value;
}
"""
SHARED = """
__global__ void turned(float* y)
{
    extern __shared__ float room[];
    room[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
"""


@pytest.fixture
def device():
    return gpulab.device("sim:h200")


@pytest.fixture
def launch(device):
    """A launch of `strided` on two blocks of 64 threads, with its arrays."""
    x = device.asarray(np.arange(2048, dtype=np.float32))
    return device.compile(STRIDED), (2, 1), (64,), [x, device.zeros(128), 4]


def test_the_lines_are_those_of_the_kernels_text(launch):
    counts = count_launch(*launch)
    assert [line.text for line in counts.lines] == STRIDED.strip("\n").splitlines()
    assert next(line for line in counts.lines if line.number == 6).sectors.per_request == 16


def test_arrays_have_the_names_of_the_parameters(launch):
    counts = count_launch(*launch)
    assert {group.array for line in counts.lines for group in line.accesses} == {"x", "y"}


def test_the_arrays_stay_as_they_are(device, launch):
    count_launch(*launch)
    assert not device.asnumpy(launch[3][1]).any()


def test_one_array_given_twice_is_one_array(device, launch):
    kernel, grid, block, (x, _, stride) = launch
    counts = count_launch(kernel, grid, block, [x, x, stride])
    assert {group.array for line in counts.lines for group in line.accesses} == {"x"}


def test_it_says_on_which_launch_it_counted(launch):
    counts = count_launch(*launch)
    assert "a grid of 2 blocks of 64 threads" in counts.origin
    flat = count_launch(launch[0], (2, 2, 1), (16, 4), launch[3])
    assert flat.size == "a grid of 2 x 2 blocks of 16 x 4 threads"


def test_dynamic_shared_memory_is_counted_too(device):
    counts = count_launch(device.compile(SHARED), 1, 64, [device.zeros(64)], 256)
    assert {(space, kind) for space, kind, _ in counts.totals} >= {("shared", "load"), ("shared", "store")}


def test_a_kernel_of_ptx_has_totals_and_no_lines(device, launch):
    kernel, *rest = launch
    counts = count_launch(device.load_ptx(kernel.program.ptx), *rest)
    assert counts.lines == ()
    assert counts.totals[0][2].per_request == pytest.approx(10)  # of x 16, of y 4


def test_a_fault_is_raised(device, launch):
    kernel, grid, block, (_, y, stride) = launch
    with pytest.raises(MemoryFault, match="line 6"):
        count_launch(kernel, grid, block, [device.zeros(16), y, stride])


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_of_arguments_is_said(launch, count):
    kernel, grid, block, args = launch
    with pytest.raises(UsageError, match="takes 3 arguments"):
        count_launch(kernel, grid, block, (args * 2)[:count])


def test_what_is_no_kernel_is_said():
    with pytest.raises(UsageError, match="no kernel but str"):
        count_launch("strided", 1, 32, [])  # type: ignore[arg-type]


def test_a_kernel_without_ptx_is_said():
    kernel = PythonDevice().kernel(lambda: None, "acted")
    with pytest.raises(UsageError, match="no PTX"):
        count_launch(kernel, 1, 32, [])
