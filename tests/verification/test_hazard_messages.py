"""Tests of the corrections that racecheck suggests."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from tests.kernels.findings.findings import cases

CASES = {case.id: case for case in cases("racecheck")}


@pytest.fixture(scope="module")
def simulator() -> Device:
    return gpulab.device("sim")


@pytest.mark.parametrize(
    ("case_name", "names"),
    [
        ("shared_bins_without_atomics", ["atomicAdd"]),
        ("product_without_first_barrier", ["__syncthreads()", "line 11", "line 14"]),
        ("product_without_second_barrier", ["after line 15", "line 11"]),
        ("last_warp_in_lockstep", ["__syncwarp()", "line 14", "line 15"]),
        ("clamped_at_the_ragged_edge", ["index"]),
        ("async_copy_without_a_wait", ["cp.async.wait_group"]),
        ("flag_without_a_fence", ["__threadfence()"]),
    ],
)
def test_message_names_the_correction(case_name: str, names: list[str], simulator: Device) -> None:
    case = CASES[f"racecheck/{case_name}"]
    kernel = simulator.compile(case.source)
    findings = gpulab.sanitize(
        kernel, case.grid, case.block, case.device_arguments(simulator), shared_mem=case.shared_mem
    )
    assert [name for name in names if name not in findings[0].message] == []


@pytest.mark.parametrize(
    ("case_name", "events"),
    [
        (
            "product_without_second_barrier",
            ["next round of the loop over k0", "(line 11", "still reads it in the round before (line 15)"],
        ),
        ("one_buffer_one_barrier", ["next round of the loop over r", "warp 0", "warp 1", "end of the loop"]),
        ("product_without_first_barrier", ["may not have written it yet (line 11)", "as[0][0]"]),
        ("scan_in_one_row", ["writes s[1] (line 12)", "still reads it (line 11)"]),
    ],
)
def test_message_tells_the_order_of_events(case_name: str, events: list[str], simulator: Device) -> None:
    case = CASES[f"racecheck/{case_name}"]
    args = case.device_arguments(simulator)
    findings = gpulab.sanitize(simulator.compile(case.source), case.grid, case.block, args)
    assert [event for event in events if event not in findings[0].message] == [], findings[0].message


def findings_of(source: str, simulator: Device, block: int | tuple[int, ...] = 64) -> list[gpulab.Finding]:
    """Return the findings of a kernel of one array of 4096 elements."""
    return gpulab.sanitize(simulator.compile(source), 1, block, (simulator.zeros(4096),))


def test_loop_without_any_barrier_needs_two(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[64];
        int t = threadIdx.x, rounds = x[0] + 4;
        for (int k = 0; k < rounds; k++) {
            s[t] = x[t] + k;
            x[t + 64] += s[63 - t];
        }
    }"""
    (finding,) = findings_of(source, simulator)
    assert "between line 5 and line 6" in finding.message
    assert "another one at the end of the loop over k" in finding.message


def test_barrier_is_advised_outside_the_branch_of_one_thread(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ int turn;
        if (threadIdx.x == 0) turn = 0;
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) {
            if (threadIdx.x == k) {
                x[turn] = k;
                turn = turn + 1;
            }
        }
    }"""
    (finding,) = findings_of(source, simulator)
    assert "between line" not in finding.message
    assert "Add a __syncthreads() after line 9, at the end of the loop over k" in finding.message


def test_barrier_between_lines_of_a_branch_ends_the_branch(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[32];
        int t = threadIdx.x;
        if (t < 30) {
            s[t] = t;
            x[t] = s[29 - t];
        }
    }"""
    (finding,) = findings_of(source, simulator)
    assert "between line 5 and line 6" in finding.message
    assert "end the branch of line 4 before it" in finding.message


def test_barrier_is_placed_although_a_loop_searches_in_memory(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[64];
        int t = threadIdx.x, low = 0, high = 64;
        s[t] = x[t];
        while (low < high) {
            int middle = (low + high) / 2;
            if (s[middle] < t) low = middle + 1; else high = middle;
        }
        x[t] = low;
    }"""
    (finding,) = findings_of(source, simulator)
    assert "Add a __syncthreads() between line 4 and line 7" in finding.message
    assert "flag" not in finding.message


def test_read_before_an_update_is_named_if_the_update_computes_its_address_twice(simulator: Device) -> None:
    source = """__device__ void sweep(float* s, int t) {
        for (int stride = 1; stride < 256; stride *= 2) {
            int index = (t + 1) * stride * 2 - 1;
            if (index < 256) s[index] += s[index - stride];
            __syncthreads();
        }
    }
    __global__ void k(float* x) {
        __shared__ float s[256];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        float own = s[threadIdx.x];
        sweep(s, threadIdx.x);
        x[threadIdx.x] = own + s[threadIdx.x];
    }"""
    (finding,) = findings_of(source, simulator, block=256)
    assert finding.line == 12
    assert "in line 4" in finding.message


def test_race_of_blocks_whose_reader_is_unknown_names_a_second_launch(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[65];
        int t = threadIdx.x, i = blockIdx.x * 64 + t;
        s[t] = x[i];
        if (t == 63) s[64] = x[i + 1];
        __syncthreads();
        x[i] = s[t + 1];
    }"""
    kernel = simulator.compile(source)
    values = simulator.asarray(np.arange(4096, dtype=np.float32))
    (finding,) = gpulab.sanitize(kernel, 2, 64, (values,))
    assert "use a second launch" in finding.message


def test_of_two_asynchronous_copies_the_earlier_one_is_named(simulator: Device) -> None:
    source = """#include <cuda_pipeline.h>
    __global__ void k(float* x) {
        __shared__ float s[64];
        int t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &x[t], 4);
        __pipeline_memcpy_async(&s[t], &x[t + 64], 4);
        __pipeline_wait_prior(0);
        x[t + 128] = s[t];
    }"""
    x = simulator.asarray(np.arange(256, dtype=np.float32))
    finding = gpulab.sanitize(simulator.compile(source), 1, 64, (x,))[0]
    assert "which an asynchronous copy writes in line 5" in finding.message
    assert "copy of line 5 may not have finished" in finding.message


@pytest.mark.parametrize(
    ("wait", "other", "advice"),
    [
        ("__pipeline_wait_prior(0);", "63 - t", "after the wait for the copy and before line 7"),
        ("", "63 - t", "after the wait for the copy and before line 7"),
        ("__syncthreads();", "63 - t", "Wait for it, and then call __syncthreads()"),
        ("", "t", "Wait for it, and then call __syncthreads()"),
    ],
    ids=["no barrier", "no wait, no barrier", "no wait", "own element, no wait"],
)
def test_read_after_an_asynchronous_copy_asks_for_what_is_missing(
    wait: str, other: str, advice: str, simulator: Device
) -> None:
    source = f"""#include <cuda_pipeline.h>
    __global__ void k(float* x) {{
        __shared__ float s[64];
        int t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &x[t], 4);
        {wait}
        x[t + 128] = s[{other}];
    }}"""
    x = simulator.asarray(np.arange(256, dtype=np.float32))
    finding = gpulab.sanitize(simulator.compile(source), 1, 64, (x,))[0]
    assert advice in finding.message


def test_two_threads_that_write_one_element_are_asked_for_the_index(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float tile[32][8];
        tile[threadIdx.y][threadIdx.x] = threadIdx.x + 100 * threadIdx.y;
        __syncthreads();
        x[threadIdx.x + 32 * threadIdx.y] = tile[threadIdx.y][threadIdx.x];
    }"""
    finding = findings_of(source, simulator, (32, 8))[0]
    assert "tile[1][0]" in finding.message
    assert "array dimensions" in finding.message
    assert "barrier" not in finding.message
    assert "__sync" not in finding.message


@pytest.mark.parametrize(
    "histogram",
    [
        "h[(int) x[t]]++",
        "h[(int) x[t]] += 1",
        "h[(int) x[t]] = h[(int) x[t]] + 1",
        "int old = h[(int) x[t]];\nh[(int) x[t]] = old + 1",
    ],
)
def test_increment_by_several_threads_is_advised_an_atomic_only(histogram: str, simulator: Device) -> None:
    source = f"""__global__ void k(float* x) {{
        __shared__ int h[16];
        int t = threadIdx.x;
        if (t < 16) h[t] = 0;
        __syncthreads();
        {histogram};
        __syncthreads();
        if (t < 16) x[t + 64] = h[t];
    }}"""
    (finding,) = findings_of(source, simulator)
    assert "atomicAdd()" in finding.message
    assert "__sync" not in finding.message


def test_array_that_is_too_small_gives_one_finding(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float tile[8][32];
        int i = threadIdx.x + 1, j = threadIdx.y + 1;
        tile[j][i] = x[i];
        __syncthreads();
        x[i] = tile[j][i - 1];
    }"""
    (finding,) = findings_of(source, simulator, (32, 8))
    assert finding.tool == "memcheck"
    assert "tile[8][32]: 1,024 bytes" in finding.message


def test_race_in_global_memory_between_blocks_is_not_advised_a_barrier_only(simulator: Device) -> None:
    source = "__global__ void k(float* x) { int i = blockIdx.x * 64 + threadIdx.x; x[i] = x[i + 1] + 1; }"
    args = (simulator.zeros(4096),)
    (finding,) = gpulab.sanitize(simulator.compile(source), 4, 64, args)
    assert "another array" in finding.message


def test_update_in_two_lines_names_both(simulator: Device) -> None:
    source = """__global__ void k(float* h) {
        float old = h[0];
        h[0] = old + 1;
    }"""
    finding = findings_of(source, simulator)[0]
    assert "Line 2 reads the element and line 3 writes it back" in finding.message


def test_read_of_a_neighbour_before_an_update_is_no_lost_update(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[256];
        int t = threadIdx.x;
        s[t] = x[t];
        for (int d = 1; d < 256; d *= 2) {
            __syncthreads();
            float v = t >= d ? s[t - d] : 0;
            s[t] += v;
        }
        x[t] = s[t];
    }"""
    (finding,) = findings_of(source, simulator, 256)
    assert "Add a __syncthreads() between line 7 and line 8" in finding.message


def test_lost_update_before_a_read_is_named(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[4];
        int t = threadIdx.x;
        if (t < 4) s[t] = 0;
        __syncthreads();
        s[t % 4] += x[t];
        x[t] = s[t % 4];
    }"""
    assert "atomicAdd" in findings_of(source, simulator, 256)[0].message


def test_element_that_is_read_and_replaced_is_not_an_update(simulator: Device) -> None:
    source = """__global__ void k(float* x) {
        __shared__ float s[64];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        float old = s[threadIdx.x / 2];
        s[threadIdx.x / 2] = x[64];
        x[threadIdx.x] = old;
    }"""
    finding = findings_of(source, simulator)[0]
    assert "atomicAdd" not in finding.message
