"""Inspection of submitted kernels for the report, in a process apart from the submission's own Python.

The gradebook holds scores only. The report also shows reasons, a drawing of a wrong plane, and times. They
are computed here from the kernel sources of the submission alone; none of its Python runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpulab.cell import KernelCell, is_kernel_cell, parse_cell
from gpulab.devices.base import Device
from gpulab.errors import HeaderError
from gpulab.grading.judge.records import KernelInspection
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.notebook_source import LevelChoice, last_level_choice
from gpulab.grading.pipeline.processes import run_process
from gpulab.grading.release.stub import is_untouched

__all__ = [
    "KernelInspection",
    "SubmissionInspection",
    "inspect_in_subprocess",
    "inspect_notebook",
    "load_inspection",
]

TIMEOUT_S = 600.0  # time limit of a submission


@dataclass(frozen=True)
class SubmissionInspection:
    """The outcomes of all kernels of one submission.

    device: name of the device that they ran on; kind: "sim" or "cuda". error: why the inspection stopped.
    level: the chosen level, as the source has it; None if it has none. incidents: cells that ended or blocked
    their process. leaderboard: the name to show in the leaderboard; None without the student's consent.
    """

    student: str
    device: str
    kernels: tuple[KernelInspection, ...]
    error: str = ""
    kind: str = ""
    level: int | None = None
    incidents: tuple[str, ...] = ()
    leaderboard: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the inspection as plain data for JSON."""
        kernels = [kernel.as_dict() for kernel in self.kernels]
        return asdict(replace(self, kernels=())) | {"kernels": kernels}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SubmissionInspection:
        """Return an inspection from the data that `as_dict` returned and JSON stored."""
        kernels = tuple(map(KernelInspection.from_dict, data["kernels"]))
        return cls(**{**data, "kernels": kernels, "incidents": tuple(data.get("incidents", ()))})


def inspect_notebook(notebook: Path, student: str, lab: Path | None = None) -> SubmissionInspection:
    """Check the kernel cells of a notebook; of several cells with one name the last counts.

    lab: the course's folder of the assignment, which given files are read from; None: the notebook's.
    """
    from gpulab.devices import open_device
    from gpulab.grading.release.assignments import read_notebook

    device = open_device()
    sources = [cell.source for cell in read_notebook(notebook).cells if cell.cell_type == "code"]
    choice = last_level_choice(sources) or LevelChoice(None)
    given = choice.given if choice.level == 2 else {}

    kernels = {}
    for source in filter(is_kernel_cell, sources):
        # IPython drops empty lines before a magic, so line 1 is the header.
        kernel = inspect_cell(source.lstrip("\n"), device)
        if kernel is not None and kernel.state == "not written" and kernel.name in given:
            kernel = inspect_given(kernel.name, (lab or notebook.parent) / given[kernel.name], device)
        if kernel is not None:
            kernels[kernel.name] = replace(kernel, source=source)
    return SubmissionInspection(
        student, device.name, tuple(kernels.values()), kind=device.kind, level=choice.level
    )


def inspect_given(name: str, path: Path, device: Device) -> KernelInspection:
    """Time a given kernel, for the kernels that are compared with it."""
    try:
        kernel = inspect_cell(path.read_text(encoding="utf-8"), device)
    except (OSError, UnicodeDecodeError):
        kernel = None
    timing = kernel.timing if kernel and kernel.name == name else None
    return KernelInspection(name, "given", timing=timing)


def inspect_cell(source: str, device: Device) -> KernelInspection | None:
    """Compile, check and time one cell; return None if it belongs to no problem."""
    from gpulab.verification.outcome import outcome_in_process, outcome_of

    try:
        cell = parse_cell(source)
    except HeaderError as error:
        words = source.split(maxsplit=2)
        return KernelInspection(words[1] if len(words) > 1 else "?", "wrong", (str(error),))
    name = cell.name
    if not isinstance(cell, KernelCell):
        return None
    if is_untouched(cell.source):
        return KernelInspection(name, "not written")

    # A kernel without end can only be stopped with its process, and a fault ends the CUDA context.
    if device.needs_own_process:
        outcome = outcome_in_process(cell, None, device.name, timed=True)
    else:
        outcome = outcome_of(cell, device, timed=True)
    if outcome.diagnostics:
        return KernelInspection(name, "does not compile", diagnostics=outcome.diagnostics)

    result = outcome.result
    return KernelInspection(
        name,
        "right" if outcome.correct else "wrong",
        outcome.reasons,
        tuple(str(finding) for finding in result.findings) if result else (),
        plane=result.verdict.plane if result and result.verdict else None,
        timing=outcome.timing,
    )


def inspect_in_subprocess(
    course: Course, assignment: str, student: str, timeout_s: float = TIMEOUT_S
) -> SubmissionInspection:
    """Run `inspect_notebook` in a process of its own, so that no kernel can stop the grading of a class.

    The result is stored in the course's work folder, where `load_inspection` reads it.
    """
    target = inspection_path(course, assignment, student)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    notebooks = sorted((course.submitted / student / assignment).glob("*.ipynb"))
    lab = course.source / assignment
    command = [sys.executable, "-m", __name__, str(target), student, str(lab), *map(str, notebooks)]
    try:
        done = run_process(command, cwd=course.work, env=course.environment(), timeout_s=timeout_s)
        output = done.stdout.strip().splitlines()
        error = output[-1] if output else f"the process ended with code {done.returncode}."
    except subprocess.TimeoutExpired:
        error = f"the kernels were still running after {timeout_s:.0f} s."
    if not target.is_file():
        save_inspection(SubmissionInspection(student, "", (), error), target)
    return load_inspection(course, assignment, student)


def main(arguments: list[str]) -> None:
    """Run `python -m gpulab.grading.pipeline.inspection TARGET STUDENT LAB NOTEBOOK...`."""
    target, student, lab, *notebooks = arguments
    submission = SubmissionInspection(student, "", ())
    for path in notebooks:
        notebook = inspect_notebook(Path(path), student, Path(lab))
        submission = replace(notebook, kernels=submission.kernels + notebook.kernels)
    save_inspection(submission, Path(target))


# --- storage as JSON ---------------------------------------------------------------------------


def inspection_path(course: Course, assignment: str, student: str) -> Path:
    return course.work / "inspection" / assignment / f"{student}.json"


def save_inspection(inspection: SubmissionInspection, path: Path) -> None:
    path.write_text(json.dumps(inspection.as_dict()), encoding="utf-8")


def load_inspection(course: Course, assignment: str, student: str) -> SubmissionInspection:
    """Return the stored inspection of a submission; one without kernels if there is none to read."""
    path = inspection_path(course, assignment, student)
    if not path.is_file():
        return SubmissionInspection(
            student, "", (), "its kernels have not been inspected: run `gpulab grade`."
        )
    try:
        return SubmissionInspection.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError):  # the file has other keys than this version writes
        return SubmissionInspection(
            student, "", (), "it was inspected by another version of gpulab: run `gpulab grade` again."
        )


if __name__ == "__main__":
    main(sys.argv[1:])
