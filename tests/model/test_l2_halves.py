"""Pages of the requests of a wave."""

from __future__ import annotations

import numpy as np

from gpulab.model.l2_halves import PageCount, far_waits, page_counts

FIRST = 32  # bit of a word that begins a request


def word(page: int, line: int = 0, site: int = 0, begins: bool = True) -> int:
    return (32 * page + line) << 22 | site << 6 | FIRST * begins | 15


def pages(words: list[list[int]], blocks: int) -> dict[int, PageCount]:
    used = np.array([len(each) for each in words])
    rows = np.zeros((len(words), used.max() + 1), np.uint64)
    for row, each in zip(rows, words, strict=True):
        row[: len(each)] = each
    return page_counts(rows, used, blocks)


def test_pages_of_a_block_are_those_of_the_first_requests_of_its_warps() -> None:
    warps = [[word(1), word(7)], [word(1, line=3)], [word(2)], [word(2), word(9)]]
    assert pages(warps, blocks=1) == {0: PageCount(1.0, 2.0)}


def test_request_may_have_lines_of_several_pages() -> None:
    lines = [word(1), word(1, 4, begins=False), word(2, begins=False)]
    assert pages([lines, [word(3)]], blocks=2) == {0: PageCount(1.5, 1.5)}


def test_sites_have_pages_of_their_own() -> None:
    warps = [[word(1), word(2, site=1), word(3, site=1)], [word(1)]]
    assert pages(warps, blocks=1) == {0: PageCount(1.0, 1.0), 1: PageCount(1.0, 1.0)}


def test_waits_for_other_operations_than_loads_are_not_shortened() -> None:
    assert far_waits([], warps=4, l2_waits=1.0, dram_waits=1.0, at_barriers=0.5) == 0
