"""A class of cheats through `gpulab grade`: the gradebook, and the pages that an instructor opens."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course, find_course, open_course
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.pipeline.grading_run import GradedSubmission, GradeOptions
from gpulab.grading.pipeline.submissions import assignment_report, grade_submissions
from gpulab.grading.pipeline.verdict_store import load_judged
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import score_differences
from gpulab.grading.reports.html_report import write_report
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from tests.cheats.cheat_samples import GRADED_LAB as LAB
from tests.cheats.cheat_samples import faults_of, read_cheats, submit_cheat
from tests.grading.conftest import REPOSITORY

pytestmark = [
    pytest.mark.skipif(unavailable_reason() != "", reason=unavailable_reason()),
]

HARM = "alert(1)"  # what the markup of the submissions would run
NOTEBOOK = REPOSITORY / "labs" / LAB / "stencil.ipynb"
TEST_CELLS = set(re.findall(r'"grade_id": "(\w+_test)"', NOTEBOOK.read_text(encoding="utf-8")))
CHEATS = {cheat.folder.name: cheat for cheat in read_cheats(LAB) if cheat.concerns_the_pipeline}


Graded = tuple[Course, dict[str, GradedSubmission]]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    course = open_course(find_course(REPOSITORY), tmp_path_factory.mktemp("class"))
    (released,) = release(course, LAB).notebooks
    for cheat in CHEATS.values():
        submit_cheat(cheat, released, course.submitted)
    results = grade_submissions(course, LAB, GradeOptions(device="sim"))
    return course, {result.student: result for result in results}


def test_verdicts_are_as_expected(graded: Graded) -> None:
    verdicts = {name: load_judged(graded[0], LAB, name) for name in CHEATS}
    faults = {name: list(faults_of(cheat, verdicts[name])) for name, cheat in CHEATS.items()}
    assert {name: texts for name, texts in faults.items() if texts} == {}


def test_gradebook_has_the_expected_points(graded: Graded) -> None:
    course, results = graded
    scores = read_grades(course, LAB).scores
    assert {name: result.error for name, result in results.items() if result.error} == {}
    faults = []
    for name, cheat in CHEATS.items():
        automatic = {cell: score for cell, score in scores[name].items() if cell.endswith("_test")}
        if set(automatic) != TEST_CELLS:
            faults.append(f"{name}: the test cells are {sorted(automatic)}")
        faults += score_differences(cheat.sample, automatic)
    assert faults == []


def test_feedback_runs_nothing_of_the_submissions(graded: Graded) -> None:
    pages = {name: list((graded[0].feedback / name).rglob("*.html")) for name in CHEATS}
    assert [name for name in CHEATS if not pages[name]] == []
    assert [(page.name, harm) for name in CHEATS for page in pages[name] for harm in harm_of(page)] == []


def test_submissions_leave_no_file_in_the_course(graded: Graded) -> None:
    course = graded[0]
    assert not [
        path for path in course.work.rglob("*") if path.is_symlink() and "submitted" not in path.parts
    ]
    assert len(read_grades(course, LAB).scores) == len(CHEATS)


def test_reports_run_nothing_of_the_submissions(graded: Graded) -> None:
    page = graded[0].work / "class.html"
    write_report([assignment_report(graded[0], LAB)], page)
    assert harm_of(page) == []


def harm_of(page: Path) -> list[str]:
    """Return the elements of a page that run the code of the submissions."""
    parser = _RunningCode()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.harm


class _RunningCode(HTMLParser):
    """A parser that notes scripts, handlers and links with `HARM`, also those in formulas."""

    def __init__(self) -> None:
        super().__init__()
        self.harm: list[str] = []
        self.in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_script = tag == "script"
        for name, value in attrs:
            runs = name.startswith("on") or (value or "").strip().lower().startswith("javascript:")
            if runs and HARM in (value or ""):
                self.harm.append(f"<{tag} {name}={value}>")

    def handle_endtag(self, tag: str) -> None:
        self.in_script = False

    def handle_data(self, data: str) -> None:
        if self.in_script and HARM in data:
            self.harm.append(f"<script>{data[:80]}")
