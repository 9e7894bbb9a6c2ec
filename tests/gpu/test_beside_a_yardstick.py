"""A kernel in turns with a copy and with the vendor's product, on a real GPU."""

from __future__ import annotations

import pytest

from gpulab.devices.base import Device
from gpulab.profiling.baseline import time_against_baseline
from tests.kernel_configs import config

PRODUCT = """extern "C" __global__
void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) {
    int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y;
    float sum = 0;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}"""


@pytest.mark.parametrize(("of", "unit"), [("copy", "GB/s"), ("sgemm", "GFLOPS")])
def test_both_are_measured_in_as_many_rounds(gpu: Device, of: str, unit: str) -> None:
    kernel = gpu.compile(PRODUCT)
    beside = time_against_baseline(
        kernel,
        config("matmul.K1"),
        device=gpu,
        of=of,
        shape=(512, 256, 384),
        rounds=4,
    )
    assert beside.kernel.provenance.kind == beside.baseline.provenance.kind == "measured"
    assert len(beside.kernel.samples_ms) == len(beside.baseline.samples_ms) == 4
    assert beside.unit == unit
    assert beside.fraction > 0
