"""Common mistakes of a matrix product: each loop nest with the mistake gives the values that are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gpulab.problems import Argument, Case, Mistake, problem

N, M, P, STRIP = 32, 48, 96, 16  # all different, and multiples of the strip

Term = Callable[[np.ndarray, np.ndarray, int, int, int], float]

# Contribution of one step of k to a[i + n*j], by the description of the mistake. b and c are flat arrays.
TERMS: dict[str, Term] = {
    "ends at n, not at p": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k < N),
    "c is read as c[k + n*j]": lambda b, c, i, j, k: b[i + N * k] * c[k + N * j],
    "b is read as b[k + p*i]": lambda b, c, i, j, k: b[k + P * i] * c[k + P * j],
    "b is read as b[k + n*i]": lambda b, c, i, j, k: b[k + N * i] * c[k + P * j],
    "c is read as c[k + m*j]": lambda b, c, i, j, k: b[i + N * k] * c[k + M * j],
    "c is read as c[j + m*k]": lambda b, c, i, j, k: b[i + N * k] * c[j + M * k],
    "only the last k": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k == P - 1),
    "the first k (k = 0) is left out": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k > 0),
    "every product is added twice": lambda b, c, i, j, k: 2 * b[i + N * k] * c[k + P * j],
    "subtracted": lambda b, c, i, j, k: -b[i + N * k] * c[k + P * j],
    "the last k is left out": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k < P - 1),
    "only the last strip": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k >= P - STRIP),
    "only the first strip": lambda b, c, i, j, k: b[i + N * k] * c[k + P * j] * (k < STRIP),
    "the first values of c": lambda b, c, i, j, k: b[i + N * k] * c[k % STRIP + P * j],
    "the first columns of b": lambda b, c, i, j, k: b[i + N * (k % STRIP)] * c[k + P * j],
    "its first value of c only": lambda b, c, i, j, k: b[i + N * k] * c[k // STRIP * STRIP + P * j],
    "at the thread's own number": lambda b, c, i, j, k: (
        b[i + N * k] * c[k // STRIP * STRIP + i % STRIP + P * j]
    ),
    "the tile of b is read": lambda b, c, i, j, k: (
        b[i // STRIP * STRIP + k % STRIP + N * (k // STRIP * STRIP + i % STRIP)] * c[k + P * j]
    ),
    "the tile of c is read": lambda b, c, i, j, k: (
        b[i + N * k] * c[k // STRIP * STRIP + j % STRIP + P * (j // STRIP * STRIP + k % STRIP)]
    ),
    "both tiles are read": lambda b, c, i, j, k: (
        b[i // STRIP * STRIP + k % STRIP + N * (k // STRIP * STRIP + i % STRIP)]
        * c[k // STRIP * STRIP + j % STRIP + P * (j // STRIP * STRIP + k % STRIP)]
    ),
    "one value of b in a whole tile": lambda b, c, i, j, k: (
        b[i + N * (k // STRIP * STRIP + i % STRIP)] * c[k + P * j]
    ),
    "one value of c in a whole tile": lambda b, c, i, j, k: (
        b[i + N * k] * c[k // STRIP * STRIP + j % STRIP + P * j]
    ),
    "the last value of every strip": lambda b, c, i, j, k: (
        b[i + N * k] * c[k + P * j] * (k % STRIP < STRIP - 1)
    ),
    "the first half of every strip": lambda b, c, i, j, k: (
        b[i + N * k] * c[k + P * j] * (k % STRIP < STRIP // 2)
    ),
    "its first column of c": lambda b, c, i, j, k: b[i + N * k] * c[k + P * (j // 4 * 4)],
}


def product_mistakes(b: np.ndarray, c: np.ndarray) -> Iterator[Mistake]:
    """Yield the mistakes of a = c b."""
    right, zeros = c @ b, np.zeros((len(c), b.shape[1]))
    arguments = tuple(
        Argument(name, role, array)
        for name, role, array in (("a", "output", zeros), ("b", "input", b), ("c", "input", c))
    )
    shape = b.shape[1], len(c), len(b)
    return problem("matmul").mistakes(Case(shape, arguments, right, zeros, zeros == 0, 0, 0))


@pytest.fixture(scope="module")
def operands() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((P, N)), rng.random((M, P))


@pytest.mark.parametrize("phrase", TERMS)
def test_mistake_gives_the_values_of_its_loop_nest(
    operands: tuple[np.ndarray, np.ndarray], phrase: str
) -> None:
    b, c = operands
    flat_b, flat_c, term = b.ravel(), c.ravel(), TERMS[phrase]
    points = [(0, 0), (1, 0), (17, 5), (31, 47), (20, 30)]
    nest = [sum(term(flat_b, flat_c, i, j, k) for k in range(P)) for i, j in points]
    named = [mistake for mistake in product_mistakes(b, c) if phrase in mistake.description]
    assert any(np.allclose([mistake.values[j, i] for i, j in points], nest) for mistake in named)


def test_rows_of_a_thread_are_the_threads_of_a_block_apart() -> None:
    rng = np.random.default_rng(1)
    b, c = rng.random((8, 128)), rng.random((3, 8))
    first = [i % 64 for i in range(128)]
    named = [m.values for m in product_mistakes(b, c) if "its first row of b" in m.description]
    assert any(np.allclose(values, c @ b[:, first]) for values in named)


def test_transposed_result_has_the_shape_of_the_product(operands: tuple[np.ndarray, np.ndarray]) -> None:
    b, c = operands
    (transposed,) = [m.values for m in product_mistakes(b, c) if "stored transposed" in m.description]
    assert transposed.shape == (M, N)
    np.testing.assert_allclose(transposed.ravel(), (c @ b).T.ravel())


@pytest.mark.parametrize("shape", [(7, 13, 5), (133, 134, 267), (1, 1, 1)])
def test_every_size_has_mistakes_of_its_shape(shape: tuple[int, int, int]) -> None:
    n, m, p = shape
    b, c = np.ones((p, n)), np.ones((m, p))
    assert {mistake.values.shape for mistake in product_mistakes(b, c)} == {(m, n)}


def test_kernel_for_square_matrices_gives_the_values_of_one_side() -> None:
    n, m, p = 4, 6, 8
    rng = np.random.default_rng(1)
    b, c = rng.random((p, n)), rng.random((m, p))
    a = np.full(n * m, np.nan)
    for i in range(n):
        for j in range(n):
            a[i + n * j] = sum(b.ravel()[i + n * k] * c.ravel()[k + n * j] for k in range(n))
    named = [mistake.values.ravel() for mistake in product_mistakes(b, c) if "square" in mistake.description]
    assert any(np.allclose(values, a, equal_nan=True) for values in named)


def test_values_after_the_last_whole_strip_are_left_out() -> None:
    rng = np.random.default_rng(1)
    b, c = rng.random((37, 4)), rng.random((3, 37))
    named = [m.values for m in product_mistakes(b, c) if "whole strip of 16" in m.description]
    assert any(np.allclose(values, c[:, :32] @ b[:32]) for values in named)


def test_stride_of_another_matrix_is_named() -> None:
    rng = np.random.default_rng(1)
    (n, m, p), i, k = (6, 4, 8), np.arange(6), np.arange(8)
    b, c = rng.random((p, n)), rng.random((m, p))
    named = {mistake.description: mistake.values for mistake in product_mistakes(b, c)}
    values = named["b is read as b[i + m*k]: column-major means b[i + n*k]"]
    assert np.allclose(values, c @ b.ravel()[i + m * k[:, None]])


def test_read_past_the_end_is_left_to_the_fault() -> None:
    b, c = np.ones((8, 6)), np.ones((4, 8))
    assert not any("b[i + p*k]" in mistake.description for mistake in product_mistakes(b, c))
