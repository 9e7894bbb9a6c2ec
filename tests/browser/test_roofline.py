"""A roofline in a real JupyterLab and in an HTML export: no other host is asked, no label lies on another."""

from __future__ import annotations

from itertools import combinations

import nbformat
import pytest
from nbconvert import HTMLExporter

from gpulab.notebook.roofline_figure import roofline_figure
from gpulab.views.roofline.roofline_layout import scene_of
from tests.browser.test_kernel_cell import CELL_S
from tests.notebook.roofline_cases import roofline_case

COUNTS = (3, 6, 12)
RECTANGLES = """texts => texts.map(text => {
    const box = text.getBoundingClientRect();
    return [text.textContent, box.left, box.top, box.right, box.bottom];
})"""


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("rooflines")


@pytest.fixture(scope="module")
def saved():
    """A notebook as it lies on the disk after a run: one figure for each number of points."""
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    for count in COUNTS:
        found = roofline_case(count, 0.05, measured=count != 6)
        theme = "dark" if count == 6 else "light"
        bundle = roofline_figure(found, scene_of(found, "512x512x512"), theme)._repr_mimebundle_()
        output = nbformat.v4.new_output("display_data", data=bundle)
        notebook.cells.append(nbformat.v4.new_code_cell(f"# {count} points", outputs=[output]))
    return notebook


def overlapping(rectangles):
    """Pairs of texts whose rectangles lie on each other by more than a rounding; turned texts left out."""
    return [
        (one[0], two[0])
        for one, two in combinations(rectangles, 2)
        if min(one[3], two[3]) - max(one[1], two[1]) > 1 and min(one[4], two[4]) - max(one[2], two[2]) > 3
    ]


def upright(labels):
    return {label.text for label in labels if label.kind != "roof"}


def test_in_jupyterlab_plotly_draws_it_without_other_hosts(lab, browser_window, saved, screenshots):
    nbformat.write(saved, lab.folder / "roofline.ipynb")
    page = browser_window.new_page(viewport={"width": 1280, "height": 2600})
    hosts, errors = set(), []
    page.on("request", lambda request: hosts.add(request.url.split("/")[2].split(":")[0]))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(lab.url("roofline.ipynb"))
    page.locator(".js-plotly-plot .annotation-text").first.wait_for(timeout=CELL_S)
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length === 3", timeout=CELL_S)
    for number, count in enumerate(COUNTS):
        figure = page.locator(".js-plotly-plot").nth(number)
        found = roofline_case(count, 0.05, measured=count != 6)
        names = upright(scene_of(found).labels)
        rectangles = figure.locator(".annotation-text").evaluate_all(RECTANGLES)
        here = [rectangle for rectangle in rectangles if rectangle[0] in names]
        assert len(here) >= len(names)
        assert overlapping(here) == []
    page.screenshot(path=screenshots / "lab.png")
    # The pointer finds a point and what is known of it.
    figure = page.locator(".js-plotly-plot").first
    box = figure.locator(".scatterlayer .trace").last.locator(".points path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figure.locator(".hoverlayer .hovertext").first.wait_for(timeout=CELL_S)
    assert "occupancy" in figure.locator(".hoverlayer").text_content()
    page.screenshot(path=screenshots / "hover.png")
    assert {host for host in hosts if host} <= {"127.0.0.1", "localhost"}
    assert [text for text in errors if "plotly" in text.lower()] == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_html_export_shows_the_still_picture(browser_window, saved, screenshots, tmp_path, scheme):
    exporter = HTMLExporter(template_name="classic")
    html, _ = exporter.from_notebook_node(saved)
    (tmp_path / "roofline.html").write_text(html)
    page = browser_window.new_page(viewport={"width": 1000, "height": 2400}, color_scheme=scheme)
    page.route("http*://**", lambda route: route.abort())  # the export's own template asks for MathJax
    page.goto((tmp_path / "roofline.html").as_uri())
    for number, count in enumerate(COUNTS):
        picture = page.locator("svg[role=img]").nth(number)
        assert picture.bounding_box()["width"] > 600
        names = upright(scene_of(roofline_case(count, 0.05, measured=count != 6)).labels)
        rectangles = picture.locator("text").evaluate_all(RECTANGLES)
        assert overlapping([rectangle for rectangle in rectangles if rectangle[0] in names]) == []
    page.screenshot(path=screenshots / f"export_{scheme}.png")
    page.close()
