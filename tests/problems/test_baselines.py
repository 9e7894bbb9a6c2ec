"""The baselines that ship with gpulab: the file agrees with the kernels of the labs and the model."""

from __future__ import annotations

import pytest

from benchmarks.baselines import DEVICE, KERNELS, baseline_cell, compiler, modelled, open_cell, open_cost
from gpulab.devices import open_device
from gpulab.gpus.catalogue import names
from gpulab.problems import problem as problem_named
from gpulab.problems.baselines import ShippedBaseline, shipped_baseline, shipped_cost
from gpulab.profiling.counts.version_traffic import counted_traffic
from gpulab.verification.check import compile_cell

# Relative. The modelled caches depend on where the arrays lie, which differs between processes.
MODEL_TOLERANCE = 1e-2


def baseline_of(name: str) -> ShippedBaseline:
    baseline = shipped_baseline(name.partition(".")[0])
    assert baseline is not None
    return baseline


@pytest.mark.parametrize("name", KERNELS)
def test_baseline_is_a_variant_at_its_timing_size_on_every_gpu(name: str) -> None:
    baseline = baseline_of(name)
    problem = problem_named(baseline.problem)
    assert baseline.variant in problem.variants
    assert baseline.shape == problem.timing_shape(baseline.variant, baseline.block, baseline.tile)
    assert set(baseline.times) == set(names())
    assert all(0 < time.occupancy <= 1 and time.time_ms > 0 for time in baseline.times.values())


def test_problem_without_a_baseline_has_none() -> None:
    assert shipped_baseline("histogram") is None


@pytest.mark.weekly
@pytest.mark.parametrize("name", KERNELS)
def test_file_agrees_with_the_kernel_and_the_model(name: str) -> None:
    baseline, cell = baseline_of(name), baseline_cell(name)
    kernel = compile_cell(cell, open_device(DEVICE))
    assert (cell.config.block, cell.config.tile) == (baseline.block, baseline.tile)
    if compiler() != baseline.compiler:
        pytest.skip(f"the file was written with {baseline.compiler}")

    assert kernel.resources.registers == baseline.registers
    assert counted_traffic(cell, kernel).per_work == pytest.approx(baseline.counts, rel=1e-5)
    for key, profile in modelled(cell, kernel):
        time = baseline.times[key]
        assert time.time_ms == pytest.approx(profile.time_ms, rel=MODEL_TOLERANCE), key
        assert time.occupancy == pytest.approx(profile.occupancy.fraction, rel=1e-4)
        assert time.dram_bytes == pytest.approx(profile.dram_bytes, rel=MODEL_TOLERANCE)
        assert time.bottleneck == profile.bottleneck


@pytest.mark.parametrize("name", KERNELS)
def test_file_agrees_with_the_counts_of_the_open_step(name: str) -> None:
    config = open_cell(name).config
    shipped = shipped_cost(config.problem.name, config.variant)
    assert shipped is not None
    assert (shipped.block, shipped.tile, shipped.shape) == (config.block, config.tile, config.counted_shape)
    if compiler() != baseline_of(name).compiler:
        pytest.skip(f"the file was written with {baseline_of(name).compiler}")
    cost = open_cost(open_cell(name))
    assert (shipped.data, shipped.requests, shipped.instructions) == pytest.approx(
        (cost.data, cost.requests, cost.instructions), rel=1e-5
    )


def test_step_that_is_not_graded_by_speed_has_no_shipped_cost() -> None:
    assert shipped_cost("matmul", "K5") is None
