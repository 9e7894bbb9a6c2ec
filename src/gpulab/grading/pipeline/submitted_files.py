"""The submitted files of one student, and the reasons for which a submission cannot be judged."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from gpulab.errors import UsageError
from gpulab.grading.judge.submitted import read_submission, too_large
from gpulab.grading.pipeline.course import Course

__all__ = ["TIMESTAMP", "Submission", "read_student_files", "time_of_submission"]

TIMESTAMP = "timestamp.txt"  # written by nbgrader when it collects a submission
TIMESTAMP_BYTES = 200


@dataclass(frozen=True)
class Submission:
    """The submission of one student.

    Attributes
    ----------
    student : str
        The name of the folder.
    notebook : str
        The submitted notebook as JSON text; empty if there is a `problem`.
    digest : str
        A hash of the files that grading reads.
    problem : str
        Why the submission cannot be judged; empty otherwise.
    """

    student: str
    notebook: str = ""
    digest: str = ""
    problem: str = ""


def read_student_files(course: Course, assignment: str, student: str, notebook: str) -> Submission:
    """Read a submission. notebook: the file name that the assignment has."""
    folder = course.submitted / student / assignment
    path = folder / notebook
    problem, data = "", b""
    collected = None
    try:
        require_plain_name(student)
        collected = time_of_submission(folder)
        problem = _problem_of(path)
        if not problem:
            data = path.read_bytes()
            read_submission(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        problem = "the submitted file is not a notebook: it is not text in UTF-8."
    except UsageError as refused:
        problem = str(refused)
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}."
    digest = hashlib.sha256(data + f"\0{collected}\0{problem}".encode()).hexdigest()
    return Submission(student, "" if problem else data.decode("utf-8-sig"), digest, problem)


def require_plain_name(student: str) -> None:
    """Raise `UsageError` for a name that formgrader, which does not escape it, would take for HTML.

    Names with characters that are not visible, such as line ends and terminal codes, are refused, too.
    """
    if "<" in student or ">" in student or not student.isprintable():
        raise UsageError(
            f"the folder {student!a} has a name with `<`, `>` or invisible characters: rename it to the "
            "student's id."
        )


def time_of_submission(folder: Path) -> datetime | None:
    """Return the time in UTC that nbgrader noted when it collected a submission; None if it noted none.

    Raises `UsageError` if its file was replaced by something else: without the time, no delay would be known.
    """
    path = folder / TIMESTAMP
    if not os.path.lexists(path):
        return None
    if path.is_file() and not path.is_symlink():
        with path.open("rb") as file, contextlib.suppress(ValueError, OverflowError):
            text = file.read(TIMESTAMP_BYTES).decode().strip()
            return parse_utc(text) if text else None
    raise UsageError(
        f"{path} does not contain a time: it is written when a submission is collected. Collect the "
        "submission again, or delete the file."
    )


def _problem_of(path: Path) -> str:
    """Return why there is no notebook to read, or ""."""
    if path.is_symlink() or path.parent.is_symlink():
        return f"{path.name} is a link; submit the file itself."
    if path.exists() and not path.is_file():
        return f"{path.name} is not an ordinary file; submit the notebook itself."
    if not path.is_file():
        others = sorted(other.name for other in path.parent.glob("*.ipynb"))
        if not others:
            return f"there is no notebook; {path.name} is missing."
        return f"{path.name} is missing; there is {', '.join(others)}. Rename the file."
    return too_large(path.stat().st_size)
