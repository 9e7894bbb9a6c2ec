"""The explorers of the labs in JupyterLab: figure and text follow the sliders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpulab.notebook.sliders.explore_figure import CLASS
from tests.browser.conftest import CELL_S, POLL_MS
from tests.browser.test_kernel_cell import readable, run_cell, show
from tests.labs.lab import Lab, by_id, read

LABS = {"stencil": Lab("01_stencil", "stencil"), "matmul": Lab("02_matmul", "matmul")}
KERNELS = Path(__file__).parents[1] / "kernels"
FILES = {
    "stencil": ("opt_1_halo_from_global", "opt_3_arrays_over_tile"),
    "matmul": ("K2_zero_padded_strip", "K34_register_block"),
}
SCREEN = 590  # pixels that JupyterLab leaves for cells on a screen of 720 pixels
LOCAL = ("http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:", "ws://localhost:", "data:", "blob:")


class Explorer:
    """An explorer in a page, located by its visible elements."""

    def __init__(self, page, output) -> None:
        self.page, self.output = page, output

    @property
    def text(self) -> str:
        return self.output.locator(".gp-note").first.inner_text()

    @property
    def drawn(self) -> str:
        """The SVG of the points and lines."""
        return self.output.locator(".js-plotly-plot .cartesianlayer").evaluate("layer => layer.innerHTML")

    def box(self, name: str):
        return self.output.locator(f'.widget-inline-hbox:has(.widget-label:text-is("{name}"))')

    def handle(self, name: str):
        return self.box(name).locator(".noUi-handle")

    def slide(self, name: str, key: str) -> None:
        self.handle(name).focus()
        self.page.keyboard.press(key)

    def choose(self, name: str, value: str) -> None:
        self.box(name).locator("select").select_option(label=value)

    def wait_for_change(self, text: str, drawn: str) -> None:
        """Wait until there is a point whose text and picture differ from these."""
        self.page.wait_for_function(
            """([output, text, drawn]) => {
                const now = output.querySelector(".gp-note").innerText;
                const layer = output.querySelector(".js-plotly-plot .cartesianlayer").innerHTML;
                return now !== text && !now.includes("…") && layer !== drawn;
            }""",
            arg=[self.output.element_handle(), text, drawn],
            timeout=CELL_S,
            polling=POLL_MS,
        )


def kernel_cells(problem):
    """Return two correct kernels of a problem as notebook cells, the second one with a tile."""
    files = (KERNELS / problem / "right" / f"{name}.cu" for name in FILES[problem])
    return [file.read_text(encoding="utf-8").removeprefix("// ") for file in files]


@pytest.fixture(params=FILES)
def explorer(request, lab_page, write_notebook):
    """Open the explorer of a lab; at the end, check errors, requests and the size of the notebook."""
    name = f"explore_{request.param}.ipynb"
    of_lab = by_id(read(LABS[request.param].notebook))
    cells = [of_lab["setup"].source, *kernel_cells(request.param), of_lab["explore"].source]
    page = lab_page.open_with_kernel(write_notebook(name, *cells), 1800)
    output = [run_cell(page, number) for number in range(len(cells))][-1]
    output.locator(".js-plotly-plot .scatterlayer .point").first.wait_for(timeout=CELL_S)
    yield Explorer(page, output)
    assert not lab_page.errors
    assert not [url for url in lab_page.requests if not url.startswith(LOCAL)]
    saved = json.dumps(page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.toJSON()"))
    assert len(saved) < 1_000_000


def test_every_slider_changes_the_figure_and_the_text(explorer):
    sliders = [name for name in ("block", "tile", "size") if explorer.handle(name).is_visible()]
    assert sliders == ["block", "tile", "size"]
    for name in sliders:
        text, drawn = explorer.text, explorer.drawn
        explorer.slide(name, "ArrowLeft")
        explorer.wait_for_change(text, drawn)

    text, drawn = explorer.text, explorer.drawn
    explorer.choose("GPU", "Tesla T10, uncalibrated")
    explorer.wait_for_change(text, drawn)
    assert "Tesla T10" in explorer.text

    text, drawn = explorer.text, explorer.drawn
    kernels = explorer.box("kernel").locator("option").all_inner_texts()
    explorer.box("kernel").locator("select").focus()
    explorer.page.keyboard.press("ArrowUp")  # not the shortcut of JupyterLab for the cell above
    explorer.wait_for_change(text, drawn)
    assert explorer.text.startswith(kernels[0])
    assert explorer.handle("size").get_attribute("aria-label") == "size"
    assert explorer.output.locator(f".{CLASS}").bounding_box()["height"] < SCREEN

    for theme in ("Light", "Dark"):
        show(explorer.page, theme)
        assert readable(explorer.output.locator(".gp-note").first)
