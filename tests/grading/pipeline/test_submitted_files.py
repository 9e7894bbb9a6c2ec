"""The submitted file of a student, as it is read before a judge sees it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.submitted_files import Submission, read_student_files

NOTEBOOK = '{"cells": []}'


def submission(tmp_path: Path, data: bytes) -> Submission:
    folder = tmp_path / "ada" / "01_stencil"
    folder.mkdir(parents=True)
    (folder / "stencil.ipynb").write_bytes(data)
    course = cast("Course", SimpleNamespace(submitted=tmp_path))
    return read_student_files(course, "01_stencil", "ada", "stencil.ipynb")


def test_byte_order_mark_of_an_editor_is_dropped(tmp_path: Path) -> None:
    read = submission(tmp_path, NOTEBOOK.encode("utf-8-sig"))
    assert (read.notebook, read.problem) == (NOTEBOOK, "")


def test_utf_16_is_a_named_error(tmp_path: Path) -> None:
    assert "UTF-8" in submission(tmp_path, NOTEBOOK.encode("utf-16")).problem
