"""The instructor's commands: what they accept, and mistakes told in one line with exit code 2."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gpulab.cli import main
from gpulab.grading.pipeline.course import Course


def call(*words: str) -> int:
    return main(list(words))


@pytest.mark.parametrize("name", ["release", "grade", "report", "demo"])
def test_a_folder_without_a_course_is_one_line_and_exit_2(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(name, "--course", str(tmp_path)) == 2
    said = capsys.readouterr().err.strip()
    assert "--course" in said
    assert len(said.splitlines()) == 1


def test_without_nbgrader_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert call("release") == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("release", "nonesuch"), "nonesuch"),
        (("grade",), "submissions go to"),
        (("grade", "--jobs", "0"), "--jobs"),
        (("report",), "gpulab grade"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    course: Course, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*words, "--course", str(course.root)) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1


def test_the_demo_leaves_a_folder_alone_that_it_did_not_make(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work", encoding="utf-8")
    assert call("demo", "--course", str(course.root), "--work", str(mine)) == 2
    assert (mine / "thesis.txt").is_file()
    assert "--work" in capsys.readouterr().err
