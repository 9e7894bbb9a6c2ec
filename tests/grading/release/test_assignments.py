"""Releasing a lab: one real run of nbgrader, and the notebook that students get."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.release.assignments import points_of, release
from tests.grading.conftest import make_course

RUBRIC = """
[tiny.test_double]
points = {double}
earns = "It doubles."
[tiny.test_half]
points = 3
earns = "It halves."
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, nbformat.NotebookNode]:
    course = make_course(tmp_path_factory.mktemp("course"))
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="an instructor's own run")]
    nbformat.write(notebook, source)
    (path,) = release(course, "tiny").notebooks
    return course, nbformat.read(path, as_version=4)


def sources(notebook: nbformat.NotebookNode) -> dict[str, str]:
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {cell.metadata.nbgrader["grade_id"]: cell.source for cell in marked}


def test_the_solutions_are_gone(released: tuple[Course, nbformat.NotebookNode]) -> None:
    text = nbformat.writes(released[1])
    assert "secret" not in text
    assert "whole_cell" not in text
    assert "return 2 * x" not in text


def test_each_cell_has_the_stub_of_its_own_language(
    released: tuple[Course, nbformat.NotebookNode],
) -> None:
    cells = sources(released[1])
    assert '#error "' in cells["opt_1"]
    assert cells["bare"].startswith("%%cuda stencil.opt_2\n// YOUR CODE HERE\n#error")
    assert "raise NotImplementedError()" in cells["double"]


def test_test_cells_stay_and_cannot_be_edited(released: tuple[Course, nbformat.NotebookNode]) -> None:
    (test,) = (cell for cell in released[1].cells if "test_double" in str(cell.metadata))
    assert test.source == "assert double(2) == 4"
    assert (test.metadata.editable, test.metadata.deletable) == (False, False)


def test_outputs_are_stripped(released: tuple[Course, nbformat.NotebookNode]) -> None:
    assert not any(cell.get("outputs") for cell in released[1].cells)


def test_the_gradebook_knows_the_test_cells_and_their_points(
    released: tuple[Course, nbformat.NotebookNode],
) -> None:
    grades = read_grades(released[0], "tiny")
    assert dict(grades.cells) == {"test_double": 2, "test_half": 3}
    assert grades.most == 5
    assert not grades.points


def test_points_are_read_from_the_source_notebook(course: Course) -> None:
    assert points_of(course.source / "tiny" / "tiny.ipynb") == {"test_double": 2, "test_half": 3}


def test_a_notebook_that_gives_other_points_than_the_rubric_is_refused(course: Course) -> None:
    (course.desk / "rubric.toml").write_text(RUBRIC.format(double=9), encoding="utf-8")
    with pytest.raises(UsageError, match="test_double"):
        release(course, "tiny")


def test_a_rubric_that_is_none_is_refused(course: Course) -> None:
    (course.desk / "rubric.toml").write_text("[tiny.test_double]\npoints = 'many'\n", encoding="utf-8")
    with pytest.raises(UsageError, match="rubric"):
        release(course, "tiny")


def test_a_source_that_is_no_notebook_is_refused(course: Course) -> None:
    (course.desk / "rubric.toml").write_text(RUBRIC.format(double=2), encoding="utf-8")
    (course.source / "tiny" / "tiny.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="not a notebook"):
        release(course, "tiny")


def test_what_nbgrader_refuses_is_told_in_its_words(course: Course) -> None:
    refusing = dataclasses.replace(course, options=("--CourseDirectory.source_directory=nowhere",))
    with pytest.raises(GradingError, match="No notebooks were matched"):
        release(refusing, "tiny")


def test_nothing_is_written_outside_the_work_folder(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    assert all(folder.is_relative_to(course.work) for folder in (course.release, course.submitted))
    assert course.database.parent == course.work
