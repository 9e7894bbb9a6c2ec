"""Submissions that cheat, and honest ones that look odd: each earns what its `expected.toml` says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.judge.plan import NotebookPlan, read_plan
from gpulab.grading.judge.records import JudgeTask
from gpulab.grading.judge.supervisor import judge
from gpulab.grading.pipeline.course import find_course, open_course
from gpulab.grading.release.assignments import release
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from tests.cheats.cheat_samples import LABS, Cheat, faults_of, read_cheats, submit_cheat
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
    if not cheat.concerns_the_pipeline  # see test_cheats_graded.py
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

    assert list(faults_of(cheat, verdict)) == []


def test_there_are_cheats_of_every_kind_and_controls_of_every_lab() -> None:
    cheats = [cheat for cheat in CHEATS if not cheat.is_control]
    assert {cheat.kind for cheat in cheats} >= KINDS
    assert len(cheats) >= 60
    assert len(CHEATS) - len(cheats) >= 25
    assert {cheat.lab for cheat in CHEATS if cheat.is_control} == set(LABS)
