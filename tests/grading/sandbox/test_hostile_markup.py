"""No hostile notebook runs a script in nbgrader's pages, once it is cleaned."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from typing import Any

import nbformat
import pytest
from jinja2 import UndefinedError
from nbconvert.filters.markdown_mistune import InvalidNotebook
from nbformat.validator import NotebookValidationError

from gpulab.grading.sandbox.safe_page import clean_notebook
from tests.grading.sandbox.hostile import NOTEBOOKS
from tests.grading.sandbox.pages import lab, notebook_page
from tests.labs.html_page import chromium

pytestmark = pytest.mark.slow

TEMPLATES = ("formgrade", "feedback")
# formgrader's navigation bar contains an event handler of nbgrader's own.
OWN_HANDLERS = ("toggle_name(true);", "toggle_name(false);")
URL_ATTRIBUTES = ("href", "src", "action", "formaction", "xlink:href", "data", "srcdoc")


RAN = "() => 'ran' in window"
# Links to other pages would end the page before its flag is read.
CLICK = """() => {
    const elements = [...document.querySelectorAll("#notebook a, #notebook button")];
    elements.filter(e => !/^(https?|file|data|mailto):/.test(e.href || "")).forEach(e => e.click());
}"""


class ScriptFinder(HTMLParser):
    """Collects the scripts, event handlers and executable links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "iframe", "object", "embed", "form", "base", "meta", "svg", "math"}:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") and value not in OWN_HANDLERS:
                self.found.append(f"{name}={value}")
            if name in URL_ATTRIBUTES and (value or "").strip().lower().startswith(
                ("javascript:", "data:text")
            ):
                self.found.append(f"{name}={value}")


def cleaned(name: str) -> dict[str, Any]:
    notebook = copy.deepcopy(NOTEBOOKS[name])
    clean_notebook(notebook)
    return notebook


@cache
def cleaned_page(name: str, template: str) -> str:
    return notebook_page(cleaned(name), template)


@pytest.fixture(scope="module")
def empty_pages() -> dict[str, list[str]]:
    """The scripts of nbgrader's own in a page without cells."""
    return {template: ScriptFinder(notebook_page(lab(), template)).found for template in TEMPLATES}


@pytest.mark.parametrize("template", TEMPLATES)
def test_pages_contain_no_script(template: str, empty_pages: dict[str, list[str]]) -> None:
    scripts = {name: ScriptFinder(cleaned_page(name, template)).found for name in NOTEBOOKS}
    assert {name: text for name, text in scripts.items() if text != empty_pages[template]} == {}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.mark.browser
@pytest.mark.parametrize("template", TEMPLATES)
def test_no_script_runs_in_chromium(browser: Any, template: str) -> None:
    window = browser.new_page()
    window.route("**/*", lambda route: route.abort())  # nothing is fetched; missing images trigger onerror
    ran = [name for name in NOTEBOOKS if scripts_run(window, cleaned_page(name, template))]
    window.close()
    assert ran == []


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scripts_of_the_table_run_without_cleaning(browser: Any) -> None:
    """The table tests something: most of its notebooks do run their script in formgrader's page."""
    window = browser.new_page()
    window.route("**/*", lambda route: route.abort())
    ran = []
    for name, notebook in NOTEBOOKS.items():
        try:
            page = notebook_page(copy.deepcopy(notebook), "formgrade")
        except (
            InvalidNotebook,
            NotebookValidationError,
            UndefinedError,
            TypeError,
        ):  # nbconvert refuses some of them
            continue
        if scripts_run(window, page):
            ran.append(name)
    window.close()
    print("runs without cleaning:", *ran, sep="\n")
    assert {"markdown: script", "markdown: link", "markdown: mermaid", "output: html"} <= set(ran)
    assert {"output: size of an image", "name of a graded cell"} <= set(ran)


def scripts_run(window: Any, page: str) -> bool:
    """Open a page, click its links in the notebook, and return True if a script defined `window.ran`."""
    from playwright.sync_api import Error

    window.goto("about:blank")  # a new window object, without the flag of the page before
    window.set_content(page, wait_until="load")
    window.evaluate(CLICK)
    window.wait_for_timeout(30)
    try:
        return bool(window.evaluate(RAN))
    except Error:  # a link was opening another page
        window.wait_for_load_state()
        return bool(window.evaluate(RAN))


def test_cleaned_notebooks_are_valid_and_stay_as_they_are() -> None:
    for name in NOTEBOOKS:
        notebook = cleaned(name)
        nbformat.validate(nbformat.from_dict(json.loads(json.dumps(notebook))))
        again = copy.deepcopy(notebook)
        clean_notebook(again)
        assert again == notebook, name
