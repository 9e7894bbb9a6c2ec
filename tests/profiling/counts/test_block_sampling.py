"""Samples of the blocks of a grid: size, coverage and weights."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from gpulab.profiling.counts.block_sampling import FEWEST_BLOCKS, sample_blocks

GRIDS = [(1, 1, 1), (7, 1, 1), (1, 300, 2), (40, 70, 3), (2, 2, 2)]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("by_position", [False, True])
def test_weights_add_up_to_the_grid(grid: tuple[int, int, int], by_position: bool) -> None:
    samples = sample_blocks(grid, 24, by_position=by_position)
    assert sum(len(s.numbers) * s.weight for s in samples) == pytest.approx(prod(grid))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("by_position", [False, True])
def test_blocks_are_distinct_and_inside_the_grid(grid: tuple[int, int, int], by_position: bool) -> None:
    numbers = np.concatenate([s.numbers for s in sample_blocks(grid, 24, by_position=by_position)])
    assert len(set(numbers.tolist())) == len(numbers)
    assert numbers.min() >= 0
    assert numbers.max() < prod(grid)


def test_count_of_one_is_the_block_in_the_middle() -> None:
    (sample,) = sample_blocks((5, 4, 3), 1)
    assert sample.numbers.tolist() == [(1 * 4 + 2) * 5 + 2]
    assert sample.weight == 60


@pytest.mark.parametrize("by_position", [False, True])
def test_count_of_the_whole_grid_is_every_block(by_position: bool) -> None:
    samples = sample_blocks((3, 2, 2), 12, by_position=by_position)
    assert sorted(np.concatenate([s.numbers for s in samples]).tolist()) == list(range(12))
    assert {s.weight for s in samples} == {1}


def test_spread_sample_covers_every_quarter_of_a_wide_grid() -> None:
    (sample,) = sample_blocks((1024, 1, 1), 24)
    assert set(sample.numbers // 256) == {0, 1, 2, 3}


def test_positions_are_sampled_separately() -> None:
    grid = (200, 200, 1)
    samples = sample_blocks(grid, 1000, by_position=True)
    corners = [s.numbers[0] for s in samples if len(s.numbers) == 1]
    assert sorted(corners) == [0, 199, 199 * 200, 199 * 200 + 199]
    assert min(len(s.numbers) for s in samples if len(s.numbers) > 1) > FEWEST_BLOCKS / 2
