"""Texture and surface objects: what CUDA permits, shared memory, handles, faults and copies."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.devices.argument_copies import copy_arguments, copy_back
from gpulab.devices.base import Device
from gpulab.errors import LaunchError, MemoryFault, UsageError

READ = """
__global__ void read(cudaTextureObject_t texture, float* y)
{
    y[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0);
}"""
FETCH = """
__global__ void fetch(cudaTextureObject_t texture, float* y)
{
    y[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}"""
WRITE = """
__global__ void write(cudaSurfaceObject_t surface, int x, int y)
{
    surf2Dwrite(1.0f, surface, 4 * threadIdx.x + x, y);
}"""
INCREMENT = """
__global__ void increment(cudaSurfaceObject_t surface)
{
    int x = 4 * threadIdx.x;
    surf2Dwrite(surf2Dread<float>(surface, x, 0) + 1, surface, x, 0);
}"""


@pytest.fixture
def dev() -> Device:
    return gpulab.device("sim")


def image(dtype: str = "float32") -> Any:
    return np.arange(32).reshape(4, 8).astype(dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "options", "reason"),
    [
        ((4, 8), "float64", {}, "float64"),
        ((4, 8), "float32", {"channels": 3}, "1, 2 or 4 channels"),
        ((4, 8), "float32", {"channels": 4}, "last axis"),
        ((2, 2, 2, 2), "float32", {}, "1 to 3 axes"),
        ((0, 8), "float32", {}, "empty"),
        ((4, 8), "float32", {"layered": True}, "layers"),
        ((140000,), "uint8", {}, "too large"),
        ((4, 8), "float32", {"filter": "nearest"}, "'point', 'linear'"),
        ((4, 8), "float32", {"address": "repeat"}, "'wrap'"),
        ((4, 8), "float32", {"address": "wrap"}, "normalised coordinates"),
        ((4, 8), "float32", {"address": ("clamp",)}, "2 axes"),
        ((4, 8), "float32", {"read": "normalized"}, "8 or 16 bits"),
        ((4, 8), "int32", {"filter": "linear"}, "linear filter gives floats"),
        ((4, 8), "uint8", {"filter": "linear"}, "linear filter gives floats"),
        ((4, 8), "float32", {"memory": "pitched"}, "'linear'"),
    ],
)
def test_texture_that_cuda_does_not_have_is_refused(
    dev: Device, shape: tuple[int, ...], dtype: str, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        dev.texture(np.zeros(shape, dtype), **options)


def test_linear_memory_is_that_of_a_device_array(dev: Device) -> None:
    with pytest.raises(UsageError, match=r"dev\.asarray"):
        dev.texture(np.zeros(8, np.float32), memory="linear")
    with pytest.raises(UsageError, match="multiple of 32 bytes"):
        dev.texture(dev.zeros((4, 7)), memory="linear")
    with pytest.raises(UsageError, match="multiple of 512 bytes"):
        dev.texture(dev.zeros(300)[1:], memory="linear")
    with pytest.raises(UsageError, match="tex1Dfetch"):
        dev.texture(dev.zeros(300), memory="linear", filter="linear")
    with pytest.raises(UsageError, match="one or two axes"):
        dev.texture(dev.zeros((2, 4, 8)), memory="linear")

    x, y = dev.zeros(300), dev.zeros(4)
    texture = dev.texture(x[128:], memory="linear")
    x.set(np.arange(300, dtype=np.float32))
    dev.compile(FETCH)(1, 4, (texture, y))
    assert list(dev.asnumpy(y)) == [128, 129, 130, 131]


def test_array_memory_is_a_copy(dev: Device) -> None:
    x, y = dev.asarray(image()), dev.zeros(8)
    texture = dev.texture(x)
    x.set(image() + 100)
    dev.compile(READ)(1, 8, (texture, y))
    np.testing.assert_array_equal(dev.asnumpy(y), np.arange(8))

    texture.set(image() + 50)
    dev.compile(READ)(1, 8, (texture, y))
    np.testing.assert_array_equal(dev.asnumpy(y), np.arange(8) + 50)
    np.testing.assert_array_equal(dev.asnumpy(texture), image() + 50)


def test_surface_of_a_texture_shares_its_memory(dev: Device) -> None:
    texture = dev.texture(image())
    surface = dev.surface(texture)
    dev.compile(INCREMENT)(1, 8, (surface,))
    assert dev.asnumpy(texture)[0, 3] == 4
    with pytest.raises(UsageError, match="not from linear memory"):
        dev.surface(dev.texture(dev.zeros(8), memory="linear"))
    with pytest.raises(UsageError, match="another device"):
        gpulab.device("sim:gtx280").texture(texture)
    with pytest.raises(UsageError, match="32,768 texels"):
        dev.surface(dev.texture(np.zeros(40000, np.float32)))


@pytest.mark.parametrize("handle", [0, 7, 1 << 40])
def test_number_that_is_no_handle_is_a_fault(dev: Device, handle: int) -> None:
    with pytest.raises(LaunchError, match=r"line 4: thread \(0,0\) of block \(0,0\) calls tex2D<float> with"):
        dev.compile(READ)(1, 8, (handle, dev.zeros(8)))


def test_handle_of_a_deleted_texture_is_a_fault(dev: Device) -> None:
    texture = dev.texture(image())
    handle = texture.ptr
    del texture
    gc.collect()
    others = [dev.texture(image()) for _ in range(20)]
    assert handle not in [texture.ptr for texture in others]
    with pytest.raises(LaunchError, match="no longer exists"):
        dev.compile(READ)(1, 8, (handle, dev.zeros(8)))


@pytest.mark.parametrize(
    ("source", "contents", "options", "advice"),
    [
        (READ, image("int32"), {}, "int32, read='element'.*integer type"),
        (READ, np.zeros(8, np.float32), {}, "1-D, 8 texels"),
        (READ, np.zeros((2, 4, 8), np.float32), {"layered": True}, "layered"),
        (FETCH, np.zeros(8, np.float32), {}, "memory='linear'"),
    ],
)
def test_function_that_does_not_fit_the_texture_is_a_fault(
    dev: Device, source: str, contents: Any, options: dict[str, Any], advice: str
) -> None:
    with pytest.raises(LaunchError, match=advice):
        dev.compile(source)(1, 8, (dev.texture(contents, **options), dev.zeros(8)))


def test_surface_where_a_texture_is_needed_is_a_fault(dev: Device) -> None:
    with pytest.raises(LaunchError, match=r"Texture functions need an object of dev\.texture"):
        dev.compile(READ)(1, 8, (dev.surface(image()), dev.zeros(8)))
    with pytest.raises(LaunchError, match=r"Surface functions need an object of dev\.surface"):
        dev.compile(WRITE)(1, 8, (dev.texture(image()), 0, 0))


@pytest.mark.parametrize(
    ("x", "y", "thread", "kind"),
    [
        (4, 0, (7, 0, 0), "outside_surface"),
        (-4, 0, (0, 0, 0), "outside_surface"),
        (0, 4, (0, 0, 0), "outside_surface"),
        (0, -1, (0, 0, 0), "outside_surface"),
        (2, 0, (0, 0, 0), "misaligned_surface"),
    ],
)
def test_invalid_access_to_a_surface_is_a_fault(
    dev: Device, x: int, y: int, thread: tuple[int, ...], kind: str
) -> None:
    with pytest.raises(MemoryFault, match="surf2Dwrite at byte") as caught:
        dev.compile(WRITE)(1, 8, (dev.surface(image()), x, y))
    (finding,) = caught.value.findings
    assert (finding.kind, finding.line, finding.thread[: len(thread)]) == (
        kind,
        4,
        thread[: len(finding.thread)],
    )


def test_element_larger_than_a_texel_is_a_fault(dev: Device) -> None:
    with pytest.raises(LaunchError, match="at most the size of a texel"):
        dev.compile(WRITE)(1, 8, (dev.surface(image("uint8")), 0, 0))


def test_arguments(dev: Device) -> None:
    read, texture, y = dev.compile(READ), dev.texture(image()), dev.zeros(8)
    with pytest.raises(LaunchError, match=r"pass dev\.texture\(x\)"):
        read(1, 8, (y, y))
    with pytest.raises(LaunchError, match=r"`y`\) must be a pointer"):
        read(1, 8, (texture, texture))
    with pytest.raises(LaunchError, match="another device"):
        read(1, 8, (gpulab.device("sim:gtx280").texture(image()), y))
    read(1, 8, (texture.ptr, y))
    np.testing.assert_array_equal(dev.asnumpy(y), np.arange(8))


def test_copies_of_arguments_share_memory_as_the_arguments_do(dev: Device) -> None:
    other = gpulab.device("sim:gtx280")
    surface, x = dev.surface(image()), dev.asarray(np.arange(8, dtype=np.float32))
    args = (surface, dev.texture(surface, address="border"), x, dev.texture(x, memory="linear"))
    copies = copy_arguments(args, dev, other)
    assert copies[1].storage is copies[0].storage
    assert copies[3].storage is copies[2]
    assert copies[1].sampling.address == ("border", "border", "clamp")

    other.compile(INCREMENT)(1, 8, (copies[0],))
    np.testing.assert_array_equal(dev.asnumpy(surface), image())
    copy_back(copies[:1], args[:1], other, dev)
    np.testing.assert_array_equal(dev.asnumpy(surface)[0], image()[0] + 1)


def test_sanitize_and_counters_launch_once(dev: Device) -> None:
    kernel, surface = dev.compile(INCREMENT), dev.surface(image())
    assert gpulab.sanitize(kernel, 1, 8, (surface,)) == []
    np.testing.assert_array_equal(dev.asnumpy(surface)[0], image()[0] + 1)
    counts = gpulab.counters(kernel, 1, 8, (surface,))
    assert any("surfaces are not counted" in caveat for caveat in counts.caveats)
    np.testing.assert_array_equal(dev.asnumpy(surface)[0], image()[0] + 2)


def test_model_says_that_textures_are_missing(dev: Device) -> None:
    profile = dev.profile(dev.compile(READ), 1, 8, (dev.texture(image()), dev.zeros(8)))
    assert "without accesses to textures" in profile.provenance.detail
