"""What a launch allocates is freed when it ends, not when Python searches for cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import gpulab
from gpulab.simt.instrument.recorder import Recorder
from gpulab.simt.runtime.worker import LaunchWorker

SOURCE = """__global__ void shift(float* x, const float* y)
{
    __shared__ float s[64];
    s[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}"""


def living() -> list[object]:
    """Return the workers and recorders of all launches that still exist."""
    # By type: `isinstance` asks an object for its class, which a dead weak proxy of a library refuses.
    return [o for o in gc.get_objects() if issubclass(type(o), LaunchWorker | Recorder)]


@pytest.fixture
def held_by_others() -> Iterator[list[object]]:
    """Give the workers and recorders that other tests hold, and collect no cycles during the test."""
    gc.collect()
    gc.disable()
    yield living()
    gc.enable()


@pytest.mark.parametrize("tier", ["plain", "sanitized", "counted", "modelled"])
def test_no_worker_or_recorder_outlives_its_launch(tier: str, held_by_others: list[object]) -> None:
    device = gpulab.device("sim")
    kernel = device.compile(SOURCE)
    args = (device.zeros(64, np.float32), device.asarray(np.arange(64, dtype=np.float32)))
    if tier == "plain":
        kernel((1,), (64,), args)
    elif tier == "sanitized":
        assert len(gpulab.sanitize(kernel, (1,), (64,), args)) == 0
    elif tier == "counted":
        assert gpulab.counters(kernel, (1,), (64,), args).global_load_requests == 2
    else:
        device.profile(kernel, (1,), (64,), args)
    assert [o for o in living() if all(o is not held for held in held_by_others)] == []
