"""Points that a teacher gave to a written answer, after the submission was graded again."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import open_gradebook
from gpulab.grading.pipeline.grading_run import GradeOptions
from gpulab.grading.pipeline.submissions import grade_submissions
from gpulab.grading.release.assignments import release
from tests.grading.conftest import make_course

OPTIONS = GradeOptions(device="sim", jobs=1, sandboxed=False, again=True)
MARKS = {
    "schema_version": 3,
    "grade_id": "answer_1",
    "solution": True,
    "grade": True,
    "locked": False,
    "task": False,
    "cell_type": "markdown",
    "points": 5,
}


def submit_answer(course: Course, answer: str) -> None:
    notebook = nbformat.read(course.release / "tiny" / "tiny.ipynb", as_version=4)
    cell = next(
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "answer_1"
    )
    cell.source = answer
    folder = course.submitted / "ada" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / "tiny.ipynb")


def needs_review(course: Course) -> bool:
    with open_gradebook(course) as gradebook:
        return bool(gradebook.find_grade("answer_1", "tiny", "tiny", "ada").needs_manual_grade)


def test_read_answer_is_reviewed_again_only_after_it_changed(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(new_markdown_cell("", metadata={"nbgrader": MARKS}, id="answer-1"))
    nbformat.write(notebook, source)
    rubric = course.config_folder / "rubric.toml"
    rubric.write_text(rubric.read_text() + '\n[tiny.answer_1]\npoints = 5\nearns = "Graded manually."\n')
    release(course, "tiny")

    submit_answer(course, "The first answer.")
    grade_submissions(course, "tiny", OPTIONS)
    assert needs_review(course)
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("answer_1", "tiny", "tiny", "ada")
        grade.manual_score, grade.needs_manual_grade = 4, False
        gradebook.db.commit()

    grade_submissions(course, "tiny", OPTIONS)
    assert not needs_review(course)

    submit_answer(course, "Another answer.")
    grade_submissions(course, "tiny", OPTIONS)
    assert needs_review(course)
