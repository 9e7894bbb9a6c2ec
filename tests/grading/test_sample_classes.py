"""The sample class of each lab: the judge gives every submission exactly its expected points."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.judge.plan import NotebookPlan, read_plan
from gpulab.grading.judge.records import JudgeTask
from gpulab.grading.judge.supervisor import judge
from gpulab.grading.pipeline.course import open_course
from gpulab.grading.release.assignments import release
from gpulab.grading.release.sample_class import (
    SampleSubmission,
    read_samples,
    score_differences,
    submit_sample,
)
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from gpulab.problems.registry import PROBLEM_FILE, open_lab
from tests.grading.conftest import REPOSITORY

pytestmark = pytest.mark.skipif(unavailable_reason() != "", reason=unavailable_reason())

CLASSES = REPOSITORY / "grading" / "sample_class"
LABS = REPOSITORY / "labs"


def samples_of(lab: str) -> list[SampleSubmission]:
    open_lab(LABS / lab)
    return read_samples(CLASSES / lab)


SAMPLES = {
    f"{folder.name}/{sample.student}": (folder.name, sample)
    for folder in sorted(CLASSES.iterdir())
    for sample in samples_of(folder.name)
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, NotebookPlan]]:
    course = open_course(REPOSITORY / "grading" / "nbgrader_config.py", tmp_path_factory.mktemp("work"))
    labs = sorted({lab for lab, _ in SAMPLES.values()})
    return {lab: (release(course, lab).notebooks[0], read_plan(course.notebook(lab))) for lab in labs}


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_submission_gets_its_expected_points(
    name: str, released: dict[str, tuple[Path, NotebookPlan]], tmp_path: Path
) -> None:
    lab, sample = SAMPLES[name]
    notebook, plan = released[lab]
    problem = LABS / lab / PROBLEM_FILE
    files = {PROBLEM_FILE: str(problem)} if problem.is_file() else {}
    text = submit_sample(sample, notebook, tmp_path).read_text(encoding="utf-8")
    verdict = judge(JudgeTask(lab, sample.student, plan, text, b"secret", "sim", files=files))
    assert verdict.error == ""
    assert score_differences(sample, verdict.scores, verdict.kind) == []
