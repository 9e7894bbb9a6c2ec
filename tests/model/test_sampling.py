"""Sampled blocks of a launch: grids that are larger than the problem, and blocks whose work differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab.devices import open_device
from gpulab.gpus.architectures import architecture
from gpulab.gpus.catalogue import gpu
from gpulab.model.profile import estimate_recording
from gpulab.model.recording import LaunchRecording
from gpulab.model.sampling import (
    SEARCHED_BLOCKS,
    SampledLaunch,
    launch_sample,
    record_launch,
    with_work_found,
)

SPEC = gpu("h200")
THREADS = 256
Grid = tuple[int, int, int]

# Blocks from `first` on have work, for `blocks` of them.
ADD = """
__global__ void add(float* x, int first, int blocks)
{
    int block = blockIdx.x - first;
    if (block >= 0 && block < blocks)
        x[block * blockDim.x + threadIdx.x] += 1.0f;
}
"""
SQUARE = """
__global__ void square(float* x, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < n && row < n)
        x[row * n + column] += 1.0f;
}
"""
# As in a causal softmax: a block of column t adds t + 1 numbers.
CAUSAL = """
__global__ void causal(float* x, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n * (blockIdx.x + 1); ++i)
        sum = sum * 0.5f + x[i & 1023];
    x[threadIdx.x] = sum;
}
"""


# The assembler unrolls the loops. `total` is the same for all lanes; the results of `place` are used.
UPDATES = """
__global__ void update(int* total, int* place, int n, int value)
{
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        atomicAdd(total, value + threadIdx.x);
        atomicExch(place + threadIdx.x, i);
    }
    for (int i = 0; i < n; ++i)
        sum += atomicAdd(total, sum + threadIdx.x);
    place[threadIdx.x] = sum;
}
"""


def add(grid: int, first: int, blocks: int) -> SampledLaunch:
    device: Any = open_device("sim:h200")
    args = (device.zeros(blocks * THREADS), np.int32(first), np.int32(blocks))
    return SampledLaunch(device.compile(ADD), (grid, 1, 1), (THREADS, 1, 1), args)


def square(grid: Grid, n: int) -> SampledLaunch:
    device: Any = open_device("sim:h200")
    return SampledLaunch(device.compile(SQUARE), grid, (16, 16, 1), (device.zeros(n * n), np.int32(n)))


def modelled_us(recording: LaunchRecording) -> float:
    return 1e3 * estimate_recording(recording, SPEC)[1].time_ms


@pytest.mark.parametrize(("grid", "first", "blocks"), [(4096, 0, 16), (4096, 4000, 96), (999, 1, 7)])
def test_blocks_with_work_are_found(grid: int, first: int, blocks: int) -> None:
    working = with_work_found(add(grid, first, blocks)).working
    assert working is not None
    assert working.tolist() == list(range(first, first + blocks))


def test_blocks_with_work_are_found_on_two_axes() -> None:
    working = with_work_found(square((40, 40, 1), 64)).working
    assert working is not None
    assert working.tolist() == [40 * y + x for y in range(4) for x in range(4)]


def test_very_large_grid_is_searched_at_equal_distances() -> None:
    step = 4
    working = with_work_found(add(step * SEARCHED_BLOCKS, 0, 1000)).working
    assert working is not None
    assert working.tolist() == list(range(1000))


@pytest.mark.parametrize("launch", [add(1000, 0, 1000), add(1000, 400, 200), square((5, 5, 1), 64)])
def test_no_block_is_searched_if_that_in_the_middle_has_work(launch: SampledLaunch) -> None:
    assert with_work_found(launch).working is None


def test_no_block_is_left_out_if_none_makes_a_request() -> None:
    assert with_work_found(add(1000, 2000, 1)).working is None


def test_blocks_without_work_add_the_time_in_which_they_start() -> None:
    """An H100 executes 2**20 blocks of 256 threads without work in 633 us."""
    exact, large = record_launch(add(4096, 0, 4096), SPEC), record_launch(add(65536, 0, 4096), SPEC)
    assert large.blocks == 4096
    assert [wave.blocks for wave in large.waves] == [wave.blocks for wave in exact.waves]
    assert np.array_equal(large.waves[-1].used, exact.waves[-1].used)
    idle = modelled_us(large) - modelled_us(exact)
    assert idle == pytest.approx((65536 - 4096) * 633 / 2**20, rel=0.05)
    assert estimate_recording(large, SPEC)[1].bound == "blocks"
    assert "of 4,096 blocks with work" in large.description


def test_idle_blocks_run_beside_a_few_long_ones() -> None:
    exact, large = record_launch(add(16, 0, 16), SPEC), record_launch(add(272, 0, 16), SPEC)
    assert modelled_us(large) == pytest.approx(modelled_us(exact))


@pytest.mark.parametrize("grid", [(64, 8, 1), (8, 64, 1), (200, 1, 1)])
def test_few_long_blocks_represent_work_that_increases_along_an_axis(grid: Grid) -> None:
    device: Any = open_device("sim:h200")
    launch = SampledLaunch(
        device.compile(CAUSAL), grid, (32, 1, 1), (device.zeros(1024), np.int32(6_000_000 // grid[0]))
    )
    recording = record_launch(launch, SPEC)
    assert len(recording.block_numbers) < 10
    columns = np.array(recording.block_numbers) % grid[0] + 1
    assert columns.mean() == pytest.approx((grid[0] + 1) / 2, rel=0.15)


def test_all_copies_of_an_atomic_operation_are_combined() -> None:
    device: Any = open_device("sim:h200")
    args = (device.zeros(1, np.int32), device.zeros(64, np.int32), np.int32(8), np.int32(1))
    launch = SampledLaunch(device.compile(UPDATES), (4, 1, 1), (64, 1, 1), args)
    sample = launch_sample(record_launch(launch, SPEC), SPEC, architecture(SPEC))
    updates = {row: one for row, one in sample.accesses.items() if one.updates and len(one.masks)}
    same = {row for row, one in updates.items() if (one.addresses == one.addresses[0, 0]).all()}
    assert len(same) > 2
    assert same == updates.keys() & sample.combined


LOADS = """
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* a, float* b)
{
    __shared__ __align__(16) float s[128];
    float x = a[threadIdx.x] + __ldcs(a + threadIdx.x);
    float y = __ldcg(a + threadIdx.x) + *(const volatile float*)(a + threadIdx.x);
    __pipeline_memcpy_async(s + 4 * threadIdx.x, a + 4 * threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __pipeline_memcpy_async(s + threadIdx.x, a + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[threadIdx.x] = x + y + s[threadIdx.x];
}
"""


def test_loads_and_copies_past_l1() -> None:
    device: Any = open_device("sim:h200")
    launch = SampledLaunch(
        device.compile(LOADS), (4, 1, 1), (32, 1, 1), (device.zeros(128), device.zeros(32))
    )
    accesses = record_launch(launch, SPEC).accesses.values()
    loads = [one for one in accesses if one.space == "global" and one.reads]
    assert sorted((one.copies, one.bypasses_l1, one.width) for one in loads) == [
        (False, False, 4),
        (False, False, 4),
        (False, True, 4),
        (False, True, 4),
        (True, False, 4),
        (True, True, 16),
    ]
