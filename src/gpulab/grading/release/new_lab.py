"""A new lab that runs: notebook, problem, rubric, and sample submissions that are right and wrong."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from gpulab.errors import UsageError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.release.sample_class import as_magic
from gpulab.problems.registry import PROBLEM_FILE, problem_names

__all__ = ["write_lab"]

STEPS = {"runs": 5, "coalesced": 10}  # steps of the template's problem, with the points of their test cells
MARKERS = re.compile(r"^ *// (?:BEGIN|END) SOLUTION\n", re.MULTILINE)
TEST = """\
from gpulab.grading.checks import require_correct

require_correct("{name}", points={points})"""
KERNELSPEC = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}


def write_lab(course: Course, folder: str) -> list[Path]:
    """Write a new lab into a course and return the files.

    Parameters
    ----------
    course : Course
        The course.
    folder : str
        Name of the lab's folder, such as "04_scale". The problem is named after it, without the number.

    Raises
    ------
    UsageError
        If the name is not possible or that of a known problem, or a file of the lab exists.
    """
    lab = re.sub(r"^\d+_", "", folder)
    if not re.fullmatch(r"\w+", folder) or not lab.isidentifier():
        raise UsageError(f"`{folder}` cannot name a lab: use letters, digits and _, as in 04_scale.")
    if lab in problem_names():
        raise UsageError(f"there is a problem `{lab}` already; choose another name.")
    home, samples = course.source / folder, course.config_folder / "sample_class" / folder
    for path in (home, samples):
        if path.exists():
            raise UsageError(f"{path} exists already; choose another name.")

    kernels = {step: _template(step, folder, lab) for step in STEPS}
    written = [_write(home / PROBLEM_FILE, _template("problem", folder, lab))]
    written.append(home / f"{lab}.ipynb")
    nbformat.write(_notebook(lab, kernels), written[-1])
    rubric = course.config_folder / "rubric.toml"
    with rubric.open("a", encoding="utf-8") as file:
        file.write(_template("rubric", folder, lab))
    written.append(rubric)
    return written + _samples(samples, lab, {step: MARKERS.sub("", text) for step, text in kernels.items()})


def _template(name: str, folder: str, lab: str) -> str:
    text = files("gpulab.grading.release").joinpath("lab_template", f"{name}.template")
    return text.read_text(encoding="utf-8").replace("LAB", lab).replace("FOLDER", folder)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _notebook(lab: str, kernels: dict[str, str]) -> nbformat.NotebookNode:
    """Return the notebook with nbgrader's metadata: each step's kernel and its test cell."""
    cells = [
        new_markdown_cell(f"# {lab}\n\nWhat the kernels compute, and why."),
        _graded_cell("setup", "%load_ext gpulab\nimport gpulab"),
    ]
    for step, points in STEPS.items():
        cells.append(new_markdown_cell(f"## {step}\n\nWhat this step changes."))
        cells.append(_graded_cell(step, as_magic(kernels[step]), solution=True))
        test = TEST.format(name=f"{lab}.{step}", points=points)
        cells.append(_graded_cell(f"{step}_test", test, points=points))
    cells.append(new_code_cell(f'gpulab.explore("{lab}")'))
    notebook: nbformat.NotebookNode = new_notebook(
        cells=cells, metadata={"kernelspec": KERNELSPEC, "language_info": {"name": "python"}}
    )
    return notebook


def _graded_cell(name: str, source: str, *, points: int = 0, solution: bool = False) -> Any:
    marks: dict[str, Any] = {
        "grade": bool(points),
        "grade_id": name,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return new_code_cell(source, metadata={"nbgrader": marks | ({"points": points} if points else {})})


def _samples(folder: Path, lab: str, kernels: dict[str, str]) -> list[Path]:
    """Write sample submissions: all right, a step under another name, no guard, and a declared mistake."""
    renamed = kernels["runs"].replace(f"{lab}.runs", f"{lab}.coalesced")
    classes = {
        "all_right": ("Correct kernels.", kernels, STEPS),
        "previous_step": (
            "The second kernel is the first one under a new name.",
            kernels | {"coalesced": renamed},
            {"runs": 5},
        ),
        "no_guard": (
            "The last block reads past the end.",
            kernels | {"runs": kernels["runs"].replace(" && i < n", "")},
            {"coalesced": 10},
        ),
        "added": (
            "The factor is added.",
            {step: text.replace("factor * x", "factor + x") for step, text in kernels.items()},
            {},
        ),
    }

    written = []
    for name, (about, sources, points) in classes.items():
        expected = "".join(f"{step}_test = {number}\n" for step, number in points.items())
        text = f'about = "{about}"\n\n[points]  # by test cell; 0 for a cell that is not named\n{expected}'
        written.append(_write(folder / name / "expected.toml", text))
        written += [_write(folder / name / f"{step}.cu", source) for step, source in sources.items()]
    return written
