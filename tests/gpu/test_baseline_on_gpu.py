"""Tests of the comparison with a copy and with cuBLAS, on a GPU."""

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
def test_kernel_and_baseline_are_measured_in_equal_rounds(gpu: Device, of: str, unit: str) -> None:
    kernel = gpu.compile(PRODUCT)
    comparison = time_against_baseline(
        kernel,
        config("matmul.K1"),
        device=gpu,
        of=of,
        shape=(512, 256, 384),
        rounds=4,
    )
    assert comparison.kernel.provenance.kind == comparison.baseline.provenance.kind == "measured"
    assert len(comparison.kernel.samples_ms) == len(comparison.baseline.samples_ms) == 4
    assert comparison.unit == unit
    assert comparison.fraction > 0
