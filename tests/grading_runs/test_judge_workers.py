"""Workers that end while they judge, a run that stops, and a scheduler that is not there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("distributed", reason="grading needs the lab extra")

import dask
from distributed import LocalCluster

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.judge.supervisor import JudgingStopped, messages
from gpulab.grading.pipeline import judge_workers
from gpulab.grading.pipeline.judge_workers import open_workers


def task(student: str) -> JudgeTask:
    return JudgeTask("tiny", student, NotebookPlan("tiny", ()), "{}", b"secret", "sim")


def judge_or_end(
    task: JudgeTask, environment: Mapping[str, str], stop: threading.Event | None = None
) -> dict[str, Any]:
    """Stand in for the judge; the submission of `eve` ends its worker."""
    del stop
    if task.student == "eve":
        os._exit(3)
    return JudgedSubmission(task.student, "tiny", "tiny", device=environment["GPULAB_THREADS"]).as_dict()


def test_submission_that_ends_its_workers_is_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_workers, "judge_here", judge_or_end)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        open_workers(jobs=1, scheduler=cluster.scheduler_address, cache=tmp_path / "cache") as workers,
    ):
        items = list(workers.judge_all(map(task, ("ada", "eve", "bob", "cyd"))))
    verdicts = {item.student: item for item in items if isinstance(item, JudgedSubmission)}
    assert sorted(verdicts) == ["ada", "bob", "cyd", "eve"]
    assert {student for student, verdict in verdicts.items() if verdict.error} == {"eve"}
    assert "ended 2 times" in verdicts["eve"].error
    assert verdicts["ada"].device == "1"  # one thread of simulation per worker


def endless(emit: Callable[[str, Any], None]) -> None:
    emit("started", os.getpid())
    time.sleep(600)


def test_stopped_run_ends_its_judge_processes() -> None:
    stop = threading.Event()
    run = messages(endless, deadline=time.monotonic() + 600, stop=stop)
    _, pid = next(run)
    stop.set()
    with pytest.raises(JudgingStopped):
        next(run)
    assert not psutil.pid_exists(pid)


def test_process_that_exceeds_its_time_is_stopped() -> None:
    kinds = [kind for kind, _ in messages(endless, deadline=time.monotonic() + 5)]
    assert kinds == ["started", "stopped"]


def environment_of(name: str, emit: Callable[[str, Any], None]) -> None:
    emit("value", os.environ.get(name))


def test_judge_process_has_the_environment_of_its_run() -> None:
    for folder in ("first", "second"):
        run = messages(
            environment_of,
            "GPULAB_CACHE",
            deadline=time.monotonic() + 60,
            environment={"GPULAB_CACHE": folder},
        )
        assert list(run) == [("value", folder)]


def test_missing_scheduler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_workers, "CONNECT_S", 1.0)
    with (
        pytest.raises(UsageError, match=r"tcp://127\.0\.0\.1:1"),
        open_workers(jobs=1, scheduler="tcp://127.0.0.1:1", cache=tmp_path),
    ):
        pass
