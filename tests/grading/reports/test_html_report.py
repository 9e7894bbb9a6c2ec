"""The parsed HTML report: gradebook, speed-ups, errors, drawings, and escaping."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from bs4 import BeautifulSoup, Tag

from gpulab.errors import Diagnostic
from gpulab.grading.judge.records import KernelInspection
from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.release.rubric import Criterion
from gpulab.grading.reports.assignment_report import AssignmentReport
from gpulab.grading.reports.html_report import report_html
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from gpulab.verification.verdict import Plane, State
from tests.grading.reports.invented_class import judged
from tests.kernel_configs import config

MARKUP = "<script>alert(1)</script>"


def timed(variant: str, milliseconds: float) -> VariantTiming:
    simulator = Provenance("simulator wall time", "simulator (H200)", "median at 128x128x64")
    timing = Benchmark.from_samples([milliseconds], simulator)
    return VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing)


def right(variant: str, milliseconds: float) -> KernelInspection:
    return KernelInspection(f"stencil.{variant}", "right", timing=timed(variant, milliseconds))


def wrong_plane() -> Plane:
    state = np.full((6, 8), State.RIGHT, np.uint8)
    state[2, 3] = State.WRONG
    return Plane("17x9x5, z = 2: 1 point", ("y", "x"), state, (4, 4))


@pytest.fixture(scope="module")
def page() -> BeautifulSoup:
    grades = Grades(
        "01_stencil",
        {"opt_1_test": 10.0, "answer_1": 5.0},
        {
            "ada": {"opt_1_test": 10.0, "answer_1": None},
            "bob": {"opt_1_test": 0.0, "answer_1": 2.5},
            "cyd": {"opt_1_test": None, "answer_1": None},
            "dee": {"opt_1_test": 0.0, "answer_1": 5.0},
            "fay": {"opt_1_test": 0.0, "answer_1": 4.0},
            MARKUP: {"opt_1_test": 0.0, "answer_1": 0.0},
        },
    )
    diagnostic = Diagnostic(7, 5, "error", f"expected a ';' near {MARKUP}", f"int i = 1 {MARKUP}")
    inspections = {
        "ada": judged("ada", "simulator", (right("naive", 2.0), right("opt_1", 1.0))),
        "bob": judged(
            "bob",
            "simulator",
            (
                KernelInspection("stencil.opt_1", "wrong", ("the halo is missing",), plane=wrong_plane()),
                KernelInspection("stencil.opt_2", "does not compile", diagnostics=(diagnostic,)),
                KernelInspection("stencil.opt_3", "not written"),
            ),
        ),
        "cyd": judged("cyd", "", (), "the process ended"),
        "dee": judged("dee", "simulator", (KernelInspection("stencil.opt_1", "given"),), level=2),
        "fay": judged("fay", "simulator", (KernelInspection("stencil.opt_1", "wrong", ("why",)),), level=2),
        MARKUP: judged(MARKUP, "simulator", (KernelInspection("stencil.opt_1", "wrong", (MARKUP,)),)),
    }
    report = AssignmentReport(
        grades,
        inspections,
        ungraded={"cyd": "it is not a notebook"},
        rubric={"opt_1_test": Criterion("opt_1_test", 10.0, "The values are right.", "stencil.opt_1", 0.0)},
        feedback={"ada": "feedback/ada/01_stencil/stencil.html"},
    )
    return BeautifulSoup(report_html([report]), "html.parser")


def rows(page: BeautifulSoup, after: str) -> dict[str, list[str]]:
    """Return the body rows of the table below a heading, by their first cell."""
    heading = page.find(lambda tag: tag.name == "h2" and after in tag.text)
    assert isinstance(heading, Tag)
    table = heading.find_next("table")
    assert isinstance(table, Tag)
    cells = [[cell.text for cell in row.find_all(["th", "td"])] for row in table.select("tbody tr")]
    return {row[0] + ("" if after == "gradebook" else " " + row[1]): row[1:] for row in cells}


def student_html(page: BeautifulSoup, student: str) -> str:
    """Return the HTML between a student's heading and the next."""
    heading = page.find("h3", id=student)
    assert isinstance(heading, Tag)
    parts = []
    for sibling in heading.next_siblings:
        if isinstance(sibling, Tag) and sibling.name == "h3":
            break
        parts.append(str(sibling))
    return "".join(parts)


@pytest.mark.parametrize(
    ("student", "points"),
    [
        ("ada", ["10 / 15", "", "feedback", "", "", "10", "?"]),
        ("bob", ["2.5 / 15", "", "", "", "", "0", "2.5"]),
        ("cyd", ["none", "", "", "not graded", "", "", ""]),
        ("dee", ["5 / 5", "2", "", "", "", "–", "5"]),
        ("fay", ["4 / 5", "2", "", "", "", "0", "4"]),
    ],
)
def test_gradebook_has_total_level_and_scores(page: BeautifulSoup, student: str, points: list[str]) -> None:
    assert rows(page, "gradebook")[student] == points


def test_ungraded_submission_has_its_error(page: BeautifulSoup) -> None:
    assert "it is not a notebook" in student_html(page, "cyd")
    assert "the process ended" not in student_html(page, "cyd")  # it follows from the error


def test_given_kernel_is_not_listed_as_an_error(page: BeautifulSoup) -> None:
    assert page.find("h3", id="dee") is None


def test_feedback_is_linked(page: BeautifulSoup) -> None:
    (link,) = page.select("table.class a")
    assert link["href"] == "feedback/ada/01_stencil/stencil.html"


def test_speedup_table_compares_a_kernel_with_its_baseline(page: BeautifulSoup) -> None:
    assert rows(page, "speed-up")["ada 2.00 (naive)"] == ["2.00 (naive)"]


def test_times_are_shown_with_their_provenance(page: BeautifulSoup) -> None:
    assert any("simulator (H200)" in caption.text for caption in page.find_all("caption"))


def test_wrong_kernel_has_reasons_and_a_drawing(page: BeautifulSoup) -> None:
    html = student_html(page, "bob")
    assert "the halo is missing" in html
    assert html.count("<svg") >= 1
    assert "gp-wrong-fill" in html


def test_kernel_that_does_not_compile_has_its_diagnostics(page: BeautifulSoup) -> None:
    assert "line 7" in student_html(page, "bob")
    assert "expected a &#x27;;&#x27;" in student_html(page, "bob") or "expected a ';'" in student_html(
        page, "bob"
    )


def test_correct_kernel_is_not_listed(page: BeautifulSoup) -> None:
    assert page.find("h3", id="ada") is None


def test_text_of_a_submission_is_escaped(page: BeautifulSoup) -> None:
    assert page.find_all("script") == []
    assert MARKUP in page.text


def test_page_loads_no_other_file(page: BeautifulSoup) -> None:
    assert page.find_all(["link", "img", "iframe", "object", "embed"]) == []
    assert not re.search(r"url\(|@import|(?:src|href)=\"(?:https?:)?//", str(page))
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})
    assert isinstance(policy, Tag)
    assert "default-src 'none'" in str(policy["content"])


def test_page_follows_the_preferred_colour_scheme(page: BeautifulSoup) -> None:
    assert "prefers-color-scheme" in "".join(style.text for style in page.find_all("style"))
