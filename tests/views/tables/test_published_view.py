"""The table of published figures: every number says where it was printed."""

from __future__ import annotations

import re
from html import unescape

import pytest

from gpulab.errors import UsageError
from gpulab.problems.published import rows, source, sources
from gpulab.views.tables.published_view import published_table


@pytest.mark.parametrize("key", sources())
def test_the_source_stands_below_the_table(key):
    assert source(key).citation in published_table(key).text


@pytest.mark.parametrize("key", sources())
def test_every_figure_says_where_it_was_printed(key):
    titles = re.findall(r'title="([^"]*)"', published_table(key).html)
    figures = [
        figure
        for row in rows(key)
        for figure in (row.overall_gflops, row.kernel_gflops, row.bound_gflops, row.speedup)
        if figure is not None
    ]
    assert len(titles) == len(figures) + len(source(key).listing)
    assert all(source(key).citation in unescape(title) for title in titles)


def test_a_figure_has_the_decimals_it_was_printed_with():
    assert "44.0" in published_table("t10", variant="K2").text
    assert "28.0" not in published_table("gtx280").text


def test_a_table_can_be_cut_down_to_one_kernel():
    lines = published_table("t10", variant="K34").text.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["K3+K4", "x4x2"], ["K3+K4", "x4x4"]]


def test_a_kernel_that_was_not_published_there_is_told_where_it_was():
    with pytest.raises(UsageError, match=r"`blog` has no published figure of `K4`.*t10, gtx280"):
        published_table("blog", variant="K4")
