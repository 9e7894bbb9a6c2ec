"""`gpulab.device_query` and `gpulab.memory_table`: figures and their sources."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

import gpulab
from gpulab.devices.listing import listing_entries
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.problems.published import source
from gpulab.profiling.ceilings import shared_gb_s
from gpulab.views.tables.memory_view import memory_table
from gpulab.views.tables.query_view import device_query, figures_provenance


@pytest.fixture
def device():
    return gpulab.device("sim:gtx480")


def titles(view):
    return [unescape(title) for title in re.findall(r'title="([^"]*)"', view.html)]


def test_query_has_every_property(device):
    text = device_query(device).text
    assert all(entry.label in text for entry in listing_entries(device.properties()))
    assert text.endswith("Test PASSED")


def test_every_property_has_its_source_in_a_tooltip(device):
    entries = [entry for entry in listing_entries(device.properties()) if entry.figures]
    found = titles(device_query(device))
    assert len(found) == len(entries)
    assert all(title.startswith("published, simulator (GeForce GTX 480)") for title in found)


def test_computed_property_has_its_formula(device):
    assert any("computed: 480 cores * 2 * 1401 MHz / 1000" in title for title in titles(device_query(device)))


def test_published_listing_is_a_third_column(device):
    where = source("device_query")
    view = device_query(device, published=True)
    assert sum(where.citation in title for title in titles(view)) == len(where.listing)
    assert all(printed in view.text for _, printed in where.listing)


def test_provenance_is_the_driver_or_the_catalogue(device):
    there = replace(device.properties(), kind="cuda", name="GPU", figure_sources={"cores_per_sm": "a guide"})
    assert str(figures_provenance(there, ["sms"])) == "measured, GPU, reported by the CUDA driver"
    assert figures_provenance(there, ["sms", "cores_per_sm"]).detail == "reported by the CUDA driver; a guide"
    assert str(figures_provenance(there, ["cores_per_sm"])) == "published, GPU, a guide"


@pytest.mark.parametrize("name", names())
def test_every_gpu_has_all_memory_spaces(name):
    lines = memory_table(gpulab.device(f"sim:{name}")).text.splitlines()
    spaces = [line.split("  ")[0] for line in lines[2:-1]]
    assert spaces == ["register", "shared", "constant", "texture, read-only", "local", "global", "host"]


@pytest.mark.parametrize("name", names())
def test_shared_memory_is_faster_than_global_memory(name):
    assert shared_gb_s(gpu(name)) > gpu(name).dram_gb_s


@pytest.mark.parametrize(("name", "nbytes"), [("gtx280", 32), ("gtx480", 64), ("k40", 256), ("h200", 128)])
def test_shared_memory_bandwidth_per_sm_and_clock(name, nbytes):
    spec = gpu(name)
    assert shared_gb_s(spec) == pytest.approx(nbytes * spec.sms * spec.boost_clock_mhz / 1e3)


def test_speed_has_its_source_in_a_tooltip(device):
    found = titles(memory_table(device))
    assert any("Shared Memory" in title for title in found)
    assert any("2 * 1848 MHz * 384 bits / 8 / 1000" in title for title in found)
    assert any("16 lanes * 5 GT/s * 8/10 / 8" in title for title in found)


@pytest.mark.parametrize("function", [gpulab.device_query, gpulab.memory_table])
def test_gpu_selects_a_catalogue_entry(function, device):
    assert function(gpu="gtx480") == function(device)
    with pytest.raises(UsageError):
        function(device, gpu="gtx480")
