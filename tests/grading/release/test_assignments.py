"""Release of a lab with nbgrader: the students' notebook, and refused rubrics."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from nbgrader.validator import Validator

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.release.assignments import max_points, release
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
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="output of the instructor")]
    nbformat.write(notebook, source)
    (path,) = release(course, "tiny").notebooks
    return course, nbformat.read(path, as_version=4)


def sources(notebook: nbformat.NotebookNode) -> dict[str, str]:
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {cell.metadata.nbgrader["grade_id"]: cell.source for cell in marked}


def test_solutions_are_removed(released: tuple[Course, nbformat.NotebookNode]) -> None:
    text = nbformat.writes(released[1])
    assert "secret" not in text
    assert "whole_cell" not in text
    assert "return 2 * x" not in text


def test_stub_has_the_language_of_its_cell(
    released: tuple[Course, nbformat.NotebookNode],
) -> None:
    cells = sources(released[1])
    assert '#error "' in cells["opt_1"]
    assert cells["bare"].startswith("%%cuda stencil.opt_2\n// YOUR CODE HERE\n#error")
    assert "raise NotImplementedError()" in cells["double"]


def test_test_cells_are_kept_and_locked(released: tuple[Course, nbformat.NotebookNode]) -> None:
    (test,) = (cell for cell in released[1].cells if "test_double" in str(cell.metadata))
    assert test.source == "assert double(2) == 4"
    assert (test.metadata.editable, test.metadata.deletable) == (False, False)


def test_outputs_are_stripped(released: tuple[Course, nbformat.NotebookNode]) -> None:
    assert not any(cell.get("outputs") for cell in released[1].cells)


def test_gradebook_has_the_test_cells_and_their_maximum(
    released: tuple[Course, nbformat.NotebookNode],
) -> None:
    grades = read_grades(released[0], "tiny")
    assert dict(grades.max_scores) == {"test_double": 2, "test_half": 3}
    assert grades.max_total == 5
    assert not grades.scores


def test_max_points_are_read_from_the_source_notebook(course: Course) -> None:
    assert max_points(course.source / "tiny" / "tiny.ipynb") == {"test_double": 2, "test_half": 3}


def test_notebook_with_other_points_than_the_rubric_is_refused(course: Course) -> None:
    (course.config_folder / "rubric.toml").write_text(RUBRIC.format(double=9), encoding="utf-8")
    with pytest.raises(UsageError, match="test_double"):
        release(course, "tiny")


@pytest.mark.parametrize(("stated", "refused"), [(5, False), (50, True)])
def test_stated_points_are_those_of_the_test_cells(course: Course, stated: int, refused: bool) -> None:
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(f"gpulab.start_lab(seed=1, points={stated})"))
    nbformat.write(notebook, source)
    if refused:
        with pytest.raises(UsageError, match="points=5"):
            release(course, "tiny")
    else:
        assert release(course, "tiny").notebooks


def test_invalid_rubric_is_refused(course: Course) -> None:
    (course.config_folder / "rubric.toml").write_text(
        "[tiny.test_double]\npoints = 'many'\n", encoding="utf-8"
    )
    with pytest.raises(UsageError, match="rubric"):
        release(course, "tiny")


def test_source_that_is_not_a_notebook_is_refused(course: Course) -> None:
    (course.config_folder / "rubric.toml").write_text(RUBRIC.format(double=2), encoding="utf-8")
    (course.source / "tiny" / "tiny.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"tiny\.ipynb"):
        release(course, "tiny")


def test_lab_without_a_rubric_is_refused(course: Course) -> None:
    (course.config_folder / "rubric.toml").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="no rubric"):
        release(course, "tiny")


def test_error_of_nbgrader_is_raised_with_its_message(course: Course) -> None:
    refusing = dataclasses.replace(course, options={"source_directory": "nowhere"})
    with pytest.raises(GradingError, match="No notebooks were matched"):
        release(refusing, "tiny")


def test_generated_folders_are_in_the_work_folder(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    assert all(folder.is_relative_to(course.work) for folder in (course.release, course.submitted))
    assert course.database == course.work / "gradebook.db"


def test_failing_cell_of_a_released_notebook_fails_in_validate(
    released: tuple[Course, nbformat.NotebookNode], tmp_path: Path
) -> None:
    course, notebook = released
    nbformat.write(notebook, tmp_path / "tiny.ipynb")
    failed = Validator(config=course.settings()).validate(str(tmp_path / "tiny.ipynb"))["failed"]
    assert [cell["source"] for cell in failed] == ["assert double(2) == 4", "assert half(2) == 1"]
