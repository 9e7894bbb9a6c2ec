"""What the handles of an explorer can be set to."""

from __future__ import annotations

from math import prod

import pytest

from gpulab.cell import Cell, parse_cell
from gpulab.exploration.search_space import Setting, blocks, nearest, neighbours, sizes, tiles
from gpulab.gpus.catalogue import GpuSpec, gpu
from gpulab.problems import problem
from gpulab.problems.base import Block

BODY = "__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) { %s }"
H200, T10 = gpu("h200"), gpu("t10")


def cell(header: str, body: str = "") -> Cell:
    return parse_cell(f"%%cuda {header}\n{BODY % body}")


def legal(here: Setting, limits: GpuSpec) -> tuple[Block, ...]:
    return blocks(here, limits, here.block)


def setting(header: str, size: str = "4096", device: str = "sim:h200") -> Setting:
    found = cell(header)
    return Setting(found, found.config.problem.parse_shape(size), device)


def test_blocks_are_the_variants_own_shapes_and_the_cells_own_block() -> None:
    found = legal(setting("matmul.K1 --block 64"), H200)
    assert [block[0] for block in found] == [32, 64, 128, 256, 512, 1024]
    assert (48, 1, 1) in legal(setting("matmul.K6 --block 48"), H200)


def test_a_cell_with_a_square_block_gets_squares_where_its_variant_has_one_axis() -> None:
    assert legal(setting("matmul.K6 --block 16 16"), H200) == ((8, 8, 1), (16, 16, 1), (32, 32, 1))
    assert (32, 8, 1) in legal(setting("stencil.opt_1 --block 16 16", "64"), H200)


def test_the_cells_own_block_stays_on_the_handle_when_it_is_moved() -> None:
    here = setting("matmul.K6 --block 48")
    moved = here.at(block=(64, 1, 1))
    assert (48, 1, 1) in blocks(moved, H200, here.block)


def test_a_gpu_gets_no_block_of_more_threads_than_it_takes() -> None:
    assert max(prod(block) for block in legal(setting("stencil.opt_1", "64"), H200)) == 1024
    assert max(prod(block) for block in legal(setting("stencil.opt_1", "64"), T10)) == 512


def test_a_kernel_without_guards_gets_no_block_that_does_not_divide_the_size() -> None:
    assert [block[0] for block in legal(setting("matmul.K2 --block 64", "256"), H200)] == [32, 64, 128, 256]


def test_a_tile_has_a_handle_where_the_text_follows_it() -> None:
    found = tiles(cell("matmul.K4 --tile 1 2", "int y = TILE_Y;"))
    assert found == ((1, 1, 1), (1, 2, 1), (1, 4, 1), (1, 8, 1))
    assert tiles(cell("matmul.K4 --tile 1 2")) == ((1, 2, 1),)


def test_a_tile_over_a_whole_axis_stays_so() -> None:
    found = tiles(cell("stencil.opt_3 --tile 1 2 0", "int y = TILE_Y; int z = TILE_Z;"))
    assert {tile[2] for tile in found} == {0}
    assert {tile[1] for tile in found} == {1, 2, 4, 8}


@pytest.mark.parametrize("name", ["stencil", "matmul"])
def test_sizes_end_with_the_one_that_is_timed(name: str) -> None:
    known = problem(name)
    found = sizes(name)
    assert found[-1] == known.timing_size
    assert all(known.checked_shape(shape) == shape for shape in found)
    assert found == tuple(sorted(found))


def test_the_curve_begins_where_the_handles_stand_and_goes_outwards() -> None:
    here = setting("matmul.K1 --block 128")
    found = neighbours(here, H200, here.block)
    assert found[0] == here
    assert {one.block for one in found[1:3]} == {(64, 1, 1), (256, 1, 1)}
    assert {one.block for one in found} == set(legal(here, H200))


def test_a_block_that_is_not_legal_any_more_gives_way_to_the_nearest() -> None:
    among = ((32, 8, 1), (32, 16, 1))
    assert nearest((32, 32, 1), among) == (32, 16, 1)
    assert nearest((32, 16, 1), among) == (32, 16, 1)
