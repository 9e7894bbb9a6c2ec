"""formgrader's Autograde button in JupyterLab: it is refused, and says what to run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from gpulab.grading.release.assignments import release
from tests.browser.conftest import Lab
from tests.grading.conftest import make_course
from tests.grading.small_class import submit


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A released course with one submission and its graded notebook."""
    course = make_course(tmp_path_factory.mktemp("course"))
    (path,) = release(course, "tiny").notebooks
    submit(course, "ada", path.read_text(encoding="utf-8"))
    page = course.autograded / "ada" / "tiny" / "tiny.ipynb"
    page.parent.mkdir(parents=True)
    page.write_text("graded")
    return course


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory) -> Iterator[Lab]:
    before = Path.cwd()
    os.chdir(course.config_folder)  # where formgrader looks for nbgrader_config.py
    try:
        running = Lab(course.config_folder, tmp_path_factory.mktemp("jupyter"))
    finally:
        os.chdir(before)
    yield running
    running.stop()


def test_autograde_button_is_refused_and_names_the_command(browser_window, formgrader, course):
    page = browser_window.new_page()
    page.goto(formgrader.url())  # sets the cookie of the server
    page.goto(formgrader.formgrader_url("manage_submissions/tiny"))
    page.click("td.autograde a")
    log = page.locator(".modal.in pre").first
    text = log.inner_text()
    cut = log.evaluate("box => box.scrollWidth - box.clientWidth")
    page.close()
    assert cut <= 0
    assert "gpulab grade tiny --student ada" in text
    assert "Nothing was changed" in text
    assert (course.autograded / "ada" / "tiny" / "tiny.ipynb").read_text() == "graded"
