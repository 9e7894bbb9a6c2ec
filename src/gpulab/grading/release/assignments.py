"""Release of an assignment: from the source notebook to the students' notebook with stubs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader import utils

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.release.rubric import check_points, read_rubric

__all__ = ["Release", "graded_sources", "max_points", "read_notebook", "release"]


@dataclass(frozen=True)
class Release:
    """A released assignment: its folder and its notebooks."""

    assignment: str
    folder: Path
    notebooks: tuple[Path, ...]


def release(course: Course, assignment: str) -> Release:
    """Create the student version of an assignment and enter its test cells in the gradebook.

    Raises `UsageError` if notebook and rubric differ, and `GradingError` if nbgrader fails.
    """
    rubric = read_rubric(course.config_folder / "rubric.toml", assignment)
    notebooks = sorted((course.source / assignment).glob("*.ipynb"))
    if rubric:
        points = {name: value for path in notebooks for name, value in max_points(path).items()}
        sources = {name: text for path in notebooks for name, text in graded_sources(path).items()}
        check_points(rubric, points, notebooks[0], sources)

    run = course.nbgrader("generate_assignment", assignment, "--force")
    if not run.ok:
        raise GradingError(f"{assignment} was not released: {run.error}")
    folder = course.release / assignment
    return Release(assignment, folder, tuple(sorted(folder.glob("*.ipynb"))))


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
