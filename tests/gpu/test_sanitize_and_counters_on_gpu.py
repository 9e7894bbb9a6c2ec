"""Tests of `sanitize` and `counters` for a GPU's kernel, which is instrumented on the simulator."""

from __future__ import annotations

import numpy as np

import gpulab
from gpulab.devices.base import Device

SOURCE = """extern "C" __global__ void mirror(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = x[i];
    BARRIER
    y[i] = s[63 - t];
}"""


def test_race_in_a_gpu_kernel_is_found(gpu: Device) -> None:
    x = gpu.asarray(np.arange(256, dtype=np.float32))
    wrong = gpu.compile(SOURCE.replace("BARRIER", ""))
    (finding,) = gpulab.sanitize(wrong, 4, 64, (x, gpu.empty(256)))
    assert finding.tool == "racecheck"
    assert finding.line in (4, 6)


def test_sanitized_kernel_leaves_its_result_on_the_gpu(gpu: Device) -> None:
    host = np.arange(256, dtype=np.float32)
    x, y = gpu.asarray(host), gpu.zeros(256)
    correct = gpu.compile(SOURCE.replace("BARRIER", "__syncthreads();"))
    assert gpulab.sanitize(correct, 4, 64, (x, y)) == []
    np.testing.assert_array_equal(gpu.asnumpy(y), host.reshape(4, 64)[:, ::-1].ravel())


def test_counted_kernel_leaves_its_result_on_the_gpu(gpu: Device) -> None:
    host = np.arange(256, dtype=np.float32)
    x, y = gpu.asarray(host), gpu.zeros(256)
    counts = gpulab.counters(gpu.compile(SOURCE.replace("BARRIER", "__syncthreads();")), 4, 64, (x, y))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 8
    assert counts.global_load_sectors == 32
    np.testing.assert_array_equal(gpu.asnumpy(y), host.reshape(4, 64)[:, ::-1].ravel())
