"""The sample class: invented submissions, each of a few kernels put into the released notebook."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader import utils

from gpulab.cell import is_kernel_cell, parse_header, read_cells
from gpulab.errors import GpulabError, UsageError
from gpulab.grading.release.assignments import read_notebook
from gpulab.grading.release.preprocessors import first_line

__all__ = ["SampleSubmission", "read_sample", "read_samples", "score_differences", "submit_sample"]

LEVEL_LINE = re.compile(r"^(LEVEL\s*=\s*)\d+", re.MULTILINE)


@dataclass(frozen=True)
class SampleSubmission:
    """One invented submission.

    kernels: source of a `.cu` file by the name in its header, such as "stencil.opt_1".
    points: expected points by test cell; 0 is expected for a cell that is not named.
    chance_on_a_gpu: test cells of a kernel with a race. The simulator runs warps in a fixed order, so their
    points are certain there; on a GPU the kernel may compute correct values by chance.
    level: the level that the student chose; None keeps that of the notebook.
    """

    student: str
    about: str
    kernels: Mapping[str, str]
    points: Mapping[str, float]
    chance_on_a_gpu: frozenset[str] = frozenset()
    level: int | None = None


def read_samples(folder: Path) -> list[SampleSubmission]:
    """Return all sample submissions of an assignment, sorted; raise `UsageError` if one is not valid."""
    folders = sorted(path for path in folder.glob("*") if path.is_dir())
    if not folders:
        raise UsageError(f"there are no sample submissions in {folder}.")
    return [read_sample(path) for path in folders]


def read_sample(folder: Path) -> SampleSubmission:
    """Return the sample submission of a folder: a `.cu` file per kernel, and `expected.toml`."""
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
        for cell in read_cells(path):
            if cell.name in kernels:
                raise UsageError(f"{folder.name} has two sources of {cell.name}.")
            kernels[cell.name] = path.read_text(encoding="utf-8")
    return SampleSubmission(folder.name, about, kernels, points, chance, level)


def submit_sample(sample: SampleSubmission, released: Path, submitted: Path) -> Path:
    """Write the notebook that the sample's student submits, and return its path.

    Only the solution cells of the sample's kernels and the number in the line `LEVEL = 1` are replaced.
    released: the students' notebook. submitted: nbgrader's folder of submissions.
    """
    notebook = read_notebook(released)
    if sample.level is not None:
        set_level(sample.level, notebook, released.name)
    unused = dict(sample.kernels)
    for cell in notebook.cells:
        if cell.cell_type == "code" and is_kernel_cell(cell.source) and utils.is_solution(cell):
            source = unused.pop(kernel_name(cell.source), None)
            if source is not None:
                cell.source = as_magic(source)
    if unused:
        raise UsageError(f"{released.name} has no solution cell for {', '.join(unused)} of {sample.student}.")

    folder = submitted / sample.student / released.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / released.name
    nbformat.write(notebook, path)
    return path


def set_level(level: int, notebook: nbformat.NotebookNode, name: str) -> None:
    """Replace the number in the notebook's line `LEVEL = 1`. name: of the notebook, for the message."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and LEVEL_LINE.search(cell.source):
            cell.source = LEVEL_LINE.sub(rf"\g<1>{level}", cell.source, count=1)
            return
    raise UsageError(f"{name} has no line `LEVEL = 1`, so its level cannot be changed.")


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
