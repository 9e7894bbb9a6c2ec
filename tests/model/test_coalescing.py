"""What one request asks of memory, by the rules of each compute capability."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab.model.coalescing import (
    bank_passes,
    channel_load,
    part_sectors,
    segment_transactions,
    unique_per_request,
)

ALL = np.array([0xFFFFFFFF], np.uint32)
LANES = np.arange(32)


def request(addresses: object) -> np.ndarray:
    return np.asarray(addresses, np.int64).reshape(1, 32)


def test_neighbours_share_sectors_and_lines() -> None:
    where = request(4 * LANES)
    assert unique_per_request(ALL, where, 32)[0] == 4
    assert unique_per_request(ALL, where, 128)[0] == 1


def test_lanes_that_are_off_ask_for_nothing() -> None:
    assert unique_per_request(np.array([0], np.uint32), request(4 * LANES), 32)[0] == 0


@pytest.mark.parametrize(
    ("addresses", "transactions", "size"),
    [
        (4 * LANES, 2, 128),  # a segment of 64 bytes for each half-warp
        (0 * LANES, 2, 64),  # one word for all: 32 bytes are the least
        (128 * LANES, 32, 32 * 32),  # every lane by itself
        (4 * LANES + 64, 2, 128),
    ],
)
def test_half_warps_make_segments(addresses: np.ndarray, transactions: int, size: int) -> None:
    found = segment_transactions(ALL, request(addresses), 4)[0]
    assert tuple(found) == (transactions, size)


@pytest.mark.parametrize(
    ("words", "banks", "passes"),
    [(LANES, 32, 1), (2 * LANES, 32, 2), (32 * LANES, 32, 32), (0 * LANES, 32, 1), (LANES, 16, 2)],
)
def test_banks_serve_one_word_each(words: np.ndarray, banks: int, passes: int) -> None:
    assert bank_passes(ALL, request(4 * words), 4, banks)[0] == passes


def test_wide_elements_are_served_to_parts_of_the_warp_unless_lanes_pair() -> None:
    assert bank_passes(ALL, request(16 * LANES), 16, 32)[0] == 4
    assert bank_passes(ALL, request(0 * LANES), 16, 32)[0] == 2


def test_transactions_on_one_channel_wait_for_each_other() -> None:
    apart, together = request(256 * LANES), request(2048 * LANES)
    assert channel_load(ALL, apart, 8, 256)[0] == 1
    assert channel_load(ALL, together, 8, 256)[0] == 8


@pytest.mark.parametrize(
    ("addresses", "parts"),
    [(4 * LANES, 0), (4 * LANES + 4, 2), (12 * LANES, 12), (0 * LANES, 1), (128 * LANES, 32)],
)
def test_sectors_that_are_covered_in_part(addresses: np.ndarray, parts: int) -> None:
    assert part_sectors(ALL, request(addresses), 4) == parts
