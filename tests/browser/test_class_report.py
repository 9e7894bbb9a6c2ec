"""The class report in Chromium: totals are visible without scrolling sideways, in light and in dark."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.reports.html_report import write_report
from tests.grading.reports.invented_class import CELLS, invented_class

STUDENTS = 30
RIGHT_EDGES = "cells => cells.map(cell => cell.getBoundingClientRect().right)"
# The sum of the three channels, 0 (black) to 765 (white).
BRIGHTNESS = "row => getComputedStyle(row).color.match(/\\d+/g).slice(0, 3).reduce((sum, n) => sum + +n, 0)"


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write_report([invented_class(STUDENTS)], tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def wide_report(tmp_path_factory) -> Path:
    """A report of more steps than a window can show, and with long names."""
    report = invented_class(STUDENTS)
    steps = {f"a_long_name_{number}_test": 2.0 for number in range(40)}
    grades = replace(report.grades, max_scores=steps, scores=dict.fromkeys(report.grades.scores, steps))
    return write_report([replace(report, grades=grades)], tmp_path_factory.mktemp("wide") / "report.html")


WINDOWS = [(width, scheme) for width in (1280, 1920) for scheme in ("light", "dark")]


@contextmanager
def opened(browser, file, window):
    width, scheme = window
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(file.as_uri())
    yield page
    page.close()


@pytest.fixture(scope="module", params=WINDOWS, ids=str)
def page(browser_window, report, request):
    with opened(browser_window, report, request.param) as page:
        yield page


def test_totals_of_a_large_class_are_inside_the_window(page):
    edges = page.eval_on_selector_all("table.class tbody .total", RIGHT_EDGES)
    assert len(edges) == STUDENTS
    assert max(edges) <= page.viewport_size["width"]


def test_all_columns_of_15_cells_are_inside_the_window(page):
    assert len(CELLS) == 15
    edges = page.eval_on_selector_all("table.class th, table.class td", RIGHT_EDGES)
    assert max(edges) <= page.viewport_size["width"]


def test_page_does_not_scroll_sideways(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_feedback_is_visible_without_scrolling_in_a_lab_of_many_steps(browser_window, wide_report, window):
    with opened(browser_window, wide_report, window) as page:
        box = page.eval_on_selector(".wide", "box => box.getBoundingClientRect().right")
        edges = page.eval_on_selector_all("table.class a", RIGHT_EDGES)
        assert len(edges) == STUDENTS
        assert max(edges) <= min(box, page.viewport_size["width"])
        assert page.eval_on_selector("table.class a", "link => link.checkVisibility()")


def test_student_stays_visible_in_a_narrow_window(browser_window, report):
    page = browser_window.new_page(viewport={"width": 600, "height": 900})
    page.goto(report.as_uri())
    page.eval_on_selector(".wide", "table => table.scrollLeft = 400")
    assert page.eval_on_selector("table.class tbody th", "cell => cell.getBoundingClientRect().left") >= 0
    page.close()


def test_dark_setting_has_light_text(browser_window, report):
    page = browser_window.new_page(color_scheme="dark")
    page.goto(report.as_uri())
    assert page.eval_on_selector("table.class tbody th", BRIGHTNESS) > 500
    page.close()


def test_policy_blocks_nothing_that_the_page_needs(browser_window, report):
    page, errors = browser_window.new_page(), []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(report.as_uri())
    page.close()
    assert errors == []
