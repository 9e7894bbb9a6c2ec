"""Copies of kernel arguments on another device."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices.argument_copies import copy_arguments
from gpulab.devices.simulator.simulated_device import SimulatedDevice


@pytest.fixture
def device() -> SimulatedDevice:
    return gpulab.device("sim")


def test_repeated_array_is_copied_once(device: SimulatedDevice) -> None:
    array = device.zeros(4)
    first, number, second = copy_arguments([array, 3, array], device, gpulab.device("sim:v100"))
    assert first is second
    assert number == 3
