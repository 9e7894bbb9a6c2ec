"""The report, parsed: gradebook, speed-ups, reasons, pictures; and what must never be in it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernel_configs import config

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from bs4 import BeautifulSoup, Tag

from gpulab.errors import Diagnostic
from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.pipeline.inspection import Inspection, KernelNote
from gpulab.grading.release.rubric import Criterion
from gpulab.grading.reports.report import ClassReport, report_html
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from gpulab.verification.verdict import Plane, State

SPITE = "<script>alert(1)</script>"


def timed(variant: str, milliseconds: float) -> VariantTiming:
    simulator = Provenance("simulator wall time", "simulator (H200)", "median at 128x128x64")
    timing = Benchmark.from_samples([milliseconds], simulator)
    return VariantTiming(config(f"stencil.{variant}"), (128, 128, 64), timing)


def right(variant: str, milliseconds: float) -> KernelNote:
    return KernelNote(f"stencil.{variant}", "right", timing=timed(variant, milliseconds))


def wrong_plane() -> Plane:
    state = np.full((6, 8), State.RIGHT, np.uint8)
    state[2, 3] = State.WRONG
    return Plane("17x9x5, z = 2: 1 point", ("y", "x"), state, (4, 4))


@pytest.fixture(scope="module")
def shown() -> BeautifulSoup:
    grades = Grades(
        "01_stencil",
        {"opt_1_test": 10.0, "answer_1": 5.0},
        {
            "ada": {"opt_1_test": 10.0, "answer_1": None},
            "bob": {"opt_1_test": 0.0, "answer_1": 2.5},
            "cyd": {"opt_1_test": None, "answer_1": None},
            "dee": {"opt_1_test": 0.0, "answer_1": 5.0},
            "fay": {"opt_1_test": 0.0, "answer_1": 4.0},
            SPITE: {"opt_1_test": 0.0, "answer_1": 0.0},
        },
    )
    diagnostic = Diagnostic(7, 5, "error", f"expected a ';' near {SPITE}", f"int i = 1 {SPITE}")
    inspections = {
        "ada": Inspection("ada", "simulator", (right("naive", 2.0), right("opt_1", 1.0))),
        "bob": Inspection(
            "bob",
            "simulator",
            (
                KernelNote("stencil.opt_1", "wrong", ("the halo is missing",), plane=wrong_plane()),
                KernelNote("stencil.opt_2", "does not compile", diagnostics=(diagnostic,)),
                KernelNote("stencil.opt_3", "not written"),
            ),
        ),
        "cyd": Inspection("cyd", "", (), "the process ended"),
        "dee": Inspection("dee", "simulator", (KernelNote("stencil.opt_1", "given"),), level=2),
        "fay": Inspection("fay", "simulator", (KernelNote("stencil.opt_1", "wrong", ("why",)),), level=2),
        SPITE: Inspection(SPITE, "simulator", (KernelNote("stencil.opt_1", "wrong", (SPITE,)),)),
    }
    report = ClassReport(
        grades,
        inspections,
        ungraded={"cyd": "it is not a notebook"},
        rubric={"opt_1_test": Criterion("opt_1_test", 10.0, "The values are right.", "stencil.opt_1", 0.0)},
        feedback={"ada": "feedback/ada/01_stencil/stencil.html"},
    )
    return BeautifulSoup(report_html([report]), "html.parser")


def rows(shown: BeautifulSoup, after: str) -> dict[str, list[str]]:
    """Body rows of the table below a heading, by their first cell."""
    heading = shown.find(lambda tag: tag.name == "h2" and after in tag.text)
    assert isinstance(heading, Tag)
    table = heading.find_next("table")
    assert isinstance(table, Tag)
    found = [[cell.text for cell in row.find_all(["th", "td"])] for row in table.select("tbody tr")]
    return {row[0] + ("" if after == "gradebook" else " " + row[1]): row[1:] for row in found}


def told(shown: BeautifulSoup, student: str) -> str:
    """What stands below a student's heading, up to the next."""
    heading = shown.find("h3", id=student)
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
        ("ada", ["10 / 10", "? / 5", "10 / 15"]),
        ("bob", ["0 / 10", "2.5 / 5", "2.5 / 15"]),
        ("cyd", ["? / 10", "? / 5", "0 / 15"]),
        ("dee", ["given", "5 / 5", "5 / 5"]),
        ("fay", ["0 / 0", "4 / 5", "4 / 5"]),
    ],
)
def test_the_gradebook_has_points_and_the_most_there_are(
    shown: BeautifulSoup, student: str, points: list[str]
) -> None:
    assert rows(shown, "gradebook")[student][:3] == points


def test_a_submission_that_was_not_graded_says_why(shown: BeautifulSoup) -> None:
    assert "it is not a notebook" in rows(shown, "gradebook")["cyd"][3]


def test_a_chosen_level_stands_beside_the_total(shown: BeautifulSoup) -> None:
    assert "level 2" in rows(shown, "gradebook")["dee"][3]
    assert "level" not in rows(shown, "gradebook")["ada"][3]


def test_a_given_kernel_is_nothing_that_went_wrong(shown: BeautifulSoup) -> None:
    assert shown.find("h3", id="dee") is None


def test_feedback_is_linked_beside_the_report(shown: BeautifulSoup) -> None:
    (link,) = shown.select("table.gradebook a")
    assert link["href"] == "feedback/ada/01_stencil/stencil.html"


def test_the_speedup_table_compares_each_right_kernel_with_the_rung_before(shown: BeautifulSoup) -> None:
    assert rows(shown, "speed-up")["ada opt_1"] == ["opt_1", "naive", "2", "1", "2.00"]


def test_times_say_what_kind_they_are(shown: BeautifulSoup) -> None:
    assert any("simulator's own wall time" in caption.text for caption in shown.find_all("caption"))


def test_a_wrong_kernel_has_its_reasons_and_the_picture(shown: BeautifulSoup) -> None:
    text = told(shown, "bob")
    assert "the halo is missing" in text
    assert text.count("<svg") >= 1
    assert "gp-wrong-fill" in text


def test_a_kernel_that_does_not_compile_has_its_diagnostics(shown: BeautifulSoup) -> None:
    assert "line 7" in told(shown, "bob")
    assert "expected a &#x27;;&#x27;" in told(shown, "bob") or "expected a ';'" in told(shown, "bob")


def test_a_kernel_that_is_right_has_nothing_said_of_it(shown: BeautifulSoup) -> None:
    assert shown.find("h3", id="ada") is None


def test_nothing_of_a_submission_becomes_markup(shown: BeautifulSoup) -> None:
    assert shown.find_all("script") == []
    assert SPITE in shown.text


def test_the_page_needs_no_other_file_and_no_host(shown: BeautifulSoup) -> None:
    assert shown.find_all(["link", "img", "iframe", "object", "embed"]) == []
    assert not re.search(r"url\(|@import|(?:src|href)=\"(?:https?:)?//", str(shown))
    policy = shown.find("meta", attrs={"http-equiv": "Content-Security-Policy"})
    assert isinstance(policy, Tag)
    assert "default-src 'none'" in str(policy["content"])


def test_the_page_is_light_or_dark_as_its_reader(shown: BeautifulSoup) -> None:
    assert "prefers-color-scheme" in "".join(style.text for style in shown.find_all("style"))
