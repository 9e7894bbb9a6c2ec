"""Fixtures of tests that need a CUDA GPU and are skipped without one. Run: `pytest tests/gpu`."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import UsageError


@pytest.fixture(scope="session")
def gpu() -> Device:
    try:
        return gpulab.device("cuda:0")
    except UsageError as error:
        pytest.skip(f"a CUDA GPU is needed ({error})")
