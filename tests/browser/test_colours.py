"""Highlighting in JupyterLab and Notebook 7: kernel cells as C++, other cells as Python."""

from __future__ import annotations

import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import CELL_S
from tests.browser.test_kernel_cell import show

KERNEL = """%%cuda stencil.naive --block 32 8
// __global__ and float in a comment
__global__ void __launch_bounds__(256) block2D_naive(float fac, const float* __restrict__ A0)
{
    __shared__ float4 tile[18];
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    for (int k = 1; k < 8; k++) tile[k].x = fac * 0.5f;
    __syncthreads();
}
"""
PYTHON = """# blockIdx is a comment here
def half(x):
    return float(x) // 2, "__global__", __name__
"""
# Text of the kernel: the theme's colour of its first character, "" for plain text.
IN_KERNEL = {
    "%%cuda": "operator",
    "stencil": "",
    "--block": "",
    "32 8": "",
    "// __global__": "comment",
    "__global__ and": "comment",
    "float in": "comment",
    "__global__ void": "keyword",
    "void": "builtin",
    "__launch_bounds__": "keyword",
    "block2D_naive(": "def",
    "float fac": "builtin",
    "const": "keyword",
    "__restrict__": "keyword",
    "__shared__": "keyword",
    "float4": "builtin",
    "blockIdx": "builtin",
    "threadIdx": "builtin",
    "for (": "keyword",
    "0.5f": "number",
    "__syncthreads": "builtin",
}
IN_PYTHON = {
    "# blockIdx": "comment",
    "blockIdx": "comment",
    "def": "keyword",
    "float": "builtin",
    "//": "operator",
    '"__global__"': "string",
    "__name__": "",
}

CONTENT = ".jp-Notebook .jp-CodeCell .cm-content"
# For each text, returns the expected name if the text's first character has that colour of the theme, and
# otherwise its actual colour.
COLOURS = """(content, expected) => {
    const probe = content.closest(".cm-editor").appendChild(document.createElement("span"));
    const named = name => {
        probe.style.color = name ? `var(--jp-mirror-editor-${name}-color)` : getComputedStyle(content).color;
        return getComputedStyle(probe).color;
    };
    const at = text => {
        const line = [...content.querySelectorAll(".cm-line")].find(line => line.textContent.includes(text));
        const walker = document.createTreeWalker(line ?? content, NodeFilter.SHOW_TEXT);
        let left = line?.textContent.indexOf(text) ?? 0;
        while (walker.nextNode() && left >= walker.currentNode.length) left -= walker.currentNode.length;
        return line && getComputedStyle(walker.currentNode.parentElement).color;
    };
    const found = Object.entries(expected).map(([text, name]) =>
        [text, at(text) === named(name) ? name : `${at(text)}, not ${name}`]);
    probe.remove();
    return Object.fromEntries(found);
}"""


class Window:
    """A page with a notebook; collects its errors and the hosts that it contacts."""

    def __init__(self, browser, url: str) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        self.page.goto(url)
        self.page.wait_for_selector(CONTENT, timeout=CELL_S)

    def cell(self, number: int):
        return self.page.locator(CONTENT).nth(number)

    def colours(self, number: int, expected: dict[str, str]) -> dict[str, str]:
        """Return the colours of a cell as soon as they are the expected ones, or at the time limit.

        Highlighting starts after the cell is shown, and a theme's colours load after its name is set.
        """
        end = time.monotonic() + CELL_S / 1000
        while (found := self.cell(number).evaluate(COLOURS, expected)) != expected and time.monotonic() < end:
            self.page.wait_for_timeout(100)
        return found


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("colours")


@contextmanager
def opened(browser, url, screenshot):
    window = Window(browser, url)
    yield window
    window.page.screenshot(path=screenshot)
    window.page.close()
    assert window.hosts == {"127.0.0.1"}


@pytest.fixture(scope="module")
def jupyterlab(lab, browser_window, write_notebook, screenshots):
    """Open a notebook in JupyterLab, once for all tests: the load takes longer than they run."""
    url = lab.url(write_notebook("colours.ipynb", KERNEL, PYTHON, ""))
    with opened(browser_window, url, screenshots / "jupyterlab.png") as window:
        yield window


@pytest.fixture
def notebook_7(lab, browser_window, write_notebook, screenshots):
    """Open a notebook in Notebook 7; pages of one notebook would share its kernel and report its messages."""
    url = lab.url(write_notebook("colours_7.ipynb", KERNEL, PYTHON)).replace("/lab/tree/", "/notebooks/")
    with opened(browser_window, url, screenshots / "notebook-7.png") as window:
        yield window


def test_kernel_cell_is_highlighted_as_cpp_in_both_themes(jupyterlab, screenshots):
    for theme in ("Light", "Dark"):
        show(jupyterlab.page, theme)
        assert jupyterlab.colours(0, IN_KERNEL) == IN_KERNEL
        assert jupyterlab.colours(1, IN_PYTHON) == IN_PYTHON
        jupyterlab.page.screenshot(path=screenshots / f"{theme.lower()}.png")
    assert jupyterlab.errors == []


def test_notebook_7_highlights_alike(notebook_7):
    assert notebook_7.colours(0, IN_KERNEL) == IN_KERNEL
    assert notebook_7.colours(1, IN_PYTHON) == IN_PYTHON
    # Notebook 7 reports an error about a schema, with and without this extension.
    assert [error for error in notebook_7.errors if "gpulab" in error] == []


def test_highlighting_follows_the_first_line(jupyterlab):
    page, cpp, python = jupyterlab.page, {"all": "comment"}, {"all": "builtin"}
    assert jupyterlab.colours(0, IN_KERNEL) == IN_KERNEL
    jupyterlab.cell(2).click()
    page.keyboard.type("\n%%cuda scale\nint i; // all")
    assert jupyterlab.colours(2, cpp) == cpp
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")  # %cuda does not start a kernel cell
    assert jupyterlab.colours(2, python) == python
    page.keyboard.type("%")
    assert jupyterlab.colours(2, cpp) == cpp
    page.keyboard.press("Control+Home")
    page.keyboard.type("x = 1\n")  # the marker is not in the first line any more
    assert jupyterlab.colours(2, python) == python
    assert jupyterlab.errors == []
