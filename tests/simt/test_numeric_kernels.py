"""Numerical kernels against NumPy: solvers, transforms, images and random numbers."""

from __future__ import annotations

import numpy as np

from tests.simt.programs import launch, random

F16 = np.float16
F32 = np.float32
I32 = np.int32
U32 = np.uint32


def zeros(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_tridiagonal_systems() -> None:
    systems, n = 3, 77
    lower, upper, right = random(1).random((3, systems, n), F32)
    diagonal = 3 + random(2).random((systems, n), F32)
    *_, x = launch(
        "tridiagonal", systems, n, lower, diagonal, upper, right, zeros(systems, n), n, shared_mem=16 * n
    )
    for k in range(systems):
        matrix = np.diag(diagonal[k]) + np.diag(lower[k, 1:], -1) + np.diag(upper[k, :-1], 1)
        np.testing.assert_allclose(
            x[k], np.linalg.solve(matrix.astype(float), right[k]), rtol=1e-4, atol=1e-5
        )


def test_matrix_inverses() -> None:
    n = 77
    matrices = random(3).standard_normal((n, 4, 4))
    matrices[5, :, 0] = 0
    _, inverse, regular = launch(
        "matrix_inverse", 3, 32, matrices, np.zeros_like(matrices), zeros(n, dtype=I32), n
    )
    assert regular.tolist() == [int(i != 5) for i in range(n)]
    invertible = regular == 1
    np.testing.assert_allclose(
        inverse[invertible] @ matrices[invertible], np.tile(np.eye(4), (n - 1, 1, 1)), atol=1e-9
    )


def test_fourier_transforms() -> None:
    x = random(4).standard_normal((3, 256, 2)).astype(F32)
    _, out = launch("fft_shared", 3, 128, x, np.zeros_like(x))
    expected = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    np.testing.assert_allclose(out[..., 0] + 1j * out[..., 1], expected, atol=1e-3)


def test_k_means_step() -> None:
    n = 515
    points, centres = random(5).random((n, 3), F32), random(6).random((5, 3), F32)
    _, _, nearest, total, size = launch(
        "k_means", 9, 64, points, centres, zeros(n, dtype=I32), zeros(5, 3), zeros(5, dtype=I32), n
    )
    distance = ((points[:, None].astype(float) - centres) ** 2).sum(2)
    np.testing.assert_array_equal(nearest, distance.argmin(1))
    np.testing.assert_array_equal(size, np.bincount(nearest, minlength=5))
    np.testing.assert_allclose(total, [points[nearest == k].sum(0) for k in range(5)], rtol=1e-4)


def test_lattice_boltzmann_step() -> None:
    ny, nx, omega = 19, 27, 1.2
    f = 0.1 + random(7).random((9, ny, nx), F32)
    solid = random(8).random((ny, nx)) < 0.1
    _, out, _ = launch("lattice_boltzmann", (2, 3), (16, 8), f, np.zeros_like(f), solid, nx, ny, omega)
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    opposite = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    v = np.stack([np.roll(f[k].astype(float), (cy[k], cx[k]), (0, 1)) for k in range(9)])
    density = v.sum(0)
    ux, uy = np.tensordot(cx, v, 1) / density, np.tensordot(cy, v, 1) / density
    u = 3 * (cx[:, None, None] * ux + cy[:, None, None] * uy)
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)[:, None, None]
    rest = density * weight * (1 + u + u * u / 2 - 1.5 * (ux * ux + uy * uy))
    np.testing.assert_allclose(
        out, np.where(solid, v[opposite], v + omega * (rest - v)), rtol=1e-3, atol=1e-5
    )


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Return ten rounds of Philox 4x32 (Salmon et al., "Parallel random numbers", SC 2011)."""
    low = 2**32 - 1
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            second >> 32 ^ counter[1] ^ key[0], second & low, first >> 32 ^ counter[3] ^ key[1], first & low
        ]  # fmt: skip
        key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
    return counter


def test_counter_based_random_numbers() -> None:
    n, key = 130, [17, 0xDEADBEEF]
    pair = np.array(tuple(key), np.dtype([("x", U32), ("y", U32)]))[()]
    bits, uniform = launch("philox", 3, 64, zeros(n, 4, dtype=U32), zeros(n, 4), pair, 5, n)
    assert bits.tolist() == [philox([i, 5, 0, 0], key) for i in range(n)]
    np.testing.assert_array_equal(uniform, (bits >> 8).astype(F32) / F32(2**24))


def neighbourhood(image: np.ndarray) -> np.ndarray:
    """Return the nine values around each pixel, in the shape (3, 3, height, width), with repeated borders."""
    height, width = image.shape
    wide = np.pad(image.astype(int), 1, "edge")
    return np.array([[wide[dy : dy + height, dx : dx + width] for dx in range(3)] for dy in range(3)])


def test_median_filter() -> None:
    image = random(9).integers(0, 256, (29, 35), dtype=np.uint8)
    _, out = launch("median_filter", (3, 4), (16, 8), image, np.zeros_like(image), 35, 29, kernel="median")
    np.testing.assert_array_equal(out, np.median(neighbourhood(image).reshape(9, 29, 35), axis=0))


def test_sobel_edges() -> None:
    image = random(10).integers(0, 256, (37, 51), dtype=np.uint8)
    _, out = launch("median_filter", (2, 5), (32, 8), image, np.zeros_like(image), 51, 37, kernel="sobel")
    near, weight = neighbourhood(image), np.array([1, 2, 1])[:, None, None]
    gx, gy = ((side[2] - side[0]) * weight for side in (near.swapaxes(0, 1), near))
    length = np.sqrt((gx.sum(0) ** 2 + gy.sum(0) ** 2).astype(F32))
    np.testing.assert_array_equal(out, np.minimum(255, np.rint(length)))


def test_virtual_functions_and_a_lambda() -> None:
    n = 150
    size = random(11).random(n, F32)
    _, area, corners = launch("shapes_virtual", 2, 48, size, zeros(n), zeros(n, dtype=I32), n)
    i = np.arange(n)
    np.testing.assert_allclose(area, np.where(i % 3, size * i, 3 * size * size), rtol=1e-6)
    np.testing.assert_array_equal(corners, np.where(i % 3, 4, 0))


def test_half_precision_arithmetic() -> None:
    n, a = 258, 1.7
    x, y = random(12).standard_normal((2, n)).astype(F16)
    # A product of halves is exact in doubles, so this rounds once, as a fused multiply-add does.
    expected = (x.astype(float) * float(F16(a)) + y.astype(float)).astype(F16)
    _, single = launch("half_precision", 5, 64, a, x, y, n, kernel="axpy")
    _, pairs = launch("half_precision", 3, 64, a, x, y, n // 2, kernel="axpy_pairs")
    np.testing.assert_array_equal(single, expected)
    np.testing.assert_array_equal(pairs, expected)
    *_, total = launch("half_precision", 2, 64, x, y, zeros(1), n, kernel="dot")
    np.testing.assert_allclose(total, x.astype(float) @ y.astype(float), rtol=1e-4, atol=1e-4)


def test_double_buffering_with_asynchronous_copies() -> None:
    blocks, tiles = 3, 5
    x = random(13).random((blocks, tiles, 64, 4), F32)
    _, out = launch("double_buffer_async", blocks, 64, x, zeros(blocks, 64), tiles)
    v = x[:, :, ::-1].astype(float)
    np.testing.assert_allclose(out, (v[..., 0] + v[..., 1] * v[..., 2] - v[..., 3]).sum(1), rtol=1e-4)
