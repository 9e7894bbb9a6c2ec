"""`gpulab.show_counts`: the memory accesses of any launch."""

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
    kernel = device.compile(TEXT.replace("%%cuda pairs", "", 1))  # keeps the line numbers
    x = device.asarray(np.arange(256, dtype=np.float32))
    return kernel, (1,), (128,), (x, device.zeros(128), 256)


def test_view_equals_that_of_a_kernel_cell(launch):
    assert gpulab.show_counts(*launch) == counts_view(count_launch(*launch))


def test_view_has_source_heat_and_drawings(launch):
    html = gpulab.show_counts(*launch).html
    assert "y[i] = x[2 * i] + x[2 * i + 1];" in html
    assert html.count('<svg class="gp-warp"') == 2  # the two loads are alike
    assert "gp-heat-2" in html


def test_line_shows_its_own_drawings(launch):
    view = gpulab.show_counts(*launch, line=7)
    assert view.html.count('<svg class="gp-warp"') == 2
    assert "gp-source" not in view.html
    assert "counted by the simulator" in view.text.lower()
    assert "8 sectors per request" in view.text


@pytest.mark.parametrize("line", [0, 5, 99])
def test_line_without_accesses_raises_and_the_error_names_lines_with_accesses(launch, line):
    with pytest.raises(UsageError, match=r"\b7\."):
        gpulab.show_counts(*launch, line=line)


def test_kernel_loaded_as_ptx_has_totals_only(launch):
    kernel, *rest = launch
    view = gpulab.show_counts(gpulab.device("sim:h200").load_ptx(kernel.program.ptx), *rest)
    assert "global loads" in view.text
    assert "PTX" in view.text
    assert not re.search(r"y\[i\]", view.text)


def test_object_that_is_no_kernel_raises(notebook):
    out = notebook.run("import gpulab\ngpulab.show_counts('x', 1, 1, ())")
    assert isinstance(out.error, UsageError)
