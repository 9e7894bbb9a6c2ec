"""A small course in a temporary folder: one lab, one notebook, the real configuration."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.grading_run import GradeOptions

REPOSITORY = Path(__file__).resolve().parents[2]

UNSANDBOXED = GradeOptions(device="sim", jobs=1, sandboxed=False)  # the sandbox has tests of its own

KERNEL = """\
%%cuda stencil.opt_1 --block 32 8
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    // BEGIN SOLUTION
    int secret = 1;
    // END SOLUTION
}"""
PYTHON = """\
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""


def nbgrader_cell(
    name: str, source: str, *, points: float | None = None, solution: bool = False
) -> nbformat.NotebookNode:
    """Return a code cell with nbgrader's metadata: a solution cell, or with `points` a test cell."""
    marks = {
        "schema_version": 3,
        "grade_id": name,
        "solution": solution,
        "grade": points is not None,
        "locked": not solution,
        "task": False,
        "cell_type": "code",
    }
    if points is not None:
        marks["points"] = points
    return new_code_cell(source, metadata={"nbgrader": marks}, id=name.replace("_", "-"))


def small_notebook() -> nbformat.NotebookNode:
    cells = [
        new_markdown_cell("# A small lab", id="title"),
        nbgrader_cell("opt_1", KERNEL, solution=True),
        nbgrader_cell("bare", "%%cuda stencil.opt_2\n__global__ void whole_cell() {}", solution=True),
        nbgrader_cell("double", PYTHON, solution=True),
        nbgrader_cell("test_double", "assert double(2) == 4", points=2),
        nbgrader_cell("half", "def half(x):\n    return x / 2", solution=True),
        nbgrader_cell("test_half", "assert half(2) == 1", points=3),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


RUBRIC = """
[tiny.test_double]
points = 2
earns = "It doubles."
[tiny.test_half]
points = 3
earns = "It halves."
"""


def make_course(root: Path) -> Course:
    """Create a course in this folder whose only lab is `tiny`."""
    config_folder = root / "grading"
    config_folder.mkdir()
    shutil.copy(REPOSITORY / "grading" / "nbgrader_config.py", config_folder)
    (config_folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    lab = root / "labs" / "tiny"
    lab.mkdir(parents=True)
    nbformat.write(small_notebook(), lab / "tiny.ipynb")
    return open_course(config_folder / "nbgrader_config.py")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return make_course(tmp_path)
