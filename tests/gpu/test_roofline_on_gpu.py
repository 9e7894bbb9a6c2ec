"""Tests of measured ceilings and of a roofline with measured times, on a GPU."""

from __future__ import annotations

import pytest

from gpulab.config import defines
from gpulab.devices.base import Device
from gpulab.problems import problem
from gpulab.profiling.ceilings import measured_ceilings, published_ceilings
from gpulab.profiling.roofline import TENSOR_LEVELS
from gpulab.profiling.roofline_points import KernelVersion, roofline_of
from tests.kernel_configs import config

pytestmark = pytest.mark.cuda

BLOCK, TILE = (64, 1, 1), (1, 1, 1)
K1 = """
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""


def test_measured_ceilings_do_not_exceed_the_published_ones(gpu: Device) -> None:
    kinds = [kind for kind in TENSOR_LEVELS if gpu.spec.peak_tensor_gflops(kind)]
    published = {c.level: c.rate for c in published_ceilings(gpu.spec, kinds)}
    ceilings = measured_ceilings(gpu, kinds)
    print(*(f"{c}: {c.provenance.detail}" for c in ceilings), sep="\n")
    assert {c.level for c in ceilings} >= set(published)
    for ceiling in ceilings:
        if ceiling.level in published:
            # The boost clock may exceed the catalogue's by a few per cent.
            assert 0.3 * published[ceiling.level] < ceiling.rate < 1.1 * published[ceiling.level]
        assert ceiling.clock_mhz is not None
        assert 0.2 * gpu.spec.boost_clock_mhz < ceiling.clock_mhz < 1.05 * gpu.spec.boost_clock_mhz


def test_points_have_measured_times_and_counted_bytes(gpu: Device) -> None:
    kernel = gpu.compile(K1, "mmkernel", defines(BLOCK, TILE))
    versions = [KernelVersion(config("matmul.K1", BLOCK, TILE), kernel)]
    shape = (4096, 4096, 4096)  # arrays that L2 cannot hold
    roofline = roofline_of(problem("matmul"), versions, device=gpu, shape=shape)
    (point,) = roofline.points
    assert point.provenance.kind == "measured"
    assert point.bytes_provenance.kind == "counted"
    assert any(c.measured for c in roofline.ceilings)
    assert not roofline.mistakes
