"""Tests of the hints on the cause of wrong values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.config import KernelConfig
from gpulab.problems import Input, Output, Problem, Step, problem
from gpulab.verification.compare import compare
from gpulab.verification.inputs import POISON
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


def stencil_hint(
    function: Function, block: tuple[int, int, int] = (32, 8, 1), tile: tuple[int, int, int] = (1, 1, 0)
) -> str:
    device = PythonDevice()
    verdict = verify(
        device.kernel(function),
        config("stencil.naive", block, tile),
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
    assert "no value" in stencil_hint(lambda *args: None)


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


def shifted(A0: Any, z: int, y: int, x: int) -> Any:
    """Return the neighbours of the inner points at a distance."""
    nz, ny, nx = A0.shape
    return A0[1 + z : nz - 1 + z, 1 + y : ny - 1 + y, 1 + x : nx - 1 + x]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda A: -shifted(A, 0, 0, -1) + shifted(A, 0, 0, 1),
            ["x + 1 is added twice", "x - 1 is left out"],
        ),
        (lambda A: -shifted(A, 0, 1, 0), ["y + 1 is left out"]),
        (lambda A: -2 * shifted(A, -1, 0, 0), ["z - 1 is subtracted"]),
        (lambda A: shifted(A, 0, 0, 0) - shifted(A, 0, 0, 1), ["centre is added in place", "x + 1"]),
        (lambda A: A[:1, 1:-1, 1:-1] - shifted(A, -1, 0, 0), ["z - 1 stays that of the first round"]),
    ],
)
def test_mistake_with_one_neighbour_is_named(change: Callable[[Any], Any], words: list[str]) -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[INNER] += change(A0)

    hint = stencil_hint(function)
    assert [word for word in words if word not in hint] == [], hint


def test_exchanged_x_and_y_are_named() -> None:
    source = """__global__ void
    block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz) {
        int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
        if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
        for (int k = 1; k < nz - 1; k++) {
            int c = j + ny * (i + nx * k);
            Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - ny] + A0[c + ny] + A0[c - nx * ny] + A0[c + nx * ny]
                     - 6.0f * A0[c] / (fac * fac);
        }
    }"""
    kernel = gpulab.device("sim").compile(source, defines={"BLOCK_X": 32, "BLOCK_Y": 8})
    verdict = verify(kernel, config("stencil.naive", (32, 8, 1), (1, 1, 0)), shapes=[(65, 47, 9)])
    assert "x and y exchanged?" in verdict.results[0].hint


def test_index_of_the_other_axis_is_named_if_only_diagonal_blocks_are_written() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct = np.array(Anext)
        correct_stencil(fac, A0, correct)
        y, x = (np.arange(n) for n in A0.shape[1:])
        diagonal = (x // 32)[None] == (y // 8)[:, None]
        Anext[:, diagonal] = correct[:, diagonal]

    assert "blockIdx.x = blockIdx.y" in stencil_hint(function)


def test_blocks_of_the_other_axis_suggest_exchanged_axes() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct = np.array(Anext)
        correct_stencil(fac, A0, correct)
        Anext[:, :, :48] = correct[:, :, :48]  # the blocks of 8 points that cover 47 points

    assert "Are x and y exchanged?" in stencil_hint(function)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([1], ["the first inner frame is wrong", "before the loop over z"]),
        ([7], ["the last inner frame is wrong", "frame z + 1"]),
        ([1, 2], ["the first 2 inner frames are wrong", "before the loop over z"]),
        ([2, 3, 4, 5, 6, 7], ["only the frame z = 1 is right", "in each round?"]),
        ([3, 6], ["only the frames z = 3, 6 are wrong"]),
    ],
)
def test_wrong_frames_are_named(frames: list[int], words: list[str]) -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        for frame in frames:
            Anext[frame, 1:-1, 1:-1] += np.float32(frame)

    hint = stencil_hint(function)
    assert [word for word in words if word not in hint] == [], hint


@pytest.mark.parametrize(
    ("tile", "frames", "words"),
    [
        (0, [1], ["the first inner frame is never written", "one frame late"]),
        (0, [7], ["the last inner frame is never written", "one frame early"]),
        (0, [2, 3, 4, 5, 6, 7], ["only the frame z = 1 is written", "reach the others"]),
        (4, [3, 7], ["the last frame of each piece of 4 frames is never written", "one frame early"]),
        (4, [1, 4], ["the first frame of each piece of 4 frames is never written", "one frame late"]),
    ],
)
def test_frames_that_are_never_written_suggest_a_wrong_loop(
    tile: int, frames: list[int], words: list[str]
) -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext.copy()
        correct_stencil(fac, A0, Anext)
        Anext[frames] = previous[frames]

    hint = stencil_hint(function, tile=(1, 1, tile))
    assert [word for word in words if word not in hint] == [], hint


def stencil_with_read(A0: Any, Anext: Any, fac: Any, where: tuple[Any, ...], change: Any) -> None:
    """Add a change to a part of the right output, without its boundary."""
    correct_stencil(fac, A0, Anext)
    added = np.zeros_like(Anext)
    added[INNER] = change
    chosen = np.zeros_like(Anext)
    chosen[where] = 1
    Anext[INNER] += (added * chosen)[INNER]


@pytest.mark.parametrize(
    ("where", "change", "words"),
    [
        (  # the prologue loads frame 1 in place of frame 0
            (slice(1, 2),),
            lambda A: shifted(A, 0, 0, 0) - shifted(A, -1, 0, 0),
            ["first inner frame is wrong", "the neighbour at z - 1", "index z that is 1 too high"],
        ),
        (  # the right halo of blocks of 32 points
            (slice(None), slice(None), slice(31, None, 32)),
            lambda A: shifted(A, 0, 0, -1) - shifted(A, 0, 0, 1),
            ["edges of blocks along x", "the neighbour at x + 1", "index x that is 2 too low"],
        ),
        (
            (slice(None),),
            lambda A: np.roll(shifted(A, 1, 0, 0), -8, axis=1) - shifted(A, 1, 0, 0),
            ["the neighbour at z + 1", "index y that is 8 too high"],
        ),
    ],
)
def test_neighbour_with_a_wrong_index_is_named(
    where: tuple[Any, ...], change: Callable[[Any], Any], words: list[str]
) -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        stencil_with_read(A0, Anext, fac, where, change(A0))

    hint = stencil_hint(function)
    assert [word for word in words if word not in hint] == [], hint


def test_shifted_tile_is_named() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, np.roll(A0, -1, axis=2), Anext)
        Anext[INNER] += shifted(A0, -1, 0, 0) - shifted(np.roll(A0, -1, axis=2), -1, 0, 0)
        Anext[INNER] += shifted(A0, 1, 0, 0) - shifted(np.roll(A0, -1, axis=2), 1, 0, 0)

    hint = stencil_hint(function)
    assert "the point itself and its four neighbours in the frame are read with an index x that is 1" in hint


@pytest.mark.parametrize(
    ("product", "words"),
    [
        (lambda b, c: c @ np.roll(b, -1, axis=0), ["b is read with an index k that is 1 too high"]),
        (lambda b, c: c @ np.roll(b, 16, axis=0), ["b is read with an index k that is 16 too low"]),
        (lambda b, c: np.roll(c, 1, axis=1) @ b, ["c is read with an index k that is 1 too low"]),
    ],
)
def test_operand_with_a_wrong_index_is_named(product: Callable[[Any, Any], Any], words: list[str]) -> None:
    def function(a: Any, b: Any, c: Any, *sizes: Any) -> None:
        a[:] = product(b, c)
        a[: len(a) // 2] = (c @ b)[: len(a) // 2]  # half of the columns are right

    hint = matmul_hint(function)
    assert [word for word in words if word not in hint] == [], hint


def test_points_next_to_the_boundary_suggest_missing_loads() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[1:-1, 1:-1, [1, -2]] += np.float32(0.5)

    assert "do the threads on the boundary load their points too?" in stencil_hint(function)


def test_exchanged_indices_of_blocks_and_threads_are_named() -> None:
    def blocks(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext[:, 24:].copy()  # the 3 blocks along x, each of 8 rows
        correct_stencil(fac, A0, Anext)
        Anext[:, 24:] = previous

    def threads(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        left_out = np.arange(A0.shape[2]) % 32 >= 8
        previous = Anext[:, :, left_out].copy()
        correct_stencil(fac, A0, Anext)
        Anext[:, :, left_out] = previous

    assert "Are blockIdx.x and blockIdx.y exchanged?" in stencil_hint(blocks)
    assert "Are threadIdx.x and threadIdx.y exchanged?" in stencil_hint(threads)


def test_values_that_are_all_nan_suggest_an_uninitialized_variable() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        Anext[INNER] = np.nan

    assert "read before it is written?" in stencil_hint(function)


def test_second_point_of_each_thread_is_named() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[1:-1, 1:-1:2, 1:-1] += np.float32(0.5)  # odd rows

    device = PythonDevice()
    settings = config("stencil.naive", (32, 8, 1), (1, 2, 0))
    verdict = verify(device.kernel(function), settings, device=device, shapes=[(65, 47, 9)])
    assert "the second of the 2 points that a thread computes along y" in verdict.results[0].hint


def test_hint_of_a_launch_with_a_race_is_about_unwritten_points_only() -> None:
    case = STENCIL.make_case((65, 47, 9), np.random.default_rng(0))
    launch = config("stencil.naive").at((65, 47, 9))
    got = np.where(case.written, case.expected, 0).astype(np.float32)
    got.view(np.uint32)[~case.written] = POISON
    got[case.written & (np.arange(47) % 2 == 0)[None, :, None]] += 1
    assert compare(case, launch, got).wrong
    assert compare(case, launch, got, raced=True).hint == ""
    got.view(np.uint32)[case.written & (np.arange(47) >= 20)[None, :, None]] = POISON
    assert "y >= 20" in compare(case, launch, got, raced=True).hint


def test_launch_with_a_race_that_wrote_no_value_says_so() -> None:
    case = STENCIL.make_case((65, 47, 9), np.random.default_rng(0))
    launch = config("stencil.naive").at((65, 47, 9))
    got = np.zeros(case.written.shape, np.float32)
    got.view(np.uint32)[:] = POISON
    assert "wrote no value" in compare(case, launch, got, raced=True).hint


def test_boundary_that_is_written_is_named_by_its_faces() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        correct_stencil(fac, A0, Anext)
        Anext[1:-1, 46, 1:-1] = 1

    assert "y = 46 are on the boundary" in stencil_hint(function)


def test_points_written_in_parts_of_two_axes_are_named() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext.copy()
        correct_stencil(fac, A0, Anext)
        Anext[:, 8:32], Anext[:, 40:], Anext[..., 48:] = (
            previous[:, 8:32],
            previous[:, 40:],
            previous[..., 48:],
        )

    assert "x = 1 to 47 and y = 1 to 7, 32 to 39" in stencil_hint(function)


def test_weight_that_is_cut_to_a_whole_number_is_named() -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        stencil_with_weight(A0, Anext, np.float32(int(6 / (fac * fac))))

    hint = stencil_hint(function)
    assert "whole number" in hint or "the centre point itself is left out" in hint


@pytest.mark.parametrize(
    ("frames", "words"),
    [([4], "z = 4 is never written"), ([4, 8], "the first frame of each piece of 4 frames is never written")],
)
def test_first_piece_may_be_right(frames: list[int], words: str) -> None:
    def function(fac: Any, A0: Any, Anext: Any, *sizes: Any) -> None:
        previous = Anext.copy()
        correct_stencil(fac, A0, Anext)
        Anext[frames] = previous[frames]

    device = PythonDevice()
    configuration = config("stencil.naive", (32, 8, 1), (1, 1, 4))
    verdict = verify(device.kernel(function), configuration, device=device, shapes=[(65, 47, 11)])
    assert words in verdict.results[0].hint


OVERFLOW = "the maximum is not subtracted, so exp overflows"


def softmax(x: Any) -> Any:
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


def overflowing_softmax(x: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.exp(x.astype(np.float32))
        return terms / terms.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("declared", [True, False])
def test_hint_is_not_computed_from_nan_or_infinity(declared: bool) -> None:
    softmax_problem = Problem(
        "softmax",
        arguments=(
            Output("y", ("rows", "columns")),
            Input("x", ("rows", "columns"), values=(-100, 100)),
            "rows",
            "columns",
        ),
        sizes={"rows": 64, "columns": 64},
        reference=softmax,
        error_bound=lambda x: 1e-5 * softmax(x) + 1e-12,
        mistakes={OVERFLOW: overflowing_softmax} if declared else None,
        steps=(Step("serial", "a thread for each row"),),
    )
    case = softmax_problem.make_case((64, 64), np.random.default_rng(0))
    x = next(argument.value for argument in case.arguments if argument.name == "x")
    got = overflowing_softmax(x).astype(np.float32)
    assert np.any(np.isnan(got))
    assert np.any(got == 0)
    launch = KernelConfig(softmax_problem, "serial", (32, 1, 1), softmax_problem.default_tile).at((64, 64))
    hint = compare(case, launch, got).hint
    assert (OVERFLOW in hint) == declared
    assert "too high" not in hint
    assert "too low" not in hint
