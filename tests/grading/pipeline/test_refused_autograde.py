"""nbgrader's own `autograde` is refused before it changes a file or the gradebook."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from nbgrader.converters import Autograde
from nbgrader.utils import capture_log

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import open_gradebook
from gpulab.grading.pipeline.nbgrader_steps import make_converter
from gpulab.grading.release.assignments import release
from tests.grading.small_class import submit


def refused(course: Course, student: str) -> dict[str, Any]:
    """Run nbgrader's autograde as formgrader's button (for a student) or the command (for all) does."""
    result: dict[str, Any] = capture_log(make_converter(course, Autograde, "tiny", student))
    assert result["success"] is False
    return result


@pytest.fixture
def submitted(course: Course) -> Course:
    (path,) = release(course, "tiny").notebooks
    submit(course, "ada", path.read_text(encoding="utf-8"))
    page = course.autograded / "ada" / "tiny" / "tiny.ipynb"
    page.parent.mkdir(parents=True)
    page.write_text("graded")
    return course


def test_refusal_names_the_command(submitted: Course) -> None:
    assert "gpulab grade tiny --student ada\n" in refused(submitted, "ada")["log"]
    assert "gpulab grade tiny\n" in refused(submitted, "*")["log"]


def test_refusal_shows_no_traceback_of_the_submission(submitted: Course) -> None:
    assert "Traceback" not in refused(submitted, "ada")["log"]


def test_refused_run_changes_nothing(submitted: Course) -> None:
    refused(submitted, "ada")
    assert (submitted.autograded / "ada" / "tiny" / "tiny.ipynb").read_text() == "graded"
    with open_gradebook(submitted) as gradebook:
        assert gradebook.students == []
