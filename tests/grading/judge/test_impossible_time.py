"""Times of kernels that are less than the GPU allows."""

from __future__ import annotations

from typing import Any

import pytest

import gpulab
from gpulab.config import KernelConfig
from gpulab.grading.judge.records import KernelInspection
from gpulab.grading.judge.submitted_kernels import impossible_time
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance


def inspection(milliseconds: float, shape: tuple[int, ...]) -> KernelInspection:
    config = KernelConfig(gpulab.problem("stencil"), "opt_4", (32, 8, 1), (1, 1, 0))
    time = Benchmark.from_samples([milliseconds], Provenance("modelled", "a GPU"))
    return KernelInspection("stencil.opt_4", "right", timing=VariantTiming(config, shape, time))


@pytest.mark.parametrize(
    ("milliseconds", "shape", "named"),
    [(0.02, (512, 512, 512), True), (0.3, (512, 512, 512), False), (0.001, (64, 64, 64), False)],
)
def test_time_below_the_data_sheet_is_named(milliseconds: float, shape: Any, named: bool) -> None:
    reason = impossible_time(inspection(milliseconds, shape), gpulab.device("sim:h200"))
    assert bool(reason) is named


def test_kernel_without_a_time_is_possible() -> None:
    assert impossible_time(KernelInspection("axpy", "right"), gpulab.device("sim:h200")) == ""
