"""Tests of kernel configurations: grids, limits and macros."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.cell import parse_cell, parse_header, require_kernel_cell
from gpulab.config import check_block, defines
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from tests.kernel_configs import config

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
def test_grid_covers_every_axis(
    name: str,
    shape: tuple[int, ...],
    block: tuple[int, int, int],
    tile: tuple[int, int, int],
    grid: tuple[int, ...],
) -> None:
    assert config(f"{name}.{next(iter(problem(name).variants))}", block, tile).at(shape).grid == grid


SMALL = st.tuples(st.integers(1, 32), st.integers(1, 8), st.integers(1, 4))


@settings(deadline=None)
@given(st.tuples(*[st.integers(3, 200)] * 3), SMALL, SMALL)
def test_grid_has_no_superfluous_blocks(
    shape: tuple[int, int, int], block: tuple[int, int, int], tile: tuple[int, int, int]
) -> None:
    launch = config("stencil.naive", block, tile).at(shape)
    for blocks, threads, points, extent in zip(launch.grid, block, tile, shape, strict=True):
        assert blocks * threads * points >= extent > (blocks - 1) * threads * points


@pytest.mark.parametrize("block", [(1024, 1, 1), (32, 32, 1), (1, 16, 64)])
def test_largest_blocks_are_legal(block: tuple[int, int, int]) -> None:
    check_block(block)


@pytest.mark.parametrize(
    "block", [(1025, 1, 1), (33, 32, 1), (1, 1, 65), (0, 1, 1), (-1, 1, 1), (2**31, 1, 1)]
)
def test_illegal_block_raises_one_line(block: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError) as error:
        check_block(block)
    assert "\n" not in str(error.value)


def test_block_limit_is_that_of_the_gpu() -> None:
    with pytest.raises(UsageError, match="512"):
        check_block((32, 32, 1), gpu("gtx280"))


def test_grid_above_the_limit_raises() -> None:
    with pytest.raises(UsageError, match="65535"):
        config("stencil.naive", (32, 1, 1)).at((3, 70_000, 3))


def test_negative_tile_raises() -> None:
    with pytest.raises(UsageError):
        config("stencil.naive", (8, 8, 1), (1, -1, 0)).at((9, 9, 9))


def test_defines_are_block_and_tile() -> None:
    assert defines((32, 8, 1), (1, 2, 0)) == {
        "BLOCK_X": 32,
        "BLOCK_Y": 8,
        "BLOCK_Z": 1,
        "TILE_X": 1,
        "TILE_Y": 2,
        "TILE_Z": 0,
    }


def test_with_geometry_keeps_missing_numbers() -> None:
    changed = config("stencil.naive", (16, 4, 1)).with_geometry((64,), (1, 2))
    assert (changed.block, changed.tile) == ((64, 4, 1), (1, 2, 0))


def test_configuration_round_trips_through_its_header() -> None:
    text = "%%cuda stencil.opt_1 --block 32 8 1 --tile 1 1 0"
    assert str(config("stencil.opt_1")) == text
    assert parse_header(text) == config("stencil.opt_1")


def test_configuration_round_trips_through_pickle() -> None:
    assert pickle.loads(pickle.dumps(config("matmul.K4"))) == config("matmul.K4")


def test_plain_cell_is_no_kernel_cell() -> None:
    with pytest.raises(UsageError):
        require_kernel_cell(parse_cell("%%cuda plain\n"))


@pytest.mark.parametrize(
    ("variant", "shape", "nearest"),
    [("K4", (100, 64, 64), "128x64x64"), ("K4", (64, 64, 65), "64x64x128"), ("K4", (1, 1, 1), "64x32x64")],
)
def test_unguarded_kernel_raises_with_the_nearest_legal_size(
    variant: str, shape: tuple[int, ...], nearest: str
) -> None:
    with pytest.raises(UsageError, match=nearest):
        config(f"matmul.{variant}", (64, 1, 1), (1, 2, 1)).require_size(shape)


@pytest.mark.parametrize(
    ("name", "variant", "shape"),
    [("matmul", "K4", (64, 32, 128)), ("matmul", "K4g", (7, 13, 5)), ("stencil", "opt_1", (65, 47, 9))],
)
def test_legal_sizes_pass(name: str, variant: str, shape: tuple[int, ...]) -> None:
    config(f"{name}.{variant}", (64, 1, 1), (1, 2, 1)).require_size(shape)
