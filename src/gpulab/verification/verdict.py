"""What verification says: one result per shape, its worst point, its picture, and the words for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.finding import Finding
from gpulab.problems.base import Shape

__all__ = ["Mismatch", "Plane", "ShapeResult", "State", "Verdict"]


class State(IntEnum):
    """What became of one output element; the values of `Plane.state`."""

    UNTOUCHED = 0  # not the kernel's to write, and not written
    RIGHT = 1
    WRONG = 2
    NEVER_WRITTEN = 3
    FORBIDDEN = 4  # written, though the kernel must leave it alone


@dataclass(frozen=True)
class Mismatch:
    """One wrong element: its index in array order, the reference's value and the kernel's."""

    index: tuple[int, ...]
    expected: float
    got: float

    def as_dict(self) -> dict[str, Any]:
        """As plain data; values that JSON cannot hold become words."""
        got: float | str = self.got if math.isfinite(self.got) else str(self.got)
        return {"index": list(self.index), "expected": self.expected, "got": got}


@dataclass(frozen=True)
class Plane:
    """The plane of the output with the most wrong points, as a picture.

    state: uint8, rows by columns, of `State`'s values. axes: the names of the axes along the columns and
    along the rows, ("x", "y"). pitch: points between two block edges along each of the two.
    """

    title: str
    axes: tuple[str, str]
    state: npt.NDArray[np.uint8]
    pitch: tuple[int, int]


@dataclass(frozen=True)
class ShapeResult:
    """One launch compared with its reference.

    wrong: points the kernel must write and that are not right, of `total`. non_finite: how many of
    them are nan or infinite, though written. never_written: how many of them still hold the poison.
    shell_touched: elements written that must be left alone. input_changed: names of inputs that came
    back different. hint: a sentence on the likely cause, only where the values prove it. fault: what the
    device said when the launch did not end well; then there are no values to count.
    """

    shape: Shape
    correct: bool
    wrong: int = 0
    total: int = 0
    first: Mismatch | None = None
    worst: Mismatch | None = None
    non_finite: int = 0
    never_written: int = 0
    shell_touched: int = 0
    input_changed: tuple[str, ...] = ()
    hint: str = ""
    fault: str = ""
    reasons: tuple[str, ...] = ()
    plane: Plane | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON, without the picture."""
        keep = ("correct", "wrong", "total", "non_finite", "never_written", "shell_touched", "hint", "fault")
        data: dict[str, Any] = {"shape": list(self.shape)} | {name: getattr(self, name) for name in keep}
        data["input_changed"] = list(self.input_changed)
        data["first"] = self.first.as_dict() if self.first else None
        data["worst"] = self.worst.as_dict() if self.worst else None
        return data


@dataclass(frozen=True)
class Verdict:
    """Whether a kernel computes what its problem asks for, and the evidence.

    reasons: sentences for the person who wrote the kernel; empty when it is correct.
    printed: what the kernel's printf wrote, of the first shape that printed anything.
    seed: makes the same inputs again.
    """

    correct: bool
    problem: str
    variant: str
    results: tuple[ShapeResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    reasons: tuple[str, ...] = ()
    printed: str = ""
    seed: int = 0

    @property
    def plane(self) -> Plane | None:
        """The picture of the first shape that has one."""
        return next((r.plane for r in self.results if r.plane is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON, without pictures."""
        return {
            "correct": self.correct,
            "problem": self.problem,
            "variant": self.variant,
            "findings": [finding.as_dict() for finding in self.findings],
            "reasons": list(self.reasons),
            "results": [result.as_dict() for result in self.results],
            "printed": self.printed,
            "seed": self.seed,
        }
