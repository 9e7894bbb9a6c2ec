"""The matrix product's reference, tolerance and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.problems import problem

MATMUL = problem("matmul")
BLOCKS = st.sampled_from(
    [(32, 1, 1), (64, 1, 1), (256, 1, 1), (16, 16, 1), (16, 4, 1), (24, 5, 1), (1, 32, 1)]
)
TILES = st.tuples(st.integers(1, 4), st.integers(1, 8), st.just(1))
GUARDED = ["K4g", "K6"]
UNGUARDED = [name for name in MATMUL.variants if name not in GUARDED]


def test_reference_is_column_major() -> None:
    n, m, p = 4, 3, 2
    case = MATMUL.make_case((n, m, p), np.random.default_rng(1))
    a, b, c = (
        case.expected.ravel(),
        case.value("b").ravel().astype(float),
        case.value("c").ravel().astype(float),
    )
    for i, j in np.ndindex(n, m):
        assert a[i + n * j] == pytest.approx(sum(b[i + n * k] * c[k + p * j] for k in range(p)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_sequential_float32_sum_is_within_tolerance(seed: int, p: int) -> None:
    case = MATMUL.make_case((5, 4, p), np.random.default_rng(seed))
    b, c = case.value("b"), case.value("c")
    total = np.zeros((4, 5), np.float32)
    for k in range(p):
        total += c[:, k : k + 1] * b[k : k + 1, :]
    assert np.all(np.abs(total - case.expected) <= case.tolerance)


def test_half_precision_product_exceeds_tolerance() -> None:
    case = MATMUL.make_case((40, 30, 64), np.random.default_rng(1))
    rounded = [case.value(name).astype(np.float16).astype(np.float64) for name in "cb"]
    assert np.any(np.abs(rounded[0] @ rounded[1] - case.expected) > case.tolerance)


@pytest.mark.parametrize("variant", UNGUARDED)
@settings(deadline=None)
@given(block=BLOCKS, tile=TILES)
def test_check_shapes_of_unguarded_variant_are_multiples_of_block_and_strip(
    variant: str, block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    for n, m, p in MATMUL.check_shapes(variant, block, tile):
        assert n % (block[0] * tile[0]) == 0
        assert m % (block[1] * tile[1]) == 0
        assert p % 32 == 0
        assert p % (block[0] * block[1]) == 0


@pytest.mark.parametrize("variant", [name for name in MATMUL.variants if name != "Ks"])
@settings(deadline=None)
@given(block=BLOCKS, tile=TILES)
def test_check_shapes_have_different_extents(
    variant: str, block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    for shape in MATMUL.check_shapes(variant, block, tile):
        assert len(set(shape)) == 3


def test_check_shapes_of_ks_with_wide_block_are_square_in_n_and_m() -> None:
    for n, m, p in MATMUL.check_shapes("Ks", (32, 1, 1), (1, 1, 1)):
        assert n == m != p


def test_check_shapes_of_ks_with_tall_block_are_not_square() -> None:
    assert all(n != m for n, m, _ in MATMUL.check_shapes("Ks", (1, 32, 1), (1, 1, 1)))


@pytest.mark.parametrize("variant", GUARDED)
@settings(deadline=None)
@given(block=BLOCKS, tile=TILES)
def test_check_shapes_of_guarded_variant_include_partial_blocks_and_strips(
    variant: str, block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    shapes = MATMUL.check_shapes(variant, block, tile)
    assert any(n % (block[0] * tile[0]) for n, _, _ in shapes) or block[0] * tile[0] == 1
    assert all(p % 32 for _, _, p in shapes)
    assert min(shapes[1]) < 16


@pytest.mark.parametrize("variant", GUARDED)
@settings(deadline=None)
@given(block=BLOCKS, tile=TILES)
def test_check_shapes_of_guarded_variant_include_one_with_aligned_columns(
    variant: str, block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    aligned = [shape for shape in MATMUL.check_shapes(variant, block, tile) if not any(x % 4 for x in shape)]
    assert len(aligned) == 1
    assert aligned[0][2] % 32


@pytest.mark.parametrize("variant", UNGUARDED)
@settings(deadline=None)
@given(block=BLOCKS, tile=TILES)
def test_timing_shape_of_unguarded_variant_is_a_multiple_of_block_and_strip(
    variant: str, block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    n, m, p = MATMUL.timing_shape(variant, block, tile)
    assert (n % (block[0] * tile[0]), m % (block[1] * tile[1]), p % (block[0] * block[1])) == (0, 0, 0)


def test_baseline_of_a_variant_is_an_earlier_variant() -> None:
    names = list(MATMUL.variants)
    for variant in list(MATMUL.variants.values())[1:]:
        assert names.index(str(variant.baseline)) < names.index(variant.name)


def test_variants_are_in_the_order_of_the_lab() -> None:
    assert list(MATMUL.variants) == ["Ks", "K1", "K2", "K2u", "K3", "K4", "K34", "K5", "K4g", "K6"]
