"""The device query and the memory spaces in a notebook: every figure says where it comes from."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

import gpulab
from gpulab.devices.listing import listing_entries
from gpulab.gpus.catalogue import gpu, names
from gpulab.problems.published import source
from gpulab.views.tables.memory_view import memory_table, shared_gb_s
from gpulab.views.tables.query_view import device_query, figures_provenance


@pytest.fixture
def device():
    return gpulab.device("sim:gtx480")


def titles(view):
    return [unescape(title) for title in re.findall(r'title="([^"]*)"', view.html)]


def test_every_line_of_the_query_is_in_the_table(device):
    text = device_query(device).text
    assert all(entry.label in text for entry in listing_entries(device.properties()))
    assert text.endswith("Test PASSED")


def test_every_figure_of_the_query_has_a_source(device):
    entries = [entry for entry in listing_entries(device.properties()) if entry.figures]
    found = titles(device_query(device))
    assert len(found) == len(entries)
    assert all(title.startswith("published, simulator (GeForce GTX 480)") for title in found)


def test_a_computed_figure_says_how(device):
    assert any("computed: 480 cores * 2 * 1401 MHz / 1000" in title for title in titles(device_query(device)))


def test_the_published_listing_can_stand_beside_it(device):
    where = source("device_query")
    view = device_query(device, published=True)
    assert sum(where.citation in title for title in titles(view)) == len(where.listing)
    assert all(printed in view.text for _, printed in where.listing)


def test_what_a_gpu_reports_is_measured_and_the_rest_published(device):
    there = replace(device.properties(), kind="cuda", name="GPU", figure_sources={"cores_per_sm": "a guide"})
    assert str(figures_provenance(there, ["sms"])) == "measured, GPU, reported by the CUDA driver"
    assert figures_provenance(there, ["sms", "cores_per_sm"]).detail == "reported by the CUDA driver; a guide"
    assert str(figures_provenance(there, ["cores_per_sm"])) == "published, GPU, a guide"


@pytest.mark.parametrize("name", names())
def test_the_memory_spaces_are_shown_for_every_gpu(name):
    lines = memory_table(gpulab.device(f"sim:{name}")).text.splitlines()
    spaces = [line.split("  ")[0] for line in lines[2:-1]]
    assert spaces == ["register", "shared", "constant", "texture, read-only", "local", "global", "host"]


@pytest.mark.parametrize("name", names())
def test_shared_memory_is_faster_than_global_memory(name):
    assert shared_gb_s(gpu(name)) > gpu(name).dram_gb_s


@pytest.mark.parametrize(("name", "nbytes"), [("gtx280", 32), ("gtx480", 64), ("k40", 256), ("h200", 128)])
def test_a_multiprocessors_shared_memory_moves_what_the_guide_says_in_a_clock(name, nbytes):
    spec = gpu(name)
    assert shared_gb_s(spec) == pytest.approx(nbytes * spec.sms * spec.boost_clock_mhz / 1e3)


def test_a_figure_of_speed_names_its_source(device):
    found = titles(memory_table(device))
    assert any("Shared Memory" in title for title in found)
    assert any("2 * 1848 MHz * 384 bits / 8 / 1000" in title for title in found)
    assert any("16 lanes * 5 GT/s * 8/10 / 8" in title for title in found)
