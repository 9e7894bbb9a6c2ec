"""A feedback page in Chromium: long lines are wrapped, in the table as in cells and outputs."""

from __future__ import annotations

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from traitlets.config import Config

from gpulab.grading.reports.feedback_page import FeedbackExporter
from gpulab.grading.reports.feedback_summary import SummaryRow, summary_html

LINE = "x = " + " + ".join(["threadIdx"] * 60)
WORD = "y" * 300
OVERFLOWING = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40))"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    output = nbformat.v4.new_output("stream", text=f"{LINE}\n{WORD}\n")
    error = nbformat.v4.new_output("error", ename="CompileError", evalue=WORD, traceback=[f"{WORD} {LINE}"])
    cells = [
        nbformat.v4.new_code_cell(f"{LINE}\n# {WORD}", outputs=[output, error]),
        nbformat.v4.new_markdown_cell(f"`{WORD}`\n\n```\n{LINE}\n```"),
    ]
    rows = [SummaryRow("naive", "0 / 5", f"It does not compile: {WORD} is undefined.", "Correct this error.")]
    about = {"notebook": "lab", "summary": summary_html(rows, 0, 5)}
    exporter = FeedbackExporter(config=Config(HTMLExporter={"template_name": "feedback"}))
    html, _ = exporter.from_notebook_node(
        nbformat.v4.new_notebook(cells=cells), resources={"nbgrader": about}
    )
    file = tmp_path_factory.mktemp("feedback") / "lab.html"
    file.write_text(html)
    return file


@pytest.mark.parametrize("width", [800, 1280])
def test_no_line_is_wider_than_the_window(browser_window, page_file, width):
    page = browser_window.new_page(viewport={"width": width, "height": 720})
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.eval_on_selector_all("pre, .summary, .summary td", OVERFLOWING) == []
    page.close()


def test_words_stay_whole(browser_window, page_file):
    page = browser_window.new_page(viewport={"width": 1280, "height": 720})
    page.goto(page_file.as_uri())
    assert page.eval_on_selector(".summary tbody a", "link => link.getClientRects().length") == 1
    assert page.eval_on_selector("#notebook pre", "pre => getComputedStyle(pre).wordBreak") == "normal"
    page.close()
