"""A due date, an extension, a penalty or a rubric that changes: entered again, but not judged again."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.cli import main
from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.gradebook import Lateness, open_gradebook, read_grades
from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
from gpulab.grading.release.assignments import release
from tests.grading.conftest import UNSANDBOXED, make_course
from tests.grading.small_class import submit

DAY_S = 86400.0
PENALTY = """\

from nbgrader.plugins import LateSubmissionPlugin


class PointPerDay(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 86400


c.AssignLatePenalties.plugin_class = PointPerDay
"""


@pytest.fixture
def graded(tmp_path: Path) -> Course:
    """Grade two students with all points who submitted on 20 November at noon."""
    course = make_course(tmp_path)
    release(course, "tiny")
    text = (course.source / "tiny" / "tiny.ipynb").read_text(encoding="utf-8")
    for student in ("ada", "bob"):
        submit(course, student, text)
        submit(course, student, "2026-11-20 12:00:00 UTC", "timestamp.txt")
    assert all(outcome.judged for outcome in grade_submissions(course, "tiny", UNSANDBOXED))
    return course


def regrade(course: Course) -> Course:
    """Grade again with the settings as they are now; nothing may be judged."""
    course = open_course(course.config_file)
    assert not any(outcome.judged for outcome in grade_submissions(course, "tiny", UNSANDBOXED))
    assert not assignment_report(course, "tiny").outdated
    return course


def set_due(course: Course, day: int) -> None:
    """Set the due date, as `nbgrader db assignment add` does."""
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate=f"2026-11-{day} 12:00:00 UTC")


def outdated(course: Course) -> list[str]:
    return list(assignment_report(open_course(course.config_file), "tiny").outdated)


def test_penalty_due_date_and_extension_are_entered_without_judging(graded: Course) -> None:
    assert not outdated(graded)
    set_due(graded, 17)
    with graded.config_file.open("a", encoding="utf-8") as file:
        file.write(PENALTY)
    assert outdated(graded) == ["ada", "bob"]
    late = Lateness(3 * DAY_S, 3)
    assert read_grades(regrade(graded), "tiny").late == {"ada": late, "bob": late}

    with open_gradebook(graded) as gradebook:
        gradebook.grant_extension("tiny", "bob", days=2)
    assert outdated(graded) == ["bob"]
    assert read_grades(regrade(graded), "tiny").late == {"ada": late, "bob": Lateness(DAY_S, 1)}
    page = (graded.feedback / "bob" / "tiny" / "tiny.html").read_text(encoding="utf-8")
    assert "4 of 5 points; 1 deducted because the submission was late" in page

    set_due(graded, 19)
    assert read_grades(regrade(graded), "tiny").late == {"ada": Lateness(DAY_S, 1)}
    release(graded, "tiny")  # keeps the due date
    assert read_grades(regrade(graded), "tiny").late == {"ada": Lateness(DAY_S, 1)}


def test_penalty_follows_manual_points_of_a_late_submission(graded: Course) -> None:
    set_due(graded, 17)
    with graded.config_file.open("a", encoding="utf-8") as file:
        file.write(PENALTY.replace("return total_seconds_late / 86400", "return score / 2"))
    assert read_grades(regrade(graded), "tiny").late["ada"].penalty == 2.5
    with open_gradebook(graded) as gradebook:
        gradebook.find_grade("test_half", "tiny", "tiny", "ada").manual_score = 1
        gradebook.db.commit()
    assert outdated(graded) == ["ada"]
    assert read_grades(regrade(graded), "tiny").late["ada"].penalty == 1.5


def test_rubric_that_differs_from_the_notebook_is_refused(graded: Course) -> None:
    rubric = graded.config_folder / "rubric.toml"
    rubric.write_text(rubric.read_text(encoding="utf-8").replace("points = 2", "points = 4"))
    with pytest.raises(UsageError, match="`test_double` has 2 points, but the rubric has 4"):
        grade_submissions(graded, "tiny", UNSANDBOXED)


def test_text_of_the_rubric_reaches_the_pages(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    rubric = graded.config_folder / "rubric.toml"
    rubric.write_text(rubric.read_text(encoding="utf-8").replace("It halves.", "Half is right."))
    assert main(["report", "--course", str(graded.root)]) == 0
    assert "ada, bob" in capsys.readouterr().err
    assert "not up to date" in (graded.work / "report.html").read_text(encoding="utf-8")
    regrade(graded)
    page = (graded.feedback / "ada" / "tiny" / "tiny.html").read_text(encoding="utf-8")
    assert "Half is right." in page


def test_grading_one_student_prints_this_student_only(
    graded: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["grade", "tiny", "--student", "ada", "--unsandboxed", "--device", "sim"]
    assert main([*arguments, "--course", str(graded.root)]) == 0
    printed = capsys.readouterr().out
    assert "ada" in printed
    assert "bob" not in printed
