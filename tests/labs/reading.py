"""A lab as a page: the executed notebook exported to HTML, and opened in a phone's and a projector's window.

A test module makes a class that inherits from `ReadablePage`; the fixtures of `conftest.py` export the
notebook that the module has executed anyway. Nothing is fetched: images stand in the page, and the scripts
that nbconvert's template takes from other hosts are left out (no lab has formulas, and widgets do not move
in a page).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

__all__ = ["SIZES", "Page", "ReadablePage", "chromium", "export", "look"]

SIZES = {"phone": (390, 844), "projector": (1920, 1080)}  # pixels
SMALLEST = 0.7  # of a figure's own size: below it, letters of 12 pixels are smaller than 8

# What a person could not see by scrolling the page down: everything that ends to the right of the window and
# is in no box that scrolls by itself; and figures that are so small that their letters cannot be read.
_LOOK = """smallest => {
    const wide = document.documentElement.clientWidth;
    const name = e => {
        const cell = e.closest(".jp-Cell");
        const where = `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} in cell ${cell?.id}`;
        const words = (e.textContent || e.getAttribute("alt") || "").trim().replace(/\\s+/g, " ");
        return `${where}: ${words.slice(0, 60)}`;
    };
    const scrolls = e => {
        for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
            const how = getComputedStyle(up);
            if (["auto", "scroll"].includes(how.overflowX)) return true;
        }
        return false;
    };
    const seen = e => e.checkVisibility() && e.getBoundingClientRect().width > 0;
    const all = [...document.body.querySelectorAll("*:not(svg *, .highlight *)")].filter(seen);
    const images = [...document.images];
    const size = e => e.tagName === "IMG" ? e.naturalWidth : e.viewBox.baseVal.width;
    const figures = [...images, ...document.querySelectorAll(".jp-Cell svg[viewBox]")].filter(seen);
    // A box that hides what does not fit takes it away for good.
    const cut = e => getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1;
    return {
        page: document.documentElement.scrollWidth - wide,
        wide: all.filter(e => e.getBoundingClientRect().right > wide + 1 && !scrolls(e)).map(name),
        cut: all.filter(cut).map(name),
        broken: images.filter(e => !e.complete || e.naturalWidth === 0).map(name),
        small: figures.filter(e => e.getBoundingClientRect().width < smallest * size(e)).map(name),
    };
}"""


@dataclass(frozen=True)
class Page:
    """What is wrong with a page in one window; all empty when nothing is.

    beyond: pixels that the page is wider than the window. wide: elements that end to the right of it outside
    of scrolling boxes. cut: boxes that hide a part of what is in them. broken: images that did not load.
    small: figures too small to read. asked: addresses on other hosts. messages: the console's errors.
    """

    beyond: int
    wide: tuple[str, ...]
    cut: tuple[str, ...]
    broken: tuple[str, ...]
    small: tuple[str, ...]
    asked: tuple[str, ...]
    messages: tuple[str, ...]


def export(notebook: NotebookNode, folder: Path, target: Path, theme: str) -> Path:
    """The notebook as one HTML file with nbconvert's lab template; `folder` is where its figures lie."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        template_name="lab", theme=theme, embed_images=True, mathjax_url="", require_js_url=""
    )
    html, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"path": str(folder)}})
    target.write_text(html, encoding="utf-8")
    return target


@contextmanager
def chromium() -> Iterator[Any]:
    """A Chromium without a window; skips the test where there is none."""
    from tests.browser.conftest import CHROMIUM, FLAGS

    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def look(browser: Any, file: Path, size: tuple[int, int], screenshot: Path | None = None) -> Page:
    """Open an exported page in a window of this size (width, height) and say what is wrong with it."""
    window = browser.new_page(viewport={"width": size[0], "height": size[1]})
    asked: list[str] = []
    messages: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    window.on("console", lambda said: messages.append(said.text) if said.type == "error" else None)
    window.on("pageerror", lambda error: messages.append(str(error)))
    window.goto(file.as_uri(), wait_until="load")
    found = window.evaluate(_LOOK, SMALLEST)
    if screenshot:
        window.screenshot(path=screenshot, full_page=True)
    window.close()
    return Page(
        found["page"],
        *(tuple(found[what]) for what in ("wide", "cut", "broken", "small")),
        tuple(url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))),
        tuple(messages),
    )


class ReadablePage:
    """An exported lab on a phone and on a projector. A theme changes no widths, so one is enough."""

    def test_is_no_wider_than_the_window(self, reading: Page) -> None:
        assert not reading.wide
        assert reading.beyond <= 0

    def test_hides_nothing(self, reading: Page) -> None:
        assert not reading.cut

    def test_shows_every_figure_large_enough_to_read(self, reading: Page) -> None:
        assert not reading.broken
        assert not reading.small

    def test_asks_no_other_host_for_anything(self, reading: Page) -> None:
        assert not reading.asked

    def test_loads_without_an_error(self, reading: Page) -> None:
        assert not reading.messages
