"""Device query: Lab 0's listing, from the catalogue."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpulab.devices.catalogue import gpu
from gpulab.devices.query import device_query

# Lab 0's listing of a GeForce GTX 480 in the PASI manual. Three of its lines differ on purpose: it
# counts 8 cores an SM (Fermi has 32), and prints 513 and a flat grid for what CUDA reports as 512 and 3-D.
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
    return device_query(SimpleNamespace(kind="sim", name="simulator (GeForce GTX 480)", spec=gpu("gtx480")))


def test_the_listing_begins_with_every_line_of_lab_0_in_its_order(properties):
    assert properties.rows()[: len(MANUAL)] == list(MANUAL.items())


def test_the_listing_has_what_newer_gpus_add(properties):
    rows = dict(properties.rows())
    assert rows["L2 cache"] == "786432 bytes"
    assert rows["Memory clock rate"] == "1848 MHz"
    assert rows["Memory bus width"] == "384 bits"
    assert rows["ECC"] == "No"
    assert rows["CUDA driver version"] == "none (simulator)"
    assert rows["Theoretical memory bandwidth"] == "177.4 GB/s"


def test_the_values_stand_in_one_column(properties):
    listing = properties.lines()[3:-2]
    start = listing[0].index(properties.rows()[0][1])
    assert all(line[start - 1] == " " != line[start] for line in listing)


def test_the_listing_ends_as_the_manuals_does(properties):
    assert properties.lines()[-1] == "Test PASSED"


def test_the_listing_says_that_its_figures_are_published(properties):
    assert properties.source.startswith("published")
    assert properties.source in properties.lines()[1]


def test_the_properties_are_plain_data(properties):
    assert properties.as_dict()["sms"] == 15
