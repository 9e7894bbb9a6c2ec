"""`gpulab.transfer_table`: rows and provenance."""

from __future__ import annotations

import re

import pytest

import gpulab
from gpulab.errors import UsageError


@pytest.fixture(scope="module")
def view():
    return gpulab.transfer_table((2**16, 2**18), device=gpulab.device("sim:t10"))


def test_every_size_has_a_row_for_each_direction(view):
    rows = [line.split()[:3] for line in view.text.splitlines()[2:6]]
    assert rows == [[size, "KiB", source] for size in ("64", "256") for source in ("host", "device")]


def test_every_figure_has_its_provenance_in_a_tooltip(view):
    titles = re.findall(r'title="([^"]*)"', view.html)
    assert len(titles) == 4 * 6
    assert all(title.startswith("modelled") for title in titles)


@pytest.mark.parametrize("sizes", [(), (3,), (0,), (-4,)])
def test_size_that_is_not_a_multiple_of_a_float_raises(sizes):
    with pytest.raises(UsageError):
        gpulab.transfer_table(sizes, device=gpulab.device("sim"))
