"""Rows of docs/counters.md and docs/sanitizer.md, counted and checked again."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest

import gpulab
from benchmarks.counters import nsight_page
from benchmarks.counters.nsight_comparison import LaunchComparison, compare
from benchmarks.counters.nsight_figures import COMPARED, NsightFigures
from benchmarks.counters.nsight_launches import launches
from benchmarks.sanitizer import sanitizer_page
from gpulab.compiler.sass.disassembly import find_nvdisasm
from tests.kernels.findings.findings import cases

LAUNCHES = (
    "stencil/naive_restrict_ldg 65x47x9",
    "stencil/opt_1_halo_in_shared 65x47x9",
    "stencil/opt_3_pair_in_x_strided 130x70x33",
    "stencil/stencil.opt_2 65x47x9",
    "matmul/K2_strip_of_c 32x64x96",
    "matmul/K4g_any_size 129x38x65",
    "matmul/K6_register_tile 65x66x67",
)
MICRO_KERNELS = (
    "unrolled_trip_counts 32",
    "global_atomic float red: broadcast, start 7, holes",
    "global_atomic int atom: broadcast, start 7, holes",
)
CASES = (
    "memcheck/right_neighbour_of_the_last",
    "racecheck/step_in_place",
    "initcheck/corner_of_the_halo",
    "synccheck/return_before_the_barrier",
    "right/warps_by_flag",
)
# docs/counters.md explains why wavefronts and instructions can differ.
EXACT = [name for name in COMPARED if not name.endswith((" wavefronts", " instructions"))]

needs_nvdisasm = pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")


@cache
def comparisons() -> dict[str, LaunchComparison]:
    selected = [launch for launch in launches() if launch.name in LAUNCHES + MICRO_KERNELS]
    return {one.launch.name: one for one in compare(NsightFigures.read(), selected)}


@needs_nvdisasm
@pytest.mark.parametrize("name", LAUNCHES + MICRO_KERNELS)
def test_counters_equal_those_of_nsight_compute(name: str) -> None:
    metrics = comparisons()[name].metrics
    counted = {metric: metrics[metric].counted for metric in EXACT}
    assert counted == {metric: metrics[metric].measured for metric in EXACT}


@needs_nvdisasm
@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("title", nsight_page.TABLES)
def test_counters_page_has_the_row_of_the_launch(name: str, title: str) -> None:
    one, names = comparisons()[name], nsight_page.TABLES[title]
    if title == "Shared memory" and not any(one.metrics[metric].counted for metric in names):
        pytest.skip("the kernel has no shared memory")
    assert nsight_page.row(one, names) in nsight_page.PAGE.read_text(encoding="utf-8").splitlines()


def test_every_kernel_of_the_labs_is_measured_in_three_sizes() -> None:
    measured = NsightFigures.read().measured
    labs = [launch for launch in launches() if launch.group != "micro"]
    sizes = Counter(launch.source.name for launch in labs if launch.name in measured)
    assert {launch.source.name for launch in labs} == set(sizes)
    assert min(sizes.values()) >= 3


@pytest.mark.parametrize("name", CASES)
def test_sanitizer_page_has_the_row_of_the_case(name: str) -> None:
    case = next(case for case in cases() if case.id == name)
    measured = json.loads(sanitizer_page.FIGURES.read_text(encoding="utf-8"))["kernels"]
    row = sanitizer_page.row_of(case, measured[name], gpulab.device("sim"))
    assert row.text in sanitizer_page.PAGE.read_text(encoding="utf-8").splitlines()
