"""A student's own copy of the labs, without solutions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.release.assignments import release

__all__ = ["copy_labs"]


def copy_labs(
    course: Course,
    assignments: Sequence[str],
    folder: Path,
    progress: Callable[[int, int, str], object] = lambda *_: None,
) -> list[Path]:
    """Copy released labs to a folder and return their notebooks.

    Only files that the folder lacks are written, so that a notebook keeps what was typed into it. Neither the
    release of the course nor its gradebook changes.
    """
    if folder.resolve() == course.source.resolve():
        raise UsageError(f"{folder} has the labs with their solutions: choose another folder for the copy.")
    for number, name in enumerate(assignments):
        progress(number, len(assignments), name)
        source, copy = course.source / name, folder / name
        missing = [file for file in _handed_out(source) if not (copy / file).exists()]
        if missing:
            _copy_released(course, name, missing, copy)
    return [folder / name / course.notebook(name).name for name in assignments]


def _handed_out(source: Path) -> Iterator[Path]:
    """Yield the files of a lab, relative to its folder, without hidden files and compiled Python."""
    for path in sorted(source.rglob("*")):
        file = path.relative_to(source)
        if path.is_file() and not any(part.startswith((".", "__")) for part in file.parts):
            yield file


def _copy_released(course: Course, assignment: str, files: Sequence[Path], copy: Path) -> None:
    """Release an assignment into a temporary folder and copy these of its files."""
    with tempfile.TemporaryDirectory(prefix="gpulab-start-") as work:
        released = release(open_course(course.config_file, Path(work)), assignment).folder
        for file in files:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(released / file, copy / file)
