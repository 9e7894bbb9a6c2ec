"""`gpulab.published_table`: figures as printed, with their citations."""

from __future__ import annotations

import re
from html import unescape

import pytest

from gpulab.errors import UsageError
from gpulab.problems.published import rows, source, sources
from gpulab.views.tables.published_view import published_table


@pytest.mark.parametrize("key", sources())
def test_citation_is_below_the_table(key):
    assert source(key).citation in published_table(key).text


@pytest.mark.parametrize("key", sources())
def test_every_figure_has_its_citation_in_a_tooltip(key):
    titles = re.findall(r'title="([^"]*)"', published_table(key).html)
    figures = [
        figure
        for row in rows(key)
        for figure in (row.overall_gflops, row.kernel_gflops, row.bound_gflops, row.speedup)
        if figure is not None
    ]
    assert len(titles) == len(figures) + len(source(key).listing)
    assert all(source(key).citation in unescape(title) for title in titles)


def test_figures_keep_their_printed_decimals():
    assert "44.0" in published_table("t10", variant="K2").text
    assert "28.0" not in published_table("gtx280").text


def test_variant_selects_its_rows():
    lines = published_table("t10", variant="K34").text.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["K3+K4", "x4x2"], ["K3+K4", "x4x4"]]


def test_missing_variant_raises_and_names_the_tables_that_have_it():
    with pytest.raises(UsageError, match=r"K4.*t10, gtx280"):
        published_table("blog", variant="K4")
