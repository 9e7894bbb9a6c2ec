"""A lab as an HTML page, opened in a window of a phone's size and of a projector's.

A test module defines a class that inherits from `PageTests`; the fixtures of `conftest.py` export the
notebook that the module has executed. Nothing is fetched: images are embedded, and the scripts that
nbconvert's template loads from other hosts are left out (no lab has formulas, and widgets do not move).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

__all__ = ["SIZES", "PageFaults", "PageTests", "chromium", "export", "inspect_page"]

SIZES = {"phone": (390, 844), "projector": (1920, 1080)}  # pixels
MIN_SCALE = 0.7  # of a figure: below it, letters of 12 pixels are smaller than 8

# Finds everything that scrolling down does not show: elements that end to the right of the window and are in
# no box that scrolls by itself, and figures that are too small to read.
FIND_FAULTS = """minScale => {
    const wide = document.documentElement.clientWidth;
    const name = e => {
        const cell = e.closest(".jp-Cell");
        const place = `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} in cell ${cell?.id}`;
        const text = (e.textContent || e.getAttribute("alt") || "").trim().replace(/\\s+/g, " ");
        return `${place}: ${text.slice(0, 60)}`;
    };
    const scrolls = e => {
        for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
            if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
        }
        return false;
    };
    const visible = e => e.checkVisibility() && e.getBoundingClientRect().width > 0;
    const all = [...document.body.querySelectorAll("*:not(svg *, .highlight *)")].filter(visible);
    const images = [...document.images];
    const size = e => e.tagName === "IMG" ? e.naturalWidth : e.viewBox.baseVal.width;
    const figures = [...images, ...document.querySelectorAll(".jp-Cell svg[viewBox]")].filter(visible);
    // A box with hidden overflow cannot be scrolled.
    const cut = e => getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1;
    return {
        page: document.documentElement.scrollWidth - wide,
        wide: all.filter(e => e.getBoundingClientRect().right > wide + 1 && !scrolls(e)).map(name),
        cut: all.filter(cut).map(name),
        broken: images.filter(e => !e.complete || e.naturalWidth === 0).map(name),
        small: figures.filter(e => e.getBoundingClientRect().width < minScale * size(e)).map(name),
    };
}"""


@dataclass(frozen=True)
class PageFaults:
    """The faults of a page in one window; all are empty or at most 0 if the page is readable.

    Attributes
    ----------
    excess_width : int
        Pixels that the page is wider than the window.
    wide : tuple of str
        Elements that end to the right of the window, outside boxes that scroll.
    cut : tuple of str
        Boxes that hide a part of their contents.
    broken : tuple of str
        Images that did not load.
    small : tuple of str
        Figures that are too small to read.
    requests : tuple of str
        Requested addresses on other hosts.
    errors : tuple of str
        Error messages of the console.
    """

    excess_width: int
    wide: tuple[str, ...]
    cut: tuple[str, ...]
    broken: tuple[str, ...]
    small: tuple[str, ...]
    requests: tuple[str, ...]
    errors: tuple[str, ...]


def export(notebook: NotebookNode, folder: Path, target: Path, theme: str) -> Path:
    """Write the notebook as one HTML file with nbconvert's lab template; `folder` contains its figures."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        template_name="lab", theme=theme, embed_images=True, mathjax_url="", require_js_url=""
    )
    html, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"path": str(folder)}})
    target.write_text(html, encoding="utf-8")
    return target


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a Chromium without a window; skip the test if there is none."""
    from tests.browser.conftest import CHROMIUM, FLAGS

    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def inspect_page(browser: Any, file: Path, size: tuple[int, int]) -> PageFaults:
    """Open an exported page in a window of this size (width, height) and return its faults."""
    window = browser.new_page(viewport={"width": size[0], "height": size[1]})
    requests: list[str] = []
    messages: list[str] = []
    window.on("request", lambda request: requests.append(request.url))
    window.on("console", lambda message: messages.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: messages.append(str(error)))

    window.goto(file.as_uri(), wait_until="load")
    faults = window.evaluate(FIND_FAULTS, MIN_SCALE)
    window.close()

    return PageFaults(
        faults["page"],
        *(tuple(faults[kind]) for kind in ("wide", "cut", "broken", "small")),
        tuple(url for url in requests if not url.startswith(("file:", "data:", "blob:", "about:"))),
        tuple(messages),
    )


class PageTests:
    """Requirements of an exported lab in every window. One theme is enough, because it changes no widths."""

    def test_page_is_no_wider_than_the_window(self, page_faults: PageFaults) -> None:
        assert not page_faults.wide
        assert page_faults.excess_width <= 0

    def test_no_box_hides_its_contents(self, page_faults: PageFaults) -> None:
        assert not page_faults.cut

    def test_figures_are_large_enough_to_read(self, page_faults: PageFaults) -> None:
        assert not page_faults.broken
        assert not page_faults.small

    def test_page_requests_nothing_from_other_hosts(self, page_faults: PageFaults) -> None:
        assert not page_faults.requests

    def test_page_loads_without_an_error(self, page_faults: PageFaults) -> None:
        assert not page_faults.errors
