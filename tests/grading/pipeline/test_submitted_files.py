"""The submitted file of a student, as it is read before a judge sees it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.submitted_files import (
    TIMESTAMP,
    Submission,
    read_student_files,
    time_of_submission,
)

NOTEBOOK = '{"cells": []}'


def submission(tmp_path: Path, data: bytes, student: str = "ada") -> Submission:
    folder = tmp_path / student / "01_stencil"
    folder.mkdir(parents=True)
    (folder / "stencil.ipynb").write_bytes(data)
    course = cast("Course", SimpleNamespace(submitted=tmp_path))
    return read_student_files(course, "01_stencil", student, "stencil.ipynb")


def test_byte_order_mark_of_an_editor_is_dropped(tmp_path: Path) -> None:
    read = submission(tmp_path, NOTEBOOK.encode("utf-8-sig"))
    assert (read.notebook, read.problem) == (NOTEBOOK, "")


def test_utf_16_is_a_named_error(tmp_path: Path) -> None:
    assert "UTF-8" in submission(tmp_path, NOTEBOOK.encode("utf-16")).problem


def test_notebook_that_is_no_ordinary_file_is_a_named_error(tmp_path: Path) -> None:
    folder = tmp_path / "ada" / "01_stencil"
    (folder / "stencil.ipynb").mkdir(parents=True)
    course = cast("Course", SimpleNamespace(submitted=tmp_path))
    read = read_student_files(course, "01_stencil", "ada", "stencil.ipynb")
    assert read.problem == "stencil.ipynb is not an ordinary file; submit the notebook itself."


def test_time_of_submission_is_read_in_utc(tmp_path: Path) -> None:
    assert time_of_submission(tmp_path) is None
    (tmp_path / TIMESTAMP).write_text("2026-11-24 03:00:00 CET\n", encoding="utf-8")
    assert str(time_of_submission(tmp_path)) == "2026-11-24 02:00:00"


@pytest.mark.parametrize("kind", ["text", "bytes", "folder", "link", "pipe"])
def test_time_of_submission_that_was_replaced_is_a_named_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ada" / "01_stencil" / TIMESTAMP
    path.parent.mkdir(parents=True)
    match kind:
        case "text":
            path.write_text("never", encoding="utf-8")
        case "bytes":
            path.write_bytes(b"\xff\xfe")
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("2026-11-24 03:00:00 UTC")
        case "pipe":
            os.mkfifo(path)
    (path.parent / "stencil.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    course = cast("Course", SimpleNamespace(submitted=tmp_path))
    read = read_student_files(course, "01_stencil", "ada", "stencil.ipynb")
    assert "timestamp.txt does not contain a time" in read.problem


@pytest.mark.parametrize("student", ["<img src=x onerror=alert(1)>", "new\nline", "\x1b[2J", "a\u202eb"])
def test_name_that_is_markup_or_invisible_is_a_named_error(tmp_path: Path, student: str) -> None:
    problem = submission(tmp_path, NOTEBOOK.encode(), student).problem
    assert problem.endswith("rename it to the student's id.")
    assert problem.isprintable()


@pytest.mark.parametrize("student", ["José", "日本語", "O'Brien, Jo", "-dash", "a b", "{x} & co"])
def test_odd_names_are_accepted(tmp_path: Path, student: str) -> None:
    assert submission(tmp_path, NOTEBOOK.encode(), student).problem == ""
