"""Textures of the CUDA device with a replacement of CuPy: what CuPy is asked to create."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.devices.cuda import cuda_context, cuda_device
from gpulab.errors import UsageError
from tests.devices.cuda.fake_cupy import FakeCupy

CONSTANTS = (
    "cudaAddressModeWrap", "cudaAddressModeClamp", "cudaAddressModeMirror", "cudaAddressModeBorder",
    "cudaFilterModePoint", "cudaFilterModeLinear", "cudaReadModeElementType", "cudaReadModeNormalizedFloat",
    "cudaResourceTypeArray", "cudaResourceTypeLinear", "cudaResourceTypePitch2D",
    "cudaChannelFormatKindFloat", "cudaChannelFormatKindSigned", "cudaChannelFormatKindUnsigned",
)  # fmt: skip


class FakeArray:
    """`cupy.cuda.texture.CUDAarray`, in host memory."""

    def __init__(self, channels: Any, width: int, height: int, depth: int, flags: int) -> None:
        self.created = (channels, (width, height, depth), flags)

    def copy_from(self, source: Any) -> None:
        self.values = np.array(source.values if hasattr(source, "values") else source)

    def copy_to(self, target: Any) -> None:
        target[...] = self.values


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    fake = FakeCupy()
    fake.cuda.texture = SimpleNamespace(
        CUDAarray=FakeArray,
        ChannelFormatDescriptor=lambda *bits: bits,
        ResourceDescriptor=lambda kind, **given: {"kind": kind} | given,
        TextureDescriptor=lambda *given, **more: (given, more),
        TextureObject=lambda resource, description: SimpleNamespace(
            ptr=7, resource=resource, description=description
        ),
        SurfaceObject=lambda resource: SimpleNamespace(ptr=9, resource=resource),
    )
    for name in CONSTANTS:
        setattr(fake.cuda.runtime, name, name)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda_context, "has_driver", lambda: True)
    monkeypatch.setattr(cuda_context, "_gpu_count", [])
    monkeypatch.setattr(cuda_device, "_opened", {})
    return open_device("cuda")


def test_array_texture(device: Device) -> None:
    image = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    texture: Any = device.texture(
        image, channels=4, filter="linear", address=("wrap", "mirror"), normalized=True, read="normalized"
    )
    assert texture.ptr == 7
    channels, extents, flags = texture.storage.array.created
    assert channels == (8, 8, 8, 8, "cudaChannelFormatKindUnsigned")
    assert (extents, flags) == ((4, 3, 0), 2)  # cudaArraySurfaceLoadStore
    modes, *others = texture.texture.description[0]
    assert modes == ["cudaAddressModeWrap", "cudaAddressModeMirror", "cudaAddressModeClamp"]
    assert others == ["cudaFilterModeLinear", "cudaReadModeNormalizedFloat"]
    assert texture.texture.description[1] == {"normalizedCoords": 1}
    np.testing.assert_array_equal(device.asnumpy(texture), image)
    assert texture.storage.array.values.shape == (3, 16)


def test_layered_array_and_surface_share_memory(device: Device) -> None:
    surface: Any = device.surface(np.zeros((5, 3, 4), np.float16), layered=True)
    assert surface.storage.array.created == (
        (16, 0, 0, 0, "cudaChannelFormatKindFloat"),
        (4, 3, 5),
        3,  # cudaArrayLayered, cudaArraySurfaceLoadStore
    )
    texture: Any = device.texture(surface)
    assert texture.texture.resource == surface.surface.resource


def test_linear_memory_is_the_array(device: Device) -> None:
    array = device.zeros(64, "int32")
    array.flags = SimpleNamespace(c_contiguous=True)
    texture: Any = device.texture(array, memory="linear", channels=1)
    assert texture.texture.resource == {
        "kind": "cudaResourceTypeLinear",
        "arr": array,
        "chDesc": (32, 0, 0, 0, "cudaChannelFormatKindSigned"),
        "sizeInBytes": 256,
    }
    rows = device.zeros((5, 64))
    rows.flags = SimpleNamespace(c_contiguous=True)
    pitched: Any = device.texture(rows, memory="linear")
    resource = pitched.texture.resource
    assert (resource["width"], resource["height"], resource["pitchInBytes"]) == (64, 5, 256)


def test_objects_reach_another_process_with_their_contents(device: Device) -> None:
    image = np.arange(12, dtype=np.float32).reshape(3, 4)
    surface = device.surface(image)
    texture = device.texture(surface, filter="linear", address="border")
    other_surface, other = pickle.loads(pickle.dumps((surface, texture)))
    assert other.storage is other_surface.storage
    assert other.storage is not texture.storage
    assert (other.layout, other.sampling) == (texture.layout, texture.sampling)
    np.testing.assert_array_equal(device.asnumpy(other), image)


def test_wide_array_cannot_be_a_surface(device: Device) -> None:
    texture: Any = device.texture(np.zeros(40000, np.float32))
    assert texture.storage.array.created[2] == 0
    with pytest.raises(UsageError, match="32,768 texels"):
        device.surface(texture)


def test_contents_must_have_the_shape_of_the_texture(device: Device) -> None:
    texture = device.texture(np.zeros((3, 4), np.float32))
    with pytest.raises(UsageError, match=r"shape \(3, 4\)"):
        texture.set(np.zeros((4, 3), np.float32))
