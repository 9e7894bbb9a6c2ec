"""The search space of an explorer: blocks, tiles, sizes and their order."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from gpulab.cell import KernelCell, parse_cell, require_kernel_cell
from gpulab.exploration.search_space import Candidate, blocks, nearest, neighbours, sizes, tiles
from gpulab.gpus.catalogue import GpuSpec, gpu
from gpulab.problems import load_problems, problem
from gpulab.problems.base import Block
from tests.foreign_problems import write_problems

BODY = "__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p) { %s }"
H200, T10 = gpu("h200"), gpu("t10")


def cell(header: str, body: str = "") -> KernelCell:
    return require_kernel_cell(parse_cell(f"%%cuda {header}\n{BODY % body}"))


def legal(candidate: Candidate, limits: GpuSpec) -> tuple[Block, ...]:
    return blocks(candidate, limits, candidate.block)


def candidate(header: str, size: str = "4096", device: str = "sim:h200") -> Candidate:
    kernel = cell(header)
    return Candidate(kernel, kernel.config.problem.parse_shape(size), device)


def test_blocks_have_the_shape_of_the_variant_and_include_the_cells_block() -> None:
    found = legal(candidate("matmul.K1 --block 64"), H200)
    assert [block[0] for block in found] == [32, 64, 128, 256, 512, 1024]
    assert (48, 1, 1) in legal(candidate("matmul.K6 --block 48"), H200)


def test_square_block_in_the_cell_selects_squares_if_the_variant_has_one_axis() -> None:
    assert legal(candidate("matmul.K6 --block 16 16"), H200) == ((8, 8, 1), (16, 16, 1), (32, 32, 1))
    assert (32, 8, 1) in legal(candidate("stencil.opt_1 --block 16 16", "64"), H200)


def test_cells_block_remains_a_choice_when_another_is_selected() -> None:
    here = candidate("matmul.K6 --block 48")
    moved = here.at(block=(64, 1, 1))
    assert (48, 1, 1) in blocks(moved, H200, here.block)


def test_blocks_obey_the_limit_of_the_gpu() -> None:
    assert max(prod(block) for block in legal(candidate("stencil.opt_1", "64"), H200)) == 1024
    assert max(prod(block) for block in legal(candidate("stencil.opt_1", "64"), T10)) == 512


def test_blocks_of_a_kernel_without_guards_divide_the_size() -> None:
    assert [block[0] for block in legal(candidate("matmul.K2 --block 64", "256"), H200)] == [32, 64, 128, 256]


def test_tile_varies_on_axes_whose_macro_the_text_uses() -> None:
    found = tiles(cell("matmul.K4 --tile 1 2", "int y = TILE_Y;"))
    assert found == ((1, 1, 1), (1, 2, 1), (1, 4, 1), (1, 8, 1))
    assert tiles(cell("matmul.K4 --tile 1 2")) == ((1, 2, 1),)


def test_tile_over_a_whole_axis_does_not_vary() -> None:
    found = tiles(cell("stencil.opt_3 --tile 1 2 0", "int y = TILE_Y; int z = TILE_Z;"))
    assert {tile[2] for tile in found} == {0}
    assert {tile[1] for tile in found} == {1, 2, 4, 8}


@pytest.mark.parametrize("name", ["stencil", "matmul"])
def test_largest_size_is_the_timing_size(name: str) -> None:
    known = problem(name)
    found = sizes(known)
    assert found[-1] == known.timing_size
    assert all(known.checked_shape(shape) == shape for shape in found)
    assert found == tuple(sorted(found))


def test_sizes_of_a_problem_with_a_fixed_size_are_legal(no_labs: None, tmp_path: Path) -> None:
    histogram = load_problems(write_problems(tmp_path))["histogram"]
    assert sizes(histogram) == tuple((1 << power, 256) for power in range(20, 25))


def test_neighbours_are_ordered_by_distance() -> None:
    here = candidate("matmul.K1 --block 128")
    found = neighbours(here, H200, here.block)
    assert found[0] == here
    assert {one.block for one in found[1:3]} == {(64, 1, 1), (256, 1, 1)}
    assert {one.block for one in found} == set(legal(here, H200))


def test_nearest_has_the_closest_number_of_threads() -> None:
    among = ((32, 8, 1), (32, 16, 1))
    assert nearest((32, 32, 1), among) == (32, 16, 1)
    assert nearest((32, 16, 1), among) == (32, 16, 1)
