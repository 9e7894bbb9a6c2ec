"""Blocks whose work differs: the longest chain of blocks and the busiest SM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gpulab.model.block_schedule import LONGEST_SCHEDULE, schedule_stretch


def stretch(
    blocks: int, numbers: Sequence[int], work: Sequence[int], sms: int, resident: int
) -> tuple[float, float]:
    """Return the stretch of a launch with a grid of one axis."""
    return schedule_stretch((blocks, 1, 1), None, numbers, work, sms, resident)


def test_equal_blocks_are_not_stretched() -> None:
    assert stretch(1000, (100, 500, 900), (7, 7, 7), 4, 2) == (1, 1)


def test_launch_with_a_place_for_each_block_ends_with_its_longest() -> None:
    chain, busiest = stretch(4, (0, 1, 2, 3), (8, 6, 4, 2), 4, 1)
    assert (chain, busiest) == (8 / 5, 8 / 5)


def test_long_blocks_at_the_end_of_the_grid_take_longer_than_at_its_beginning() -> None:
    work = [1] * 7 + [9]
    last, _ = stretch(8, range(8), work, 2, 1)
    first, _ = stretch(8, range(8), work[::-1], 2, 1)
    assert last == pytest.approx((3 + 9) / (4 * 2))
    assert first == pytest.approx(9 / (4 * 2))


def test_short_blocks_do_not_shorten_a_launch() -> None:
    assert stretch(5, (0, 1, 2, 3, 4), (1, 9, 9, 9, 1), 4, 1) == (1, 1)


def test_blocks_of_one_sm_share_it() -> None:
    chain, busiest = stretch(8, range(8), (9, 1, 1, 1, 1, 1, 1, 1), 2, 4)
    assert chain == 9 / 2
    assert busiest == (9 + 3) / (4 * 2)


def test_sm_that_is_free_first_gets_the_blocks_that_do_not_fit_at_once() -> None:
    _, busiest = stretch(8, range(8), (5, 1, 1, 1, 1, 1, 1, 1), 2, 2)
    assert busiest == 6 / (4 * 1.5)


def test_long_launch_is_not_stretched() -> None:
    assert stretch(2 * LONGEST_SCHEDULE + 1, (0, 64), (1, 100), 2, 1) == (1, 1)


def test_nearest_block_is_searched_on_all_axes() -> None:
    """Blocks of one column have the same work; the sample has one block of each column, in different rows."""
    grid, sample, work = (4, 2, 1), (0, 5, 2, 7), (8, 6, 4, 2)
    chain, _ = schedule_stretch(grid, np.arange(8), sample, work, 8, 1)
    assert chain == 8 / 5


def test_only_blocks_with_work_are_scheduled() -> None:
    blocks = np.arange(0, 800, 100)
    scattered = schedule_stretch((800, 1, 1), blocks, blocks.tolist(), (9, 1, 1, 1, 1, 1, 1, 1), 2, 4)
    assert scattered == stretch(8, range(8), (9, 1, 1, 1, 1, 1, 1, 1), 2, 4)
