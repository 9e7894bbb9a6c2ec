"""A kernel's arguments on the simulator, and back."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices.simulated import SimulatedDevice
from gpulab.devices.twin import copies


@pytest.fixture
def device() -> SimulatedDevice:
    return gpulab.device("sim")


def test_an_array_that_is_given_twice_is_copied_once(device: SimulatedDevice) -> None:
    array = device.zeros(4)
    first, number, second = copies(device, gpulab.device("sim:v100"), [array, 3, array])
    assert first is second
    assert number == 3
