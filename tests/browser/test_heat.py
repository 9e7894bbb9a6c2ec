"""The heat view and the drawings of accesses in JupyterLab, in both themes."""

from __future__ import annotations

import pytest

from tests.browser.conftest import CELL_S
from tests.browser.test_kernel_cell import CORRECT, readable, run_cell, show

# Correct but slow: adjacent threads read floats at a stride of p and write floats at a stride of n. The
# comment is longer than the page is wide.
FAR_APART = """%%cuda matmul.Ks --block 1 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    // The threads of a warp differ in j alone. "<" and "&" are escaped, and this line is so long that it \
does not fit into the page, which must not move anything else, however far it extends to the right side.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k)
        sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
TILES = """%%cuda matmul.K5 --block 16 16
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[16][16], ct[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 16) {
        bt[ty][tx] = b[i + n * (k0 + ty)];
        ct[tx][ty] = c[k0 + tx + p * j];   // across the banks: 16 lanes access words of two banks
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += bt[k][tx] * ct[k][ty];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
"""


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("heat")


@pytest.fixture
def opened(lab_page, write_notebook, screenshots):
    """Open a notebook with correct kernels that differ in their memory traffic."""
    name = write_notebook("heat.ipynb", "%load_ext gpulab", FAR_APART, TILES, CORRECT)
    page = lab_page.open_with_kernel(name, 2200)
    yield page
    page.screenshot(path=screenshots / "page.png")


def test_heat_and_drawings_in_both_themes(opened, screenshots):
    page = opened
    run_cell(page, 0)
    outputs = [run_cell(page, number) for number in (1, 2, 3)]
    for output in outputs:
        output.locator(".gp-source").wait_for(timeout=CELL_S)

    # The worst line is unfolded, and its drawing is wide enough for 32 lanes.
    far = outputs[0]
    assert far.locator("details.gp-line-of[open] > summary").inner_text().split()[0] == "10"
    drawing = far.locator("svg.gp-warp:visible").first
    assert drawing.bounding_box()["width"] > 600
    assert far.locator(".gp-heat-4:visible").first.inner_text() == "16.5"

    # A click unfolds another line, without scripts or widgets.
    line = far.locator("details.gp-line-of").filter(has_text="a[i + n * j] = sum")
    assert not line.locator("svg.gp-warp").first.is_visible()
    line.locator("summary.gp-row").click()
    line.locator("svg.gp-warp").first.wait_for(timeout=CELL_S)

    # A long line scrolls in its own box; the figures keep their place, and the page does not grow.
    source = far.locator(".gp-source")
    assert source.evaluate("e => e.scrollWidth > e.clientWidth")
    source.evaluate("e => e.scrollLeft = 400")
    figures = line.locator(".gp-figs").bounding_box()
    assert figures["x"] == pytest.approx(source.bounding_box()["x"], abs=2)
    assert page.locator(".jp-NotebookPanel").first.evaluate("e => e.scrollWidth <= e.clientWidth")
    source.evaluate("e => e.scrollLeft = 0")

    for theme in ("Light", "Dark"):
        show(page, theme)
        for number in (1, 2, 3):
            output = page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea")
            output.scroll_into_view_if_needed()
            output.screenshot(path=screenshots / f"{theme.lower()}-{number}.png")
            for piece in (".gpulab", ".gp-figs"):
                assert readable(output.locator(piece).first)
        page.locator(".jp-CodeCell").nth(1).evaluate("e => e.scrollIntoView()")
        page.screenshot(path=screenshots / f"{theme.lower()}.png")
        for hot in outputs[0].locator(".gp-heat-4:visible").all():
            assert readable(hot)
