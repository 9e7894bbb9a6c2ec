"""The instructor's commands: usage errors are reported in one line with exit code 2."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gpulab.cli import main
from gpulab.cli.grade import not_graded
from gpulab.grading.pipeline.course import Course


def call(*arguments: str) -> int:
    return main(list(arguments))


@pytest.mark.parametrize("name", ["release", "grade", "report", "demo"])
def test_folder_without_a_course_is_reported_in_one_line_with_exit_2(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(name, "--course", str(tmp_path)) == 2
    error = capsys.readouterr().err.strip()
    assert "--course" in error
    assert len(error.splitlines()) == 1


def test_missing_nbgrader_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert call("release") == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("release", "nonesuch"), "nonesuch"),
        (("grade",), "submitted"),
        (("grade", "--jobs", "0"), "--jobs"),
        (("report",), "gpulab grade"),
    ],
)
def test_usage_error_is_reported_in_one_line_with_exit_2(
    course: Course, arguments: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments, "--course", str(course.root)) == 2
    error = capsys.readouterr().err.strip()
    assert named in error
    assert len(error.splitlines()) == 1


def test_demo_refuses_a_folder_that_it_did_not_create(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work", encoding="utf-8")
    assert call("demo", "--course", str(course.root), "--work", str(folder)) == 2
    assert (folder / "thesis.txt").is_file()
    assert "--work" in capsys.readouterr().err


def test_reason_of_several_submissions_is_one_line() -> None:
    broken, missing = "problem.py, line 19: invalid syntax.", "lab.ipynb is missing."
    assert list(not_graded([("anna", broken), ("ben", missing), ("carla", broken)])) == [
        f"anna, carla were not graded: {broken}",
        f"ben was not graded: {missing}",
    ]
