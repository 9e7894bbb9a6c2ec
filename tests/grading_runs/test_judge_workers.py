"""Workers that end while they judge, and a scheduler that is not there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.pipeline import judge_workers
from gpulab.grading.pipeline.judge_workers import open_workers


def task(student: str) -> JudgeTask:
    return JudgeTask("tiny", student, NotebookPlan("tiny", ()), "{}", b"secret", "sim")


def judge_or_end(task: JudgeTask, environment: Mapping[str, str]) -> dict[str, Any]:
    """Stand in for the judge; the submission of `eve` ends its worker."""
    if task.student == "eve":
        os._exit(3)
    return JudgedSubmission(task.student, "tiny", "tiny", device=environment["GPULAB_THREADS"]).as_dict()


def test_submission_that_ends_its_workers_is_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_workers, "judge_here", judge_or_end)
    with open_workers(jobs=2, scheduler=None, cache=tmp_path / "cache", folder=tmp_path) as workers:
        items = list(workers.judge_all(map(task, ("ada", "eve", "bob", "cyd"))))
    verdicts = {item.student: item for item in items if isinstance(item, JudgedSubmission)}
    assert sorted(verdicts) == ["ada", "bob", "cyd", "eve"]
    assert {student for student, verdict in verdicts.items() if verdict.error} == {"eve"}
    assert "ended 3 times" in verdicts["eve"].error
    assert verdicts["ada"].device == "1"  # one thread of simulation per worker


def test_missing_scheduler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_workers, "CONNECT_S", 1.0)
    with (
        pytest.raises(UsageError, match=r"tcp://127\.0\.0\.1:1"),
        open_workers(jobs=1, scheduler="tcp://127.0.0.1:1", cache=tmp_path, folder=tmp_path),
    ):
        pass
