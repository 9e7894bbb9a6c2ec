"""The modelled timeline of copies and kernels on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.devices.streams import Stream
from gpulab.errors import MemoryFault, UsageError
from gpulab.profiling.timeline import Timeline
from gpulab.profiling.transfers import copy_rate

SPIN = """__global__ void spin(float* x, int rounds) {
    float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 0; k < rounds; ++k) value = value * 1.0001f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}"""
N = 1 << 16


@pytest.fixture(scope="module")
def device() -> Device:
    return gpulab.device("sim:h200")


def pipeline(device: Device, parts: Sequence[np.ndarray], streams: Sequence[Stream | None]) -> Timeline:
    """Copy each part in, run a kernel, and copy it out, with the streams in turn."""
    kernel = device.compile(SPIN)
    with gpulab.timeline(device, "pipeline") as times:
        for number, part in enumerate(parts):
            stream = streams[number % len(streams)]
            x = device.asarray(part, stream=stream)
            kernel(N // 256, 256, (x, 200), stream=stream)
            device.asnumpy(x, stream=stream, out=part)
    return times


def pinned(device: Device, count: int) -> list[np.ndarray]:
    parts = [device.pinned_empty(N) for _ in range(count)]
    for part in parts:
        part[:] = 1
    return parts


def test_copy_takes_its_bytes_over_the_bandwidth(device: Device) -> None:
    times = pipeline(device, pinned(device, 1), [device.stream()])
    gb_s, _ = copy_rate(device.spec, pinned=True)
    assert times.spans[0].duration_ms == pytest.approx(4 * N / gb_s / 1e6)


def test_kernel_takes_its_modelled_time(device: Device) -> None:
    times = pipeline(device, pinned(device, 1), [device.stream()])
    profile = device.profile(device.compile(SPIN), N // 256, 256, (device.zeros(N), 200))
    assert times.spans[1].duration_ms == pytest.approx(profile.time_ms)


def test_operations_of_one_stream_do_not_overlap(device: Device) -> None:
    times = pipeline(device, pinned(device, 3), [device.stream()])
    assert times.overlap_ms == pytest.approx(0)
    assert times.elapsed_ms == pytest.approx(times.busy_ms)


def test_page_locked_copies_of_two_streams_overlap_with_kernels(device: Device) -> None:
    times = pipeline(device, pinned(device, 4), [device.stream(), device.stream()])
    assert times.overlap_ms > 0
    assert times.elapsed_ms < times.busy_ms
    assert {span.stream for span in times.spans} == {1, 2}


def test_pageable_copies_do_not_overlap(device: Device) -> None:
    parts = [np.ones(N, np.float32) for _ in range(4)]
    assert pipeline(device, parts, [device.stream(), device.stream()]).overlap_ms == pytest.approx(0)


def test_operations_without_a_stream_do_not_overlap(device: Device) -> None:
    times = pipeline(device, pinned(device, 2), [None])
    assert times.overlap_ms == pytest.approx(0)
    assert {span.stream for span in times.spans} == {0}


def test_operation_without_a_stream_starts_after_all_streams(device: Device) -> None:
    parts, stream = pinned(device, 2), device.stream()
    with gpulab.timeline(device) as times:
        x = device.asarray(parts[0], stream=stream)
        device.compile(SPIN)(N // 256, 256, (x, 200), stream=stream)
        device.asarray(parts[1])
    assert times.spans[2].start_ms == times.spans[1].stop_ms


def test_engine_runs_one_operation_at_a_time(device: Device) -> None:
    times = pipeline(device, pinned(device, 4), [device.stream() for _ in range(4)])
    for kind in ("copy to device", "kernel", "copy to host"):
        spans = [span for span in times.spans if span.kind == kind]
        assert all(a.stop_ms <= b.start_ms + 1e-12 for a, b in pairwise(spans))


def test_timeline_computes_the_right_values(device: Device) -> None:
    parts = pinned(device, 4)
    pipeline(device, parts, [device.stream(), device.stream()])
    expected = np.ones(1, np.float32)
    for _ in range(200):
        expected = expected * np.float32(1.0001) + np.float32(0.5)
    assert all(np.allclose(part, expected, rtol=1e-4) for part in parts)


def test_modelling_a_kernel_does_not_deliver_a_copy(device: Device) -> None:
    host, stream = device.pinned_empty(N), device.stream()
    host[:] = 0
    with gpulab.timeline(device):
        device.asnumpy(device.asarray(np.ones(N, np.float32)), stream=stream, out=host)
        device.compile(SPIN)(N // 256, 256, (device.zeros(N), 1), stream=stream)
        assert host[0] == 0
    assert host[0] == 1


def test_second_timeline_at_the_same_time_is_refused(device: Device) -> None:
    with (
        gpulab.timeline(device),
        pytest.raises(UsageError, match="another timeline"),
        gpulab.timeline(device),
    ):
        pass


def test_failed_launch_ends_the_recording(device: Device) -> None:
    with pytest.raises(MemoryFault), gpulab.timeline(device):
        device.compile(SPIN)(1, 256, (device.zeros(4), 1))
    assert device.observer is None


def test_timeline_without_operations_has_no_time(device: Device) -> None:
    with gpulab.timeline(device) as times:
        pass
    assert (times.elapsed_ms, times.overlap_ms) == (0, 0)
