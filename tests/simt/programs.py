"""Run a program of the corpus on the simulator with NumPy arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import gpulab
from gpulab.devices.base import Device, Dim3, Kernel
from tests.kernels.corpus import program

__all__ = ["compiled", "launch", "random", "simulator"]


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@cache
def compiled(name: str, kernel: str | None = None) -> Kernel:
    return simulator().compile(program(name), kernel)


def launch(
    name: str, grid: Dim3, block: Dim3, *args: Any, kernel: str | None = None, shared_mem: int = 0
) -> list[npt.NDArray[Any]]:
    """Launch the program `name`; return its array arguments, in order, with their contents afterwards."""
    device = simulator()
    on_device = [device.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled(name, kernel)(grid, block, on_device, shared_mem)
    return [
        device.asnumpy(copy) for copy, a in zip(on_device, args, strict=True) if isinstance(a, np.ndarray)
    ]


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
