"""A lab with a problem of its own, released and graded: the judge uses the teacher's `problem.py` only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
from gpulab.grading.pipeline.verdict_store import load_judged
from gpulab.grading.release.assignments import release
from gpulab.grading.reports.html_report import report_html
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from tests.foreign_problems import PROBLEMS, TILED, TRANSPOSE, write_problems
from tests.grading.conftest import UNSANDBOXED, make_course, nbgrader_cell
from tests.grading.small_class import cells_of, submit

SETUP = "%load_ext gpulab\nimport gpulab"
TEST = """\
from gpulab.grading.checks import require_correct

require_correct("transpose.{step}", points={points})"""
RUBRIC = """
[tiny.test_naive]
points = 4
variant = "transpose.naive"
earns = "It is right."
[tiny.test_tiled]
points = 6
variant = "transpose.tiled"
earns = "It is right, and its stores are coalesced."
"""
COPY = "__global__ void transpose(float* b, const float* a, int rows, int columns) { b[0] = 1; }"
# A declaration that accepts every kernel, and Python that tries to load it.
LOOSE = PROBLEMS.replace("reference=lambda a: a.T", "reference=lambda a: a.T, error_bound=1e9, written=None")
LOADED = "gpulab.problems.load_problems('problem.py')"


def solution(text: str) -> str:
    header, rest = text.split("\n", 1)
    return f"{header}\n// BEGIN SOLUTION\n{rest}\n// END SOLUTION"


def transposing_course(root: Path) -> Course:
    course = make_course(root)
    (course.config_folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    lab = course.source / "tiny"
    write_problems(lab)
    cells = [nbgrader_cell("setup", SETUP), new_code_cell("note = 0", id="note")]
    for step, text, points in (("naive", TRANSPOSE, 4), ("tiled", TILED, 6)):
        cells.append(nbgrader_cell(step, solution(text), solution=True))
        cells.append(nbgrader_cell(f"test_{step}", TEST.format(step=step, points=points), points=points))
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), lab / "tiny.ipynb")
    return course


def submit_kernels(course: Course, student: str, naive: str, tiled: str, note: str = "note = 0") -> None:
    notebook = nbformat.read(course.release / "tiny" / "tiny.ipynb", as_version=4)
    cells = cells_of(notebook)
    cells["naive"].source, cells["tiled"].source = naive, tiled
    next(cell for cell in notebook.cells if cell.source == "note = 0").source = note
    submit(course, student, nbformat.writes(notebook))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = transposing_course(tmp_path_factory.mktemp("course"))
    release(course, "tiny")
    naive_as_tiled = TRANSPOSE.replace("naive --block 32 8", "tiled --block 32 32")
    submit_kernels(course, "right", TRANSPOSE, TILED)
    submit_kernels(course, "renamed", TRANSPOSE, naive_as_tiled)
    wrong = [f"{text.splitlines()[0]}\n{COPY}" for text in (TRANSPOSE, TILED)]
    submit_kernels(course, "loose", *wrong, note=LOADED)
    (course.submitted / "loose" / "tiny" / "problem.py").write_text(LOOSE, encoding="utf-8")
    grade_submissions(course, "tiny", UNSANDBOXED)
    return course


@pytest.mark.parametrize(("student", "points"), [("right", (4, 6)), ("renamed", (4, 0)), ("loose", (0, 0))])
def test_points_follow_the_teachers_declaration(
    graded: Course, student: str, points: tuple[float, float]
) -> None:
    verdict = load_judged(graded, "tiny", student)
    assert verdict.error == ""
    assert verdict.scores == dict(zip(("test_naive", "test_tiled"), points, strict=True))


def test_release_has_the_declaration_next_to_the_notebook(graded: Course) -> None:
    released = graded.release / "tiny" / "problem.py"
    assert released.read_text(encoding="utf-8") == PROBLEMS


def test_report_shows_the_steps_of_the_lab(graded: Course) -> None:
    page = report_html([assignment_report(graded, "tiny")])
    assert "transpose.tiled" in page


def test_declaration_that_fails_costs_no_points_and_is_the_error_of_the_verdict(
    graded: Course, tmp_path: Path
) -> None:
    course = transposing_course(tmp_path)
    release(course, "tiny")
    write_problems(course.source / "tiny", PROBLEMS.replace("a.T,", "a.missing,"))
    submit_kernels(course, "right", TRANSPOSE, TILED)
    (outcome,) = grade_submissions(course, "tiny", UNSANDBOXED)
    assert "problem.py, line 10: the reference failed: AttributeError" in outcome.error
    assert load_judged(course, "tiny", "right").scores == {}


@pytest.mark.skipif(bool(unavailable_reason()), reason="needs a sandbox")
def test_declaration_in_the_sandbox_cannot_be_changed(graded: Course) -> None:
    change = "open('problem.py', 'a').write('#')"
    submit_kernels(graded, "writer", TRANSPOSE, TILED, note=change)
    options = replace(UNSANDBOXED, sandboxed=True, students=["writer"])
    grade_submissions(graded, "tiny", options)
    verdict = load_judged(graded, "tiny", "writer")
    outputs = [output for cell in verdict.page if cell.source == change for output in cell.outputs]
    assert "OSError" in str(outputs) or "PermissionError" in str(outputs)
    assert verdict.scores == {"test_naive": 4, "test_tiled": 6}
