"""A roofline in JupyterLab and in an HTML export: no other host is needed, and no texts overlap."""

from __future__ import annotations

from itertools import combinations
from urllib.parse import urlsplit

import nbformat
import pytest
from nbconvert import HTMLExporter

from gpulab.notebook.tables.roofline_figure import roofline_figure
from gpulab.views.roofline.roofline_layout import scene_of
from tests.browser.conftest import CELL_S, POLL_MS
from tests.browser.test_kernel_cell import run_cell, show
from tests.notebook.tables.roofline_cases import roofline_case

COUNTS = (3, 6, 12)
RECTANGLES = """texts => texts.map(text => {
    const box = text.getBoundingClientRect();
    return [text.textContent, box.left, box.top, box.right, box.bottom];
})"""
CONTRAST = """plot => {
    const luminance = colour => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(c => {
            c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = luminance(getComputedStyle(plot.querySelector(".main-svg")).backgroundColor);
    const drawn = [...plot.querySelectorAll("text")].map(text => [text.textContent, "fill", text]).concat(
        [...plot.querySelectorAll(".js-line")].map(line => ["line", "stroke", line]),
        [...plot.querySelectorAll(".point")].map(
            point => ["point", getComputedStyle(point).fillOpacity === "0" ? "stroke" : "fill", point]));
    return drawn.map(([name, paint, element]) => {
        const [low, high] = [paper, luminance(getComputedStyle(element)[paint])].sort((a, b) => a - b);
        return [name, (high + 0.05) / (low + 0.05)];
    });
}"""
DRAW = """from gpulab.notebook.tables.roofline_figure import roofline_figure
from gpulab.views.roofline.roofline_layout import scene_of
from tests.notebook.tables.roofline_cases import roofline_case

roofline_figure(scene_of(roofline_case(6, 0.05, measured=True), "512x512x512"))"""


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("rooflines")


@pytest.fixture(scope="module")
def saved():
    """Return a notebook as it is stored after a run: one figure for each number of points."""
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    for count in COUNTS:
        scene = scene_of(roofline_case(count, 0.05, measured=count != 6), "512x512x512")
        bundle = roofline_figure(scene, "dark" if count == 6 else "light")._repr_mimebundle_()
        output = nbformat.v4.new_output("display_data", data=bundle)
        notebook.cells.append(nbformat.v4.new_code_cell(f"# {count} points", outputs=[output]))
    return notebook


def overlapping(rectangles):
    """Return the pairs of texts whose rectangles share more than a margin of rounding."""
    return [
        (one[0], two[0])
        for one, two in combinations(rectangles, 2)
        if min(one[3], two[3]) - max(one[1], two[1]) > 1 and min(one[4], two[4]) - max(one[2], two[2]) > 3
    ]


def variants(count):
    return {point.variant for point in roofline_case(count, 0.05, measured=count != 6).points}


def test_jupyterlab_draws_it_without_other_hosts(lab, lab_page, saved, screenshots):
    nbformat.write(saved, lab.folder / "roofline.ipynb")
    page = lab_page.open("roofline.ipynb", 3200)
    page.locator(".js-plotly-plot .annotation-text").first.wait_for(timeout=CELL_S)
    drawn = "() => document.querySelectorAll('.js-plotly-plot').length === 3"
    page.wait_for_function(drawn, timeout=CELL_S, polling=POLL_MS)
    for index, count in enumerate(COUNTS):
        figure = page.locator(".js-plotly-plot").nth(index)
        texts = figure.locator(".annotation-text, .legendtext, .legendtitletext")
        rectangles = texts.evaluate_all(RECTANGLES)
        assert {text.split()[-1] for text, *_ in rectangles} >= variants(count)
        assert overlapping(rectangles) == []
    page.screenshot(path=screenshots / "lab.png")

    figure = page.locator(".js-plotly-plot").first
    box = figure.locator(".scatterlayer .trace").last.locator(".points path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figure.locator(".hoverlayer .hovertext").first.wait_for(timeout=CELL_S)
    assert "occupancy" in figure.locator(".hoverlayer").text_content()
    page.screenshot(path=screenshots / "hover.png")
    hosts = {urlsplit(url).hostname for url in lab_page.requests}
    assert hosts - {None} <= {"127.0.0.1", "localhost"}
    assert [text for text in lab_page.errors if "plotly" in text.lower()] == []


def test_figure_is_legible_in_both_themes(lab_page, write_notebook, screenshots):
    page = lab_page.open_with_kernel(write_notebook("roofline_theme.ipynb", DRAW), 1000)
    plot = run_cell(page, 0).locator(".js-plotly-plot")
    plot.locator(".annotation-text").first.wait_for(timeout=CELL_S)
    papers = []
    for theme in ("Light", "Dark"):
        show(page, theme)
        page.screenshot(path=screenshots / f"theme_{theme.lower()}.png")
        assert [name for name, contrast in plot.evaluate(CONTRAST) if contrast < 3] == []
        papers.append(plot.locator(".main-svg").first.evaluate("e => getComputedStyle(e).backgroundColor"))
    assert papers[0] != papers[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_html_export_shows_the_static_picture(browser_window, saved, screenshots, tmp_path, scheme):
    exporter = HTMLExporter(template_name="classic")
    html, _ = exporter.from_notebook_node(saved)
    (tmp_path / "roofline.html").write_text(html)
    page = browser_window.new_page(viewport={"width": 1000, "height": 3200}, color_scheme=scheme)
    page.route("http*://**", lambda route: route.abort())  # the template of the export requests MathJax
    page.goto((tmp_path / "roofline.html").as_uri())
    for index, count in enumerate(COUNTS):
        picture = page.locator("svg[role=img]").nth(index)
        assert picture.bounding_box()["width"] > 600
        rectangles = picture.locator("text").evaluate_all(RECTANGLES)
        assert {text for text, *_ in rectangles} >= variants(count)
        assert overlapping(rectangles) == []
    page.screenshot(path=screenshots / f"export_{scheme}.png")
    page.close()
