"""Device query: the listing of Lab 0, from the catalogue."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace

import pytest

from gpulab.devices.listing import listing_entries, listing_lines
from gpulab.devices.query import published_properties
from gpulab.gpus.catalogue import GpuSpec, gpu, names

# The listing of a GeForce GTX 480 in Lab 0 of the PASI manual. Three lines differ deliberately: the manual
# counts 8 cores per SM (Fermi has 32), and prints a maximum of 513 threads and a flat grid.
MANUAL = {
    "Major revision number": "2",
    "Minor revision number": "0",
    "Total amount of global memory": "1610285056 bytes",
    "Number of multiprocessors": "15",
    "Number of cores": "480",
    "Total amount of constant memory": "65536 bytes",
    "Total amount of shared memory per block": "49152 bytes",
    "Total number of registers available per block": "32768",
    "Warp size": "32",
    "Maximum number of threads per block": "1024",
    "Maximum sizes of each dimension of a block": "1024 x 1024 x 64",
    "Maximum sizes of each dimension of a grid": "65535 x 65535 x 65535",
    "Maximum memory pitch": "2147483647 bytes",
    "Texture alignment": "512 bytes",
    "Clock rate": "1.40 GHz",
    "Concurrent copy and execution": "Yes",
}


@pytest.fixture
def properties():
    return published_properties("simulator (GeForce GTX 480)", gpu("gtx480"))


def rows_of(properties):
    return {entry.label: entry.value for entry in listing_entries(properties)}


def test_listing_starts_with_the_lines_of_lab_0_in_its_order(properties):
    assert list(rows_of(properties).items())[: len(MANUAL)] == list(MANUAL.items())


def test_listing_includes_properties_of_newer_gpus(properties):
    rows = rows_of(properties)
    assert rows["L2 cache"] == "786432 bytes"
    assert rows["Memory clock rate"] == "1848 MHz"
    assert rows["Memory bus width"] == "384 bits"
    assert rows["ECC"] == "No"
    assert rows["CUDA driver version"] == "none (simulator)"
    assert rows["Theoretical memory bandwidth"] == "177.4 GB/s"


def test_values_are_aligned_in_one_column(properties):
    listing = listing_lines(properties)[4:-2]
    start = listing[0].index(listing_entries(properties)[0].value)
    assert all(line[start - 1] == " " != line[start] for line in listing)


def test_computed_figure_has_a_formula(properties):
    shown = {entry.label: entry.formula for entry in listing_entries(properties) if entry.formula}
    assert shown["Number of cores"] == "15 multiprocessors * 32"
    assert shown["Theoretical memory bandwidth"] == "2 * 1848 MHz * 384 bits / 8 / 1000"
    assert shown["Theoretical fp32 peak"] == "480 cores * 2 * 1401 MHz / 1000"
    assert shown["Theoretical bandwidth to and from the host"] == "16 lanes * 5 GT/s * 8/10 / 8"


@pytest.mark.parametrize("name", names())
def test_formula_evaluates_to_its_figure(name):
    properties = published_properties("simulator", gpu(name))
    for entry in listing_entries(properties):
        if entry.formula:
            terms = re.sub(r"[A-Za-z]+(/s)?", "", entry.formula)
            value = float(entry.value.split()[0])
            assert eval(terms) == pytest.approx(value, abs=0.06)


def test_every_entry_names_its_figures(properties):
    allowed = {f.name for f in fields(GpuSpec)}
    for entry in listing_entries(properties):
        assert set(entry.figures) <= allowed
        assert entry.figures or "version" in entry.label


def test_every_figure_of_the_simulator_has_a_source(properties):
    named = {figure for entry in listing_entries(properties) for figure in entry.figures}
    assert named - {"compute_capability"} <= set(properties.figure_sources)


def test_heading_names_the_simulated_gpu_or_counts_the_gpus(properties):
    assert listing_lines(properties)[0].endswith("the simulator acts as a GeForce GTX 480")
    assert listing_lines(replace(properties, devices=1))[0] == "There is 1 device supporting CUDA"
    assert listing_lines(replace(properties, devices=2))[0] == "There are 2 devices supporting CUDA"


def test_unknown_bus_is_listed_as_unknown(properties):
    rows = rows_of(replace(properties, bus=""))
    assert rows["Bus to the host"] == "unknown"
    assert "Theoretical bandwidth to and from the host" not in rows


def test_listing_ends_with_the_line_of_the_manual(properties):
    assert listing_lines(properties)[-1] == "Test PASSED"


def test_listing_of_the_simulator_has_a_published_source(properties):
    assert properties.source.startswith("published")
    assert properties.source in listing_lines(properties)[2]


def test_properties_can_be_serialised(properties):
    assert properties.as_dict()["sms"] == 15
    json.dumps(properties.as_dict())
