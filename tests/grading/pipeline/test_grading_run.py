"""Grading a class end to end: points come from the judge, whatever a submission says about itself."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline import grading_run
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.gradebook import Grades, open_gradebook, read_grades
from gpulab.grading.pipeline.grading_run import GradedSubmission, time_left
from gpulab.grading.pipeline.submissions import grade_submissions
from gpulab.grading.pipeline.verdict_store import load_judged
from gpulab.grading.release.assignments import release
from tests.grading.conftest import UNSANDBOXED, make_course
from tests.grading.small_class import CLASS, EXPECTED, cells_of, difficult_course, submit, submit_ungradable


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, list[GradedSubmission], Grades]:
    course = difficult_course(make_course(tmp_path_factory.mktemp("course")))
    submit_ungradable(course)
    results = grade_submissions(course, "tiny", UNSANDBOXED)
    return course, results, read_grades(course, "tiny")


Graded = tuple[Course, list[GradedSubmission], Grades]


@pytest.mark.parametrize("student", EXPECTED)
def test_points_are_those_of_the_judge(graded: Graded, student: str) -> None:
    assert graded[2].scores[student] == EXPECTED[student]
    assert load_judged(graded[0], "tiny", student).scores == EXPECTED[student]


@pytest.mark.parametrize(
    ("student", "named"), [("unreadable", "JSON"), ("misnamed", "my_tiny.ipynb"), ("nothing", "missing")]
)
def test_unreadable_submission_has_an_error_and_no_points(graded: Graded, student: str, named: str) -> None:
    errors = {result.student: result.error for result in graded[1]}
    assert named in errors[student]
    assert "\n" not in errors[student]
    assert set(graded[2].scores[student].values()) == {None}


@pytest.mark.parametrize(
    ("student", "wrong", "advice"),
    [
        ("unreadable", "it is not JSON", "save it"),
        ("misnamed", "there is my_tiny.ipynb", "Rename this file"),
        ("nothing", "there is no notebook", "Submit this file"),
        ("utf_16", "not text in UTF-8", "save it"),
        ("no_cells", "no list of cells", "save it"),
        ("link", "is a link", "submit the file itself"),
        ("two_others", "there is a.ipynb, b.ipynb", "Rename the one to grade"),
        ("no_time", "Your teacher sees it", "grade the submission again"),
        ("<i>markup", "Your teacher sees it", "grade the submission again"),
    ],
)
def test_submission_that_is_not_graded_has_a_page_with_the_reason_and_advice(
    graded: Graded, student: str, wrong: str, advice: str
) -> None:
    page = (graded[0].feedback / student / "tiny" / "tiny.html").read_text(encoding="utf-8")
    assert wrong in page
    assert advice in page
    assert str(graded[0].root) not in page


def test_claims_of_saved_outputs_are_shown_as_contradicted(graded: Graded) -> None:
    page = (graded[0].feedback / "claims" / "tiny" / "tiny.html").read_text(encoding="utf-8")
    assert "test_double: the notebook claims 2 of 2 points" in page
    honest = (graded[0].feedback / "honest" / "tiny" / "tiny.html").read_text(encoding="utf-8")
    assert "not as submitted" not in honest


def test_unchanged_submissions_are_not_judged_again(graded: Graded) -> None:
    again = grade_submissions(graded[0], "tiny", UNSANDBOXED)
    assert not any(result.judged for result in again)
    assert read_grades(graded[0], "tiny") == graded[2]


def test_changed_submission_is_judged_again_and_touches_no_other(graded: Graded) -> None:
    course = graded[0]
    before = {path: path.stat().st_mtime_ns for path in course.feedback.rglob("*.html")}
    path = course.submitted / "honest" / "tiny" / "tiny.ipynb"
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(json.dumps(json.loads(text)), encoding="utf-8")
        results = grade_submissions(course, "tiny", replace(UNSANDBOXED, students=["honest"]))
    finally:
        path.write_text(text, encoding="utf-8")
    assert [(result.student, result.judged) for result in results] == [("honest", True)]
    changed = {path.parts[-3] for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"honest"}
    assert read_grades(course, "tiny") == graded[2]


def test_manual_points_are_kept_on_a_regrade(graded: Graded) -> None:
    course = graded[0]
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("test_double", "tiny", "tiny", "claims")
        grade.auto_score, grade.manual_score = 2, 1.5  # the verdict will differ from the one that was seen
        gradebook.db.commit()
    try:
        grade_submissions(course, "tiny", replace(UNSANDBOXED, students=["claims"], again=True))
        assert read_grades(course, "tiny").scores["claims"]["test_double"] == 1.5
        with open_gradebook(course) as gradebook:
            assert gradebook.find_grade("test_double", "tiny", "tiny", "claims").needs_manual_grade
    finally:
        with open_gradebook(course) as gradebook:
            grade = gradebook.find_grade("test_double", "tiny", "tiny", "claims")
            grade.manual_score, grade.needs_manual_grade = None, False
            gradebook.db.commit()


def test_lost_gradebook_is_written_again_from_the_verdicts(graded: Graded) -> None:
    course = graded[0]
    grade_submissions(course, "tiny", UNSANDBOXED)
    assert course.database is not None
    course.database.unlink()
    shutil.rmtree(course.release)
    release(course, "tiny")
    results = grade_submissions(course, "tiny", UNSANDBOXED)
    assert not any(result.judged for result in results)
    assert read_grades(course, "tiny") == graded[2]


def test_secret_is_readable_by_its_owner_only(graded: Graded) -> None:
    path = graded[0].work / "secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_bytes()) == 32


def test_log_of_each_submission_is_stored(graded: Graded) -> None:
    logs = {path.name for path in (graded[0].work / "logs").glob("*.txt")}
    assert {f"tiny-{student}.txt" for student in CLASS} <= logs


def test_test_cell_that_changed_after_the_release_is_refused(tmp_path: pytest.TempPathFactory) -> None:
    course = make_course(tmp_path)  # type: ignore[arg-type]
    release(course, "tiny")
    source = course.source / "tiny" / "tiny.ipynb"
    submit(course, "ada", source.read_text(encoding="utf-8"))
    notebook = nbformat.read(source, as_version=4)
    cells_of(notebook)["test_half"].source = "assert half(4) == 2"
    nbformat.write(notebook, source)
    with pytest.raises(UsageError, match="gpulab release tiny"):
        grade_submissions(course, "tiny", UNSANDBOXED)


def test_time_left_decreases_while_a_submission_runs() -> None:
    assert [time_left(40.0, 4, 2, elapsed) for elapsed in (40.0, 45.0, 59.0)] == [
        " (20 s left)",
        " (15 s left)",
        " (1 s left)",
    ]


def test_time_left_is_not_shown_without_a_finished_submission_or_for_a_slow_one() -> None:
    assert time_left(0.0, 0, 3, 30.0) == ""
    assert time_left(40.0, 4, 1, 300.0) == ""


@pytest.mark.parametrize("named", [True, False])
def test_compiled_kernels_are_in_the_folder_that_the_environment_names(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    def stop(*, cache: Path, **_: object) -> None:
        raise GradingError(str(cache))

    if named:
        monkeypatch.setenv("GPULAB_CACHE", str(tmp_path / "kernels"))
    else:
        monkeypatch.delenv("GPULAB_CACHE")
    monkeypatch.setattr(grading_run, "open_workers", stop)
    with pytest.raises(GradingError) as stopped:
        grade_submissions(difficult_course(course), "tiny", UNSANDBOXED)
    assert stopped.value.args == (str(tmp_path / "kernels" if named else course.work / "cache"),)
