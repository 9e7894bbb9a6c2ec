"""Sectors and words that one warp's request touches, and their names."""

from __future__ import annotations

import pytest

from gpulab.profiling.counts.warp_access import Places, warp_access
from gpulab.simt.instrument.counters.counter_recorder import RequestSample

ALL = 2**32 - 1
PLACES = Places([("A0", 4096, 4096, 4), ("B", 65536, 64, 8)], [("tile", 0), ("strip", 256)], (3, 2, 2))


def picture(addresses, units=0, mask=ALL, block=0):
    return RequestSample(mask, block, 1, units, tuple(addresses))


def test_adjacent_floats_fill_four_sectors():
    access = warp_access(picture((4096 + 4 * n for n in range(32)), 4), "global", 4, PLACES)
    assert [unit.name for unit in access.touched] == ["A0[0…7]", "A0[8…15]", "A0[16…23]", "A0[24…31]"]
    assert [unit.lanes for unit in access.touched] == [tuple(range(n, n + 8)) for n in (0, 8, 16, 24)]
    assert all(unit.used == ALL for unit in access.touched)
    assert access.bytes_used == 128
    assert access.lanes[9].place == "A0[9]"
    assert access.lanes[9].touched == (1,)


def test_floats_with_a_stride_of_eight_take_one_sector_each():
    access = warp_access(picture((4096 + 32 * n for n in range(32)), 32), "global", 4, PLACES)
    assert len(access.touched) == 32
    assert {unit.used for unit in access.touched} == {0b1111}
    assert [unit.column for unit in access.touched] == list(range(32))


def test_broadcast_touches_one_word_of_one_sector():
    access = warp_access(picture([4100] * 32, 1), "global", 4, PLACES)
    (sector,) = access.touched
    assert sector.used == 0b1111 << 4
    assert sector.lanes == tuple(range(32))


def test_inactive_lanes_touch_nothing():
    access = warp_access(picture([4096] * 32, 1, mask=0b101), "global", 4, PLACES)
    assert access.active == 2
    assert [n for n, lane in enumerate(access.lanes) if lane] == [0, 2]


def test_words_of_one_bank_have_different_rows():
    access = warp_access(picture((128 * n for n in range(32)), 32), "shared", 4, PLACES)
    assert {unit.column for unit in access.touched} == {0}
    assert sorted(unit.row for unit in access.touched) == list(range(32))
    assert access.deepest == 32


def test_word_that_all_lanes_access_is_one_word():
    access = warp_access(picture([132] * 32, 1), "shared", 4, PLACES)
    assert [(unit.column, unit.row) for unit in access.touched] == [(1, 0)]
    assert access.deepest == 1


def test_wide_elements_touch_several_banks():
    access = warp_access(picture((16 * n for n in range(32)), 4), "shared", 16, PLACES)
    assert len(access.touched) == 128
    assert access.deepest == 4
    assert access.lanes[1].touched == (4, 5, 6, 7)


@pytest.mark.parametrize(
    ("space", "address", "width", "name"),
    [
        ("global", 4100, 4, "A0[1]"),
        ("global", 4112, 16, "A0[4…7]"),
        ("global", 65544, 8, "B[1]"),
        ("global", 9, 4, "address 0x9"),
        ("shared", 12, 4, "word 3 of tile"),
        ("shared", 257, 1, "word 0 of strip, byte 1"),
        ("shared", 264, 8, "words 2…3 of strip"),
    ],
)
def test_element_is_named_as_in_the_source(space, address, width, name):
    assert PLACES.element(space, address, width) == name


def test_block_has_its_index_in_the_grid():
    assert warp_access(picture([4096] * 32, 1, block=11), "global", 4, PLACES).block == (2, 1, 1)
