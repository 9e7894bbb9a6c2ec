"""Times of launches on a GPU: clocks, cold and warm L2, and graphs of short kernels."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.devices.streams import Launch
from gpulab.profiling.benchmark import SamplingOptions, measure_launches

COPY = """extern "C" __global__ void copy(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}"""
SHORT, FITS_L2, LONG = 1 << 10, 1 << 20, 1 << 26  # elements


def copying(gpu: Device, elements: int, l2: str = "warm") -> gpulab.Benchmark:
    args = [gpu.zeros(elements), gpu.zeros(elements), np.int32(elements)]
    launch = Launch(gpu.compile(COPY), -(-elements // 256), 256, args)
    return measure_launches(launch, SamplingOptions(l2=l2))


def test_long_launch_has_its_clock_and_percentiles(gpu: Device) -> None:
    timing = copying(gpu, LONG)
    assert timing.p20_ms <= timing.median_ms <= timing.p80_ms
    assert timing.launches_per_sample == 1
    if timing.clock_mhz is not None:  # NVML does not report it everywhere
        assert 100 < timing.clock_mhz < 4000
        assert "SMs at" in timing.provenance.detail


def test_short_kernel_is_timed_as_a_graph(gpu: Device) -> None:
    timing = copying(gpu, SHORT)
    assert timing.launches_per_sample > 1
    assert 0 < timing.median_ms < 0.02


def test_graph_launches_as_often_as_it_recorded(gpu: Device) -> None:
    add = gpu.compile("__global__ void add(float* x) { x[threadIdx.x] += 1.0f; }")
    x = gpu.zeros(32)
    replay = gpu.repeated(lambda: add(1, 32, (x,)), 5)
    assert not gpu.asnumpy(x).any()
    for _ in range(3):
        replay()
    gpu.synchronize()
    np.testing.assert_array_equal(gpu.asnumpy(x), np.full(32, 15))


def test_cold_l2_is_named(gpu: Device) -> None:
    assert "cold L2" in copying(gpu, FITS_L2, "cold").provenance.detail
    assert "warm L2" in copying(gpu, FITS_L2).provenance.detail


def test_clock_of_the_device_is_reported(gpu: Device) -> None:
    state = gpu.clock_state()
    if state is None or state.sm_mhz is None:
        pytest.skip("NVML does not report the clock of this GPU")
    assert state.sm_mhz > 100
