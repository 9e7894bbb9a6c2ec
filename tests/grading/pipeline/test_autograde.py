"""Autograding with nbgrader: a submission with every known difficulty, and one that cannot be read."""

from __future__ import annotations

import copy

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.autograde import AutogradeResult, autograde
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import Grades, read_grades
from gpulab.grading.release.assignments import release
from tests.grading.conftest import make_course, nbgrader_cell
from tests.grading.in_process import releasing_in_process

ENDS_THE_PROCESS = "import os\nos._exit(3)"
WARNS = "import os, sys\ndef double(x):\n    print('careful', file=sys.stderr)\n    return 2 * x"
HALF = "def half(x):\n    return x / 2"


def with_difficulties(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Answer correctly, delete a test cell and the cell before it, copy a cell, warn, and end the process."""
    by_name = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    by_name["double"].source = WARNS
    by_name["half"].source = HALF
    by_name["ends"].source = ENDS_THE_PROCESS
    copied = copy.deepcopy(by_name["half"])
    copied.id = "copied"
    deleted = {"bare", "opt_1", "test_double"}
    cells = [cell for name, cell in by_name.items() if name not in deleted]
    notebook.cells = [copied, *cells]
    return notebook


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, list[AutogradeResult], Grades]:
    course = make_course(tmp_path_factory.mktemp("course"))
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(nbgrader_cell("ends", "ended = False", solution=True))
    notebook.cells.append(nbgrader_cell("test_ends", "assert not ended", points=4))
    notebook.cells.append(nbgrader_cell("test_after", "assert half(double(3)) == 3", points=1))
    nbformat.write(notebook, source)
    (path,) = release(releasing_in_process(course), "tiny").notebooks

    folder = course.submitted / "difficult" / "tiny"
    folder.mkdir(parents=True)
    nbformat.write(with_difficulties(nbformat.read(path, as_version=4)), folder / "tiny.ipynb")
    broken = course.submitted / "unreadable" / "tiny"
    broken.mkdir(parents=True)
    (broken / "tiny.ipynb").write_text("not a notebook", encoding="utf-8")

    results = list(autograde(course, "tiny", course.students("tiny"), jobs=2))
    return course, results, read_grades(course, "tiny")


def test_unreadable_submission_does_not_affect_the_others(
    graded: tuple[Course, list[AutogradeResult], Grades],
) -> None:
    assert {result.student: result.graded for result in graded[1]} == {
        "difficult": True,
        "unreadable": False,
    }


def test_ungraded_submission_has_an_error_in_one_line(
    graded: tuple[Course, list[AutogradeResult], Grades],
) -> None:
    (error,) = (result.error for result in graded[1] if not result.graded)
    assert "JSON" in error
    assert "\n" not in error


def test_ungraded_submission_has_no_scores(
    graded: tuple[Course, list[AutogradeResult], Grades],
) -> None:
    assert set(graded[2].scores["unreadable"].values()) == {None}


@pytest.mark.parametrize(
    ("cell", "points"),
    [("test_double", 2), ("test_half", 3), ("test_ends", 0), ("test_after", 1)],
    ids=["deleted, with a warning", "copied solution", "ends its process", "after the end of the process"],
)
def test_difficult_submission_gets_the_points_it_earned(
    graded: tuple[Course, list[AutogradeResult], Grades], cell: str, points: float
) -> None:
    assert graded[2].scores["difficult"][cell] == points


def test_total_is_the_sum_of_the_scores(graded: tuple[Course, list[AutogradeResult], Grades]) -> None:
    assert (graded[2].total("difficult"), graded[2].max_total) == (6, 10)


def test_log_of_each_submission_is_stored(graded: tuple[Course, list[AutogradeResult], Grades]) -> None:
    assert sorted(path.name for path in (graded[0].work / "logs").glob("*.txt")) == [
        "tiny-difficult.txt",
        "tiny-unreadable.txt",
    ]
