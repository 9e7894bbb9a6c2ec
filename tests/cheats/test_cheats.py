"""Submissions that cheat, and honest ones that look odd: each earns what its `expected.toml` says."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.judge.plan import NotebookPlan, read_plan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.judge.supervisor import judge
from gpulab.grading.pipeline.course import find_course, open_course
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import score_differences
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from tests.cheats.cheat_samples import LABS, Cheat, read_cheats, submit_cheat
from tests.grading.conftest import REPOSITORY

pytestmark = [
    pytest.mark.skipif(unavailable_reason() != "", reason=unavailable_reason()),
]

CHEATS = [cheat for lab in LABS for cheat in read_cheats(lab)]
PARAMETERS = [
    pytest.param(
        cheat, id=cheat.name, marks=[pytest.mark.xfail(reason=cheat.open, strict=True)] if cheat.open else []
    )
    for cheat in CHEATS
]

KINDS = {
    "answers",
    "at exit",
    "cache poisoned",
    "checks patched",
    "do_execute",
    "events and hooks",
    "files beside the notebook",
    "files read",
    "files written",
    "functions",
    "host files",
    "judge attacked",
    "launch recognised",
    "loads hidden",
    "markup",
    "notebook edited",
    "NumPy patched",
    "precision",
    "reference patched",
    "registry patched",
    "replay",
    "results before errors",
    "startup file",
    "sys.modules patched",
    "thread",
    "timers patched",
    "transformer",
}

# Elements and attributes that no text of a submission may add to a page.
FORBIDDEN_ELEMENTS = {"script", "iframe", "object", "embed", "img", "link", "meta", "base", "form"}
MATHJAX_MARK = r"\href{javascript"


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the students' notebook of each lab."""
    work = tmp_path_factory.mktemp("cheats")
    course = open_course(find_course(REPOSITORY), work)
    return {lab: release(course, lab).notebooks[0] for lab in LABS}


@pytest.fixture(scope="session")
def plans() -> dict[str, NotebookPlan]:
    return {lab: read_plan(next((REPOSITORY / "labs" / lab).glob("*.ipynb"))) for lab in LABS}


@pytest.mark.parametrize("cheat", PARAMETERS)
def test_points_are_as_expected(
    cheat: Cheat, released: dict[str, Path], plans: dict[str, NotebookPlan], tmp_path: Path
) -> None:
    path = submit_cheat(cheat, released[cheat.lab], tmp_path)
    text = path.read_text(encoding="utf-8")
    verdict = judge(JudgeTask(cheat.lab, cheat.sample.student, plans[cheat.lab], text, b"a secret", "sim"))

    assert verdict.error == ""
    assert score_differences(cheat.sample, verdict.scores) == []
    if not cheat.fails:
        assert errors_of_added_cells(cheat, verdict) == []
    assert list(harmful_markup(verdict)) == []


def test_there_are_cheats_of_every_kind_and_controls_of_every_lab() -> None:
    cheats = [cheat for cheat in CHEATS if not cheat.is_control]
    assert {cheat.kind for cheat in cheats} >= KINDS
    assert len(cheats) >= 60
    assert len(CHEATS) - len(cheats) >= 25
    assert {cheat.lab for cheat in CHEATS if cheat.is_control} == set(LABS)


def errors_of_added_cells(cheat: Cheat, verdict: JudgedSubmission) -> list[str]:
    """Return the errors of the cells that the submission adds to the notebook."""
    added = {*cheat.sample.first, *cheat.sample.last}
    return [
        f"{output['ename']}: {output['evalue']}"
        for cell in verdict.page
        if cell.source in added
        for output in cell.outputs
        if output["output_type"] == "error"
    ]


def harmful_markup(verdict: JudgedSubmission) -> Iterator[str]:
    """Yield the markup in outputs of the judge that can only come from the submission."""
    for cell in verdict.cells:
        for output in cell.outputs:
            html = str(output.get("data", {}).get("text/html", ""))
            parser = _HarmParser()
            parser.feed(html)
            yield from (f"{cell.grade_id}: {harm}" for harm in parser.harm)
            if MATHJAX_MARK in html:
                yield f"{cell.grade_id}: {MATHJAX_MARK}"


class _HarmParser(HTMLParser):
    """A parser that notes elements and attributes that run code or load a file."""

    def __init__(self) -> None:
        super().__init__()
        self.harm: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORBIDDEN_ELEMENTS:
            self.harm.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.harm.append(f"{name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[Any]) -> None:
        self.handle_starttag(tag, attrs)
