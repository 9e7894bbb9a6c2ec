"""Fixtures of the command-line tests: source files, and a device whose kernels are Python functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.python_device import PythonDevice
from tests.verification.test_verify import correct_stencil

RIGHT = "// %%cuda stencil.naive --block 16 4\n__global__ void block2D_naive() {}\n"


def notebook(*sources: str) -> str:
    """Return the text of a notebook with these code cells."""
    return json.dumps({"cells": [{"cell_type": "code", "source": s} for s in sources], "nbformat": 4})


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PythonDevice]:
    """Return a function that makes every command open a `PythonDevice`."""

    def use(function: Any = correct_stencil) -> PythonDevice:
        device = PythonDevice({"block2D_naive": function, "block2D_opt_1": correct_stencil, "mine": function})
        monkeypatch.setattr("gpulab.devices.open_device", lambda name=None: device, raising=False)
        return device

    return use


@pytest.fixture
def cu(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a source file and returns its path."""

    def write(text: str = RIGHT, name: str = "mine.cu") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write
