"""Memory transactions of a request, by the rules of each compute capability."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.model.coalescing import (
    bank_passes,
    channel_load,
    copied_sectors,
    partial_sectors,
    segment_transactions,
    unique_per_request,
)

FULL_MASK = np.array([0xFFFFFFFF], np.uint32)
LANES = np.arange(32)
PIECES = 16 * LANES


def request(addresses: object) -> np.ndarray:
    return np.asarray(addresses, np.int64).reshape(1, 32)


def test_adjacent_lanes_share_sectors_and_lines() -> None:
    where = request(4 * LANES)
    assert unique_per_request(FULL_MASK, where, 32)[0] == 4
    assert unique_per_request(FULL_MASK, where, 128)[0] == 1


def test_inactive_lanes_touch_no_sector() -> None:
    assert unique_per_request(np.array([0], np.uint32), request(4 * LANES), 32)[0] == 0


@pytest.mark.parametrize(
    ("addresses", "transactions", "size"),
    [
        (4 * LANES, 2, 128),  # a segment of 64 bytes for each half-warp
        (0 * LANES, 2, 64),  # the same word in all lanes: 32 bytes are the smallest transaction
        (128 * LANES, 32, 32 * 32),  # one transaction for each lane
        (4 * LANES + 64, 2, 128),
    ],
)
def test_segments_of_half_warps(addresses: np.ndarray, transactions: int, size: int) -> None:
    assert tuple(segment_transactions(FULL_MASK, request(addresses), 4)[0]) == (transactions, size)


@pytest.mark.parametrize(
    ("words", "banks", "passes"),
    [(LANES, 32, 1), (2 * LANES, 32, 2), (32 * LANES, 32, 32), (0 * LANES, 32, 1), (LANES, 16, 2)],
)
def test_bank_serves_one_word_per_pass(words: np.ndarray, banks: int, passes: int) -> None:
    assert bank_passes(FULL_MASK, request(4 * words), 4, banks)[0] == passes


def test_wide_elements_take_more_passes_unless_lanes_are_paired() -> None:
    assert bank_passes(FULL_MASK, request(16 * LANES), 16, 32)[0] == 4
    assert bank_passes(FULL_MASK, request(0 * LANES), 16, 32)[0] == 2


def test_transactions_on_one_channel_are_serialised() -> None:
    spread, together = request(256 * LANES), request(2048 * LANES)
    assert channel_load(FULL_MASK, spread, 8, 256)[0] == 1
    assert channel_load(FULL_MASK, together, 8, 256)[0] == 8


@pytest.mark.parametrize(
    ("addresses", "sectors", "lines"),
    [
        (PIECES, 16, 4),
        (PIECES + 64, 16, 8),  # every quarter of the warp lies in two lines
        (PIECES + 16, 32, 12),  # no two lanes fill a sector
        (PIECES + 48, 32, 16),
        (2 * PIECES, 32, 32),
        (0 * PIECES, 32, 32),
    ],
)
def test_copied_bytes_share_a_sector_if_two_lanes_fill_it(
    addresses: np.ndarray, sectors: int, lines: int
) -> None:
    masks = np.array([0xFFFFFFFF, 0b11, 0b1], np.uint32)
    of_sectors, of_lines = copied_sectors(masks, np.tile(addresses, (3, 1)))
    assert (of_sectors[0], of_lines[0]) == (sectors, lines)
    assert of_sectors[1] == sectors / 16
    assert (of_sectors[2], of_lines[2]) == (1, 1)


@pytest.mark.parametrize(
    ("addresses", "width", "parts", "covered"),
    [
        (4 * LANES, 4, 0, 0),
        (4 * LANES + 4, 4, 0, 0),  # the request of the next warp continues this one
        (16 * LANES, 4, 16, 0.25),
        (32 * LANES, 4, 32, 0.125),
        (0 * LANES, 4, 1, 0.125),
        (32 * LANES, 8, 32, 0.25),
        (32 * LANES, 16, 32, 0.5),
    ],
)
def test_sectors_that_are_covered_in_part(
    addresses: np.ndarray, width: int, parts: int, covered: float
) -> None:
    assert partial_sectors(FULL_MASK, request(addresses), width) == (parts, covered)
