"""Tests of the hints on the cause of wrong values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpulab.problems import problem
from gpulab.verification.verify import verify
from tests.kernel_configs import config
from tests.python_device import PythonDevice

STENCIL = problem("stencil")
MATMUL = problem("matmul")
INNER = (slice(1, -1),) * 3

Function = Callable[..., None]


def stencil_with_weight(A0: Any, Anext: Any, weight: Any) -> None:
    neighbours = A0[1:-1, 1:-1, :-2] + A0[1:-1, 1:-1, 2:] + A0[1:-1, :-2, 1:-1] + A0[1:-1, 2:, 1:-1]
    Anext[INNER] = neighbours + A0[:-2, 1:-1, 1:-1] + A0[2:, 1:-1, 1:-1] - weight * A0[INNER]


def correct_stencil(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
    stencil_with_weight(A0, Anext, np.float32(6) / (fac * fac))


def stencil_hint(function: Function, block: tuple[int, int, int] = (32, 8, 1)) -> str:
    device = PythonDevice()
    verdict = verify(
        device.kernel(function),
        config("stencil.naive", block, (1, 1, 0)),
        device=device,
        shapes=[(65, 47, 9)],
    )
    return verdict.results[0].hint


def matmul_hint(function: Function, shape: tuple[int, int, int] = (48, 40, 96)) -> str:
    device = PythonDevice()
    kernel = device.kernel(function, "mmkernel")
    verdict = verify(kernel, config("matmul.K1", (16, 1, 1)), shapes=[shape])
    return verdict.results[0].hint


def without_halo(x: bool, y: bool) -> Function:
    """Return a kernel that is correct except on the edges of 32x8 blocks along x or y."""

    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        j, i = (np.arange(n) for n in A0.shape[1:])
        edge_x = x & ((i % 32 == 0) | (i % 32 == 31))
        edge_y = y & ((j % 8 == 0) | (j % 8 == 7))
        edge = np.broadcast_to(edge_x[None, None, :] | edge_y[None, :, None], A0.shape).copy()
        boundary = np.ones(A0.shape, bool)
        boundary[INNER] = False
        Anext[edge & ~boundary] += np.float32(0.5)

    return function


@pytest.mark.parametrize(
    ("x", "y", "axes"), [(True, False, "x"), (False, True, "y"), (True, True, "x and y")]
)
def test_wrong_block_edges_suggest_a_missing_halo(x: bool, y: bool, axes: str) -> None:
    assert f"along {axes};" in stencil_hint(without_halo(x, y))


def test_single_point_on_block_edges_gives_no_hint() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[4, 8, 32] = 9.0

    assert stencil_hint(function) == ""


def test_block_without_inner_points_gives_no_halo_hint() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[1:-1, 1:-1:3, 1:-1] = 9.0

    assert "halo" not in stencil_hint(function, (2, 2, 1))


def test_wrong_last_frame_suggests_a_loop_that_ends_early() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext[-2].copy()
        correct_stencil(fac, A0, Anext)
        Anext[-2] = previous

    assert "last" in stencil_hint(function)


def test_output_of_zeros_gives_a_hint() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        Anext[INNER] = 0.0

    assert "0" in stencil_hint(function)


def test_unwritten_output_gives_a_hint() -> None:
    assert "no point" in stencil_hint(lambda *args: None)


def test_sum_onto_the_initial_output_gives_a_hint() -> None:
    def function(a: Any, b: Any, c: Any, *sizes: Any) -> None:
        with np.errstate(invalid="ignore"):
            a += c @ b

    assert "initial contents" in matmul_hint(function)


@pytest.mark.parametrize(
    ("weight", "phrase"),
    [
        (lambda fac: np.float32(6) / fac, "6 * A0 / fac:"),
        (lambda fac: np.float32(1) / (fac * fac), "6 / (fac * fac)"),
        (lambda fac: np.float32(6) * fac * fac, "6 * A0 * fac * fac"),
        (lambda fac: -np.float32(6) / (fac * fac), "subtracted"),
        (lambda fac: np.float32(0), "left out"),
    ],
)
def test_mistake_in_the_formula_is_named(weight: Callable[[Any], Any], phrase: str) -> None:
    assert phrase in stencil_hint(lambda fac, A0, Anext, *sizes: stencil_with_weight(A0, Anext, weight(fac)))


def test_uncovered_end_of_an_axis_is_named() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext[:, :, 40:].copy()
        correct_stencil(fac, A0, Anext)
        Anext[:, :, 40:] = previous

    assert "x >= 40" in stencil_hint(function)


@pytest.mark.parametrize("shape", [(48, 40, 96), (48, 48, 96)])
def test_transposed_result_is_named(shape: tuple[int, int, int]) -> None:
    def function(a: Any, b: Any, c: Any, n: Any, m: Any, p: Any) -> None:
        a.reshape(n, m)[:] = (c @ b).T

    assert "transposed" in matmul_hint(function, shape)


def test_last_strip_that_overwrites_the_others_is_named() -> None:
    def function(a: Any, b: Any, c: Any, *sizes: Any) -> None:
        a[:] = c[:, 64:] @ b[64:, :]

    assert "last strip" in matmul_hint(function)


def test_random_errors_give_no_hint() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        noise = np.random.default_rng(1).random(Anext[INNER].shape, np.float32)
        Anext[INNER] += noise

    assert stencil_hint(function) == ""
