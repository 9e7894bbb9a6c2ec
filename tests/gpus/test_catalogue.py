"""The GPU catalogue: complete, with sources, and in agreement with published peaks."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import GpuSpec, by_cuda_name, gpu, limits_of, names, pcie_gb_s
from gpulab.gpus.limits import TENSOR_TYPES

# Published peaks of fp32 arithmetic (GFLOPS) and DRAM bandwidth (GB/s), from NVIDIA's data sheets and papers.
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

# Published peaks of tensor cores without sparsity, in TFLOPS (TOPS of int8); sources in catalogue.toml.
PUBLISHED_TENSOR = {
    "v100": {"fp16_dst_fp32": 125},
    "t4": {"fp16_dst_fp32": 65, "int8": 130},
    "rtx3090": {
        "fp16_dst_fp16": 142,
        "fp16_dst_fp32": 71,
        "bf16_dst_fp32": 71,
        "tf32_dst_fp32": 35.6,
        "int8": 284,
    },
    "a100": {"fp16_dst_fp16": 312, "bf16_dst_fp32": 312, "tf32_dst_fp32": 156, "fp64": 19.5, "int8": 624},
    "rtx4090": {"fp16_dst_fp16": 330.3, "fp16_dst_fp32": 165.2, "tf32_dst_fp32": 82.6, "int8": 660.6},
    "h100": {"fp16_dst_fp32": 989.4, "tf32_dst_fp32": 494.7, "fp64": 66.9, "int8": 1978.9},
    "h200": {"bf16_dst_fp32": 989.4, "tf32_dst_fp32": 494.7, "fp64": 66.9, "int8": 1978.9},
}


def test_catalogue_has_the_gpus_of_the_course_and_current_ones():
    assert set(names()) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_fp32_peak_equals_the_published_one(name):
    assert gpu(name).peak_fp32_gflops == pytest.approx(PUBLISHED[name][0], rel=0.01)


@pytest.mark.parametrize("name", PUBLISHED)
def test_dram_bandwidth_equals_the_published_one(name):
    # The data sheet of the H200 says 4.8 TB/s; its memory clock gives 4.92 TB/s.
    assert gpu(name).dram_gb_s == pytest.approx(PUBLISHED[name][1], rel=0.025)


@pytest.mark.parametrize("name", PUBLISHED_TENSOR)
def test_tensor_peaks_equal_the_published_ones(name):
    published = PUBLISHED_TENSOR[name]
    peaks = {kind: gpu(name).peak_tensor_gflops(kind) / 1e3 for kind in published}
    assert peaks == pytest.approx(published, rel=0.01)


def test_gpu_without_tensor_cores_for_a_type_has_no_peak():
    assert gpu("gtx1080").peak_tensor_gflops("fp16_dst_fp32") is None
    assert gpu("t4").peak_tensor_gflops("tf32_dst_fp32") is None


def test_types_of_tensor_cores_have_known_names():
    for name in names():
        assert set(gpu(name).tensor_fmas) <= set(TENSOR_TYPES)


@pytest.mark.parametrize(
    ("bus", "gb_s"),
    [("PCIe 2.0 x16", 8), ("PCIe 3.0 x16", 15.75), ("PCIe 4.0 x8", 15.75), ("PCIe 5.0 x16", 63)],
)
def test_pcie_bandwidth_equals_the_published_one(bus, gb_s):
    assert pcie_gb_s(bus) == pytest.approx(gb_s, rel=0.001)


@pytest.mark.parametrize("name", PUBLISHED)
def test_bus_of_every_gpu_is_slower_than_its_memory(name):
    assert 0 < gpu(name).bus_gb_s < gpu(name).dram_gb_s


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_figure_has_a_source(name):
    spec = gpu(name)
    not_figures = {"key", "name", "cuda_names", "calibrated", "sources", "compute_capability"}
    # The file omits the base clock of a GPU with one clock, and has a unit in the table of its exceptions.
    left_out = {"base_clock_mhz"} if spec.base_clock_mhz is None else set()
    left_out |= {"register_unit_exception"}
    left_out |= set() if spec.tensor_fmas else {"tensor_fmas"}
    left_out |= set() if spec.tensor_clock_mhz else {"tensor_clock_mhz"}
    left_out |= set() if spec.register_unit_exceptions else {"register_unit_exceptions"}
    assert {f.name for f in fields(GpuSpec)} - not_figures - left_out <= set(spec.sources)


def test_sources_refer_to_existing_figures():
    figures = {f.name for f in fields(GpuSpec)}
    for name in names():
        assert set(gpu(name).sources) <= figures


def test_every_abbreviated_source_is_used():
    document = tomllib.loads(files("gpulab.gpus").joinpath("catalogue.toml").read_text())
    tables = [*document["limits"].values(), *document["gpu"].values()]
    used = {entry["source"] for table in tables for entry in table["sources"]}
    assert set(document["sources"]) <= used


@pytest.mark.parametrize("name", PUBLISHED)
def test_only_a_measured_gpu_is_calibrated(name):
    assert gpu(name).calibrated is (name == "h200")


@pytest.mark.parametrize("written", ["gtx280", "GTX 280", "gtx-280", "Gtx280", "GeForce GTX 280"])
def test_gpu_is_found_by_key_and_by_spellings_of_its_name(written):
    assert gpu(written) is gpu("gtx280")


def test_unknown_gpu_raises_and_lists_the_catalogue():
    with pytest.raises(UsageError, match=r"gtx280.*h200"):
        gpu("voodoo2")


def test_gpu_is_found_by_its_cuda_name():
    assert by_cuda_name("NVIDIA H200") is gpu("h200")
    assert by_cuda_name("NVIDIA GB200") is None


def test_gpu_has_the_limits_of_its_compute_capability():
    assert limits_of(1, 3)[0].max_threads_per_block == 512
    assert gpu("gtx280").max_threads_per_block == 512
    assert gpu("rtx4090").max_warps_per_sm == 48


def test_unknown_compute_capability_has_the_limits_of_the_nearest_earlier_one():
    assert limits_of(8, 7)[0].compute_capability == (8, 6)
    assert limits_of(12, 0)[0].compute_capability == (9, 0)
    assert limits_of(1, 0)[0].compute_capability == (1, 3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_figures_of_a_gpu_are_consistent(name):
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
