"""The submitted files of one student, and the reasons for which a submission cannot be judged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.judge.submitted import read_submission, too_large
from gpulab.grading.pipeline.course import Course

__all__ = ["Submission", "read_student_files"]

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
    try:
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
    digest = hashlib.sha256(data + b"\0" + _timestamp(folder) + b"\0" + problem.encode()).hexdigest()
    return Submission(student, "" if problem else data.decode("utf-8-sig"), digest, problem)


def _problem_of(path: Path) -> str:
    """Return why there is no notebook to read, or ""."""
    if path.is_symlink() or path.parent.is_symlink():
        return f"{path.name} is a link; submit the file itself."
    if not path.is_file():
        others = sorted(other.name for other in path.parent.glob("*.ipynb"))
        if not others:
            return f"there is no notebook; {path.name} is missing."
        return f"{path.name} is missing; there is {', '.join(others)}. Rename the file."
    return too_large(path.stat().st_size)


def _timestamp(folder: Path) -> bytes:
    path = folder / TIMESTAMP
    if path.is_symlink() or not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(TIMESTAMP_BYTES)
