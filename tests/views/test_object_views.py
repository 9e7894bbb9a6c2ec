"""Displays of objects that a notebook prints."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

import pytest

import gpulab
from gpulab.gpus.catalogue import gpu
from gpulab.gpus.occupancy import occupancy
from gpulab.model.profile import Profile
from gpulab.profiling.counts.metrics import Counters
from gpulab.provenance import Provenance
from gpulab.views.html import View
from gpulab.views.object_views import profile_object_view

TERMS = {"DRAM": 0.5, "latency": 2.0, "fp64": 0.0, "issue": 0.01, "L1": 1.0, "launch": 0.25}


def no_counters() -> Counters:
    raise AssertionError("counting executes a block of the kernel")


@pytest.fixture(scope="module")
def view() -> View:
    return profile_object_view(
        Profile(
            time_ms=2.25,
            provenance=Provenance("modelled", "H200", "calibrated"),
            occupancy=occupancy(gpu("h200"), 256, 64, 0),
            bottleneck="latency",
            terms=MappingProxyType(TERMS),
            explanation="bound by latency: 32 of 64 warps per SM",
            sampled="24 of 100 blocks",
            dram_bytes=float(3 << 20),
            registers=64,
            _count=no_counters,
        )
    )


def test_profile_has_its_time_and_provenance(view: View) -> None:
    assert "2.25 ms, modelled for the H200" in view.text.splitlines()[0]
    assert "modelled, H200, calibrated" in view.html
    assert "24 of 100 blocks" in view.html


def test_profile_has_its_terms_from_the_longest_on_and_the_launch_last(view: View) -> None:
    parts = re.findall(r"<tr><td[^>]*>(\w+)</td>", view.html)
    assert parts == ["latency", "L1", "DRAM", "launch"]  # others need less than 1 % of the time


def test_bars_of_a_profile_are_relative_to_the_longest_term(view: View) -> None:
    assert re.findall(r"--gp-part:([\d.]+)%", view.html) == ["100.0", "50.0", "25.0", "12.5"]


def test_profile_has_occupancy_registers_and_traffic(view: View) -> None:
    assert "50 %, 32 of 64 warps per SM; 64 registers per thread; 3 MiB" in view.text


def test_every_part_of_the_model_can_be_shown() -> None:
    dev = gpulab.device("sim")
    kernel = dev.compile("__global__ void fill(double* x) { x[threadIdx.x] = 1; }")
    profile = gpulab.profile(kernel, 1, 32, (dev.empty(32, "float64"),))
    every = replace(profile, terms=dict.fromkeys(profile.terms, profile.time_ms))
    assert profile_object_view(every).html.count("<tr>") == 1 + len(profile.terms)
