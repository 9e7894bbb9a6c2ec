"""Modules on a CUDA GPU: kernels of one text share variables, which the host reads and writes."""

from __future__ import annotations

import numpy as np

import gpulab
from gpulab.devices.base import Device, DeviceModule

SOURCE = """
__constant__ float weights[2][2] = {{1, 2}, {3, 4}};
__device__ int hits = 5;
__device__ int g[4];
static __device__ int hidden;
__global__ void put() { g[threadIdx.x] = threadIdx.x + 1; hidden++; }
__global__ void get(int* x) { x[threadIdx.x] = g[threadIdx.x]; }
__global__ void weigh(float* x)
{
    atomicAdd(&hits, 1);
    x[threadIdx.x] = weights[threadIdx.x / 2][threadIdx.x % 2];
}
template <int N> __global__ void fill() { g[threadIdx.x] = N; }
"""


def hits(gpu: Device, module: DeviceModule) -> int:
    return int(gpu.asnumpy(module.get_global("hits")))


def test_kernels_of_one_text_share_their_variables(gpu: Device) -> None:
    gpu.compile(SOURCE, name="put")(1, 4, ())
    x = gpu.zeros(4, np.int32)
    gpu.compile(SOURCE, name="get")(1, 4, (x,))
    np.testing.assert_array_equal(gpu.asnumpy(x), [1, 2, 3, 4])


def test_variables_are_read_and_written(gpu: Device) -> None:
    module = gpu.module(SOURCE)
    np.testing.assert_array_equal(gpu.asnumpy(module.get_global("weights")), [[1, 2], [3, 4]])
    module.set_global("weights", [[5, 6], [7, 8]])
    module.set_global("hits", 100)
    x = gpu.zeros(4)
    module.get_function("weigh")(1, 4, (x,))
    np.testing.assert_array_equal(gpu.asnumpy(x), [5, 6, 7, 8])
    assert hits(gpu, module) == 104


def test_instance_of_a_template_shares_the_variables_of_its_module(gpu: Device) -> None:
    module = gpu.module(SOURCE, name_expressions=("fill<8>",))
    module.get_function("fill<8>")(1, 4, ())
    np.testing.assert_array_equal(gpu.asnumpy(module.get_global("g")), [8, 8, 8, 8])


def test_simulated_launches_copy_the_variables(gpu: Device) -> None:
    module = gpu.module(SOURCE)
    module.set_global("hits", 41)
    kernel, x = module.get_function("weigh"), gpu.zeros(4)
    assert gpulab.sanitize(kernel, 1, 4, (x,)) == []
    assert hits(gpu, module) == 45
    gpulab.profile(kernel, 1, 4, (x,))
    assert hits(gpu, module) == 45
