"""Pages of the requests of a wave."""

from __future__ import annotations

import numpy as np

from gpulab.model.l2_halves import PageCount, page_counts
from gpulab.model.recording import TracedWave

FIRST = 32  # bit of a word that begins a request


def word(page: int, line: int = 0, site: int = 0, begins: bool = True) -> int:
    return (32 * page + line) << 22 | site << 6 | FIRST * begins | 15


def wave(words: list[list[int]], blocks: int, sites: int = 1) -> TracedWave:
    used = np.array([len(each) for each in words])
    rows = np.zeros((len(words), used.max() + 1), np.uint64)
    for row, each in zip(rows, words, strict=True):
        row[: len(each)] = each
    return TracedWave(rows, used, blocks, 8, True, tuple((10 + number, False) for number in range(sites)))


def test_pages_of_a_block_are_those_of_the_first_requests_of_its_warps() -> None:
    warps = [[word(1), word(7)], [word(1, line=3)], [word(2)], [word(2), word(9)]]
    assert page_counts(wave(warps, blocks=1)) == {10: PageCount(1.0, 2.0)}


def test_request_may_have_lines_of_several_pages() -> None:
    lines = [word(1), word(1, 4, begins=False), word(2, begins=False)]
    assert page_counts(wave([lines, [word(3)]], blocks=2)) == {10: PageCount(1.5, 1.5)}


def test_sites_have_pages_of_their_own_and_unreached_ones_none() -> None:
    warps = [[word(1), word(2, site=1), word(3, site=1)], [word(1)]]
    pages = page_counts(wave(warps, blocks=1, sites=3))
    assert pages == {10: PageCount(1.0, 1.0), 11: PageCount(1.0, 1.0)}
