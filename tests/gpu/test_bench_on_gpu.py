"""Tests of `Bench` on a GPU: measured times, and faults in worker processes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpulab.cell import parse_cell, read_cells
from gpulab.cli import main
from gpulab.devices.base import Device
from gpulab.problems.published import rows
from gpulab.profiling.bench import Bench
from gpulab.profiling.published_comparison import compare_with_published
from gpulab.profiling.sweep import Sweep
from tests.kernels.corpus import FOLDER

pytestmark = pytest.mark.cuda
K4 = FOLDER / "matmul" / "right" / "K4_two_columns.cu"

# Correct with 32 threads; with 64 every thread writes out of bounds, with 128 no thread ends.
BLOCK_DEPENDENT = """// %%cuda matmul.K1 --block 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    if (BLOCK_X == 64) a[(1LL << 40) + i] = 0.0f;
    while (BLOCK_X == 128 && ((const volatile float*)c)[0] < 1e9f) {}
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""


def test_run_command_measures_every_iteration(gpu: Device, capsys: Any) -> None:
    assert main(["run", str(K4), "--kernel", "K4", "--size", "1024", "--device", "cuda:0", "--json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["provenance"]["kind"] == kernel["copies_provenance"]["kind"] == "measured"
    assert len(kernel["iterations"]) == 3
    assert kernel["overall_ms"] > kernel["kernel_ms"] > 0


def test_fault_does_not_end_a_sweep(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_cell = parse_cell(BLOCK_DEPENDENT)
    monkeypatch.setattr("gpulab.worker_process.TIME_LIMIT_S", 15.0)
    sweep = Sweep(
        [kernel_cell], gpu, [(32,), (64,), (128,), (32,)], sizes=["256"], device_name="cuda:0", check=False
    )
    correct, faulted, endless, again = sweep
    assert correct.timing
    assert faulted.wrong
    assert not endless.timing
    assert endless.error
    assert again.timing


def test_simulator_finds_a_fault_before_the_gpu_runs_the_kernel(gpu: Device) -> None:
    with Bench(gpu, "cuda:0") as bench:
        point = bench.point(parse_cell(BLOCK_DEPENDENT.replace("32", "64", 1)), (256, 256, 256))
    assert point.wrong
    assert "simulator" in point.error


def test_published_row_is_compared_with_modelled_and_measured_times(gpu: Device) -> None:
    published = rows("t10", variant="K4")[:1]
    (comparison,) = compare_with_published(published, read_cells(K4)[0], "cuda:0")
    assert comparison.modelled is not None
    assert comparison.measured is not None
    assert comparison.modelled.provenance is not None
    assert comparison.measured.provenance is not None
    assert (comparison.modelled.provenance.kind, comparison.measured.provenance.kind) == (
        "modelled",
        "measured",
    )
