"""A small class whose submissions have every difficulty that needs no kernel, with the expected points."""

from __future__ import annotations

import copy
from collections.abc import Callable

import nbformat
from nbformat.v4 import new_output

from gpulab.grading.pipeline.course import Course
from gpulab.grading.release.assignments import release
from tests.grading.conftest import nbgrader_cell

Notebook = nbformat.NotebookNode
SOLUTIONS = {
    "double": "def double(x):\n    return 2 * x",
    "half": "def half(x):\n    return x / 2",
}


def cells_of(notebook: Notebook) -> dict[str, Notebook]:
    return {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}


def solved(notebook: Notebook) -> Notebook:
    for name, source in SOLUTIONS.items():
        cells_of(notebook)[name].source = source
    return notebook


def with_difficulties(notebook: Notebook) -> Notebook:
    """Answer correctly, delete a test cell and the cell before it, copy a cell, warn, and end the process."""
    cells = cells_of(solved(notebook))
    cells[
        "double"
    ].source = "import sys\ndef double(x):\n    print('careful', file=sys.stderr)\n    return 2 * x"
    cells["ends"].source = "import os\nos._exit(3)"
    copied = copy.deepcopy(cells["half"])
    copied.id = "copied"
    notebook.cells = [
        copied,
        *(c for name, c in cells.items() if name not in {"bare", "opt_1", "test_double"}),
    ]
    return notebook


def unsolved_with_claims(notebook: Notebook) -> Notebook:
    """Keep the stubs, and change everything about the test cells that could raise the points."""
    cells = cells_of(notebook)
    test = cells["test_double"]
    test.source = "2"
    test.metadata.nbgrader.update(points=50, locked=False, solution=True)
    test.outputs = [new_output("execute_result", data={"text/plain": "2"}, execution_count=1)]
    test.execution_count = 1
    cells["test_half"].metadata.nbgrader.update(grade=False, grade_id="test_double")
    cells["test_ends"].cell_type = "markdown"
    cells["test_ends"].pop("outputs"), cells["test_ends"].pop("execution_count")
    extra = nbgrader_cell("test_extra", "1", points=100)
    notebook.cells.append(extra)
    return notebook


CLASS: dict[str, Callable[[Notebook], Notebook]] = {
    "difficult": with_difficulties,
    "honest": solved,
    "claims": unsolved_with_claims,
}
EXPECTED = {
    "difficult": {"test_double": 2, "test_half": 3, "test_ends": 0, "test_after": 1},
    "honest": {"test_double": 2, "test_half": 3, "test_ends": 4, "test_after": 1},
    "claims": {"test_double": 0, "test_half": 0, "test_ends": 0, "test_after": 0},
}
RUBRIC = """
[tiny.test_ends]
points = 4
earns = "It does not end."
[tiny.test_after]
points = 1
earns = "Both."
"""


def difficult_course(course: Course) -> Course:
    """Release a lab with four test cells, and submit a class to it."""
    source = course.source / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(nbgrader_cell("ends", "ended = False", solution=True))
    notebook.cells.append(nbgrader_cell("test_ends", "assert ended is False", points=4))
    notebook.cells.append(nbgrader_cell("test_after", "assert half(double(3)) == 3", points=1))
    nbformat.write(notebook, source)
    with (course.config_folder / "rubric.toml").open("a", encoding="utf-8") as file:
        file.write(RUBRIC)
    (path,) = release(course, "tiny").notebooks

    for student, change in CLASS.items():
        released = nbformat.read(path, as_version=4)
        if student == "honest":
            cells_of(released)["ends"].source = "ended = False"
        submit(course, student, nbformat.writes(change(released)))
    submit(course, "unreadable", "not a notebook")
    submit(course, "misnamed", nbformat.writes(solved(nbformat.read(path, as_version=4))), "my_tiny.ipynb")
    (course.submitted / "nothing" / "tiny").mkdir(parents=True)
    return course


def submit_ungradable(course: Course) -> None:
    """Submit further files that cannot be graded, each for another reason."""
    text = (course.release / "tiny" / "tiny.ipynb").read_text(encoding="utf-8")
    submit(course, "no_cells", "{}")
    submit(course, "utf_16", "", "tiny.ipynb")
    (course.submitted / "utf_16" / "tiny" / "tiny.ipynb").write_bytes("{}".encode("utf-16"))
    for name in ("a.ipynb", "b.ipynb"):
        submit(course, "two_others", "{}", name)
    submit(course, "link", "{}", "other.ipynb")
    (course.submitted / "link" / "tiny" / "tiny.ipynb").symlink_to("other.ipynb")
    submit(course, "no_time", text)
    submit(course, "no_time", "never", "timestamp.txt")
    submit(course, "<i>markup", text)


def submit(course: Course, student: str, text: str, name: str = "tiny.ipynb") -> None:
    folder = course.submitted / student / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
