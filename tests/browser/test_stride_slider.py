"""The slider of lab 0 in JupyterLab: it replaces the drawing."""

from __future__ import annotations

import pytest

from tests.browser.conftest import CELL_S
from tests.browser.test_kernel_cell import readable, run_cell, show
from tests.labs.lab import Lab, by_id, read

LAB = Lab("00_devicequery", "devicequery")


@pytest.fixture
def opened(lab_page, write_notebook):
    """Open a notebook with the slider's cell and the cells that it needs."""
    cells = by_id(read(LAB.notebook))
    name = write_notebook("slider.ipynb", *(cells[name].source for name in ("setup", "strided", "slider")))
    return lab_page.open_with_kernel(name, 1600)


def test_moved_slider_replaces_the_drawing(opened):
    page = opened
    output = [run_cell(page, number) for number in range(3)][-1]
    drawing = output.locator("svg.gp-warp")
    drawing.first.wait_for(timeout=CELL_S)
    assert "8 sectors" in output.inner_text()
    assert drawing.count() == 1

    output.locator(".noUi-handle").click()
    page.keyboard.press("ArrowRight")
    output.get_by_text("12 sectors per request", exact=True).wait_for(timeout=CELL_S)
    assert "8 sectors per request" not in output.inner_text()
    assert drawing.count() == 1

    for theme in ("Light", "Dark"):
        show(page, theme)
        assert readable(output.locator(".gpulab").first)
