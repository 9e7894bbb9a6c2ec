"""docs/counters.md and docs/sanitizer.md say what the kept figures and gpulab say: a few rows, made again."""

from __future__ import annotations

import json
from functools import cache

import pytest

import gpulab
from benchmarks import compute_sanitizer, nsight_page
from benchmarks.nsight_compare import Compared, compare
from benchmarks.nsight_figures import COMPARED, Figures
from benchmarks.nsight_launches import launches
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
CASES = (
    "memcheck/right_neighbour_of_the_last",
    "racecheck/step_in_place",
    "initcheck/corner_of_the_halo",
    "synccheck/return_before_the_barrier",
    "right/warps_by_flag",
)
# The unit's counter of wavefronts and what the machine adds for lanes to meet: see the page.
EXACT = [name for name in COMPARED if not name.endswith((" wavefronts", " instructions"))]

needs_nvdisasm = pytest.mark.skipif(find_nvdisasm() is None, reason="there is no nvdisasm here")


@cache
def compared() -> dict[str, Compared]:
    wanted = tuple(launch for launch in launches() if launch.name in LAUNCHES)
    return {one.launch.name: one for one in compare(Figures.read(), wanted)}


@needs_nvdisasm
@pytest.mark.parametrize("name", LAUNCHES)
def test_counters_are_those_of_nsight_compute(name: str) -> None:
    figures = compared()[name].figures
    assert {what: figures[what].ours for what in EXACT} == {what: figures[what].measured for what in EXACT}


@needs_nvdisasm
@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("title", nsight_page.TABLES)
def test_the_page_has_the_launch_as_it_is_counted_now(name: str, title: str) -> None:
    one, names = compared()[name], nsight_page.TABLES[title]
    if title == "Shared memory" and not any(one.figures[n].ours for n in names):
        pytest.skip("the kernel has no shared memory")
    assert nsight_page.row(one, names) in nsight_page.PAGE.read_text(encoding="utf-8").splitlines()


def test_every_kernel_of_the_labs_is_measured_in_three_sizes() -> None:
    measured = Figures.read().measured
    labs = [launch for launch in launches() if launch.group != "micro" and launch.name in measured]
    sizes = [sum(other.source.name == launch.source.name for other in labs) for launch in labs]
    assert min(sizes) >= 3
    assert {launch.source.name for launch in launches() if launch.group != "micro"} == {
        launch.source.name for launch in labs
    }


@pytest.mark.parametrize("name", CASES)
def test_the_page_has_the_case_as_it_is_found_now(name: str) -> None:
    case = next(case for case in cases() if case.id == name)
    measured = json.loads(compute_sanitizer.FIGURES.read_text(encoding="utf-8"))["kernels"]
    row = compute_sanitizer.row_of(case, measured[name], gpulab.device("sim"))
    assert row.text in compute_sanitizer.PAGE.read_text(encoding="utf-8").splitlines()
