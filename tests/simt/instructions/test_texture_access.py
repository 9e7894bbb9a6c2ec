"""Texture fetches and accesses to surfaces, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gpulab
from gpulab.devices.base import Device
from tests.simt.texture_reference import CASES, TextureCase, coordinates, fetch, reference, texels

SURFACES = """
template <typename T> __device__ T value(int i) { return (T)i; }
template <> __device__ float2 value<float2>(int i) { return make_float2(i, -i); }

__global__ void read(cudaSurfaceObject_t surface, const int4* at, ELEMENT* out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = surf2Dread<ELEMENT>(surface, at[i].x, at[i].y, MODE);
}

__global__ void write(cudaSurfaceObject_t surface, const int4* at, int n)
{
    for (int i = 0; i < n; i++) surf2Dwrite(value<ELEMENT>(i), surface, at[i].x, at[i].y, MODE);
}"""


@pytest.fixture(scope="module")
def dev() -> Device:
    return gpulab.device("sim")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fetch(dev: Device, case: TextureCase) -> None:
    contents, at = texels(case), coordinates(case)
    found, expected = fetch(dev, case, contents, at), reference(case, contents, at)
    if case.options.get("filter") == "linear" and case.dtype[0] == "f":
        # Rounding of the result: ties, and the order of the sum.
        tolerance = 2.0**-10 if case.dtype == "float16" else 2.0**-22
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


def surface_kernels(dev: Device, c_type: str, mode: str) -> tuple[Any, Any]:
    module = dev.module(SURFACES, {"ELEMENT": c_type, "MODE": f"cudaBoundaryMode{mode}"})
    return module.get_function("read"), module.get_function("write")


def positions(width: int, height: int, size: int, *, outside: bool) -> npt.NDArray[np.int32]:
    random = np.random.default_rng(1)
    margin = 3 if outside else 0
    at = np.zeros((200, 4), np.int32)
    at[:, 0] = random.integers(-margin, width + margin, 200) * size
    at[:, 1] = random.integers(-margin, height + margin, 200)
    return at


@pytest.mark.parametrize("mode", ["Trap", "Clamp", "Zero"])
@pytest.mark.parametrize(
    ("c_type", "dtype", "channels"),
    [("unsigned char", "uint8", 1), ("short", "int16", 1), ("int", "int32", 1), ("float", "float32", 1),
     ("float2", "float32", 2)],
)  # fmt: skip
def test_surface_access(dev: Device, c_type: str, dtype: str, channels: int, mode: str) -> None:
    read, write = surface_kernels(dev, c_type, mode)
    case = TextureCase((5, 8), dtype, {"channels": channels})
    before = texels(case).reshape(5, 8, channels)
    size = before.itemsize * channels
    at = positions(8, 5, size, outside=mode != "Trap")
    x, y = at[:, 0] // size, at[:, 1]
    inside = (x >= 0) & (x < 8) & (y >= 0) & (y < 5)
    rows, columns = np.clip(y, 0, 4), np.clip(x, 0, 7)
    surface = dev.surface(before if channels > 1 else before[..., 0], channels=channels)

    out = dev.zeros((200, channels), dtype)
    read(1, 224, (surface, dev.asarray(at), out, 200))
    expected = before[rows, columns]
    if mode == "Zero":
        expected = np.where(inside[:, None], expected, 0)
    np.testing.assert_array_equal(dev.asnumpy(out), expected)

    write(1, 1, (surface, dev.asarray(at), 200))
    after = before.copy()
    for i in range(200):
        if inside[i] or mode == "Clamp":
            after[rows[i], columns[i]] = np.array([i, -i][:channels]).astype(dtype)
    np.testing.assert_array_equal(dev.asnumpy(surface).reshape(after.shape), after)


def test_surface_of_each_geometry(dev: Device) -> None:
    kernel = dev.compile("""
__global__ void copy(cudaSurfaceObject_t line, cudaSurfaceObject_t box, cudaSurfaceObject_t layers)
{
    int x = 4 * threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int number = 100 * z + 10 * y + threadIdx.x;
    surf3Dwrite(number, box, x, y, z);
    surf2DLayeredwrite(surf3Dread<int>(box, x, y, z) + 1000, layers, x, y, z);
    if (y == 0 && z == 0) surf1Dwrite(surf1Dread<int>(line, x) + number, line, x);
}""")
    line = dev.surface(np.full(4, 50, np.int32))
    box = dev.surface(np.zeros((2, 3, 4), np.int32))
    layers = dev.surface(np.zeros((2, 3, 4), np.int32), layered=True)
    kernel(1, (4, 3, 2), (line, box, layers))
    z, y, x = np.indices((2, 3, 4))
    np.testing.assert_array_equal(dev.asnumpy(box), 100 * z + 10 * y + x)
    np.testing.assert_array_equal(dev.asnumpy(layers), 1000 + 100 * z + 10 * y + x)
    np.testing.assert_array_equal(dev.asnumpy(line), [50, 51, 52, 53])


def test_texture_reads_what_another_launch_has_written_to_its_surface(dev: Device) -> None:
    module = dev.module("""
__global__ void fill(cudaSurfaceObject_t s) { surf2Dwrite((float)threadIdx.x, s, 4 * threadIdx.x, 0); }
__global__ void shift(cudaTextureObject_t t, float* y)
{
    y[threadIdx.x] = tex2D<float>(t, threadIdx.x + 1, 0);
}
""")
    surface = dev.surface(np.zeros((1, 32), np.float32))
    texture, y = dev.texture(surface), dev.zeros(32)
    module.get_function("fill")(1, 32, (surface,))
    module.get_function("shift")(1, 32, (texture, y))
    np.testing.assert_array_equal(dev.asnumpy(y), np.minimum(np.arange(32) + 1, 31))


def test_lanes_may_use_different_textures(dev: Device) -> None:
    kernel = dev.compile("""
__global__ void pick(const cudaTextureObject_t* textures, float* y)
{
    int i = threadIdx.x;
    if (i % 3) y[i] = tex1D<float>(textures[i % 2], i / 2);
}""")
    pair = [dev.texture(np.arange(64, dtype=np.float32) * factor) for factor in (1, -1)]
    y = dev.zeros(64)
    kernel(1, 64, (dev.asarray(np.array([t.ptr for t in pair], np.uint64)), y))
    i = np.arange(64)
    expected = np.where(i % 3, i // 2 * np.where(i % 2, -1, 1), 0)
    np.testing.assert_array_equal(dev.asnumpy(y), expected)


def test_level_and_gradients_have_no_effect(dev: Device) -> None:
    kernel = dev.compile("""
__global__ void sample(cudaTextureObject_t t, float* y)
{
    float x = threadIdx.x + 0.25f;
    y[threadIdx.x] = tex2DLod<float>(t, x, 1.0f, 3.0f) - tex2D<float>(t, x, 1.0f);
    y[threadIdx.x] += tex2DGrad<float>(t, x, 1, make_float2(2, 0), make_float2(0, 2)) - tex2D<float>(t, x, 1);
}""")
    y = dev.full(8, 1.0)
    contents = np.arange(32, dtype=np.float32).reshape(4, 8)
    kernel(1, 8, (dev.texture(contents, filter="linear"), y))
    np.testing.assert_array_equal(dev.asnumpy(y), 0)


def test_sanitizer_reads_surfaces(dev: Device) -> None:
    source = (
        "__global__ void k(cudaSurfaceObject_t s, float* y) { int x = threadIdx.x; char c;\n"
        "  surf2Dread(&c, s, x, 0); surf2Dwrite((char) ~c, s, x, 0); y[x] = c; }"
    )
    texels = np.arange(8, dtype=np.uint8).reshape(1, 8)
    surface, y = dev.surface(texels), dev.empty(8, "float32")
    assert gpulab.sanitize(dev.compile(source), 1, 8, (surface, y)) == []
    assert np.array_equal(dev.asnumpy(surface), ~texels)
