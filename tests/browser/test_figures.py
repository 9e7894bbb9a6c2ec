"""The figures of the labs in Chromium: texts have room, and the colours follow the theme of JupyterLab."""

from __future__ import annotations

import base64
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

from drawings.__main__ import LABS
from gpulab.views.html import View
from tests.browser.conftest import CELL_S
from tests.browser.test_kernel_cell import show
from tests.browser.test_roofline import overlapping

FILES = sorted(LABS.glob("*/figures/*.svg"))
TEXTS = """texts => texts.map(text => {
    const box = text.getBBox();
    return [text.textContent, box.x, box.y, box.x + box.width, box.y + box.height];
})"""
# The red part, 0 to 255, of a screenshot in the middle of its right edge: the card of a figure.
RED = """async png => {
    const image = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(image.width - 6, image.height / 2, 1, 1).data[0];
}"""
THEMES = ("light", "dark")
DRAWN_WITHIN_S = 5


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def notebook_with_figure(folder: Path):
    """Return a notebook with a figure, which is written into the folder."""
    (folder / "figure.svg").write_bytes((LABS / "00_devicequery/figures/banks.svg").read_bytes())
    source = '<img alt="Banks" src="figure.svg" style="min-width: 600px">'
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source)], metadata=metadata)


def require_theme(page, theme: str, file: Path) -> None:
    """Fail unless the only figure on the page gets a theme, and store a picture of the page."""
    shown = ""
    for _ in range(DRAWN_WITHIN_S * 10):  # Chromium draws an image again some time after the page has changed
        picture = page.locator(".jp-RenderedMarkdown img").screenshot()
        shown = "light" if page.evaluate(RED, base64.b64encode(picture).decode()) > 127 else "dark"
        if shown == theme:
            break
        page.wait_for_timeout(100)
    page.screenshot(path=file)
    assert shown == theme


def test_texts_lie_inside_the_figures_and_do_not_overlap(browser_window):
    page = browser_window.new_page()
    problems = []
    for file in FILES:
        page.goto(file.as_uri())
        width, height = page.locator("svg").evaluate(
            "e => [e.viewBox.baseVal.width, e.viewBox.baseVal.height]"
        )
        texts = page.locator("text").evaluate_all(TEXTS)
        problems += [
            f"{file.stem}: {words!r} is cut off"
            for words, left, top, right, bottom in texts
            if left < 2 or top < 0 or right > width - 2 or bottom > height
        ]
        problems += [f"{file.stem}: {pair} overlap" for pair in overlapping(texts)]
    page.close()
    assert problems == []


@pytest.mark.parametrize("system", THEMES)
def test_figures_follow_the_theme_of_jupyterlab(lab, lab_page, screenshots, system):
    nbformat.write(notebook_with_figure(lab.folder), lab.folder / "figure.ipynb")
    page = lab_page.open("figure.ipynb", 720, system)
    page.locator(".jp-RenderedMarkdown img").wait_for(timeout=CELL_S)
    for theme in THEMES:
        show(page, theme.title())
        page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=CELL_S)
        require_theme(page, theme, screenshots / f"{system}-{theme}.png")


@pytest.mark.parametrize("theme", THEMES)
def test_figures_follow_the_theme_of_an_export(browser_window, screenshots, tmp_path, theme):
    notebook = notebook_with_figure(tmp_path)
    data = {"text/html": View('<div class="gp-source"></div>')._repr_html_()}
    output = nbformat.v4.new_output("display_data", data=data)
    notebook.cells.append(nbformat.v4.new_code_cell(outputs=[output]))
    html, _ = HTMLExporter(template_name="lab", theme=theme).from_notebook_node(notebook)
    (tmp_path / "export.html").write_text(html)
    other = "light" if theme == "dark" else "dark"
    page = browser_window.new_page(viewport={"width": 1000, "height": 700}, color_scheme=other)
    page.route("http*://**", lambda route: route.abort())
    page.goto((tmp_path / "export.html").as_uri())
    require_theme(page, theme, screenshots / f"export-{theme}.png")
    page.close()
