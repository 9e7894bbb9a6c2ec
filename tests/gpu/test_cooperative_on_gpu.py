"""Cooperative launches, bulk copies, the heap and alloca() give the same results on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from tests.simt.instructions.test_bulk_copy import SOURCE
from tests.simt.runtime.test_alloca import SUM
from tests.simt.runtime.test_cooperative import TILES, arguments, rolling
from tests.simt.runtime.test_heap import SHAPES


def test_blocks_wait_for_each_other(gpu: Device) -> None:
    args = arguments(gpu, 40 * 96)
    rolling(gpu)(40, 96, args)
    expected = np.arange(40 * 96)
    for _ in range(3):
        expected = np.roll(expected + 1, -1)
    np.testing.assert_array_equal(gpu.asnumpy(args[0]), expected)


def test_more_blocks_than_fit_are_refused(gpu: Device) -> None:
    with pytest.raises(gpulab.LaunchError):
        rolling(gpu)(1 << 20, 64, arguments(gpu, 64))


def test_tiles_of_several_warps(gpu: Device) -> None:
    out = gpu.zeros(256, np.int32)
    gpu.compile(TILES.replace("SIZE", "128").replace("SYNC", "tile.sync()"))(1, 256, (out,))
    np.testing.assert_array_equal(gpu.asnumpy(out), 1000 * (np.arange(256) ^ 127) + 128)


def test_memcpy_async_with_a_barrier(gpu: Device) -> None:
    values = np.arange(4 * 960, dtype=np.float32)
    out = gpu.zeros(4 * 960)
    gpu.compile(SOURCE.replace("WAIT", "arrive_and_wait"))(3, 64, (gpu.asarray(values), out, 960))
    np.testing.assert_array_equal(gpu.asnumpy(out), values.reshape(10, 96, 4)[:, ::-1].ravel())


def test_objects_on_the_heap(gpu: Device) -> None:
    out, t = gpu.zeros(320), np.arange(320)
    gpu.compile(SHAPES)(5, 64, (out,))
    np.testing.assert_array_equal(gpu.asnumpy(out), np.where(t % 3, t * t, 3 * t))


def test_memory_of_the_stack(gpu: Device) -> None:
    out, size = gpu.zeros(64, np.int32), 5 + np.arange(64)
    gpu.compile(SUM.format(header=""))(1, 64, (out, 5))
    np.testing.assert_array_equal(gpu.asnumpy(out), size * (size - 1) // 2 + 10)
