"""Launches of NVIDIA/cuda-samples with textures and surfaces on volumes, videos and lines of sight."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Launch,
    Packed,
    Surface,
    Texture,
    blocks,
    integers,
    masked,
    new,
    suite,
    uniform,
)
from benchmarks.compatibility.samples_concepts import box, near_bytes
from benchmarks.compatibility.samples_textures import COLORS, SMOOTH, colors, tiles
from benchmarks.compatibility.texels import LINEAR_ERROR, fetch

__all__: list[str] = []

declare = suite("cuda-samples", "Samples/")

# Volumes ---------------------------------------------------------------------------------------

VOLUMES = "5_Domain_Specific/volumeFiltering/"


def _volume(size: int) -> Array:
    z, y, x = np.indices((size, size, size)) / size
    values = 100 + 40 * (np.sin(9 * x) + np.cos(7 * y) + np.sin(5 * z))
    return np.asarray(values.clip(0, 255), np.uint8)


def _extent(*sizes: int) -> bytes:
    return np.array(sizes, np.uint64).tobytes()


@declare(f"{VOLUMES}volumeFilter_kernel.cu", "d_filter_surface3d")
def filtered_volume(_scale: int) -> Launch:
    volume, count, offset = _volume(16), 7, 0.1
    data = np.zeros((125, 4), np.float32)
    data[:count, :3] = integers(count, 3, low=-2, high=3)
    data[:count, 3] = uniform(count, low=-0.1, high=0.2)
    z, y, x = np.ogrid[:16, :16, :16]
    sums: Any = sum(fetch(volume, x + dx, y + dy, z + dz) * float(w) for dx, dy, dz, w in data[:count])
    expected = near_bytes((sums + 255 * offset).clip(0, 255))
    texture = Texture(volume, {"read": "normalized"})
    args = [count, offset, _extent(16, 16, 16), texture, Surface(np.zeros_like(volume))]
    return Launch((2, 2, 4), (8, 8, 4), args, {4: expected}, variables={"c_filterData": data})


def _rays(size: int) -> tuple[Array, Array, Array, Array]:
    """Return the origin of all rays, their directions, and where they enter and leave the cube."""
    v, u = np.indices((size, size)) / size * 2 - 1
    direction = np.stack([u, v, np.full_like(u, -2.0)], -1)
    direction /= np.sqrt((direction**2).sum(-1, keepdims=True))
    origin = np.array([0, 0, 4.0])
    with np.errstate(divide="ignore"):
        sides = np.stack([(-1 - origin) / direction, (1 - origin) / direction])
    return origin, direction, sides.min(0).max(-1), sides.max(0).min(-1)


VIEW = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4]], np.float32)
HEAT = np.stack([np.linspace(a, b, 9) for a, b in ((0.2, 1), (0.9, 0.1), (0.3, 0.8), (0.1, 0.6))], -1).astype(
    np.float32
)
DENSITY, BRIGHTNESS = 0.05, 0.9


@declare("5_Domain_Specific/volumeRender/volumeRender_kernel.cu", "d_render")
@declare(f"{VOLUMES}volumeRender_kernel.cu", "d_render_regular", "d_render_preint", "d_render_preint_off")
def rendered_volume(_scale: int, kernel: str) -> Launch:
    size, volume = 32, _volume(16)
    coarse = "preint" in kernel
    step = 0.04 if coarse else 0.01
    origin, direction, near, far = _rays(size)
    hit, t = far > near, np.maximum(near, 0)
    layers = np.stack([HEAT, HEAT[::-1]])[:, None].repeat(5, 1)
    color, alive = np.zeros((size, size, 4)), hit.copy()
    last: Any = 0
    for n in range(512):
        place = (origin + direction * (t + n * step)[..., None]) / 2 + 0.5
        sample = fetch(volume, *np.moveaxis(place, -1, 0), normalized=True, linear=True, address="wrap") / 255
        if coarse:
            row = sample if kernel == "d_render_preint_off" else last
            left = (place[..., 0] < 0.5)[..., None]
            both = [fetch(layer, sample, row, normalized=True, linear=True) for layer in layers]
            term = np.where(left, both[1], both[0])
            last = np.where(alive, sample, last)
        else:
            term = fetch(HEAT, sample, normalized=True, linear=True)
        weight = term[..., 3:] * (0 if kernel == "d_render_regular" else DENSITY * (4 if coarse else 1))
        term = np.concatenate([term[..., :3] * weight, weight], -1)
        color = np.where(alive[..., None], color + term * (1 - color[..., 3:]), color)
        alive &= (color[..., 3] <= 0.95) & (t + (n + 1) * step <= far)
    output = integers(size, size, high=2**31, dtype=np.uint32)
    expected = (color * BRIGHTNESS).clip(0, 1) * 255
    expected = np.where(hit[..., None], expected, output.view(np.uint8).reshape(size, size, 4))
    args = [output, size, size, DENSITY, BRIGHTNESS, 0.0, 1.0]
    args.append(Texture(volume, {**SMOOTH, "address": "wrap", "read": "normalized"}))
    args.append(Texture(HEAT, {**SMOOTH, "channels": 4}))
    if kernel != "d_render":
        args += [Texture(layers, {**SMOOTH, "channels": 4, "layered": True}), 0.0]
    variables = {"c_invViewMatrix": VIEW.view(np.uint8).ravel()}
    return Launch((4, 4), (8, 8), args, {0: near_bytes(expected, 6.01)}, variables=variables)


@declare(f"{VOLUMES}volumeRender_kernel.cu", "d_integrate_trapezoidal")
def integrated(_scale: int) -> Launch:
    size = 64
    values = fetch(HEAT, np.arange(size) / (size - 1), normalized=True, linear=True)
    sums = np.zeros((size, 4))
    sums[1:] = np.cumsum((values[1:] + values[:-1]) / 2, 0)
    output = Surface(np.zeros((size, 4), np.float32), {"channels": 4})
    args = [_extent(size, 0, 0), Texture(HEAT, {**SMOOTH, "channels": 4}), output]
    return Launch(2, 32, args, {2: sums}, rtol=LINEAR_ERROR)


@declare(f"{VOLUMES}volumeRender_kernel.cu", "d_preintegrate")
def preintegrated(_scale: int) -> Launch:
    size, steps, layer = 32, 40.0, 1
    integral = np.cumsum(HEAT, 0, np.float32) * 4
    y, x = np.indices((size, size)) / size
    high, low = np.maximum(x, y), np.minimum(x, y)
    upper, lower = (fetch(integral, each, normalized=True, linear=True) for each in (high, low))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (upper - lower) / ((high - low) * steps)[..., None]
    mean = np.where((x == y)[..., None], fetch(HEAT, low, normalized=True, linear=True), mean)
    mean[..., 3] = 1 - np.exp(-mean[..., 3])
    expected = np.zeros((2, size, size, 4))
    expected[layer] = mean.clip(0, 1)
    textures = [Texture(each, {**SMOOTH, "channels": 4}) for each in (HEAT, integral)]
    output = Surface(np.zeros((2, size, size, 4), np.float32), {"channels": 4, "layered": True})
    args = [layer, steps, _extent(size, size, 2), *textures, output]
    return Launch((2, 2), (16, 16), args, {5: expected}, rtol=0.03)


CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))


@declare("5_Domain_Specific/marchingCubes/marchingCubes_kernel.cu", "classifyVoxel")
def classified(_scale: int) -> Launch:
    size, level = 16, 0.4
    volume, table = _volume(size), integers(256, low=-3, high=6).clip(0).astype(np.uint32) * 3
    padded = np.pad(volume / 255, (0, 1), "edge")
    cube = np.zeros(volume.shape, int)
    for n, (x, y, z) in enumerate(CORNERS):
        cube += (padded[z : z + size, y : y + size, x : x + size] < level) << n
    counts = table[cube]
    vectors = [np.array(each, np.uint32).tobytes() for each in ((size,) * 3, (0, 4, 8), (size - 1,) * 3)]
    textures = [
        Texture(table, {"memory": "linear"}),
        Texture(volume.ravel(), {"memory": "linear", "read": "normalized"}),
    ]
    outputs = [new(size**3, dtype=np.uint32) for _ in range(2)]
    edge = np.full(3, 2 / size, np.float32).tobytes()
    args = [*outputs, volume, *vectors, size**3, edge, level, *textures]
    expected = {0: counts, 1: (counts > 0).astype(np.uint32)}
    return Launch((size**3 // 128, 1), 128, args, expected)


EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))


def _triangle_table() -> tuple[Array, Array]:
    """Return the number of vertices of each case, and their edges, each of which crosses the surface.

    They are not those of marching cubes, whose tables are part of the sample.
    """
    table, counts = np.zeros((256, 16), np.uint32), np.zeros(256, np.uint32)
    for case in range(256):
        crossed = [n for n, (a, b) in enumerate(EDGES) if (case >> a ^ case >> b) & 1]
        counts[case] = len(crossed) // 3 * 3
        table[case, : counts[case]] = crossed[: counts[case]]
    return counts, table


def _tangle(p: Array) -> Array:
    q = 3 * p
    return np.asarray(((q**4 - 5 * q**2).sum(-1) + 11.8) * 0.2 + 0.5)


def _gradient(p: Array) -> Array:
    return np.stack([_tangle(p + step) - _tangle(p) for step in 0.001 * np.eye(3)], -1)


@declare("5_Domain_Specific/marchingCubes/marchingCubes_kernel.cu", "generateTriangles", "generateTriangles2")
def triangles(_scale: int, kernel: str) -> Launch:
    size, level = 16, 0.5
    edge, sampled = 2 / size, kernel.endswith("2")
    volume, (counts, table) = _volume(size), _triangle_table()
    at = np.moveaxis(np.indices((size, size, size))[::-1], 0, -1).reshape(-1, 1, 3)
    corners = at + np.array(CORNERS)
    places = corners * edge - 1
    inside = corners.clip(max=size - 1)
    values = volume[inside[..., 2], inside[..., 1], inside[..., 0]] / 255 if sampled else _tangle(places)
    case = ((values < level) << np.arange(8)).sum(-1)
    active = np.flatnonzero(counts[case])
    active = active[: active.size // 32 * 32]  # the last voxel has one thread
    vertices = np.zeros(size**3, np.uint32)
    vertices[active] = counts[case[active]]
    starts = (np.cumsum(vertices) - vertices).astype(np.uint32)
    total = int(vertices.sum())
    voxel = np.repeat(active, vertices[active])
    ends = np.array(EDGES)[table[case[voxel], np.arange(total) - starts[voxel]]]
    a, b = ([each[voxel, ends[:, n]] for each in (places, values)] for n in (0, 1))
    t = ((level - a[1]) / (b[1] - a[1]))[:, None]
    points = a[0] + t * (b[0] - a[0])
    if sampled:
        first, second, third = points.reshape(-1, 3, 3).transpose(1, 0, 2)
        normals = np.cross(second - first, third - first).repeat(3, 0)
    else:
        normals = (1 - t) * _gradient(a[0]) + t * _gradient(b[0])
    vectors = [np.array(each, np.uint32).tobytes() for each in ((size,) * 3, (0, 4, 8), (size - 1,) * 3)]
    args = [new(total, 4), new(total, 4), active.astype(np.uint32), starts, *([volume] if sampled else [])]
    args += [*vectors, np.full(3, edge, np.float32).tobytes(), level, active.size, total + 4]
    textures = [Texture(table.ravel(), {"memory": "linear"}), Texture(counts, {"memory": "linear"})]
    if sampled:
        textures.append(Texture(volume.ravel(), {"memory": "linear", "read": "normalized"}))
    expected = {
        n: np.pad(each, ((0, 0), (0, 1)), constant_values=1 - n) for n, each in enumerate((points, normals))
    }
    return Launch((active.size // 32, 1), 32, [*args, *textures], expected, rtol=2e-3)


# Images ----------------------------------------------------------------------------------------


@declare("4_CUDA_Libraries/cudaNvSci/imageKernels.cu", "transformKernel")
def rotated_colors(scale: int) -> Launch:
    height, width, angle = 64 * scale, 64 * scale, 0.5
    image = _volume(64)[0, :, :, None].repeat(4, 2) // np.array([1, 2, 3, 4], np.uint8)
    y, x = np.indices((height, width), sparse=True)
    u, v = x / width - 0.5, y / height - 0.5
    turned = u * np.cos(angle) - v * np.sin(angle) + 0.5, v * np.cos(angle) + u * np.sin(angle) + 0.5
    expected = fetch(image, *turned, normalized=True, linear=True, address="wrap")
    texture = Texture(image, {**SMOOTH, **COLORS, "address": "wrap"})
    args = [new(height, width, dtype=np.uint32), width, height, angle, texture]
    return Launch(tiles(expected, 8, 8), (8, 8), args, {0: near_bytes(expected, 3.01)})


@declare("5_Domain_Specific/postProcessGL/postProcessGL.cu", "cudaProcess")
def glowing(scale: int) -> Launch:
    height, width, radius = 48 * scale, 64 * scale, 4
    x = colors(height, width)
    x[..., :3] = np.where(integers(height, width, 1) < 10, 230 + x[..., :3] // 11, x[..., :3] // 2)
    bright = np.where(x[..., :3].sum(-1, keepdims=True) > 600, 4, 1) * x[..., :3].astype(float)
    padded = np.pad(bright, [(radius, radius), (radius, radius), (0, 0)], "edge")
    total, count = np.zeros(bright.shape), 0
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            if dx * dx + dy * dy <= radius * radius:
                total += padded[radius + dy : radius + dy + height, radius + dx : radius + dx + width]
                count += 1
    expected = np.concatenate([(total / count).clip(0, 255), np.zeros((height, width, 1))], -1)
    output, tile = new(height, width, dtype=np.uint32), 16 + 2 * radius
    args = [output, width, height, tile, radius, 0.8, 4.0, Texture(x, COLORS)]
    return Launch(
        (width // 16, height // 16), (16, 16), args, {0: near_bytes(expected, 4.01)}, tile * tile * 4
    )


VULKAN = "5_Domain_Specific/vulkanImageCUDA/vulkanImageCUDA.cu"


@declare(VULKAN, "d_boxfilter_rgba_x", "d_boxfilter_rgba_y")
def box_filter_surface(scale: int, kernel: str) -> Launch:
    x, radius, across = colors(64 * scale, 64 * scale), 5, kernel.endswith("x")
    height, width = x.shape[:2]
    images = [np.zeros((height, width), np.uint32), x.view(np.uint32)[..., 0]]
    handles = [Packed(lambda at: np.array(at[:1], np.uint64)), Packed(lambda at: np.array(at[1:], np.uint64))]
    source: Any = Texture(x, {**COLORS, "normalized": True}) if across else handles[1]
    args = [handles[0], source, width, height, 1, radius]
    expected = near_bytes(box(x, radius, 1 if across else 0))
    memory = [Surface(each) for each in images]
    return Launch(1, 64 * scale, args, {6: expected}, memory=memory)


@declare("3_CUDA_Features/bindlessTexture/bindlessTexture_kernel.cu", "d_render")
def atlas(scale: int) -> Launch:
    """Four textures, whose handles are the texels of a fifth."""
    height, width = 40 * scale, 64 * scale
    images = [np.roll(_volume(64)[n, :, :, None].repeat(4, 2), n) for n in range(4)]
    y, x = np.indices((height, width), sparse=True)
    u, v = np.broadcast_arrays(x / width, y / height)
    chosen = (2 * v).astype(int) * 2 + (2 * u).astype(int)
    samples = [fetch(each, u, 1 - v, normalized=True, linear=True) for each in images]
    expected = np.choose(chosen[..., None], samples)

    def handles(at: list[int]) -> Texture:
        words = np.array(at, np.uint64).view(np.uint32).reshape(2, 2, 2)
        return Texture(words, {"channels": 2, "normalized": True})

    args = [new(height, width, 4, dtype=np.uint8), width, height, 0.0, Packed(handles)]
    memory = [Texture(each, {**SMOOTH, **COLORS}) for each in images]
    expected_bytes = {0: near_bytes(expected, 3.01)}
    return Launch(tiles(expected, 16, 16), (16, 16), args, expected_bytes, memory=memory)


@declare("8_Platform_Specific/Tegra/cudaNvSciBufMultiplanar/imageKernels.cu", "flipSurfaceBits")
def flipped(scale: int) -> Launch:
    x = integers(50 * scale, 70 * scale, high=256, dtype=np.uint8)
    args = [Surface(x), x.shape[1], x.shape[0]]
    return Launch(tiles(x, 16, 16), (16, 16), args, {0: ~x})


@declare("8_Platform_Specific/Tegra/cudaNvSciNvMedia/cuda_consumer.cu", "yuvToGrayscale")
def gray(scale: int) -> Launch:
    x = integers(50 * scale, 70 * scale, high=256, dtype=np.uint8)
    expected = np.stack([x, x, x, np.zeros_like(x)], -1).view(np.uint32)[..., 0]
    args = [Surface(x), new(*x.shape, dtype=np.uint32), x.shape[1], x.shape[0]]
    return Launch(tiles(x, 16, 16), (16, 16), args, {1: expected})


EVENTS = "8_Platform_Specific/Tegra/EGLSync_CUDAEvent_Interop/EGLSync_CUDAEvent_Interop.cu"


@declare(EVENTS, "verify_and_update_kernel")
def verified(scale: int) -> Launch:
    height, width = 40 * scale, 64 * scale
    before, after = (np.full((height, width, 4), value, np.uint8) for value in (5, 6))
    surfaces = [Surface(each, {"channels": 4}) for each in (np.zeros_like(before), before)]
    args = [*surfaces, 5, 6, width, height]
    return Launch(tiles(before, 16, 16), (16, 16), args, {0: after})


# Videos and lines of sight ---------------------------------------------------------------------

VIDEO = "5_Domain_Specific/NV12toBGRandResize/"


@declare(f"{VIDEO}bgr_resize.cu", "resizeBGRplanarBatchKernel")
def resized_planes(scale: int) -> Launch:
    height, width, batch = 32 * scale, 64 * scale, 2
    source = uniform(batch, 3, height, width)
    cut = source[:, :, 6 : 6 + 20, 4 : 4 + 40][:, :, ::2, ::2]
    expected = masked(batch, 3, 12, 32)
    expected[:, :, :10, :20] = cut
    texture = Texture(source.reshape(-1, width))
    args = [texture, new(*expected.shape), 32, 12, height, batch, 2.0, 2.0, 4, 6, 40, 20]
    return Launch((2, 1, 1), (16, 16), args, {1: expected})


@declare(f"{VIDEO}nv12_resize.cu", "resizeNV12BatchKernel")
def resized_video(scale: int) -> Launch:
    height, width = 32 * scale, 64 * scale
    source = integers(height * 3 // 2, width, high=256, dtype=np.uint8)
    pairs = source.reshape(-1, width // 2, 2)
    expected = np.concatenate([source[:height:2, ::2], pairs[height::2, ::2].reshape(-1, width // 2)])
    output = new(*expected.shape, dtype=np.uint8)
    args = [Texture(source), Texture(pairs, {"channels": 2}), output, width, height]
    args += [width // 2, width // 2, height // 2, 1]
    return Launch((blocks(width, 64), blocks(height, 32), 1), (16, 16), args, {2: expected})


@declare("4_CUDA_Libraries/lineOfSight/lineOfSight.cu", "computeAngles_kernel")
def angles(_scale: int) -> Launch:
    heights, count = uniform(60, 110, low=1, high=9), 100
    ray = np.zeros(
        1, [("origin", "f4", 3), ("_", "f4"), ("dir", "f4", 2), ("length", "i4"), ("inverse", "f4")]
    )
    ray["origin"], ray["dir"], ray["length"], ray["inverse"] = (
        (0.5, 0.75, 12),
        (count, count / 2),
        count,
        1 / count,
    )
    steps = np.arange(1, count + 1)
    x, y = 0.5 + steps, 0.75 + steps / 2
    expected = np.arctan((fetch(heights, x, y) - 12) / np.hypot(steps, steps / 2))
    args = [ray.tobytes(), new(count), Texture(heights)]
    return Launch(2, 64, args, {1: expected})
