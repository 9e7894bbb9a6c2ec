"""From a source notebook to the one students get: solutions out, C and Python stubs in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader import utils

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.release.rubric import check_points, read_rubric

__all__ = ["Release", "points_of", "read_notebook", "release", "texts_of"]


@dataclass(frozen=True)
class Release:
    """One released assignment: its folder and its notebooks."""

    assignment: str
    folder: Path
    notebooks: tuple[Path, ...]


def release(course: Course, assignment: str) -> Release:
    """Make the students' version of one assignment and enter its cells in the gradebook.

    Raises `UsageError` when notebook and rubric disagree, `GradingError` when nbgrader refuses.
    """
    rubric = read_rubric(course.desk / "rubric.toml", assignment)
    sources = sorted((course.source / assignment).glob("*.ipynb"))
    if rubric:
        points = {name: value for path in sources for name, value in points_of(path).items()}
        texts = {name: text for path in sources for name, text in texts_of(path).items()}
        check_points(rubric, points, sources[0], texts)
    answer = course.nbgrader("generate_assignment", assignment, "--force")
    if not answer.ok:
        raise GradingError(f"{assignment} was not released: {answer.why}")
    folder = course.release / assignment
    return Release(assignment, folder, tuple(sorted(folder.glob("*.ipynb"))))


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """A notebook in the current format; `UsageError` when the file is none."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-any-return]
    except OSError as broken:
        raise UsageError(f"{path} cannot be read: {broken.strerror}.") from None
    except Exception as broken:  # noqa: BLE001  (nbformat has half a dozen kinds for "no notebook")
        raise UsageError(f"{path} is not a notebook: {str(broken).splitlines()[0]}") from None


def points_of(notebook: Path) -> dict[str, float]:
    """Most points of each test cell of a source notebook."""
    return {
        cell.metadata.nbgrader["grade_id"]: float(cell.metadata.nbgrader["points"])
        for cell in read_notebook(notebook).cells
        if utils.is_grade(cell)
    }


def texts_of(notebook: Path) -> dict[str, str]:
    """The text of each test cell that is code."""
    return {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in read_notebook(notebook).cells
        if utils.is_grade(cell) and cell.cell_type == "code" and not utils.is_solution(cell)
    }
