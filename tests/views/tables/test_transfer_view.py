"""The table of copies: a row for each size and direction, and where every time comes from."""

from __future__ import annotations

import re

import pytest

import gpulab
from gpulab.errors import UsageError


@pytest.fixture(scope="module")
def view():
    return gpulab.transfer_table((2**16, 2**18), device=gpulab.device("sim:t10"))


def test_every_size_is_copied_both_ways(view):
    rows = [line.split()[:3] for line in view.text.splitlines()[2:6]]
    assert rows == [["64", "KiB", "to"], ["64", "KiB", "back"], ["256", "KiB", "to"], ["256", "KiB", "back"]]


def test_every_time_says_where_it_comes_from(view):
    titles = re.findall(r'title="([^"]*)"', view.html)
    assert len(titles) == 4 * 6
    assert all(title.startswith("modelled") for title in titles)


@pytest.mark.parametrize("sizes", [(), (3,), (0,), (-4,)])
def test_sizes_that_are_no_floats_are_refused(sizes):
    with pytest.raises(UsageError, match="multiples of 4"):
        gpulab.transfer_table(sizes, device=gpulab.device("sim"))
