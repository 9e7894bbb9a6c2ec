"""Cache traffic over the whole run of blocks whose trace ends before them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpulab.devices import open_device
from gpulab.gpus.architectures import architecture
from gpulab.gpus.catalogue import gpu
from gpulab.model.caches import SiteTraffic
from gpulab.model.recording import LaunchRecording
from gpulab.model.sampling import SampledLaunch, record_launch
from gpulab.model.traffic import launch_traffic

SPEC = gpu("h200")
BLOCKS, COLUMNS = 64, 16384  # a warp for each row of 64 KiB

PASSES = """
__global__ void passes(const float* x, float* y, int n)
{
    const float* row = x + (size_t)blockIdx.x * n;
    float* out = y + (size_t)blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = row[i];
        #pragma unroll 64
        for (int k = 0; k < 64; ++k)
            v = v * v + 0.5f;
        out[i] = v;
    }
    for (int i = threadIdx.x; i < n; i += 32)
        out[i] = AGAIN * 2.0f;
}
"""


def recorded(again: str) -> LaunchRecording:
    """Return a recording in which the trace of each warp ends in the first of two passes."""
    device: Any = open_device("sim:h200")
    kernel = device.compile(PASSES.replace("AGAIN", again), "passes")
    arrays = [device.empty((BLOCKS, COLUMNS), np.float32) for _ in range(2)]
    launch = SampledLaunch(kernel, (BLOCKS, 1, 1), (32, 1, 1), (*arrays, np.int32(COLUMNS)))
    return record_launch(launch, SPEC)


def loads(recording: LaunchRecording) -> list[SiteTraffic]:
    """Return the traffic of the loads, in the order of their rows."""
    traffic = launch_traffic(recording, SPEC, architecture(SPEC), recording.code)
    return [traffic[row] for row in sorted(traffic) if recording.accesses[row].reads]


@pytest.mark.parametrize("again", ["row[i]", "out[i]"])
def test_second_pass_finds_in_l1_what_the_first_has_loaded_or_stored(again: str) -> None:
    recording = recorded(again)
    assert not recording.waves[-1].ended
    first, *second = loads(recording)
    assert first.levels == pytest.approx((0, 0, 1))
    assert [one.levels for one in second] == [pytest.approx((1, 0, 0))] * len(second)
    assert (
        len(loads(replace(recording, longer={}))) == 1
    )  # the traces of the wave do not show the second pass


def test_second_pass_over_other_data_gets_them_from_dram() -> None:
    first, *second = loads(recorded("x[(size_t)((blockIdx.x + 1) % gridDim.x) * n + i]"))
    assert first.levels == pytest.approx((0, 0, 1))
    assert [one.levels for one in second] == [pytest.approx((0, 0, 1))] * len(second)
