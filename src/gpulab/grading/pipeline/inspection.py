"""What the lab itself says of each handed-in kernel: checked once more, apart from the student's process.

The gradebook holds points only. The report also wants the reasons, the picture of a wrong plane and
the times; they are made here, from the kernel texts of the submission alone. None of its Python runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpulab.cell import KernelCell, parse_cell
from gpulab.devices.base import Device
from gpulab.errors import Diagnostic, HeaderError
from gpulab.grading.pipeline.course import Course, run_to_the_end
from gpulab.grading.pipeline.declared import Choice, choice_in
from gpulab.grading.release.stub import is_untouched
from gpulab.profiling.speedup import SpeedupTable, VariantTiming
from gpulab.verification.verdict import Plane

__all__ = ["Inspection", "KernelNote", "inspect", "inspect_in_own_process", "load", "speedups"]

LIMIT_S = 600.0  # of one submission


@dataclass(frozen=True)
class KernelNote:
    """What is said of one kernel cell.

    name: as in its header, "stencil.opt_1". state: "right", "wrong", "does not compile",
    "not written" (still the stub) or "given" (still the stub, at a level that gives the kernel).
    reasons and findings are sentences for its author.
    timing: None where the kernel is not right; of the given text where it is given.
    """

    name: str
    state: str
    reasons: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    plane: Plane | None = None
    timing: VariantTiming | None = None


@dataclass(frozen=True)
class Inspection:
    """All kernels of one submission.

    device: name of where they ran, kind: "sim" or "cuda". trouble: what stopped the inspection.
    level: what the notebook chose, as its text says; None where it says nothing.
    """

    student: str
    device: str
    kernels: tuple[KernelNote, ...]
    trouble: str = ""
    kind: str = ""
    level: int | None = None


def inspect(notebook: Path, student: str, lab: Path | None = None) -> Inspection:
    """Check every problem kernel of a notebook; the last cell of a name counts, as in a session.

    lab: the course's own folder of the assignment, where the given files are read; None: the notebook's.
    """
    from gpulab.devices import open_device
    from gpulab.grading.release.assignments import read_notebook
    from gpulab.grading.release.preprocessors import is_kernel_cell

    device = open_device()
    code = [cell for cell in read_notebook(notebook).cells if cell.cell_type == "code"]
    choice = choice_in(cell.source for cell in code) or Choice(None)
    given = choice.given if choice.level == 2 else {}
    notes = {}
    for cell in filter(is_kernel_cell, code):
        # IPython drops empty lines before a magic, so line 1 is the header's.
        note = inspect_cell(cell.source.lstrip("\n"), device)
        if note is not None and note.state == "not written" and note.name in given:
            note = inspect_given(note.name, (lab or notebook.parent) / given[note.name], device)
        if note is not None:
            notes[note.name] = note
    return Inspection(student, device.name, tuple(notes.values()), kind=device.kind, level=choice.level)


def inspect_given(name: str, path: Path, device: Device) -> KernelNote:
    """A given kernel: its time, for the kernels that are compared with it."""
    try:
        note = inspect_cell(path.read_text(encoding="utf-8"), device)
    except (OSError, UnicodeDecodeError):
        note = None
    return KernelNote(name, "given", timing=note.timing if note and note.name == name else None)


def inspect_cell(text: str, device: Device) -> KernelNote | None:
    """Compile, verify and time one cell; None for a cell that belongs to no problem."""
    from gpulab.verification.outcome import outcome_in_process, outcome_of

    try:
        cell = parse_cell(text)
    except HeaderError as error:
        words = text.split(maxsplit=2)
        return KernelNote(words[1] if len(words) > 1 else "?", "wrong", (str(error),))
    name = cell.header.name
    if not isinstance(cell, KernelCell):
        return None
    if is_untouched(cell.source):
        return KernelNote(name, "not written")
    if device.needs_own_process:  # an endless kernel ends with its process only, a fault takes the context
        outcome = outcome_in_process(cell, None, device.name, timed=True)
    else:
        outcome = outcome_of(cell, device, timed=True)
    if outcome.diagnostics:
        return KernelNote(name, "does not compile", diagnostics=outcome.diagnostics)
    result = outcome.result
    return KernelNote(
        name,
        "right" if outcome.correct else "wrong",
        outcome.reasons,
        tuple(str(finding) for finding in result.findings) if result else (),
        plane=result.verdict.plane if result and result.verdict else None,
        timing=outcome.timing,
    )


def inspect_in_own_process(
    course: Course, assignment: str, student: str, limit_s: float = LIMIT_S
) -> Inspection:
    """`inspect` in a process of its own, so that whatever a kernel does, the class goes on.

    The result is kept in the course's work folder, where the report finds it.
    """
    import subprocess

    target = kept_at(course, assignment, student)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    notebooks = sorted((course.submitted / student / assignment).glob("*.ipynb"))
    lab = course.source / assignment
    command = [sys.executable, "-m", __name__, str(target), student, str(lab), *map(str, notebooks)]
    try:
        done = run_to_the_end(command, cwd=course.work, env=course.environment(), limit_s=limit_s)
        said = done.stdout.strip().splitlines()
        why = said[-1] if said else f"the process ended with code {done.returncode}."
    except subprocess.TimeoutExpired:
        why = f"the kernels were still running after {limit_s:.0f} s."
    if not target.is_file():
        save(Inspection(student, "", (), why), target)
    return load(course, assignment, student)


def main(arguments: list[str]) -> None:
    """`python -m gpulab.grading.pipeline.inspection TARGET STUDENT LAB NOTEBOOK...`."""
    target, student, lab, *notebooks = arguments
    all_of_it = Inspection(student, "", ())
    for notebook in notebooks:
        one = inspect(Path(notebook), student, Path(lab))
        all_of_it = replace(one, kernels=all_of_it.kernels + one.kernels)
    save(all_of_it, Path(target))


# --- kept as JSON ------------------------------------------------------------------------------


def kept_at(course: Course, assignment: str, student: str) -> Path:
    return course.work / "inspection" / assignment / f"{student}.json"


def save(inspection: Inspection, path: Path) -> None:
    kernels = [_as_dict(note) for note in inspection.kernels]
    plain = asdict(replace(inspection, kernels=())) | {"kernels": kernels}
    path.write_text(json.dumps(plain, default=lambda array: array.tolist()), encoding="utf-8")


def _as_dict(note: KernelNote) -> dict[str, Any]:
    timing = note.timing.as_dict() if note.timing else None
    return asdict(replace(note, timing=None)) | {"timing": timing}


def load(course: Course, assignment: str, student: str) -> Inspection:
    """What was kept of the last inspection; without kernels when there was none."""
    path = kept_at(course, assignment, student)
    if not path.is_file():
        return Inspection(student, "", (), "its kernels were not looked at yet: run `gpulab grade`.")
    plain = json.loads(path.read_text(encoding="utf-8"))
    kernels = tuple(_note(each) for each in plain["kernels"])
    return Inspection(
        plain["student"],
        plain["device"],
        kernels,
        plain["trouble"],
        plain["kind"],
        plain.get("level"),  # an inspection of an older version has none
    )


def _note(plain: Mapping[str, Any]) -> KernelNote:
    plane, timing = plain["plane"], plain["timing"]
    return KernelNote(
        plain["name"],
        plain["state"],
        tuple(plain["reasons"]),
        tuple(plain["findings"]),
        tuple(Diagnostic(**each) for each in plain["diagnostics"]),
        plane
        and Plane(
            plane["title"], tuple(plane["axes"]), np.array(plane["state"], np.uint8), tuple(plane["pitch"])
        ),
        timing and VariantTiming.from_dict(timing),
    )


def speedups(inspection: Inspection) -> list[SpeedupTable]:
    """The speed-up table of each problem that this submission has right kernels of."""
    tables: dict[str, SpeedupTable] = {}
    for note in inspection.kernels:
        if note.timing is not None:
            name = note.name.split(".")[0]
            tables.setdefault(name, SpeedupTable(name)).add(note.timing)
    return list(tables.values())


if __name__ == "__main__":
    main(sys.argv[1:])
