"""A full disk and a locked gradebook end a run with a clear message; a later run continues."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from sqlalchemy import event
from sqlalchemy.engine import Engine

from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.submissions import grade_submissions
from tests.grading.conftest import UNSANDBOXED, make_course
from tests.grading.small_class import difficult_course
from tests.grading_runs.grading_process import copy_of, gradebook_content

PAGE_BYTES = 512  # the smallest that SQLite allows


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return difficult_course(make_course(tmp_path_factory.mktemp("course")))


@pytest.fixture(scope="module")
def expected(released: Course, tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Any]:
    course = copy_of(released, tmp_path_factory.mktemp("graded") / "course")
    grade_submissions(course, "tiny", UNSANDBOXED)
    return gradebook_content(course)


@pytest.fixture
def course(released: Course, tmp_path: Path) -> Course:
    return copy_of(released, tmp_path / "course")


@contextlib.contextmanager
def every_connection(statement: str) -> Iterator[None]:
    """Execute an SQL statement on each new connection to a gradebook."""

    def execute(connection: Any, _: Any) -> None:
        connection.execute(statement)

    event.listen(Engine, "connect", execute)
    try:
        yield
    finally:
        event.remove(Engine, "connect", execute)


def test_full_disk_of_the_verdicts_is_reported(
    course: Course, expected: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text, written = Path.write_text, []

    def fill(self: Path, text: str, *arguments: Any, **options: Any) -> int:
        if "results" in self.parts:
            written.append(self)
            if len(written) > 2:
                raise OSError(errno.ENOSPC, "No space left on device")
        return write_text(self, text, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", fill)
        with pytest.raises(GradingError, match="No space left"):
            grade_submissions(course, "tiny", UNSANDBOXED)
    grade_submissions(course, "tiny", UNSANDBOXED)
    assert gradebook_content(course) == expected


def test_full_disk_of_the_gradebook_is_reported(course: Course, expected: dict[Any, Any]) -> None:
    assert course.database is not None
    with contextlib.closing(sqlite3.connect(course.database)) as connection:
        connection.executescript(f"PRAGMA page_size = {PAGE_BYTES}; VACUUM")  # leaves little free space
    pages = course.database.stat().st_size // PAGE_BYTES
    with (
        every_connection(f"PRAGMA max_page_count = {pages}"),
        pytest.raises(GradingError, match="disk is full"),
    ):
        grade_submissions(course, "tiny", UNSANDBOXED)
    grade_submissions(course, "tiny", UNSANDBOXED)
    assert gradebook_content(course) == expected


def test_locked_gradebook_is_reported(course: Course, expected: dict[Any, Any]) -> None:
    assert course.database is not None
    with contextlib.closing(sqlite3.connect(course.database)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GradingError, match="locked by another process"):
            grade_submissions(course, "tiny", UNSANDBOXED)
    grade_submissions(course, "tiny", UNSANDBOXED)
    assert gradebook_content(course) == expected
