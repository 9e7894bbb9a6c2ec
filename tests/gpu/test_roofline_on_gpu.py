"""Ceilings measured on a GPU lie below its data sheet, and a roofline there has measured times."""

from __future__ import annotations

import pytest

from gpulab.config import defines
from gpulab.devices.base import Device
from gpulab.problems import problem
from gpulab.profiling.ceilings import measured_ceilings, published_ceilings
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


def test_every_level_is_measured_and_none_is_above_what_the_gpu_can_do(gpu: Device) -> None:
    published = {c.level: c.rate for c in published_ceilings(gpu.spec)}
    ceilings = measured_ceilings(gpu)
    print(*(f"{c}: {c.provenance.detail}" for c in ceilings), sep="\n")
    assert {c.level for c in ceilings} >= set(published)
    for ceiling in ceilings:
        if ceiling.level in published:
            # The clock may go a little above the catalogue's.
            assert 0.3 * published[ceiling.level] < ceiling.rate < 1.1 * published[ceiling.level]
        assert ceiling.clock_mhz is not None
        assert 0.2 * gpu.spec.boost_clock_mhz < ceiling.clock_mhz < 1.05 * gpu.spec.boost_clock_mhz


def test_times_are_measured_and_bytes_counted(gpu: Device) -> None:
    kernel = gpu.compile(K1, "mmkernel", defines(BLOCK, TILE))
    versions = [KernelVersion(config("matmul.K1", BLOCK, TILE), kernel)]
    shape = (4096, 4096, 4096)  # arrays that L2 cannot hold
    found = roofline_of(problem("matmul"), versions, device=gpu, shape=shape)
    (point,) = found.points
    assert point.provenance.kind == "measured"
    assert point.bytes_provenance.kind == "counted"
    assert any(c.measured for c in found.ceilings)
    assert not found.mistakes
