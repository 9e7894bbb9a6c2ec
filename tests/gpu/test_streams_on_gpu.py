"""Streams, page-locked memory and timelines on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import UsageError
from gpulab.profiling.timeline import Timeline
from tests.profiling.test_timeline import N, pinned, pipeline

ADD = "__global__ void add(float* x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] += a; }"


def test_operations_of_a_stream_run_in_order(gpu: Device) -> None:
    host, stream, add = gpu.pinned_empty(256), gpu.stream(), gpu.compile(ADD)
    host[:] = 1
    x = gpu.asarray(host, stream=stream)
    add(1, 256, (x, 2.0), stream=stream)
    gpu.asnumpy(x, stream=stream, out=host)
    stream.synchronize()
    assert (host == 3).all()


def test_pinned_and_pageable_memory_is_recognised(gpu: Device) -> None:
    with gpulab.timeline(gpu) as times:
        gpu.asarray(gpu.pinned_empty(N)[16:])
        gpu.asarray(np.zeros(N))
    assert [span.pinned for span in times.spans] == [True, False]


def test_timeline_is_measured_and_its_values_are_right(gpu: Device) -> None:
    parts = pinned(gpu, 4)
    times = pipeline(gpu, parts, [gpu.stream(), gpu.stream()])
    assert times.provenance.kind == "measured"
    assert len(times.spans) == 12
    assert all(span.duration_ms >= 0 for span in times.spans)
    assert times.elapsed_ms > 0
    assert all((part == parts[0]).all() and part[0] > 100 for part in parts)


def test_copies_overlap_with_kernels_of_another_stream(gpu: Device) -> None:
    big = 1 << 24
    add, streams = gpu.compile(ADD), [gpu.stream(), gpu.stream()]
    parts = [gpu.pinned_empty(big) for _ in range(6)]

    def run() -> Timeline:
        with gpulab.timeline(gpu) as times:
            for number, part in enumerate(parts):
                stream = streams[number % 2]
                x = gpu.asarray(part, stream=stream)
                add(big // 256, 256, (x, 1.0), stream=stream)
                gpu.asnumpy(x, stream=stream, out=part)
        return times

    run()  # allocates the arrays
    assert run().overlap_ms > 0


def test_stream_of_the_simulator_is_refused(gpu: Device) -> None:
    with pytest.raises(UsageError, match="not a stream"):
        gpu.asarray(np.zeros(4), stream=gpulab.device("sim").stream())
