"""Tests of the corrections that racecheck suggests."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices.base import Device
from tests.kernels.findings.findings import cases

CASES = {case.id: case for case in cases("racecheck")}


@pytest.fixture(scope="module")
def simulator() -> Device:
    return gpulab.device("sim")


@pytest.mark.parametrize(
    ("case_name", "names"),
    [
        ("shared_bins_without_atomics", ["atomicAdd"]),
        ("product_without_first_barrier", ["__syncthreads()", "line 11", "line 14"]),
        ("product_without_second_barrier", ["after line 15", "line 11"]),
        ("last_warp_in_lockstep", ["__syncwarp()", "line 14", "line 15"]),
        ("clamped_at_the_ragged_edge", ["index"]),
        ("async_copy_without_a_wait", ["cp.async.wait_group"]),
        ("flag_without_a_fence", ["__threadfence()"]),
    ],
)
def test_message_names_the_correction(case_name: str, names: list[str], simulator: Device) -> None:
    case = CASES[f"racecheck/{case_name}"]
    kernel = simulator.compile(case.source)
    findings = gpulab.sanitize(
        kernel, case.grid, case.block, case.device_arguments(simulator), shared_mem=case.shared_mem
    )
    assert [name for name in names if name not in findings[0].message] == []


def test_invalid_access_is_named_as_a_possible_cause_of_a_race(simulator: Device) -> None:
    source = """extern "C" __global__ void k(float* x) {
        __shared__ float s[32];
        s[threadIdx.x] = x[threadIdx.x];
        x[threadIdx.x] = s[31 - threadIdx.x];
        s[threadIdx.x + 32] = 0;
        x[threadIdx.x + 32] = s[threadIdx.x];
    }"""
    findings = gpulab.sanitize(simulator.compile(source), 1, 32, (simulator.zeros(64),))
    assert [finding.tool for finding in findings] == ["memcheck", "racecheck"]
    assert f"line {findings[0].line}" in findings[1].message
