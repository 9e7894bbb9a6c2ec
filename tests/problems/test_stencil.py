"""The stencil's reference, tolerance and sizes."""

from __future__ import annotations

import pickle
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.problems.base import Case

STENCIL = problem("stencil")


def in_float32(case: Case, order: list[int]) -> np.ndarray:
    """Return the stencil computed in float32, with the seven terms added in this order."""
    A, f = case.value("A0"), case.value("fac")
    parts = [
        A[1:-1, 1:-1, :-2],
        A[1:-1, 1:-1, 2:],
        A[1:-1, :-2, 1:-1],
        A[1:-1, 2:, 1:-1],
        A[:-2, 1:-1, 1:-1],
        A[2:, 1:-1, 1:-1],
        np.float32(-6) * A[1:-1, 1:-1, 1:-1] / (f * f),
    ]
    total = parts[order[0]].copy()
    for i in order[1:]:
        total += parts[i]
    return total


def test_reference_equals_the_formula_at_each_point() -> None:
    case = STENCIL.make_case((5, 4, 3), np.random.default_rng(1))
    A, fac = case.value("A0").astype(float), float(case.value("fac"))
    for y, x in [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]:
        six = A[1, y, x - 1] + A[1, y, x + 1] + A[1, y - 1, x] + A[1, y + 1, x] + A[0, y, x] + A[2, y, x]
        assert case.expected[1, y, x] == pytest.approx(six - 6 * A[1, y, x] / fac**2, abs=1e-12)


def test_only_inner_points_must_be_written() -> None:
    case = STENCIL.make_case((6, 5, 4), np.random.default_rng(1))
    assert case.written.sum() == 4 * 3 * 2
    assert not case.written[0].any()
    assert not case.written[:, :, -1].any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.permutations(range(7)))
def test_float32_sum_in_any_order_is_within_tolerance(seed: int, order: list[int]) -> None:
    case = STENCIL.make_case((9, 8, 7), np.random.default_rng(seed))
    error = np.abs(in_float32(case, order) - case.expected[1:-1, 1:-1, 1:-1])
    assert np.all(error <= case.tolerance[1:-1, 1:-1, 1:-1])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_division_by_fac_exceeds_tolerance_at_nearly_all_points(seed: int) -> None:
    case = STENCIL.make_case((9, 8, 7), np.random.default_rng(seed))
    mistake = next(STENCIL.mistakes(case))
    assert np.mean((np.abs(mistake.values - case.expected) > case.tolerance)[case.written]) > 0.99


BLOCKS = st.tuples(st.integers(1, 1024), st.integers(1, 64), st.just(1))
TILES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 4))


@settings(deadline=None)
@given(BLOCKS, TILES)
def test_check_shapes_have_different_extents(block: tuple[int, int, int], tile: tuple[int, int, int]) -> None:
    for shape in STENCIL.check_shapes("opt_1", block, tile):
        assert len(set(shape)) == 3
        assert min(shape) >= 3


@settings(deadline=None)
@given(BLOCKS, TILES)
def test_check_shapes_are_several_blocks_a_thin_slab_and_part_of_a_block(
    block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    several, thin, small = STENCIL.check_shapes("opt_1", block, tile)
    assert all(n > 2 * b * t for n, b, t in zip(several, block, tile, strict=True))
    assert several[2] >= 9
    assert thin[2] == 3
    assert small[:2] == (7, 3)


@settings(deadline=None)
@given(BLOCKS, TILES)
def test_check_shapes_of_opt_4_include_one_with_aligned_rows(
    block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    *plain, aligned = STENCIL.check_shapes("opt_4", block, tile)
    assert tuple(plain) == STENCIL.check_shapes("opt_1", block, tile)
    assert aligned[0] % 4 == 0
    assert len(set(aligned)) == 3


def test_check_shapes_are_not_multiples_of_the_default_block() -> None:
    for nx, ny, _ in STENCIL.check_shapes("opt_1", (32, 8, 1), (1, 1, 0)):
        assert gcd(nx, 32) < 32
        assert gcd(ny, 8) < 8


def test_cases_have_different_inputs_and_fac_far_from_its_square() -> None:
    rng = np.random.default_rng(3)
    first, second = (STENCIL.make_case((5, 5, 5), rng) for _ in range(2))
    assert not np.array_equal(first.value("A0"), second.value("A0"))
    for case in (first, second):
        fac = float(case.value("fac"))
        assert abs(fac - fac**2) > 0.5


@pytest.mark.parametrize(
    ("text", "shape"), [("65x47x9", (65, 47, 9)), ("128", (128, 128, 128)), (" 8 X 9 x 10 ", (8, 9, 10))]
)
def test_parse_shape_accepts_one_number_or_three(text: str, shape: tuple[int, ...]) -> None:
    assert STENCIL.parse_shape(text) == shape


@pytest.mark.parametrize(
    "text",
    ["0", "2", "-5", "8x8", "8x8x8x8", "8x0x8", "", "big", "1e3", "9.5", "3x3x999999999999", "9" * 5000],
)
def test_parse_shape_of_invalid_size_raises_a_one_line_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        STENCIL.parse_shape(text)
    assert "\n" not in str(caught.value)


def test_unknown_problem_raises_with_the_list_of_problems() -> None:
    with pytest.raises(UsageError, match="matmul, stencil"):
        problem("laplace")


@pytest.mark.parametrize("block", [(32, 31, 1), (16, 31, 1), (65, 64, 1)])
def test_first_two_extents_of_check_sizes_differ_for_any_block(block: tuple[int, int, int]) -> None:
    for shape in STENCIL.check_shapes("opt_1", block, (1, 1, 0)):
        assert len(set(shape)) == len(shape)


def test_opt_5_is_the_stencil_of_the_stencil() -> None:
    two_steps = STENCIL.of_step("opt_5")
    case = two_steps.make_case((7, 6, 5), np.random.default_rng(3))
    A0, fac = case.value("A0").astype(float), float(case.value("fac"))
    between = A0.copy()
    between[1:-1, 1:-1, 1:-1] = one_step(A0, fac)
    np.testing.assert_allclose(case.expected[1:-1, 1:-1, 1:-1], one_step(between, fac), rtol=1e-12)


def one_step(A0: np.ndarray, fac: float) -> np.ndarray:
    total = -6 / fac**2 * A0[1:-1, 1:-1, 1:-1]
    for axis in range(3):
        for start in (0, 2):
            moved = [slice(1, -1)] * 3
            moved[axis] = slice(start, A0.shape[axis] - 2 + start)
            total = total + A0[tuple(moved)]
    return total


def test_two_steps_in_float32_are_within_tolerance() -> None:
    two_steps = STENCIL.of_step("opt_5")
    case = two_steps.make_case((40, 30, 20), np.random.default_rng(5))
    A0, fac = case.value("A0"), case.value("fac")
    between = A0.copy()
    between[1:-1, 1:-1, 1:-1] = one_step(A0, np.float32(fac)).astype(np.float32)
    got = one_step(between, np.float32(fac)).astype(np.float32)
    inner = (slice(1, -1),) * 3
    assert (np.abs(got - case.expected[inner]) <= case.tolerance[inner]).all()


def test_partial_reference_of_two_steps_equals_the_whole_one() -> None:
    two_steps = STENCIL.of_step("opt_5")
    case = two_steps.make_case((9, 8, 7), np.random.default_rng(7))
    indices = [np.array(each) for each in ([0, 1, 3, 6], [0, 2, 7], [0, 1, 5, 7, 8])]
    part = two_steps.reference_at(case.arguments, indices)
    np.testing.assert_allclose(part.expected, case.expected[np.ix_(*indices)], rtol=1e-12)
    np.testing.assert_allclose(part.tolerance, case.tolerance[np.ix_(*indices)], rtol=1e-9)


def test_values_after_one_step_and_a_boundary_of_zeros_are_recognised() -> None:
    two_steps = STENCIL.of_step("opt_5")
    case = two_steps.make_case((9, 8, 7), np.random.default_rng(9))
    texts = [mistake.description for mistake in two_steps.mistakes(case)]
    assert any("after one step" in text for text in texts)
    assert any("its values are A0's" in text for text in texts)


def test_problem_of_a_step_is_found_in_another_process() -> None:
    two_steps = STENCIL.of_step("opt_5")
    assert pickle.loads(pickle.dumps(two_steps)) is two_steps
