"""The data of a judged submission, which the pipeline stores as JSON and the reports show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from gpulab.errors import Diagnostic
from gpulab.grading.judge.plan import NotebookPlan
from gpulab.profiling.speedup import VariantTiming
from gpulab.verification.verdict import Plane

__all__ = [
    "Incident",
    "JudgeTask",
    "JudgedCell",
    "JudgedSubmission",
    "KernelInspection",
    "PageCell",
    "error_output",
]

Output = Mapping[str, Any]  # an output of a cell, in the form of a notebook file


@dataclass(frozen=True)
class JudgeTask:
    """One submitted notebook to judge.

    Attributes
    ----------
    assignment, student : str
        Names in the gradebook.
    plan : NotebookPlan
        What the instructor's notebook grades.
    notebook : str
        The submitted file, as JSON text.
    secret : bytes
        The instructor's secret, from which sizes and inputs are drawn.
    device : str or None
        Where kernels run: "sim" or "cuda:N"; None selects a CUDA GPU if one is available.
    sandboxed : bool
        Run the student's Python in a sandbox. False runs it with the permissions of this process.
    files : mapping of str to str
        Folders of the release next to the notebook, such as "figures", and the teacher's `problem.py`: name
        and path.
    """

    assignment: str
    student: str
    plan: NotebookPlan
    notebook: str
    secret: bytes = field(repr=False)
    device: str | None = None
    sandboxed: bool = True
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Incident:
    """An event during judging that the report names and that does not affect the points of other cells.

    Attributes
    ----------
    kind : str
        "hung", "crashed", "not graded"; "failed" for answers whose cell raised an error;
        "flooded" for too much output; "claims differ" for a saved output that claims more than the verdict;
        "other student id" for an id in the notebook that is not that of the submission; "other parameters"
        for answers that are right for another student's parameters; "impossible time" for a kernel that is
        faster than the data sheet of its GPU allows.
    cell : str
        The name of the cell; empty for the whole submission.
    reason : str
        A sentence for the report.
    """

    kind: str
    cell: str
    reason: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.reason}" if self.cell else self.reason


@dataclass(frozen=True)
class JudgedCell:
    """The verdict of one test cell.

    Attributes
    ----------
    grade_id : str
        nbgrader's name of the cell.
    score, max_score : float
        The points, and their maximum.
    outputs : tuple of Output
        The outputs of the judge's run of the cell.
    """

    grade_id: str
    score: float
    max_score: float
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True)
class PageCell:
    """One code cell of the student's own run: its text and its outputs, for the reader only."""

    source: str
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True)
class KernelInspection:
    """The outcome of one kernel cell.

    Attributes
    ----------
    name : str
        The name in its header, such as "stencil.opt_1".
    state : str
        "right", "wrong" (also if its cell is missing), "does not compile", "not written" (a stub is left) or
        "given" (it is unchanged, at a level that gives the kernel).
    reasons, findings : tuple of str
        Sentences for the student.
    diagnostics : tuple of Diagnostic
        The compiler's messages, if it does not compile.
    plane : Plane or None
        A picture of the wrong points.
    timing : VariantTiming or None
        None unless the kernel is correct; for "given" the time of the given file.
    source : str
        The kernel's text, with its header.
    score : mapping or None
        Stars and counts of a right kernel whose step has a par, as `StarScore.as_dict` returns them.
    missed : bool
        The values are right, but a requirement is not satisfied.
    remark : str
        Which of several cells with this name counts; "" if there is one.
    """

    name: str
    state: str
    reasons: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    plane: Plane | None = None
    timing: VariantTiming | None = None
    source: str = ""
    score: Mapping[str, Any] | None = None
    missed: bool = False
    remark: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the inspection as plain data for JSON."""
        data = asdict(replace(self, plane=None, timing=None))
        if self.plane is not None:
            data["plane"] = asdict(self.plane) | {"state": self.plane.state.tolist()}
        if self.timing is not None:
            data["timing"] = self.timing.as_dict()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> KernelInspection:
        """Return the inspection whose `as_dict` was written as JSON."""
        plane, timing = data["plane"], data["timing"]
        if plane is not None:
            state = np.array(plane["state"], np.uint8)
            plane = Plane(plane["title"], tuple(plane["axes"]), state, tuple(plane["pitch"]))
        return cls(
            data["name"],
            data["state"],
            tuple(data["reasons"]),
            tuple(data["findings"]),
            tuple(Diagnostic(**diagnostic) for diagnostic in data["diagnostics"]),
            plane,
            VariantTiming.from_dict(timing) if timing is not None else None,
            data.get("source", ""),
            data.get("score"),
            data.get("missed", False),
            data.get("remark", ""),
        )


@dataclass(frozen=True)
class JudgedSubmission:
    """The verdict on one submitted notebook.

    Attributes
    ----------
    student, assignment, notebook : str
        Names in the gradebook; `notebook` is the file name without extension.
    cells : tuple of JudgedCell
        One for each test cell of the instructor's notebook, in order.
    kernels : tuple of KernelInspection
        One for each kernel that students write, in order.
    page : tuple of PageCell
        The student's own run, in the order of the submitted notebook.
    incidents : tuple of Incident
        Cells that ended or blocked their process, and claims that the verdict contradicts.
    device, kind : str
        Name of the device that kernels ran on, and "sim" or "cuda".
    level : int or None
        The chosen level, as the notebook's source has it.
    leaderboard : str or None
        The name to show in the leaderboard; None without the student's consent.
    error : str
        Why the submission could not be judged; empty otherwise.
    cpu_s, wall_s : float
        Seconds of processor time, and of time, that judging took.
    """

    student: str
    assignment: str
    notebook: str
    cells: tuple[JudgedCell, ...] = ()
    kernels: tuple[KernelInspection, ...] = ()
    page: tuple[PageCell, ...] = ()
    incidents: tuple[Incident, ...] = ()
    device: str = ""
    kind: str = ""
    level: int | None = None
    leaderboard: str | None = None
    error: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def scores(self) -> dict[str, float]:
        """The points by test cell."""
        return {cell.grade_id: cell.score for cell in self.cells}

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON."""
        kernels = [kernel.as_dict() for kernel in self.kernels]
        return asdict(replace(self, kernels=())) | {"kernels": kernels}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JudgedSubmission:
        """Return the verdict whose `as_dict` was written as JSON."""
        parts = {
            "cells": tuple(JudgedCell(**_with_outputs(cell)) for cell in data["cells"]),
            "kernels": tuple(map(KernelInspection.from_dict, data["kernels"])),
            "page": tuple(PageCell(**_with_outputs(cell)) for cell in data["page"]),
            "incidents": tuple(Incident(**incident) for incident in data["incidents"]),
        }
        return cls(**{**data, **parts})


def error_output(name: str, reason: str) -> Output:
    """Return the output of a cell with an error."""
    return {
        "output_type": "error",
        "ename": name,
        "evalue": reason,
        "traceback": [f"{name}: {reason}"],
    }


def _with_outputs(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {**cell, "outputs": tuple(cell["outputs"])}
