"""The sample class: invented submissions, each a small overlay of the released notebook.

The folder of a submission has `expected.toml` and any of these files:

    NAME.cu       replaces the kernel cell with the same header
    GRADE_ID.py   replaces the Python cell that students complete
    first.py      code cells before all others, separated by lines `# %%`
    last.py       code cells after all others
    files/        files in the folder of the notebook
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell
from nbgrader import utils

from gpulab.cell import is_kernel_cell, parse_header, read_cells
from gpulab.errors import GpulabError, UsageError
from gpulab.grading.release.assignments import read_notebook
from gpulab.grading.release.preprocessors import first_line

__all__ = ["SampleSubmission", "read_sample", "read_samples", "score_differences", "submit_sample"]

STUDENT_LINE = re.compile(r"""gpulab\.student\((?:""|'')\)""")
LEVEL_LINE = re.compile(r"^(LEVEL\s*=\s*)\d+", re.MULTILINE)


@dataclass(frozen=True)
class SampleSubmission:
    """One invented submission.

    Attributes
    ----------
    student : str
        The student's id: the name of the folder.
    about : str
        A remark for the report.
    kernels : mapping of str to str
        Sources of `.cu` files by the name in their header, such as "stencil.opt_1".
    points : mapping of str to float
        Expected points by test cell; 0 is expected for a cell that is not named.
    chance_on_a_gpu : frozenset of str
        Test cells whose points are certain on the simulator only. On a GPU a kernel with a race may compute
        correct values by chance, and the time of an open step depends on the GPU.
    level : int or None
        The level that the student chose; None keeps that of the notebook.
    answers : mapping of str to str
        Sources of Python cells by their grade_id.
    first, last : tuple of str
        Code cells before and after all others.
    files : Path or None
        A folder of files that are copied next to the notebook.
    """

    student: str
    about: str
    kernels: Mapping[str, str]
    points: Mapping[str, float]
    chance_on_a_gpu: frozenset[str] = frozenset()
    level: int | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    files: Path | None = None


def read_samples(folder: Path) -> list[SampleSubmission]:
    """Return all sample submissions of an assignment, sorted; raise `UsageError` if one is not valid."""
    folders = sorted(path for path in folder.glob("*") if path.is_dir())
    if not folders:
        raise UsageError(f"there are no sample submissions in {folder}.")
    return [read_sample(path) for path in folders]


def read_sample(folder: Path) -> SampleSubmission:
    """Return the sample submission of a folder."""
    expected = folder / "expected.toml"
    try:
        table = tomllib.loads(expected.read_text(encoding="utf-8"))
        about, points = str(table["about"]), {name: float(value) for name, value in table["points"].items()}
        chance = frozenset(map(str, table.get("chance_on_a_gpu", ())))
        level = int(table["level"]) if "level" in table else None
    except OSError as error:
        raise UsageError(f"{expected} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{expected} needs `about` (text) and a table [points]; {type(error).__name__}: {error}"
        ) from None

    kernels: dict[str, str] = {}
    for path in sorted(folder.glob("*.cu")):
        try:
            cells = read_cells(path)
        except GpulabError as error:
            raise UsageError(f"sample {folder.name}: {error}") from None
        for cell in cells:
            if cell.name in kernels:
                raise UsageError(f"{folder.name} has two sources of {cell.name}.")
            kernels[cell.name] = path.read_text(encoding="utf-8")

    answers = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    first, last = (tuple(_split_cells(answers.pop(name, ""))) for name in ("first", "last"))
    files = folder / "files"
    return SampleSubmission(
        folder.name,
        about,
        kernels,
        points,
        chance,
        level,
        answers,
        first,
        last,
        files if files.is_dir() else None,
    )


def _split_cells(source: str) -> list[str]:
    """Return the cells of a Python file, which lines `# %%` separate."""
    return [cell.strip("\n") for cell in re.split(r"^# %%.*$", source, flags=re.MULTILINE) if cell.strip()]


def submit_sample(sample: SampleSubmission, released: Path, submitted: Path) -> Path:
    """Write the notebook that the sample's student submits, and return its path.

    released: the students' notebook. submitted: nbgrader's folder of submissions.
    """
    notebook = read_notebook(released)
    if sample.level is not None:
        set_level(sample.level, notebook, released.name)
    set_student(sample.student, notebook)
    unused = {**sample.kernels, **sample.answers}
    for cell in notebook.cells:
        if cell.cell_type == "code" and is_kernel_cell(cell.source) and utils.is_solution(cell):
            source = unused.pop(kernel_name(cell.source), None)
            if source is not None:
                cell.source = as_magic(source)
            continue
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and utils.is_solution(cell) and name in sample.answers:
            cell.source = unused.pop(name).rstrip("\n")
    if unused:
        raise UsageError(f"{released.name} has no solution cell for {', '.join(unused)} of {sample.student}.")
    notebook.cells = [*_new_cells(sample.first, "first"), *notebook.cells, *_new_cells(sample.last, "last")]

    folder = submitted / sample.student / released.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / released.name
    nbformat.write(notebook, path)
    if sample.files is not None:
        shutil.copytree(sample.files, folder, dirs_exist_ok=True)
    return path


def _new_cells(sources: Sequence[str], name: str) -> list[nbformat.NotebookNode]:
    return [new_code_cell(source, id=f"{name}-{number}") for number, source in enumerate(sources)]


def set_level(level: int, notebook: nbformat.NotebookNode, name: str) -> None:
    """Replace the number in the notebook's line `LEVEL = 1`. name: of the notebook, for the message."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and LEVEL_LINE.search(cell.source):
            cell.source = LEVEL_LINE.sub(rf"\g<1>{level}", cell.source, count=1)
            return
    raise UsageError(f"{name} has no line `LEVEL = 1`, so its level cannot be changed.")


def set_student(student: str, notebook: nbformat.NotebookNode) -> None:
    """Write a student's id into the notebook's cell `gpulab.student("")`, if it has one."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = STUDENT_LINE.sub(lambda _: f'gpulab.student("{student}")', cell.source)


def as_magic(source: str) -> str:
    """Return the source of a `.cu` file as a cell: the same lines, without `//` before the header."""
    header, _, body = source.partition("\n")
    return header.lstrip("/").strip() + "\n" + body.rstrip("\n")


def kernel_name(source: str) -> str:
    """Return the name in a cell's header, or "" if the header is not valid."""
    try:
        return parse_header(first_line(source)).name
    except GpulabError:
        return ""


def score_differences(
    sample: SampleSubmission, scores: Mapping[str, float | None], device_kind: str = "sim"
) -> list[str]:
    """Return one line for each score that differs from the expected points.

    device_kind: "sim" or "cuda", the device that the submission was graded on.
    """
    unknown = sorted(sample.points.keys() - scores.keys())
    lines = [f"{sample.student}: there is no test cell `{name}`" for name in unknown]
    for name, score in scores.items():
        expected = sample.points.get(name, 0.0)
        if device_kind == "cuda" and name in sample.chance_on_a_gpu:
            continue
        if score is None:
            lines.append(f"{sample.student}: {name} was not graded, expected {expected:g}")
        elif score != expected:
            lines.append(f"{sample.student}: {name} got {score:g}, expected {expected:g}")
    return lines
