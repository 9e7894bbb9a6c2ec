"""Subprocesses of grading: environment variables, the device, time limits, and the error of a log."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.processes import environment, last_error, visible_gpus


def test_scripts_of_this_environment_come_first_on_the_path(tmp_path: Path) -> None:
    # nbgrader calls `alembic` by its bare name.
    first = environment(tmp_path)["PATH"].split(os.pathsep)[0]
    assert first == sysconfig.get_path("scripts")


def test_python_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", str(tmp_path)]))
    entries = environment(tmp_path)["PYTHONPATH"].split(os.pathsep)
    assert all(Path(entry).is_absolute() for entry in entries)


@pytest.mark.parametrize(
    ("device", "variables"),
    [
        (None, {}),
        ("sim", {"CUDA_VISIBLE_DEVICES": ""}),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "0"}),
        ("cuda:3", {"CUDA_VISIBLE_DEVICES": "3"}),
    ],
)
def test_other_gpus_are_hidden(device: str | None, variables: dict[str, str]) -> None:
    assert visible_gpus(device) == variables


@pytest.mark.parametrize("device", ["sim:gtx280", "cuda:x", "tpu", ""])
def test_unsupported_device_is_refused(device: str) -> None:
    with pytest.raises(UsageError, match="cuda:N"):
        visible_gpus(device)


def test_nbgrader_is_stopped_after_its_time_limit(course: Course) -> None:
    run = course.nbgrader("autograde", "tiny", timeout_s=0.01)
    assert not run.ok
    assert run.error


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("[App | ERROR] it broke\n[App | ERROR] There was an error", "There was an error"),
        (
            "[App | ERROR] x\nTraceback:\n  File a\nValueError: no such cell\n[App | ERROR] y",
            "ValueError: no such cell",
        ),
        ("\x1b[1m[App | ERROR]\x1b[0m red words", "red words"),
        ("only this", "only this"),
    ],
)
def test_last_error_is_an_exception_an_error_line_or_the_last_line(log: str, error: str) -> None:
    assert last_error(log) == error
