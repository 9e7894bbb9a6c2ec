"""The geometry of a launch and its limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.config import check_block, defines, launch_geometry
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem

STENCIL = problem("stencil")


@pytest.mark.parametrize(
    ("name", "shape", "block", "tile", "grid"),
    [
        ("stencil", (65, 47, 9), (32, 8, 1), (1, 1, 0), (3, 6, 1)),
        ("stencil", (64, 48, 9), (32, 8, 1), (2, 1, 4), (1, 6, 3)),
        ("stencil", (65, 47, 9), (24, 5, 1), (1, 2, 0), (3, 5, 1)),
        ("stencil", (65, 47, 9), (32, 8, 1), (0, 1, 1), (1, 6, 9)),
        ("matmul", (96, 40, 64), (32, 1, 1), (1, 4, 1), (3, 10, 1)),
        ("matmul", (96, 40, 64), (16, 16, 1), (1, 1, 1), (6, 3, 1)),
    ],
)
def test_the_grid_covers_every_axis(
    name: str,
    shape: tuple[int, ...],
    block: tuple[int, int, int],
    tile: tuple[int, int, int],
    grid: tuple[int, ...],
) -> None:
    assert launch_geometry(problem(name), shape, block, tile).grid == grid


SMALL = st.tuples(st.integers(1, 32), st.integers(1, 8), st.integers(1, 4))


@settings(deadline=None)
@given(st.tuples(*[st.integers(3, 200)] * 3), SMALL, SMALL)
def test_one_block_fewer_would_not_cover(
    shape: tuple[int, int, int], block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    launch = launch_geometry(STENCIL, shape, block, tile)
    for blocks, threads, points, extent in zip(launch.grid, block, tile, shape, strict=True):
        assert blocks * threads * points >= extent > (blocks - 1) * threads * points


@pytest.mark.parametrize("block", [(1024, 1, 1), (32, 32, 1), (1, 16, 64)])
def test_the_largest_blocks_are_allowed(block: tuple[int, int, int]) -> None:
    check_block(block)


@pytest.mark.parametrize(
    "block", [(1025, 1, 1), (33, 32, 1), (1, 1, 65), (0, 1, 1), (-1, 1, 1), (2**31, 1, 1)]
)
def test_a_block_outside_the_limits_is_refused_in_one_line(block: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError) as caught:
        check_block(block)
    assert "\n" not in str(caught.value)


def test_an_older_gpu_allows_fewer_threads() -> None:
    with pytest.raises(UsageError, match="512"):
        check_block((32, 32, 1), gpu("gtx280"))


def test_a_grid_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="65535"):
        launch_geometry(STENCIL, (3, 70_000, 3), (32, 1, 1), (1, 1, 0))


def test_a_negative_tile_is_refused() -> None:
    with pytest.raises(UsageError):
        launch_geometry(STENCIL, (9, 9, 9), (8, 8, 1), (1, -1, 0))


def test_the_macros_are_block_and_tile() -> None:
    assert defines((32, 8, 1), (1, 2, 0)) == {
        "BLOCK_X": 32,
        "BLOCK_Y": 8,
        "BLOCK_Z": 1,
        "TILE_X": 1,
        "TILE_Y": 2,
        "TILE_Z": 0,
    }
