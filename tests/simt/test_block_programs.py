"""Kernels with cooperating threads against NumPy: barriers, atomics, shuffles and votes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.programs import launch, random

F32 = np.float32
I32 = np.int32
U32 = np.uint32
LOWEST = -(2**31)


def zeros(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.zeros(shape, dtype)


def blocks_of(x: np.ndarray, size: int, fill: float = 0) -> np.ndarray:
    """Return `x` in rows of `size`; the last one is padded."""
    return np.concatenate([x, np.full(-len(x) % size, fill, x.dtype)]).reshape(-1, size)


def test_reduction_by_interleaved_addressing() -> None:
    x = random().random(1000, F32)
    _, sums = launch("reduce_interleaved", 8, 128, x, zeros(8), 1000)
    np.testing.assert_allclose(sums, blocks_of(x, 128).sum(1), rtol=1e-5)


@pytest.mark.parametrize("threads", [32, 128, 512])
def test_reduction_in_dynamic_shared_memory(threads: int) -> None:
    x = random(1).integers(-100, 100, 5001, dtype=I32)
    _, sums = launch("reduce_sequential", 3, threads, x, zeros(3, dtype=I32), 5001, shared_mem=4 * threads)
    assert sums.sum() == x.sum()


def test_reduction_by_shuffles_and_an_atomic() -> None:
    x = random(2).random(3000, F32)
    _, total = launch("reduce_shuffle", 4, 256, x, zeros(1), 3000)
    np.testing.assert_allclose(total, x.sum(dtype=float), rtol=1e-5)


def test_maximum_through_volatile_shared_memory() -> None:
    x = random(3).integers(-(10**9), 10**9, 1100, dtype=I32)
    _, maxima = launch("reduce_volatile_warp", 5, 256, x, zeros(5, dtype=I32), 1100, kernel="reduce_max")
    np.testing.assert_array_equal(maxima, blocks_of(x, 256, LOWEST).max(1))


def test_reduction_finished_by_the_last_block() -> None:
    x = random(4).random(2000, F32)
    for _ in range(2):  # the kernel has to reset its counter
        _, _, total = launch("reduce_last_block", 7, 64, x, zeros(7), zeros(1), 2000)
        np.testing.assert_allclose(total, x.sum(dtype=float), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 33, 200, 256])
def test_hillis_steele_scan(n: int) -> None:
    x = random(5).integers(-9, 9, n, dtype=I32)
    _, out = launch("scan_hillis_steele", 1, 256, x, zeros(n, dtype=I32), n)
    np.testing.assert_array_equal(out, np.cumsum(x))


@pytest.mark.parametrize("threads", [32, 256])
def test_blelloch_scan(threads: int) -> None:
    x = random(6).integers(0, 9, (3, 2 * threads)).astype(F32)
    _, out = launch("scan_blelloch", 3, threads, x, np.zeros_like(x))
    np.testing.assert_array_equal(out, np.cumsum(x, axis=1) - x)


def test_scan_in_three_launches() -> None:
    n = 10_000
    x = random(7).integers(0, 9, n, dtype=I32)
    blocks = -(-n // 256)
    name = "scan_three_kernels"
    _, out, sums = launch(
        name, blocks, 256, x, zeros(n, dtype=I32), zeros(blocks, dtype=I32), n, kernel="scan_blocks"
    )
    (sums,) = launch(name, 1, 32, sums, blocks, kernel="scan_sums")
    out, _ = launch(name, blocks, 256, out, sums, n, kernel="add_sums")
    np.testing.assert_array_equal(out, np.cumsum(x))


def test_histogram_in_shared_memory() -> None:
    data = random(8).normal(128, 30, 5000).clip(0, 255).astype(np.uint8)
    _, bins = launch("histogram_shared", 5, 160, data, zeros(256, dtype=U32), 5000)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [("transpose_float", F32), ("transpose_double", np.float64), ("transpose_bytes", np.uint8)],
)
def test_transpose_through_a_padded_tile(kernel: str, dtype: type) -> None:
    x = random(9).integers(0, 250, (45, 70)).astype(dtype)
    _, out = launch("transpose_tiled", (3, 2), (32, 8), x, zeros(70, 45, dtype=dtype), 70, 45, kernel=kernel)
    np.testing.assert_array_equal(out, x.T)


WEIGHTS = np.array([0.0625, 0.125, 0.25, -0.875, 0.25, 0.125, 0.0625])


def test_convolution_with_constant_memory() -> None:
    x = random(10).random(500, F32)
    _, out = launch("convolution_constant", 4, 128, x, zeros(500), 500, kernel="convolve")
    np.testing.assert_allclose(out, np.convolve(x, WEIGHTS, "same"), atol=1e-6)


def test_divergent_reads_of_constant_memory() -> None:
    which = random(11).integers(0, 7, 40, dtype=I32)
    _, out = launch("convolution_constant", 1, 64, which, zeros(40), 40, kernel="pick_weight")
    np.testing.assert_array_equal(out, WEIGHTS[which])


def test_bitonic_sort() -> None:
    x = random(12).standard_normal(512).astype(F32)
    (out,) = launch("bitonic_sort", 1, 256, x)
    np.testing.assert_array_equal(out, np.sort(x))


def test_n_body_accelerations() -> None:
    bodies = random(13).random((150, 4)).astype(F32)
    _, out = launch("n_body", 3, 64, bodies, zeros(150, 3), 150)
    b = bodies.astype(float)
    d = b[None, :, :3] - b[:, None, :3]
    inverse = ((d * d).sum(2) + 0.01) ** -1.5
    np.testing.assert_allclose(out, (d * (b[:, 3] * inverse)[:, :, None]).sum(1), rtol=1e-3, atol=1e-3)


def test_all_shuffles() -> None:
    x = random(14).integers(-99, 99, 96, dtype=I32)
    outputs = [zeros(96, dtype=I32) for _ in range(5)] + [zeros(96), zeros(96, dtype=np.float64)]
    _, broadcast, up, down, butterfly, reversed_, total, mean = launch(
        "shuffles", 1, 96, x, *outputs, kernel="shuffles"
    )
    warps, lane = x.reshape(3, 32), np.arange(32)
    for result, source in (
        (broadcast, np.full(32, 5)),
        (up, np.where(lane >= 3, lane - 3, lane)),
        (down, np.where(lane + 7 < 32, lane + 7, lane)),
        (butterfly, lane ^ 21),
        (reversed_, lane // 8 * 8 + 7 - lane % 8),
    ):
        np.testing.assert_array_equal(result.reshape(3, 32), warps[:, source])
    np.testing.assert_array_equal(total, np.repeat(warps.sum(1), 32))
    np.testing.assert_array_equal(mean, np.repeat(warps.sum(1) / 32 + 0.5, 32))


def test_shuffle_among_even_lanes() -> None:
    x = np.arange(32, dtype=I32) ** 2
    _, out = launch("shuffles", 1, 32, x, zeros(32, dtype=I32), kernel="shuffle_half")
    expected = np.full(32, -1)
    for lane in range(0, 32, 2):
        expected[lane] = sum(x[lane ^ a ^ b] for a in (0, 2) for b in (0, 4))
    np.testing.assert_array_equal(out, expected)


def test_warp_votes() -> None:
    x = random(15).integers(10, 1000, 160, dtype=I32)
    x[32:64] += 30
    x[64:96] = x[64:96] % 500
    outputs = [zeros(160, dtype=U32), *(zeros(160, dtype=I32) for _ in range(3))]
    _, ballots, some, every, rank = launch("votes", 1, 160, x, *outputs, kernel="votes")
    warps = x.reshape(5, 32)
    odd = warps % 2 == 1
    np.testing.assert_array_equal(ballots, np.repeat((odd << np.arange(32)).sum(1), 32))
    np.testing.assert_array_equal(some != 0, np.repeat((warps > 900).any(1), 32))
    np.testing.assert_array_equal(every != 0, np.repeat((warps > 20).all(1), 32))
    np.testing.assert_array_equal(rank.reshape(5, 32), np.where(odd, np.cumsum(odd, axis=1) - 1, -1))


def test_block_votes() -> None:
    x = random(16).integers(10, 1000, 4 * 80, dtype=I32)
    x[80:160] = x[80:160] % 500 + 21
    _, count, some, every = launch(
        "votes", 4, 80, x, *(zeros(4, dtype=I32) for _ in range(3)), kernel="block_votes"
    )
    blocks = x.reshape(4, 80)
    np.testing.assert_array_equal(count, (blocks % 2).sum(1))
    np.testing.assert_array_equal(some, (blocks > 900).any(1))
    np.testing.assert_array_equal(every, (blocks > 20).all(1))


def test_jacobi_step() -> None:
    u = random(17).random((45, 50), F32)
    _, after, change = launch("jacobi", (4, 3), (16, 16), u, np.zeros_like(u), zeros(12), 50, 45)
    expected = u.copy()
    expected[1:-1, 1:-1] = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
    np.testing.assert_allclose(after, expected, atol=1e-6)
    moved = np.zeros((48, 64))
    moved[:45, :50] = np.abs(expected - u)
    np.testing.assert_allclose(change, moved.reshape(3, 16, 4, 16).max((1, 3)).ravel(), atol=1e-6)


def test_threads_exit_after_a_barrier() -> None:
    x = random(18).integers(0, 99, 40, dtype=I32)
    _, out = launch("early_return", 1, 96, x, zeros(40, dtype=I32), 40, kernel="tail")
    np.testing.assert_array_equal(out, x[::-1])


def test_matrix_vector_product_with_a_warp_per_row() -> None:
    rng = random(19)
    matrix, x = rng.random((30, 77), F32), rng.random(77, F32)
    *_, y = launch("matrix_vector", 8, (32, 4), matrix, x, zeros(30), 30, 77)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-5)


def test_two_arrays_in_dynamic_shared_memory() -> None:
    x = random(20).integers(0, 30, (3, 96)).astype(np.float64)
    _, ordered, ranks = launch(
        "dynamic_shared", 3, 96, x, np.zeros_like(x), zeros(3, 96, dtype=I32), shared_mem=96 * 12
    )
    np.testing.assert_array_equal(ordered, np.sort(x, axis=1))
    np.testing.assert_array_equal(ranks, np.argsort(np.argsort(x, axis=1, kind="stable"), axis=1))


def test_integer_atomics() -> None:
    x = random(21).integers(-(2**30), 2**30, 300, dtype=I32)
    cells = np.array([0, 0, 2**31 - 1, LOWEST, -1, 0, 0], I32)
    ucells = np.array([0, 5, 2**32 - 1, 0], U32)
    _, cells, ucells, wide = launch(
        "atomics", 5, 64, x, cells, ucells, zeros(1, dtype=np.uint64), 300, kernel="atomics"
    )
    total = np.int64(x.sum(dtype=np.int64)).astype(I32)
    assert cells.tolist() == [
        total,
        np.int64(-x.sum(dtype=np.int64)).astype(I32),
        x.min(),
        x.max(),
        np.bitwise_and.reduce(x | 0x10),
        np.bitwise_or.reduce(x),
        np.bitwise_xor.reduce(x),
    ]
    # inc counts from 0 to 6 and wraps to 0; dec counts down from 5 and wraps to 9.
    assert ucells[:2].tolist() == [300 % 7, (5 - 300) % 10]
    assert ucells[2:].tolist() == [x.view(U32).min(), x.view(U32).max()]
    assert int(wide[0]) == 300 << 33


def test_atomic_tickets_are_unique() -> None:
    counter, owner = launch(
        "atomics", 4, 64, zeros(1, dtype=I32), zeros(250, dtype=I32), 250, kernel="tickets"
    )
    assert counter[0] == 250
    assert sorted(owner.tolist()) == list(range(250))


def test_float_maximum_by_compare_and_swap() -> None:
    x = random(22).random(200, F32)
    _, cell, last = launch("atomics", 4, 64, x, zeros(1), np.full(1, -1, I32), 200, kernel="largest")
    assert cell[0] == x.max()
    assert 0 <= last[0] < 200


def test_stream_compaction() -> None:
    x = random(23).random(1000, F32)
    _, selected, count = launch("stream_compaction", 8, 128, x, 0.7, zeros(1000), zeros(1, dtype=I32), 1000)
    expected = np.sort(x[x > F32(0.7)])
    assert count[0] == len(expected)
    np.testing.assert_array_equal(np.sort(selected[: count[0]]), expected)


def test_loop_that_a_block_leaves_by_a_vote() -> None:
    rows = random(24).integers(0, 1000, (4, 75), dtype=I32)
    rows[2] = np.sort(rows[2])
    out, passes = launch("odd_even_sort", 4, 32, rows, zeros(4, dtype=I32), 75, shared_mem=4 * 75)
    np.testing.assert_array_equal(out, np.sort(rows, axis=1))
    assert passes[2] == 1
    assert passes.max() > 1
