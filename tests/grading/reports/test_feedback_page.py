"""The summary of a feedback page: points, what is wrong, what to try next, and answers not read yet."""

from __future__ import annotations

import json
import os
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook
from traitlets.config import Config

from gpulab.grading.reports.feedback_page import FeedbackExporter, SummarizeFeedback
from gpulab.grading.reports.feedback_summary import GradedCell, SummaryRow, summary_html, summary_row
from tests.grading.conftest import nbgrader_cell

TEST = 'require_correct("stencil.opt_1", points={1: 10})'
MARKUP = "<script>alert(1)</script>"
HINTS = """<details><summary>Hint 1</summary>

The first paragraph.

The second paragraph.

<details><summary>Hint 2</summary>

![a figure](figure.svg) <img alt="another" src="../secret.svg"> <img alt="far" src="https://host/a.svg">

</details></details>
"""
UNINITIALISED = "line 15: thread (1,1) reads s[53], which has not been initialized. Write each element."
COMMENT = f"Use std::vector<float> if (i<n && j>0). Why? {MARKUP}"
WRONG_VALUES = "65x47x9: 7 of 9 values are wrong; first at (z=1). Hint: is the halo loaded there?"


def kernel(state: str, *reasons: str, **others: Any) -> dict[str, dict[str, Any]]:
    data = {"name": "stencil.opt_1", "state": state, "reasons": reasons, "findings": (), "diagnostics": ()}
    return {"stencil.opt_1": data | others}


def row(score: float, kernels: dict[str, dict[str, Any]], **others: Any) -> SummaryRow:
    return summary_row(GradedCell("opt_1_test", score, 10.0, source=TEST, **others), kernels)


def test_answer_that_is_not_read_has_no_points() -> None:
    assert (
        summary_row(GradedCell("answer_1", 0.0, 5.0, not_read=True, is_test=False), {}).points
        == "not read yet"
    )


def test_full_points_have_their_reason() -> None:
    assert row(10.0, kernel("right"), earns="Correct values.").result == "Correct values."


def test_answer_with_full_points_shows_the_comment_and_not_the_marking_scheme() -> None:
    answer = GradedCell(
        "answer_1", 3.0, 3.0, is_test=False, comment="Well argued.", earns="See the solutions."
    )
    assert summary_row(answer, {}).result == "Well argued."


def test_first_reason_is_what_is_wrong() -> None:
    assert row(0.0, kernel("wrong", UNINITIALISED)).result.endswith("has not been initialized.")


def test_rest_of_the_reason_is_the_advice() -> None:
    assert row(0.0, kernel("wrong", UNINITIALISED)).advice == "Write each element."


def test_hint_is_the_advice() -> None:
    assert row(0.0, kernel("wrong", WRONG_VALUES)).advice == "Is the halo loaded there?"


def test_missed_requirement_is_no_wrong_value() -> None:
    missed = kernel("wrong", "barriers of a block: 0 (line 4). stencil.opt_1 needs at least 1", missed=True)
    assert row(0.0, missed).advice.startswith("The values are right.")


def test_name_of_a_size_keeps_its_small_letter() -> None:
    html = summary_html([SummaryRow("sum_test", "0 / 5", "n = 528: 7 of 528 values are wrong.")], 0, 5)
    assert "<td>n = 528" in html


def test_first_diagnostic_is_what_is_wrong() -> None:
    errors = [{"line": 7, "message": "expected a ';'"}, {"line": 9, "message": "another"}]
    assert "Line 7: expected a ';'" in row(0.0, kernel("does not compile", diagnostics=errors)).result


def test_small_kernel_that_is_not_written_is_named() -> None:
    cell = GradedCell("axpy_test", 0.0, 3.0, source='require_kernel("axpy", points=3)')
    found = summary_row(cell, {"axpy": kernel("not written")["stencil.opt_1"]})
    assert found.result == "Parts of the kernel are not written yet."


def test_given_kernel_is_named_as_given() -> None:
    assert row(0.0, kernel("given")).points == "given"


def test_error_of_the_test_cell_is_what_is_wrong() -> None:
    error = {"output_type": "error", "evalue": "1 of 2 is wrong. Check the unit."}
    found = summary_row(GradedCell("idle_test", 0.0, 5.0, outputs=[error]), {})
    assert (found.result, found.advice) == ("1 of 2 is wrong.", "Check the unit.")


def test_missing_answer_is_named() -> None:
    found = summary_row(GradedCell("answer_1", 0.0, 5.0, is_test=False, comment="No response."), {})
    assert "not answered" in found.result


def test_summary_escapes_everything() -> None:
    html = summary_html([SummaryRow(MARKUP, MARKUP, MARKUP, MARKUP)], 0, 1, incidents=[MARKUP])
    assert "<script" not in html


@pytest.fixture(scope="module")
def feedback(tmp_path_factory: pytest.TempPathFactory) -> BeautifulSoup:
    """Return the feedback page of one submission with a wrong kernel and an answer that is not read."""
    work = tmp_path_factory.mktemp("work")
    folder = work / "autograded" / "ada" / "lab"
    folder.mkdir(parents=True)
    tests = [
        nbgrader_cell(f"opt_{number}_test", TEST.replace("1", str(number), 1), points=10) for number in (1, 2)
    ]
    cells = [*tests, answer_cell("answer_1"), answer_cell("answer_2"), nbformat.v4.new_markdown_cell(HINTS)]
    (folder / "figure.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder.parent / "secret.svg").write_text("<svg/>")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "lab.ipynb")

    url = f"sqlite:///{work / 'gradebook.db'}"
    fill_gradebook(url)
    stored = work / "results" / "lab" / "ada.json"
    stored.parent.mkdir(parents=True)
    incident = {"kind": "hung", "cell": "cell 3", "reason": "it hung."}
    verdict = {"kernels": list(kernel("wrong", WRONG_VALUES).values()), "incidents": [incident]}
    stored.write_text(json.dumps({"key": "", "verdict": verdict}))
    return BeautifulSoup(exported(folder / "lab.ipynb", url), "html.parser")


def answer_cell(name: str) -> nbformat.NotebookNode:
    cell = nbformat.v4.new_markdown_cell("my answer")
    marks = {"grade_id": name, "grade": True, "solution": True, "locked": False, "task": False}
    cell.metadata["nbgrader"] = marks | {"points": 5, "schema_version": 3, "cell_type": "markdown"}
    return cell


def fill_gradebook(url: str) -> None:
    """Create a gradebook with automatic points, points that replace them, and an answer that waits."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        # nbgrader calls `alembic` by its bare name, and adds a submission before its session has it.
        patch.setenv("PATH", os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
        warnings.simplefilter("ignore")
        with Gradebook(url) as gradebook:
            gradebook.add_assignment("lab")
            gradebook.add_notebook("lab", "lab")
            for number in (1, 2):
                test, answer = f"opt_{number}_test", f"answer_{number}"
                gradebook.add_grade_cell(test, "lab", "lab", max_score=10, cell_type="code")
                gradebook.add_grade_cell(answer, "lab", "lab", max_score=5, cell_type="markdown")
                gradebook.add_solution_cell(answer, "lab", "lab")
            gradebook.add_student("ada")
            gradebook.add_submission("lab", "ada")
            grade = gradebook.find_grade("opt_1_test", "lab", "lab", "ada")  # each waits at first
            grade.auto_score, grade.needs_manual_grade = 0, False
            lowered = gradebook.find_grade("opt_2_test", "lab", "lab", "ada")
            lowered.auto_score, lowered.manual_score, lowered.needs_manual_grade = 10, 4, True
            read = gradebook.find_grade("answer_2", "lab", "lab", "ada")
            read.manual_score, read.needs_manual_grade = 2, False
            gradebook.find_comment("answer_2", "lab", "lab", "ada").manual_comment = COMMENT
            # Marked before the answer changed.
            gradebook.find_grade("answer_1", "lab", "lab", "ada").manual_score = 3
            gradebook.db.commit()


def exported(notebook: Path, url: str, rubric: Path | None = None) -> str:
    config = Config(HTMLExporter={"template_name": "feedback"})
    if rubric is not None:
        config.SummarizeFeedback.rubric = str(rubric)
    exporter = FeedbackExporter(config=config)
    exporter.register_preprocessor(SummarizeFeedback, enabled=True)
    about = {"notebook": "lab", "assignment": "lab", "student": "ada", "db_url": url}
    html, _ = exporter.from_filename(str(notebook), resources={"nbgrader": about})
    return str(html)


def summary(feedback: BeautifulSoup) -> dict[str, list[str]]:
    lines = [[cell.text for cell in line.find_all("td")] for line in feedback.select(".summary tbody tr")]
    return {name: others for name, *others in lines}


def test_page_starts_with_the_summary(feedback: BeautifulSoup) -> None:
    assert list(summary(feedback)) == ["opt_1", "opt_2", "A1", "A2"]


def test_page_has_the_advice_of_the_stored_inspection(feedback: BeautifulSoup) -> None:
    assert summary(feedback)["opt_1"][2] == "Is the halo loaded there?"


def test_answer_on_the_page_is_not_read_yet(feedback: BeautifulSoup) -> None:
    headings = [heading.text for heading in feedback.select(".panel-heading .pull-right")]
    assert any("not read yet" in heading for heading in headings)


def test_old_marks_of_a_changed_answer_are_not_in_the_total(feedback: BeautifulSoup) -> None:
    assert "6 of 30 points so far" in feedback.select(".summary")[0].text


def test_unread_answer_has_no_score_on_the_page(feedback: BeautifulSoup) -> None:
    assert "0.0 / 5.0" not in feedback.text


def test_points_at_level_2_are_those_that_the_level_has(tmp_path: Path) -> None:
    folder = tmp_path / "autograded" / "ada" / "lab"
    folder.mkdir(parents=True)
    cells = [nbgrader_cell(f"opt_{number}_test", TEST, points=10) for number in (1, 2)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "lab.ipynb")
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    fill_gradebook(url)  # 0 of 10, and 4 of 10
    rubric = tmp_path / "rubric.toml"
    rubric.write_text(
        "".join(
            f'[lab.opt_{number}_test]\npoints = 10\nlevel_2 = {points}\nearns = "It is right."\n'
            for number, points in ((1, 0), (2, 4))
        )
    )
    stored = tmp_path / "results" / "lab" / "ada.json"
    stored.parent.mkdir(parents=True)
    stored.write_text(json.dumps({"key": "", "verdict": {"level": 2, "kernels": [], "incidents": []}}))
    page = BeautifulSoup(exported(folder / "lab.ipynb", url, rubric), "html.parser")
    assert "6 of 14 points" in page.select(".summary")[0].text
    assert summary(page)["opt_1"][:2] == ["0 / 0", "This step has no points at your level."]
    assert summary(page)["opt_2"][0] == "4 / 4"
    assert "/ 10" not in " ".join(heading.text for heading in page.select(".panel-heading .pull-right"))


def test_points_of_the_teacher_are_not_explained_as_automatic(feedback: BeautifulSoup) -> None:
    points, result, advice = summary(feedback)["opt_2"]
    assert points == "4 / 10"
    assert result == "Your teacher has set these points. The automatic check gave 10."
    assert advice == ""
    heading = feedback.find("a", attrs={"name": "opt_2_test"}).find_next("div", class_="panel-heading")
    assert "set by the teacher" in heading.text


def test_automatic_points_are_not_ascribed_to_the_teacher(feedback: BeautifulSoup) -> None:
    heading = feedback.find("a", attrs={"name": "opt_1_test"}).find_next("div", class_="panel-heading")
    assert "teacher" not in heading.text + " ".join(summary(feedback)["opt_1"])


def test_comment_is_shown_as_it_was_typed(feedback: BeautifulSoup) -> None:
    comment = feedback.select(".panel-footer")[0]
    assert COMMENT in comment.text
    assert comment.find("script") is None
    assert summary(feedback)["A2"][1] == "Use std::vector<float> if (i<n && j>0)."


def test_incidents_are_on_the_page(feedback: BeautifulSoup) -> None:
    assert "cell 3: it hung." in feedback.select(".summary")[0].text


def test_links_of_the_summary_have_a_target(feedback: BeautifulSoup) -> None:
    links = [str(link["href"]).removeprefix("#") for link in feedback.select(".summary a")]
    assert links
    assert all(feedback.find("a", attrs={"name": name}) for name in links)


def test_hints_with_embedded_images_open_one_by_one(feedback: BeautifulSoup) -> None:
    first, second = feedback.find_all("details")
    assert second in first.find_all("details")
    assert [p.text for p in first.find_all("p", recursive=False)] == [
        "The first paragraph.",
        "The second paragraph.",
    ]
    sources = [image["src"] for image in second.find_all("img")]
    assert sources[0].startswith("data:image/svg+xml;base64,")
    assert sources[1:] == ["../secret.svg", "https://host/a.svg"]
