"""The submitted files of one student, and the reasons for which a submission cannot be judged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from gpulab.errors import UsageError
from gpulab.grading.judge.submitted import SAVE_AGAIN, read_submission, too_large
from gpulab.grading.pipeline.course import Course

__all__ = [
    "SECRET",
    "TIMESTAMP",
    "Submission",
    "copy_exchange_files",
    "notebook_names",
    "read_student_files",
    "time_of_submission",
]

# Files that nbgrader's exchange adds to a submission: its time, and the secret that names its feedback there.
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
TIMESTAMP_BYTES = 200
UNREADABLE = "timestamp.unreadable"  # formgrader stops with an error at a `timestamp.txt` without a time


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
    correctable : bool
        True if the student can correct the problem, False if only the teacher can.
    """

    student: str
    notebook: str = ""
    digest: str = ""
    problem: str = ""
    correctable: bool = False


def read_student_files(course: Course, assignment: str, student: str, notebook: str) -> Submission:
    """Read a submission. notebook: the file name that the assignment has."""
    folder = course.submitted / student / assignment
    path = folder / notebook
    problem, data, correctable = "", b"", False
    collected = None
    try:
        require_plain_name(student)
        collected = time_of_submission(folder)
        correctable = True
        problem = _problem_of(path)
        if not problem:
            data = path.read_bytes()
            read_submission(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        problem = f"the submitted file is not a notebook: it is not text in UTF-8. {SAVE_AGAIN}"
    except UsageError as refused:
        problem = str(refused)
    except OSError as error:
        problem, correctable = f"{path.name} cannot be read: {error.strerror}.", False
    digest = hashlib.sha256(data + f"\0{collected}\0{problem}".encode()).hexdigest()
    if problem:
        return Submission(student, "", digest, problem, correctable)
    return Submission(student, data.decode("utf-8-sig"), digest)


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
    Such a file is renamed.
    """
    path, unreadable = folder / TIMESTAMP, folder / UNREADABLE
    if path.is_file() and not path.is_symlink():
        with path.open("rb") as file, contextlib.suppress(ValueError, OverflowError):
            text = file.read(TIMESTAMP_BYTES).decode().strip()
            return parse_utc(text) if text else None
    if os.path.lexists(path):
        with contextlib.suppress(OSError):
            path.replace(unreadable)
    elif not os.path.lexists(unreadable):
        return None
    kept = UNREADABLE if os.path.lexists(unreadable) else TIMESTAMP
    raise UsageError(
        f"{TIMESTAMP} does not contain a time: it is written when a submission is collected. It is kept as "
        f"{kept}. Collect the submission again, or delete this file."
    )


def copy_exchange_files(submission: Path, folder: Path) -> None:
    """Copy the files of nbgrader's exchange to a folder of grading, as nbgrader's own autograde does."""
    for name in (TIMESTAMP, SECRET):
        source = submission / name
        if source.is_file() and not source.is_symlink():
            shutil.copyfile(source, folder / name)
    if (folder / SECRET).is_file():  # nbgrader's `release_feedback` stops if the time is missing
        (folder / TIMESTAMP).touch()


def notebook_names(submission: Path) -> list[str]:
    """Return the names of the submitted notebooks without their extension, sorted."""
    return sorted(path.stem for path in submission.glob("*.ipynb"))


def _problem_of(path: Path) -> str:
    """Return why there is no notebook to read, or ""."""
    if path.is_symlink() or path.parent.is_symlink():
        return f"{path.name} is a link; submit the file itself."
    if path.exists() and not path.is_file():
        return f"{path.name} is not an ordinary file; submit the notebook itself."
    if not path.is_file():
        others = [f"{name}.ipynb" for name in notebook_names(path.parent)]
        if not others:
            return f"there is no notebook; {path.name} is missing. Submit this file."
        files = "this file" if len(others) == 1 else "the one to grade"
        return f"{path.name} is missing; there is {', '.join(others)}. Rename {files} and submit it again."
    return too_large(path.stat().st_size)
