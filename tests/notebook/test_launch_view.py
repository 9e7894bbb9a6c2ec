"""`gpulab.show_counts`: what a problem's cell shows of its kernel, for any launch."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.profiling.counts.cell_counts import count_launch
from gpulab.views.counts_view import counts_view

TEXT = """%%cuda pairs
// A thread adds two neighbours.
__global__ void pairs(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n)
        y[i] = x[2 * i] + x[2 * i + 1];
}
"""


@pytest.fixture(scope="module")
def launch():
    device = gpulab.device("sim:h200")
    kernel = device.compile(TEXT.replace("%%cuda pairs", "", 1))  # as the magic does: line numbers stay
    x = device.asarray(np.arange(256, dtype=np.float32))
    return kernel, (1,), (128,), (x, device.zeros(128), 256)


def test_it_is_what_a_problems_cell_shows(launch):
    assert gpulab.show_counts(*launch) == counts_view(count_launch(*launch))


def test_the_source_stands_with_its_heat_and_drawings(launch):
    html = gpulab.show_counts(*launch).html
    assert "y[i] = x[2 * i] + x[2 * i + 1];" in html
    assert html.count('<svg class="gp-warp"') == 2  # the two loads are alike
    assert "gp-heat-2" in html


def test_one_line_shows_its_own_drawings_and_where_they_come_from(launch):
    view = gpulab.show_counts(*launch, line=7)
    assert view.html.count('<svg class="gp-warp"') == 2
    assert "gp-source" not in view.html
    assert "counted by the simulator" in view.text.lower()
    assert "load of x, 4 bytes a lane: 8 sectors a request" in view.text


@pytest.mark.parametrize("line", [0, 5, 99])
def test_a_line_without_accesses_is_said_with_those_that_have_some(launch, line):
    with pytest.raises(UsageError, match=r"lines that do: 7\."):
        gpulab.show_counts(*launch, line=line)


def test_a_kernel_of_ptx_shows_its_totals(launch):
    kernel, *rest = launch
    view = gpulab.show_counts(gpulab.device("sim:h200").load_ptx(kernel.program.ptx), *rest)
    assert "global loads" in view.text
    assert "PTX" in view.text
    assert not re.search(r"y\[i\]", view.text)


def test_a_cell_of_a_notebook_can_show_it(notebook):
    out = notebook.run("import gpulab\ngpulab.show_counts('x', 1, 1, ())")
    assert isinstance(out.error, UsageError)
