"""The sample class: made-up submissions, each a few kernel texts laid over the released notebook."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader import utils

from gpulab.cell import parse_header, read_cells
from gpulab.errors import GpulabError, UsageError
from gpulab.grading.release.assignments import read_notebook
from gpulab.grading.release.preprocessors import header_of, is_kernel_cell

__all__ = ["Sample", "differences", "hand_in", "read_sample", "read_samples"]

LEVEL = re.compile(r"^(LEVEL\s*=\s*)\d+", re.MULTILINE)


@dataclass(frozen=True)
class Sample:
    """One made-up submission.

    kernels: text of a `.cu` file by the name in its header ("stencil.opt_1").
    points: expected points by test cell; a cell that is not named is expected to give 0.
    chance_on_a_gpu: test cells of a kernel with a race: the simulator runs warps in one fixed order, so
    there the points are certain; on a GPU the race may be won.
    level: what its student chose (`level` in the file); None leaves the notebook as it is.
    """

    student: str
    about: str
    kernels: Mapping[str, str]
    points: Mapping[str, float]
    chance_on_a_gpu: frozenset[str] = frozenset()
    level: int | None = None


def read_samples(folder: Path) -> list[Sample]:
    """All samples of one assignment, by name; `UsageError` when one is not as it should be."""
    found = sorted(path for path in folder.glob("*") if path.is_dir())
    if not found:
        raise UsageError(f"there are no sample submissions in {folder}.")
    return [read_sample(path) for path in found]


def read_sample(folder: Path) -> Sample:
    """One folder: `*.cu`, one for each variant, and `expected.toml` with `about` and `[points]`."""
    expected = folder / "expected.toml"
    try:
        table = tomllib.loads(expected.read_text(encoding="utf-8"))
        about, points = str(table["about"]), {name: float(value) for name, value in table["points"].items()}
        chance = frozenset(map(str, table.get("chance_on_a_gpu", ())))
        level = int(table["level"]) if "level" in table else None
    except OSError as broken:
        raise UsageError(f"{expected} cannot be read: {broken.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as broken:
        raise UsageError(
            f"{expected} needs `about` (words) and a table [points]; {type(broken).__name__}: {broken}"
        ) from None
    kernels: dict[str, str] = {}
    for path in sorted(folder.glob("*.cu")):
        for cell in read_cells(path):
            if cell.header.name in kernels:
                raise UsageError(f"{folder.name} has two texts for {cell.header.name}.")
            kernels[cell.header.name] = path.read_text(encoding="utf-8")
    return Sample(folder.name, about, kernels, points, chance, level)


def hand_in(sample: Sample, released: Path, submitted: Path) -> Path:
    """Write the sample's notebook as its student would have handed it in; returns its path.

    released: the students' notebook. submitted: nbgrader's folder of submissions. The solution cells
    of the sample's variants are replaced, and the number in the line `LEVEL = 1`, and nothing else.
    """
    notebook = read_notebook(released)
    if sample.level is not None:
        choose(sample.level, notebook, released.name)
    left = dict(sample.kernels)
    for cell in notebook.cells:
        if is_kernel_cell(cell) and utils.is_solution(cell):
            text = left.pop(kernel_name(cell.source), None)
            if text is not None:
                cell.source = as_cell(text)
    if left:
        raise UsageError(f"{released.name} has no solution cell for {', '.join(left)} of {sample.student}.")
    folder = submitted / sample.student / released.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / released.name
    nbformat.write(notebook, path)
    return path


def choose(level: int, notebook: nbformat.NotebookNode, name: str) -> None:
    """Write another level into the notebook's line `LEVEL = 1`."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and LEVEL.search(cell.source):
            cell.source = LEVEL.sub(rf"\g<1>{level}", cell.source, count=1)
            return
    raise UsageError(f"{name} has no line `LEVEL = 1`, so no level can be chosen in it.")


def as_cell(text: str) -> str:
    """A `.cu` text as a cell: the same lines, the header without its comment sign."""
    header, _, body = text.partition("\n")
    return header.lstrip("/").strip() + "\n" + body.rstrip("\n")


def kernel_name(source: str) -> str:
    """The name in a cell's header; "" when it does not parse."""
    try:
        return parse_header(header_of(source)).name
    except GpulabError:
        return ""


def differences(sample: Sample, points: Mapping[str, float | None], device_kind: str = "sim") -> list[str]:
    """Where the points given are not those expected, one line each; empty when all agree.

    device_kind: "sim" or "cuda", where the submission was graded.
    """
    unknown = sorted(sample.points.keys() - points.keys())
    out = [f"{sample.student}: there is no test cell `{name}`" for name in unknown]
    for name, got in points.items():
        want = sample.points.get(name, 0.0)
        if device_kind == "cuda" and name in sample.chance_on_a_gpu:
            continue
        if got is None:
            out.append(f"{sample.student}: {name} was not graded, expected {want:g}")
        elif got != want:
            out.append(f"{sample.student}: {name} got {got:g}, expected {want:g}")
    return out
