"""Kernels timed on a real GPU, each from a process of its own: what is measured, and what a fault leaves."""

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

# Right with 32 threads; with 64 every thread leaves its arrays, with 128 none ever ends.
THREE_WAYS = """// %%cuda matmul.K1 --block 32
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


def test_the_driver_measures_every_iteration(gpu: Device, capsys: Any) -> None:
    assert main(["run", str(K4), "--kernel", "K4", "--size", "1024", "--device", "cuda:0", "--json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["provenance"]["kind"] == kernel["copies_provenance"]["kind"] == "measured"
    assert len(kernel["iterations"]) == 3
    assert kernel["overall_ms"] > kernel["kernel_ms"] > 0


def test_a_fault_does_not_end_a_sweep(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    text = parse_cell(THREE_WAYS)
    monkeypatch.setattr("gpulab.worker_process.TIME_LIMIT_S", 15.0)
    sweep = Sweep(
        [text], gpu, [(32,), (64,), (128,), (32,)], sizes=["256"], device_name="cuda:0", check=False
    )
    right, faulted, endless, again = sweep
    assert right.timing
    assert faulted.wrong
    assert "did not end" in endless.error
    assert again.timing


def test_a_wrong_kernel_is_found_before_the_gpu_runs_it(gpu: Device) -> None:
    with Bench(gpu, "cuda:0") as bench:
        one = bench.point(parse_cell(THREE_WAYS.replace("32", "64", 1)), (256, 256, 256))
    assert one.wrong
    assert "found by the simulator" in one.error


def test_published_figures_stand_beside_modelled_and_measured_ones(gpu: Device) -> None:
    published = rows("t10", variant="K4")[:1]
    (one,) = compare_with_published(published, read_cells(K4)[0], "cuda:0")
    assert one.modelled is not None
    assert one.measured is not None
    assert one.modelled.provenance is not None
    assert one.measured.provenance is not None
    assert (one.modelled.provenance.kind, one.measured.provenance.kind) == ("modelled", "measured")
