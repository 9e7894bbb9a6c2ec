"""Kernels of CUDA courses against NumPy, for sizes that are no multiples of the block size."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.programs import launch, random

F32 = np.float32
I32 = np.int32
U32 = np.uint32


def zeros(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        ("transpose_reading_rows", (5, 4)),
        ("transpose_writing_rows", (4, 5)),
        ("transpose_unpadded_tile", (5, 4)),
    ],
)
def test_transpose_without_a_padded_tile(kernel: str, grid: tuple[int, int]) -> None:
    x = random(1).random((53, 71), F32)
    _, out = launch("transpose_untiled", grid, (16, 16), x, zeros(71, 53), 71, 53, kernel=kernel)
    np.testing.assert_array_equal(out, x.T)


def test_separable_convolution() -> None:
    height, width = 45, 77
    x = random(2).integers(-9, 9, (height, width)).astype(F32)
    grid, name = (3, 6), "convolution_separable"
    _, rows = launch(name, grid, (32, 8), x, zeros(height, width), width, height, kernel="along_rows")
    _, both = launch(name, grid, (32, 8), rows, zeros(height, width), width, height, kernel="along_columns")
    row_weight, column_weight = [-1, -2, -3, -4, 0, 4, 3, 2, 1], [1, 2, 4, 8, 16, 8, 4, 2, 1]
    expected = np.zeros((height, width))
    padded = np.pad(x, 4)
    for dy, down in enumerate(column_weight):
        for dx, right in enumerate(row_weight):
            expected += down * right * padded[dy : dy + height, dx : dx + width]
    np.testing.assert_array_equal(both, expected)  # exact for small integers


def test_bitonic_sort_of_rows_of_any_length() -> None:
    rows, width = 5, 211
    x = random(3).permutation(rows * width).reshape(rows, width).astype(F32)
    values, places = launch("bitonic_sort_rows", rows, 256, x, zeros(rows, width, dtype=np.uint16), width)
    np.testing.assert_array_equal(values, -np.sort(-x, axis=1))
    np.testing.assert_array_equal(places, np.argsort(-x, axis=1))


def test_odd_even_merge_sort() -> None:
    n, name = 1024, "odd_even_merge_sort"
    x = random(4).integers(0, 2**32, n, dtype=U32)
    (data,) = launch(name, n // 128, 64, x, kernel="sort_blocks")
    np.testing.assert_array_equal(data.reshape(-1, 128), np.sort(x.reshape(-1, 128), axis=1))
    size = 256
    while size <= n:
        stride = size // 2
        while stride:
            (data,) = launch(name, 6, 96, data, n // 2, size, stride, kernel="merge_step")
            stride //= 2
        size *= 2
    np.testing.assert_array_equal(data, np.sort(x))


def walsh(x: np.ndarray) -> np.ndarray:
    """Transform `x` with launches of two radix-2 stages each, and the last stages in shared memory."""
    n, stride = len(x), len(x) // 4
    while 4 * stride > 256:
        (x,) = launch("walsh_transform", 7, 160, x, stride, n, kernel="two_stages")
        stride //= 4
    (x,) = launch("walsh_transform", n // 256, 128, x, kernel="last_stages")
    return x


def test_walsh_transform() -> None:
    n = 4096
    x = random(5).integers(-20, 20, n).astype(F32)
    expected = x.astype(float)
    for axis in range(12):
        pairs = expected.reshape(2**axis, 2, -1)
        expected = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(n)
    np.testing.assert_array_equal(walsh(x), expected)


def test_dyadic_convolution() -> None:
    n = 1024
    a, b = random(6).integers(0, 5, (2, n)).astype(F32)
    product, _ = launch("walsh_transform", 3, 64, walsh(a), walsh(b), 1.0 / n, n, kernel="multiply")
    index = np.arange(n)
    expected = np.array([a[index] @ b[index ^ i] for i in range(n)])
    np.testing.assert_allclose(walsh(product), expected, rtol=1e-4)


@pytest.mark.parametrize("levels", [1, 3, 8])
def test_haar_wavelet_and_its_inverse(levels: int) -> None:
    blocks = 3
    x = random(7).random((blocks, 256), F32)
    expected, averages = np.zeros((blocks, 256)), x.astype(float)
    for _ in range(levels):
        even, odd = averages[:, ::2], averages[:, 1::2]
        expected[:, even.shape[1] : 2 * even.shape[1]] = (even - odd) / np.sqrt(2)
        averages = (even + odd) / np.sqrt(2)
    expected[:, : averages.shape[1]] = averages
    _, coefficient = launch("haar_wavelet", blocks, 128, x, np.zeros_like(x), levels, kernel="forward")
    np.testing.assert_allclose(coefficient, expected, rtol=1e-4, atol=1e-5)
    _, back = launch("haar_wavelet", blocks, 128, coefficient, np.zeros_like(x), levels, kernel="inverse")
    np.testing.assert_allclose(back, x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n", "threads"), [(1, 32), (999, 64), (10_001, 512)])
def test_chained_scan(n: int, threads: int) -> None:
    x = random(8).integers(-(2**31), 2**31, n).astype(I32)
    blocks = -(-n // threads)
    outputs = (
        zeros(n, dtype=np.int64),
        zeros(blocks, dtype=np.int64),
        zeros(blocks, dtype=I32),
        zeros(1, dtype=I32),
    )
    _, out, *_ = launch("scan_chained", blocks, threads, x, *outputs, n)
    np.testing.assert_array_equal(out, np.cumsum(x, dtype=np.int64))


@pytest.mark.parametrize("shape", [(19, 23, 37), (5, 5, 5), (7, 30, 18)])
def test_fourth_order_finite_differences(shape: tuple[int, int, int]) -> None:
    nz, ny, nx = shape
    u = random(9).random(shape, F32)
    grid = (-(-nx // 16), -(-ny // 8))
    _, out = launch("finite_differences_3d", grid, (16, 8), u, np.full(shape, -7, F32), nx, ny, nz)
    expected, inner = np.full(shape, -7.0), (slice(2, -2),) * 3
    expected[inner] = 0
    for axis in range(3):
        for shift, weight in zip(range(-2, 3), (-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12), strict=True):
            expected[inner] += weight * np.roll(u.astype(float), shift, axis)[inner]
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kernel", "lanes"), [("csr_scalar", 1), ("csr_vector32", 32), ("csr_vector8", 8)])
def test_sparse_matrix_vector_product(kernel: str, lanes: int) -> None:
    rows, columns, threads = 83, 150, 96
    rng = random(10)
    matrix = rng.random((rows, columns)) * (rng.random((rows, columns)) < rng.random((rows, 1)) ** 3)
    matrix[17] = 0  # an empty row
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(rows + 1)).astype(I32)
    x = rng.random(columns, F32)
    *_, y = launch(
        "sparse_matrix_vector",
        -(-rows * lanes // threads),
        threads,
        start,
        column.astype(I32),
        matrix[row, column].astype(F32),
        x,
        zeros(rows),
        rows,
        kernel=kernel,
    )
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-5, atol=1e-6)
