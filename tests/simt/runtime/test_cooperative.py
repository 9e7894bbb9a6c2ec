"""Cooperative launches: barriers of the whole grid, and groups of several warps."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device, Kernel

ROLL = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void roll(int* a, int* b, int rounds) {
    auto grid = cg::this_grid();
    int t = grid.thread_rank(), last = grid.size() - 1;
    for (int r = 0; r < rounds; r++) {
        b[t] = a[t] + 1;
        FIRST;
        a[t] = b[t < last ? t + 1 : 0];
        SECOND;
    }
}"""
TILES = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void tiles(int* out) {
    __shared__ int s[256];
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = t;
    SYNC;
    out[t] = 1000 * s[t ^ SIZE - 1] + cg::reduce(tile, 1, cg::plus<int>());
}"""


@pytest.fixture(scope="module")
def h200() -> Device:
    return gpulab.device("sim:h200")


def rolling(device: Device, first: str = "grid.sync()", second: str = "grid.sync()") -> Kernel:
    source = ROLL.replace("FIRST", first).replace("SECOND", second)
    return device.compile(source, cooperative=True)


def arguments(device: Device, threads: int, rounds: int = 3) -> tuple[object, ...]:
    return device.asarray(np.arange(threads, dtype=np.int32)), device.zeros(threads, np.int32), rounds


@pytest.mark.parametrize(("grid", "block"), [(1, 64), (7, 32), (40, 96)])
def test_blocks_wait_for_each_other(grid: int, block: int, h200: Device) -> None:
    args = arguments(h200, grid * block)
    rolling(h200)(grid, block, args)
    expected = np.arange(grid * block)
    for _ in range(3):
        expected = np.roll(expected + 1, -1)
    np.testing.assert_array_equal(h200.asnumpy(args[0]), expected)


def test_shared_memory_and_registers_belong_to_a_block(h200: Device) -> None:
    source = """#include <cooperative_groups.h>
    __global__ void k(int* out) {
        __shared__ int s[64];
        int own = 100 * blockIdx.x + threadIdx.x;
        s[threadIdx.x] = own;
        cooperative_groups::this_grid().sync();
        out[blockIdx.x * 64 + threadIdx.x] = own + s[63 - threadIdx.x];
    }"""
    out = h200.zeros(9 * 64, np.int32)
    kernel = h200.compile(source, cooperative=True)
    kernel(9, 64, (out,))
    expected = np.repeat(200 * np.arange(9), 64) + 63
    np.testing.assert_array_equal(h200.asnumpy(out), expected)
    assert gpulab.sanitize(kernel, 9, 64, (out,)) == []


def test_synchronized_blocks_do_not_race(h200: Device) -> None:
    assert gpulab.sanitize(rolling(h200), 5, 64, arguments(h200, 320)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("grid.sync()", ""), ("", "grid.sync()"), ("__syncthreads()", "__syncthreads()")],
)
def test_missing_barrier_of_the_grid_is_a_race(first: str, second: str, h200: Device) -> None:
    findings = gpulab.sanitize(rolling(h200, first, second), 5, 64, arguments(h200, 320))
    assert {finding.tool for finding in findings} == {"racecheck"}
    assert {finding.line for finding in findings} <= {7, 9}
    assert findings[0].kind in ("read_after_write", "write_after_read")


def test_values_that_all_blocks_read_before_a_barrier_may_be_replaced(h200: Device) -> None:
    source = """#include <cooperative_groups.h>
    __global__ void k(int* x, int* out) {
        auto grid = cooperative_groups::this_grid();
        int sum = 0;
        for (int i = 0; i < 64; i++) sum += x[i];
        grid.sync();
        if (blockIdx.x == 1) x[threadIdx.x] += sum;
        grid.sync();
        out[grid.thread_rank()] = x[threadIdx.x];
    }"""
    args = h200.asarray(np.arange(64, dtype=np.int32)), h200.zeros(192, np.int32)
    kernel = h200.compile(source, cooperative=True)
    assert gpulab.sanitize(kernel, 3, 64, args) == []
    np.testing.assert_array_equal(h200.asnumpy(args[1]), np.tile(np.arange(64) + 2016, 3))


def test_atomics_after_a_plain_write_and_a_barrier_are_ordered(h200: Device) -> None:
    source = """#include <cooperative_groups.h>
    __global__ void k(double* sum, double* out) {
        auto grid = cooperative_groups::this_grid();
        for (int r = 0; r < 3; r++) {
            if (grid.thread_rank() == 0) *sum = 0;
            grid.sync();
            atomicAdd(sum, 1.0);
            grid.sync();
            out[grid.thread_rank()] = *sum;
            grid.sync();
        }
    }"""
    args = h200.zeros(1, np.float64), h200.zeros(256, np.float64)
    assert gpulab.sanitize(h200.compile(source, cooperative=True), 4, 64, args) == []
    assert set(h200.asnumpy(args[1])) == {256}


def test_cooperative_launch_is_counted(h200: Device) -> None:
    counts = gpulab.counters(rolling(h200), 5, 64, arguments(h200, 320))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 2 * 3 * 10


def test_launch_that_is_not_cooperative_is_refused(h200: Device) -> None:
    source = ROLL.replace("FIRST", "grid.sync()").replace("SECOND", "")
    with pytest.raises(gpulab.LaunchError, match="cooperative=True"):
        h200.compile(source)(2, 64, arguments(h200, 128))


def test_more_blocks_than_fit_are_refused(h200: Device) -> None:
    with pytest.raises(gpulab.LaunchError, match=r"at most 4,224 blocks"):
        rolling(h200)(4225, 64, arguments(h200, 64))


def test_block_that_does_not_reach_the_barrier_is_named(h200: Device) -> None:
    kernel = rolling(h200, "if (blockIdx.x != 1) grid.sync()", "")
    finding, *_ = gpulab.sanitize(kernel, 3, 64, arguments(h200, 192), budget=1 << 20)
    assert (finding.tool, finding.kind, finding.line) == ("synccheck", "barrier_deadlock", 8)
    assert "every block" in finding.message


@pytest.mark.parametrize("size", [64, 128])
def test_tile_of_several_warps_synchronizes_and_reduces(size: int, h200: Device) -> None:
    kernel = h200.compile(TILES.replace("SIZE", str(size)).replace("SYNC", "tile.sync()"))
    out = h200.zeros(256, np.int32)
    kernel(1, 256, (out,))
    np.testing.assert_array_equal(h200.asnumpy(out), 1000 * (np.arange(256) ^ size - 1) + size)
    assert gpulab.sanitize(kernel, 1, 256, (out,)) == []


def test_missing_barrier_of_a_tile_is_a_race(h200: Device) -> None:
    kernel = h200.compile(TILES.replace("SIZE", "64").replace("SYNC", ""))
    (finding,) = gpulab.sanitize(kernel, 1, 256, (h200.zeros(256, np.int32),))
    assert (finding.tool, finding.line) == ("racecheck", 8)
