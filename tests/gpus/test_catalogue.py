"""The GPU catalogue: complete, sourced, and in agreement with what data sheets publish as results."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import GpuSpec, by_cuda_name, gpu, limits_of, names, pcie_gb_s

# Published peak of fp32 (GFLOPS) and of the memory (GB/s), as NVIDIA's sheets and whitepapers give them.
PUBLISHED = {
    "gtx280": (622, 141.7),
    "t10": (691.2, 102.4),
    "gtx480": (1345, 177.4),
    "k40": (5040, 288),
    "gtx1080": (8873, 320),
    "v100": (15700, 900),
    "t4": (8100, 320),
    "rtx3090": (35600, 936),
    "a100": (19500, 1555),
    "rtx4090": (82600, 1008),
    "h100": (67000, 3350),
    "h200": (67000, 4800),
}


def test_the_catalogue_has_the_gpus_of_the_course_and_todays():
    assert set(names()) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_fp32_peak_is_the_published_one(name):
    assert gpu(name).peak_fp32_gflops == pytest.approx(PUBLISHED[name][0], rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_bandwidth_is_the_published_one(name):
    # The H200's sheet says 4.8 TB/s where its memory clock gives 4.92.
    assert gpu(name).dram_gb_s == pytest.approx(PUBLISHED[name][1], rel=0.025)


@pytest.mark.parametrize(
    ("bus", "gb_s"),
    [("PCIe 2.0 x16", 8), ("PCIe 3.0 x16", 15.75), ("PCIe 4.0 x8", 15.75), ("PCIe 5.0 x16", 63)],
)
def test_the_bus_has_the_published_peak(bus, gb_s):
    assert pcie_gb_s(bus) == pytest.approx(gb_s, rel=0.001)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_gpu_has_a_bus_that_is_slower_than_its_memory(name):
    assert 0 < gpu(name).bus_gb_s < gpu(name).dram_gb_s


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_figure_names_its_source(name):
    spec = gpu(name)
    not_figures = {"key", "name", "cuda_names", "calibrated", "sources", "compute_capability"}
    # left out of the file: a GPU with one clock, and a unit that is written beside its exceptions
    left_out = {"base_clock_mhz"} if spec.base_clock_mhz is None else set()
    left_out |= {"register_unit_exception"}
    left_out |= set() if spec.register_unit_exceptions else {"register_unit_exceptions"}
    assert {f.name for f in fields(GpuSpec)} - not_figures - left_out <= set(spec.sources)


def test_no_source_is_for_a_figure_that_does_not_exist():
    fields_of_a_gpu = {f.name for f in fields(GpuSpec)}
    for name in names():
        assert set(gpu(name).sources) <= fields_of_a_gpu


def test_every_shorthand_source_is_used():
    document = tomllib.loads(files("gpulab.gpus").joinpath("catalogue.toml").read_text())
    tables = [*document["limits"].values(), *document["gpu"].values()]
    used = {entry["source"] for table in tables for entry in table["sources"]}
    assert set(document["sources"]) <= used


@pytest.mark.parametrize("name", PUBLISHED)
def test_only_a_gpu_that_was_measured_here_is_calibrated(name):
    assert gpu(name).calibrated is (name == "h200")


@pytest.mark.parametrize("written", ["gtx280", "GTX 280", "gtx-280", "Gtx280", "GeForce GTX 280"])
def test_a_gpu_is_found_as_people_write_it(written):
    assert gpu(written) is gpu("gtx280")


def test_an_unknown_gpu_is_told_what_there_is():
    with pytest.raises(UsageError, match=r"gtx280.*h200"):
        gpu("voodoo2")


def test_a_gpu_is_found_by_the_name_cuda_gives_it():
    assert by_cuda_name("NVIDIA H200") is gpu("h200")
    assert by_cuda_name("NVIDIA GB200") is None


def test_limits_are_those_of_the_compute_capability():
    assert limits_of(1, 3)[0].max_threads_per_block == 512
    assert gpu("gtx280").max_threads_per_block == 512
    assert gpu("rtx4090").max_warps_per_sm == 48


def test_an_unknown_compute_capability_takes_the_nearest_earlier_one():
    assert limits_of(8, 7)[0].compute_capability == (8, 6)
    assert limits_of(12, 0)[0].compute_capability == (9, 0)
    assert limits_of(1, 0)[0].compute_capability == (1, 3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_parts_of_a_gpu_fit_together(name):
    spec = gpu(name)
    assert spec.max_threads_per_sm % spec.warp_size == 0
    assert spec.shared_bytes_per_block <= spec.shared_bytes_per_block_optin <= spec.shared_bytes_per_sm
    assert (
        spec.shared_bytes_per_block_optin + spec.reserved_shared_bytes_per_block <= spec.shared_bytes_per_sm
    )
    assert spec.registers_per_block <= spec.registers_per_sm
    assert spec.register_allocation in {"block", "warp"}
    assert spec.coalescing in {"half_warp_segments", "warp_lines_128", "warp_sectors_32"}
    assert spec.base_clock_mhz is None or spec.base_clock_mhz <= spec.boost_clock_mhz
