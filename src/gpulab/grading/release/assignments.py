"""Release of an assignment: from the source notebook to the students' notebook with stubs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import nbformat
from nbgrader import utils
from nbgrader.converters import GenerateAssignment

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.nbgrader_steps import run_converter
from gpulab.grading.pipeline.notebook_source import last_level_choice, stated_points
from gpulab.grading.release.rubric import check_points, required_rubric

__all__ = ["Release", "given_files", "graded_sources", "max_points", "read_notebook", "release"]


@dataclass(frozen=True)
class Release:
    """A released assignment: its folder and its notebooks."""

    assignment: str
    folder: Path
    notebooks: tuple[Path, ...]


def release(course: Course, assignment: str, *, level: int = 2) -> Release:
    """Create the student version of an assignment and enter its test cells in the gradebook.

    level: the highest that students may choose. At 1 the release lacks the files of the kernels that are
    given at level 2.

    Raises `UsageError` if notebook and rubric differ, and `GradingError` if nbgrader fails.
    """
    rubric = required_rubric(course.config_folder / "rubric.toml", assignment)
    notebook = course.notebook(assignment)
    check_metadata(notebook)
    check_points(rubric, max_points(notebook), notebook, graded_sources(notebook))
    check_stated_points(notebook)

    run_converter(course, GenerateAssignment, assignment, f"{assignment} was not released")
    folder = course.release / assignment
    if level == 1:
        remove_given(folder, given_files(notebook))
    return Release(assignment, folder, tuple(sorted(folder.glob("*.ipynb"))))


def check_metadata(notebook: Path) -> None:
    """Raise `UsageError` for a cell whose nbgrader metadata lacks its name or the points of a test."""
    for number, cell in enumerate(read_notebook(notebook).cells, 1):
        metadata = cell.metadata.get("nbgrader", {})
        if not metadata:
            continue
        named = isinstance(metadata, Mapping) and metadata.get("grade_id")
        if not named or (metadata.get("grade") and not isinstance(metadata.get("points"), Real)):
            raise UsageError(
                f"{notebook.name}, cell {number}: its nbgrader metadata needs a `grade_id`, and "
                "that of a test `points`, a number; JupyterLab shows them in the sidebar Create Assignment."
            )


def check_stated_points(notebook: Path) -> None:
    """Raise `UsageError` if `gpulab.start_lab` states other points than the automatic test cells have."""
    stated = stated_points(_code(notebook))
    points = max_points(notebook)
    total = sum(points[name] for name in graded_sources(notebook))
    if stated not in (None, total):
        raise UsageError(
            f"{notebook.name}: gpulab.start_lab states {stated:g} points, but the automatic test cells have "
            f"{total:g}: write points={total:g}."
        )


def given_files(notebook: Path) -> list[str]:
    """Return the files of the kernels that a notebook gives at level 2, relative to its folder."""
    choice = last_level_choice(_code(notebook))
    return sorted(choice.given.values()) if choice else []


def _code(notebook: Path) -> Iterator[str]:
    return (cell.source for cell in read_notebook(notebook).cells if cell.cell_type == "code")


def remove_given(folder: Path, files: Iterable[str]) -> None:
    """Remove files from a release, and the folders that become empty."""
    for name in files:
        path = folder / name
        path.unlink(missing_ok=True)
        if path.parent != folder and path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Return a notebook in the current format; raise `UsageError` if the file is not a notebook."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-any-return]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except Exception as error:  # noqa: BLE001  (nbformat raises many types for a malformed notebook)
        raise UsageError(f"{path} is not a notebook: {str(error).splitlines()[0]}") from None


def max_points(notebook: Path) -> dict[str, float]:
    """Return the maximum points of each test cell by its grade_id."""
    return {
        cell.metadata.nbgrader["grade_id"]: float(cell.metadata.nbgrader["points"])
        for cell in read_notebook(notebook).cells
        if utils.is_grade(cell)
    }


def graded_sources(notebook: Path) -> dict[str, str]:
    """Return the source of each autograded test cell by its grade_id."""
    return {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in read_notebook(notebook).cells
        if utils.is_grade(cell) and cell.cell_type == "code" and not utils.is_solution(cell)
    }
