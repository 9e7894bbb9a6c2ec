"""Streams and page-locked memory of the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.devices.streams import DeviceOperation
from gpulab.errors import LaunchError, UsageError

ADD = "__global__ void add(float* x, float a) { x[threadIdx.x] += a; }"


@pytest.fixture
def device() -> Device:
    return gpulab.device("sim")


def test_pinned_array_has_its_shape_and_dtype(device: Device) -> None:
    host = device.pinned_empty((2, 3), np.int16)
    assert (host.shape, host.dtype, host.flags.writeable) == ((2, 3), np.int16, True)


def test_pinned_array_may_be_empty(device: Device) -> None:
    assert device.pinned_empty(0).size == 0


def test_negative_size_is_refused(device: Device) -> None:
    with pytest.raises(UsageError, match="negative"):
        device.pinned_empty((2, -1))


def test_operations_of_a_stream_run_in_order(device: Device) -> None:
    host, stream, add = device.pinned_empty(4), device.stream(), device.compile(ADD)
    host[:] = 1
    x = device.asarray(host, stream=stream)
    add(1, 4, (x, 2.0), stream=stream)
    device.asnumpy(x, stream=stream, out=host)
    stream.synchronize()
    assert host.tolist() == [3] * 4


@pytest.mark.parametrize("wait", ["stream", "device", "plain launch"])
def test_copy_to_pinned_memory_arrives_when_its_stream_has_finished(device: Device, wait: str) -> None:
    host, stream, other = device.pinned_empty(4), device.stream(), device.stream()
    host[:] = 0
    x = device.asarray(np.ones(4, np.float32))
    device.asnumpy(x, stream=stream, out=host)
    other.synchronize()
    assert host.tolist() == [0] * 4
    if wait == "stream":
        stream.synchronize()
    elif wait == "device":
        device.synchronize()
    else:
        device.compile(ADD)(1, 4, (x, 1.0))
    assert host.tolist() == [1] * 4


def test_copy_to_pinned_memory_has_the_values_of_its_place_in_the_stream(device: Device) -> None:
    host, stream = device.pinned_empty(4), device.stream()
    x = device.asarray(np.ones(4, np.float32))
    device.asnumpy(x, stream=stream, out=host)
    device.compile(ADD)(1, 4, (x, 1.0), stream=stream)
    stream.synchronize()
    assert host.tolist() == [1] * 4


def test_copy_to_pageable_memory_arrives_at_once(device: Device) -> None:
    x = device.asarray(np.ones(4, np.float32))
    assert device.asnumpy(x, stream=device.stream()).tolist() == [1] * 4


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(5, np.float32), "shape"),
        (np.zeros(4), "type"),
        (np.zeros(8, np.float32)[::2], "contiguous"),
        ([0.0] * 4, "NumPy array"),
    ],
)
def test_destination_that_does_not_fit_is_refused(device: Device, out: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        device.asnumpy(device.zeros(4), out=out)


def test_stream_of_another_device_is_refused(device: Device) -> None:
    stream = gpulab.device("sim:v100").stream()
    with pytest.raises(UsageError, match="not a stream of the simulator"):
        device.asarray(np.zeros(4), stream=stream)
    with pytest.raises(UsageError, match=r"dev\.stream\(\)"):
        device.compile(ADD)(1, 4, (device.zeros(4), 1.0), stream=stream)


def test_faulty_launch_on_a_stream_raises(device: Device) -> None:
    with pytest.raises(LaunchError):
        device.compile(ADD)(1, 4, (np.zeros(4), 1.0), stream=device.stream())


def test_pinned_slices_are_pinned_and_results_of_arithmetic_are_not(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    seen: list[DeviceOperation] = []
    monkeypatch.setattr(device, "observer", lambda operation: seen.append(operation) or nullcontext())
    host = device.pinned_empty((4, 2))
    for array in (host, host[1:3], host.reshape(8), host + 1, np.zeros(4)):
        device.asarray(array)
    assert [operation.pinned for operation in seen] == [True, True, True, False, False]
