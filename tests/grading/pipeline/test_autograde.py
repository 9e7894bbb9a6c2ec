"""Grading for real: one submission that falls into every known trap, and one that cannot be read."""

from __future__ import annotations

import copy

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.autograde import Outcome, autograde
from gpulab.grading.pipeline.course import Course, last_error
from gpulab.grading.pipeline.gradebook import Grades, read_grades
from gpulab.grading.release.assignments import release
from tests.grading.conftest import make_course, nbgrader_cell

ENDS_THE_PROCESS = "import os\nos._exit(3)"
WARNS = "import os, sys\ndef double(x):\n    print('careful', file=sys.stderr)\n    return 2 * x"
HALF = "def half(x):\n    return x / 2"


def with_every_trap(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Right answers; a test and the cell before it deleted, a cell copied, stderr, a process that ends."""
    by_name = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    by_name["double"].source = WARNS
    by_name["half"].source = HALF
    by_name["ends"].source = ENDS_THE_PROCESS
    copied = copy.deepcopy(by_name["half"])
    copied.id = "copied"
    gone = {"bare", "opt_1", "test_double"}
    cells = [cell for name, cell in by_name.items() if name not in gone]
    notebook.cells = [copied, *cells]
    return notebook


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, list[Outcome], Grades]:
    course = make_course(tmp_path_factory.mktemp("course"))
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(nbgrader_cell("ends", "ended = False", solution=True))
    notebook.cells.append(nbgrader_cell("test_ends", "assert not ended", points=4))
    notebook.cells.append(nbgrader_cell("test_after", "assert half(double(3)) == 3", points=1))
    nbformat.write(notebook, source)
    (path,) = release(course, "tiny").notebooks

    folder = course.submitted / "trapped" / "tiny"
    folder.mkdir(parents=True)
    nbformat.write(with_every_trap(nbformat.read(path, as_version=4)), folder / "tiny.ipynb")
    broken = course.submitted / "unreadable" / "tiny"
    broken.mkdir(parents=True)
    (broken / "tiny.ipynb").write_text("this is no notebook", encoding="utf-8")

    outcomes = list(autograde(course, "tiny", course.students("tiny"), at_once=2))
    return course, outcomes, read_grades(course, "tiny")


def test_a_submission_that_cannot_be_read_costs_only_itself(
    graded: tuple[Course, list[Outcome], Grades],
) -> None:
    assert {outcome.student: outcome.graded for outcome in graded[1]} == {
        "trapped": True,
        "unreadable": False,
    }


def test_it_is_said_why_it_was_not_graded(graded: tuple[Course, list[Outcome], Grades]) -> None:
    (why,) = (outcome.why for outcome in graded[1] if not outcome.graded)
    assert "JSON" in why
    assert "\n" not in why


def test_a_submission_that_was_not_graded_has_no_points(
    graded: tuple[Course, list[Outcome], Grades],
) -> None:
    assert set(graded[2].points["unreadable"].values()) == {None}


@pytest.mark.parametrize(
    ("cell", "points"),
    [("test_double", 2), ("test_half", 3), ("test_ends", 0), ("test_after", 1)],
    ids=["deleted, and the solution warns", "its solution is twice there", "ends its process", "comes after"],
)
def test_every_trap_gives_the_points_earned(
    graded: tuple[Course, list[Outcome], Grades], cell: str, points: float
) -> None:
    assert graded[2].points["trapped"][cell] == points


def test_the_total_is_the_sum_of_the_cells(graded: tuple[Course, list[Outcome], Grades]) -> None:
    assert (graded[2].total("trapped"), graded[2].most) == (6, 10)


def test_what_nbgrader_said_is_kept(graded: tuple[Course, list[Outcome], Grades]) -> None:
    assert sorted(path.name for path in (graded[0].work / "logs").glob("*.txt")) == [
        "tiny-trapped.txt",
        "tiny-unreadable.txt",
    ]


def test_a_call_that_takes_too_long_is_ended_and_says_so(course: Course) -> None:
    answer = course.nbgrader("autograde", "tiny", limit_s=0.01)
    assert not answer.ok
    assert "still running" in answer.why


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("[App | ERROR] it broke\n[App | ERROR] There was an error", "There was an error"),
        (
            "[App | ERROR] x\nTraceback:\n  File a\nValueError: no such cell\n[App | ERROR] y",
            "ValueError: no such cell",
        ),
        ("\x1b[1m[App | ERROR]\x1b[0m red words", "red words"),
        ("only this", "only this"),
        ("", "it ended without a word."),
    ],
)
def test_the_reason_is_the_exception_or_the_last_error(log: str, why: str) -> None:
    assert last_error(log) == why
