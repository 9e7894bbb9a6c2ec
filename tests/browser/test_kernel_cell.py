"""Kernel cells in JupyterLab: a wrong, a correct and a broken kernel."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import CELL_S

# A common mistake: threads at the edge of a block read a halo that was not loaded.
WRONG = """%%cuda stencil.opt_1 --block 32 8 --tile 1 1
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    tile[ty][tx] = 0.0f;
    if (threadIdx.x == 0) tile[ty][0] = tile[ty][BLOCK_X + 1] = 0.0f;
    if (threadIdx.y == 0) tile[0][tx] = tile[BLOCK_Y + 1][tx] = 0.0f;
    for (int k = 1; k < nz - 1; k++) {
        long p = i + (long)nx * (j + (long)ny * k);
        if (i < nx && j < ny) tile[ty][tx] = A0[p];
        __syncthreads();
        if (i > 0 && j > 0 && i < nx - 1 && j < ny - 1)
            Anext[p] = A0[p - (long)nx * ny] + A0[p + (long)nx * ny]
                     + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();
    }
}
"""

CORRECT = """%%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2) return;
    for (int k = 1; k < nz - 1; k++) {
        long p = i + (long)nx * (j + (long)ny * k), frame = (long)nx * ny;
        Anext[p] = A0[p - 1] + A0[p + 1] + A0[p - nx] + A0[p + nx] + A0[p - frame] + A0[p + frame]
                 - 6.0f * A0[p] / (fac * fac);
    }
}
"""

BROKEN = """%%cuda stencil.opt_2
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdy.x;
}
"""


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture
def opened(lab_page, write_notebook, screenshots):
    """Open a notebook with three kernel cells in JupyterLab."""
    name = write_notebook("lab.ipynb", "%load_ext gpulab", WRONG, CORRECT, BROKEN)
    page = lab_page.open_with_kernel(name, 1600)
    yield page
    page.screenshot(path=screenshots / "page.png")


def run_cell(page, number):
    """Run a cell with Shift+Enter, wait until it ends, and return its outputs."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".cm-content").click(position={"x": 5, "y": 5})
    cell.locator(".cm-editor.cm-focused").wait_for(timeout=CELL_S)
    page.keyboard.press("Shift+Enter")
    cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for(timeout=CELL_S)
    return cell.locator(".jp-OutputArea")


def test_wrong_correct_and_broken_kernels_are_shown(opened, screenshots):
    page = opened
    run_cell(page, 0)
    wrong = run_cell(page, 1)
    picture = wrong.locator("svg.gp-plane").first
    picture.wait_for(timeout=CELL_S)
    assert picture.locator(".gp-wrong-fill").count() > 0
    assert picture.bounding_box()["width"] > 200
    assert "WrongResult" in wrong.inner_text()
    assert "Traceback" not in wrong.inner_text()

    correct = run_cell(page, 2)
    green = correct.locator(".gp-good")
    green.wait_for(timeout=CELL_S)
    assert "stencil.naive" in green.inner_text()
    assert correct.locator("table.gp-table", has_text="speed-up").count() == 1

    broken = run_cell(page, 3)
    assert "line 4" in broken.inner_text()

    for theme in ("Light", "Dark"):
        show(page, theme)
        for number in (1, 2, 3):
            cell = page.locator(".jp-CodeCell").nth(number)
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=screenshots / f"{theme.lower()}-{number}.png")
            assert readable(cell.locator(".gpulab").first)


def show(page, theme):
    page.evaluate(
        f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
    )
    light = "true" if theme == "Light" else "false"
    page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")


def readable(output):
    """Return True if the contrast of text and background satisfies WCAG 2."""
    return output.evaluate(
        """element => {
            const channels = text => text.match(/[\\d.]+/g).slice(0, 3).map(c => {
                c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            });
            const luminance = text => {
                const [r, g, b] = channels(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const style = getComputedStyle(element);
            const both = [luminance(style.color), luminance(style.backgroundColor)];
            const [low, high] = both.sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05) >= 4.5;
        }"""
    )
