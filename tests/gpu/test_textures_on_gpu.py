"""Textures and surfaces of a GPU, compared with the simulator on random coordinates.

The rounding of coordinates, weights and results is not documented. The tolerances are the differences that
an H200 had in less than 1 % of the fetches, or 5 % for `int8`, which differ by one unit of 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.errors import LaunchError, UsageError
from tests.devices import test_textures
from tests.simt.instructions import test_texture_access
from tests.simt.texture_reference import CASES, TextureCase, coordinates, fetch, texels


@pytest.fixture(scope="module")
def sim() -> Device:
    return gpulab.device("sim:h200")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fetch_as_on_the_simulator(gpu: Device, sim: Device, case: TextureCase) -> None:
    for seed in range(3):
        contents, at = texels(case, seed), coordinates(case, 20000, seed)
        found, expected = fetch(gpu, case, contents, at), fetch(sim, case, contents, at)
        if case.options.get("filter") != "linear":
            np.testing.assert_array_equal(found, expected)
            continue
        tolerance = {"float16": 2.0**-9, "float32": 2.0**-22}.get(case.dtype, 2.0**-22)
        if case.dtype == "int8":
            tolerance = 1.1 / 32767
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert np.mean(found == expected) > (0.95 if case.dtype == "int8" else 0.99)


@pytest.mark.parametrize("mode", ["Trap", "Clamp", "Zero"])
@pytest.mark.parametrize(("c_type", "dtype"), [("unsigned char", "uint8"), ("int", "int32")])
def test_surface_access(gpu: Device, c_type: str, dtype: str, mode: str) -> None:
    test_texture_access.test_surface_access(gpu, c_type, dtype, 1, mode)


@pytest.mark.parametrize(
    "check",
    [
        test_texture_access.test_surface_of_each_geometry,
        test_texture_access.test_texture_reads_what_another_launch_has_written_to_its_surface,
        test_texture_access.test_lanes_may_use_different_textures,
        test_texture_access.test_level_and_gradients_have_no_effect,
        test_textures.test_array_memory_is_a_copy,
    ],
)
def test_behaviour_of_the_simulator(gpu: Device, check: Callable[[Device], None]) -> None:
    check(gpu)


def test_linear_memory_is_that_of_the_array(gpu: Device) -> None:
    x, y = gpu.zeros(300), gpu.zeros(4)
    texture = gpu.texture(x[128:], memory="linear")
    x.set(np.arange(300, dtype=np.float32))
    gpu.compile(test_textures.FETCH)(1, 4, (texture, y))
    assert list(gpu.asnumpy(y)) == [128, 129, 130, 131]


def test_sanitize_copies_textures_to_the_simulator_and_surfaces_back(gpu: Device) -> None:
    image: npt.NDArray[Any] = np.arange(32, dtype=np.float32).reshape(4, 8)
    surface = gpu.surface(image)
    assert gpulab.sanitize(gpu.compile(test_textures.INCREMENT), 1, 8, (surface,)) == []
    np.testing.assert_array_equal(gpu.asnumpy(surface)[0], image[0] + 1)
    y = gpu.zeros(8)
    assert gpulab.sanitize(gpu.compile(test_textures.READ), 1, 8, (gpu.texture(surface), y)) == []
    np.testing.assert_array_equal(gpu.asnumpy(y), image[0] + 1)


def test_benchmark_in_another_process_has_the_texture(gpu: Device) -> None:
    image = np.arange(32, dtype=np.float32).reshape(4, 8)
    args = (gpu.texture(image), gpu.zeros(8))
    assert gpulab.benchmark(gpu.compile(test_textures.READ), 1, 8, args).median_ms > 0


def test_same_requests_are_refused(gpu: Device, sim: Device) -> None:
    for device in (gpu, sim):
        with pytest.raises(UsageError, match="normalised coordinates"):
            device.texture(np.zeros(4, np.float32), address="wrap")
        with pytest.raises(LaunchError, match=r"pass dev\.texture\(x\)"):
            device.compile(test_textures.READ)(1, 1, (device.zeros(1), device.zeros(1)))
