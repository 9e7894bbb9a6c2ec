"""`sanitize` and `counters` of a GPU's kernel: the simulator finds and counts, its arrays get the result."""

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


def test_a_race_is_found_in_a_kernel_of_the_gpu(gpu: Device) -> None:
    x = gpu.asarray(np.arange(256, dtype=np.float32))
    wrong = gpu.compile(SOURCE.replace("BARRIER", ""))
    (found,) = gpulab.sanitize(wrong, 4, 64, (x, gpu.empty(256)))
    assert found.tool == "racecheck"
    assert found.line in (4, 6)


def test_a_right_kernel_has_no_finding_and_its_result_is_on_the_gpu(gpu: Device) -> None:
    host = np.arange(256, dtype=np.float32)
    x, y = gpu.asarray(host), gpu.zeros(256)
    right = gpu.compile(SOURCE.replace("BARRIER", "__syncthreads();"))
    assert gpulab.sanitize(right, 4, 64, (x, y)) == []
    np.testing.assert_array_equal(gpu.asnumpy(y), host.reshape(4, 64)[:, ::-1].ravel())


def test_counters_of_a_kernel_of_the_gpu(gpu: Device) -> None:
    host = np.arange(256, dtype=np.float32)
    x, y = gpu.asarray(host), gpu.zeros(256)
    counts = gpulab.counters(gpu.compile(SOURCE.replace("BARRIER", "__syncthreads();")), 4, 64, (x, y))
    assert counts["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 8
    assert counts.global_load_sectors == 32
    np.testing.assert_array_equal(gpu.asnumpy(y), host.reshape(4, 64)[:, ::-1].ravel())
