"""Kernel cells look like C++ in a real JupyterLab and a real Notebook, and Python cells stay Python's."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest

from tests.browser.test_kernel_cell import CELL_S, show

KERNEL = """%%cuda stencil.naive --block 32 8
// __global__ and float in a comment are a comment's
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
# Whose colour of the theme the word at this place of the kernel has; "" is plain text's.
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
# For each text: the name that is expected where the character that it starts with has that colour of the
# theme, and the colour that is seen where it has not.
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
    """A page on a notebook, with what goes wrong in it and which hosts it asks."""

    def __init__(self, browser, url: str) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        self.page.goto(url)
        self.page.wait_for_selector(CONTENT, timeout=CELL_S)

    def cell(self, number: int):
        return self.page.locator(CONTENT).nth(number)

    def colours(self, number: int, expected: dict[str, str]) -> dict[str, str]:
        """The colours of a cell as they are, or as soon as they are the expected ones.

        C++ comes a moment after the cell does, and a theme's colours a moment after its name.
        """
        end = time.monotonic() + CELL_S / 1000
        while (found := self.cell(number).evaluate(COLOURS, expected)) != expected and time.monotonic() < end:
            self.page.wait_for_timeout(100)
        return found


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    return tmp_path_factory.mktemp("colours")


@pytest.fixture
def opened(lab, browser_window, write_notebook, screenshots, request):
    """The notebook in JupyterLab, or in the application that the test names."""
    url = lab.url(write_notebook("colours.ipynb", KERNEL, PYTHON, ""))
    window = Window(browser_window, url.replace("/lab/tree/", getattr(request, "param", "/lab/tree/")))
    yield window
    window.page.screenshot(path=screenshots / f"{request.node.name.partition('[')[0]}.png")
    window.page.close()
    assert window.hosts == {"127.0.0.1"}


def test_a_kernel_cell_has_the_colours_of_cpp_in_both_themes(opened, screenshots):
    for theme in ("Light", "Dark"):
        show(opened.page, theme)
        assert opened.colours(0, IN_KERNEL) == IN_KERNEL
        assert opened.colours(1, IN_PYTHON) == IN_PYTHON
        opened.page.screenshot(path=screenshots / f"{theme.lower()}.png")
    assert opened.errors == []


@pytest.mark.parametrize("opened", ["/notebooks/"], indirect=True, ids=["notebook-7"])
def test_notebook_7_has_the_same_colours(opened):
    assert opened.colours(0, IN_KERNEL) == IN_KERNEL
    assert opened.colours(1, IN_PYTHON) == IN_PYTHON
    # It has an error of its own about a schema, with this extension and without.
    assert [error for error in opened.errors if "gpulab" in error] == []


def test_a_cell_turns_into_cpp_and_back_as_its_first_line_does(opened):
    page, cpp, python = opened.page, {"all": "comment"}, {"all": "builtin"}
    assert opened.colours(0, IN_KERNEL) == IN_KERNEL
    opened.cell(2).click()
    page.keyboard.type("\n%%cuda scale\nint i; // all")
    assert opened.colours(2, cpp) == cpp
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")  # %cuda is no kernel's first line
    assert opened.colours(2, python) == python
    page.keyboard.type("%")
    assert opened.colours(2, cpp) == cpp
    page.keyboard.press("Control+Home")
    page.keyboard.type("x = 1\n")  # another line is the first
    assert opened.colours(2, python) == python
    assert opened.errors == []
