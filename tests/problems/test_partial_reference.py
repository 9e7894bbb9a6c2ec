"""The reference of a part of the output, for sizes whose whole reference takes too long."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.problems import problem
from gpulab.problems.base import Argument


@pytest.mark.parametrize(("name", "shape"), [("stencil", (9, 8, 7)), ("matmul", (6, 5, 4))])
def test_reference_at_some_indices_is_that_of_the_whole(name: str, shape: tuple[int, ...]) -> None:
    case = problem(name).make_case(shape, np.random.default_rng(3))
    indices = [np.array([0, 2, 3, extent - 1]) for extent in case.expected.shape]
    part, mesh = problem(name).reference_at(case.arguments, indices), np.ix_(*indices)
    np.testing.assert_allclose(part.expected, case.expected[mesh], rtol=1e-12)
    np.testing.assert_allclose(part.tolerance, case.tolerance[mesh], rtol=1e-12)
    np.testing.assert_array_equal(part.written, case.written[mesh])


@pytest.mark.parametrize(("name", "shape"), [("stencil", (9, 8, 7)), ("matmul", (6, 5, 4))])
def test_written_box_has_the_points_that_must_be_written(name: str, shape: tuple[int, ...]) -> None:
    case = problem(name).make_case(shape, np.random.default_rng(3))
    written = np.zeros_like(case.written)
    written[problem(name).written_box(shape)] = True
    np.testing.assert_array_equal(written, case.written)
    assert problem(name).written_points(shape) == np.count_nonzero(written)


def test_tolerance_of_a_long_product_separates_float32_from_half_precision() -> None:
    p, rng = 4096, np.random.default_rng(5)
    arguments = problem("matmul").arguments((24, 16, p), rng)
    b, c = arguments[1].value, arguments[2].value
    reference = problem("matmul").reference_at(arguments, (np.arange(16), np.arange(24)))
    total = np.zeros((16, 24), np.float32)
    for k in range(p):
        total += c[:, k : k + 1] * b[k : k + 1, :]
    rounded = (c.astype(np.float16).astype(np.float64)) @ (b.astype(np.float16).astype(np.float64))
    assert np.all(np.abs(total - reference.expected) < reference.tolerance / 4)
    assert np.mean(np.abs(rounded - reference.expected) > reference.tolerance) > 0.5


def test_inputs_have_the_values_that_are_asked_for() -> None:
    arguments = problem("stencil").arguments(
        (5, 4, 3), np.random.default_rng(0), lambda _, shape: np.full(shape, 7, np.float32)
    )
    assert [a.value.min() for a in arguments if isinstance(a, Argument) and a.role == "input"] == [7.0]
