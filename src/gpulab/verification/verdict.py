"""Results of verification: one per size, with wrong points and a picture, and the kernel's verdict."""

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

LARGEST_WHOLE = 1e15  # whole numbers below it are shown with all digits


class State(IntEnum):
    """The state of one output element; the values of `Plane.state`."""

    UNTOUCHED = 0  # boundary, not written
    RIGHT = 1
    WRONG = 2
    NEVER_WRITTEN = 3
    FORBIDDEN = 4  # boundary, written
    OUTSIDE = 5  # no element: the end of the last row of an output with one axis


@dataclass(frozen=True)
class Mismatch:
    """One wrong element: its index in array order, the reference value and the kernel's value.

    output: the name of the array; "" if there is only one.
    """

    index: tuple[int, ...]
    expected: float
    got: float
    output: str = ""

    @property
    def texts(self) -> tuple[str, str]:
        """The reference value and the kernel's value as text, with as many digits as tell them apart."""
        if all(value.is_integer() and abs(value) < LARGEST_WHOLE for value in (self.expected, self.got)):
            return f"{self.expected:.0f}", f"{self.got:.0f}"
        texts = [(f"{self.expected:.{digits}g}", f"{self.got:.{digits}g}") for digits in (6, 9, 17)]
        return next((pair for pair in texts if pair[0] != pair[1]), texts[-1])

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; NaN and infinity become strings."""
        got: float | str = self.got if math.isfinite(self.got) else str(self.got)
        place = {"index": list(self.index)} | ({"output": self.output} if self.output else {})
        return place | {"expected": self.expected, "got": got}


@dataclass(frozen=True)
class Plane:
    """The plane of the output with the most wrong points.

    Attributes
    ----------
    title : str
        Size, position and number of wrong points.
    axes : tuple of str
        Names of the axes along the columns and along the rows, such as ("x", "y").
    state : ndarray of uint8, shape (rows, columns)
        Values of `State`.
    pitch : tuple of int
        Points between block edges along the two axes.
    """

    title: str
    axes: tuple[str, str]
    state: npt.NDArray[np.uint8]
    pitch: tuple[int, int]


@dataclass(frozen=True)
class ShapeResult:
    """The comparison of one launch with its reference.

    Attributes
    ----------
    shape : tuple of int
        The problem's size.
    correct : bool
        All values are within the tolerance, and boundary and inputs are unchanged.
    wrong, total : int
        Wrong points, and points that the kernel must write.
    first, worst : Mismatch or None
        The first wrong point, and the one with the largest error.
    non_finite : int
        Wrong points that are NaN or infinite although the kernel wrote them.
    never_written : int
        Wrong points that the kernel did not write.
    boundary_written : int
        Boundary elements that the kernel wrote.
    input_changed : tuple of str
        Names of inputs that the kernel changed.
    hint : str
        The likely cause, if the values prove it.
    fault : str
        The device's message if the launch failed; there are no values then.
    too_long : bool
        The launch was stopped because its warps did too much work, though each of them ends.
    reasons : tuple of str
        Sentences for the student.
    plane : Plane or None
        A picture of the wrong points.
    """

    shape: Shape
    correct: bool
    wrong: int = 0
    total: int = 0
    first: Mismatch | None = None
    worst: Mismatch | None = None
    non_finite: int = 0
    never_written: int = 0
    boundary_written: int = 0
    input_changed: tuple[str, ...] = ()
    hint: str = ""
    fault: str = ""
    too_long: bool = False
    reasons: tuple[str, ...] = ()
    plane: Plane | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without the picture."""
        names = ("correct", "wrong", "total", "non_finite", "never_written", "hint", "fault")
        data: dict[str, Any] = {"shape": list(self.shape)} | {name: getattr(self, name) for name in names}
        data["shell_touched"] = self.boundary_written  # a fixed key of `gpulab check --json`
        data["input_changed"] = list(self.input_changed)
        data["first"] = self.first.as_dict() if self.first else None
        data["worst"] = self.worst.as_dict() if self.worst else None
        return data


@dataclass(frozen=True)
class Verdict:
    """The verdict on a kernel's values, with one result per size.

    Attributes
    ----------
    correct : bool
        All results are correct and the sanitizer found nothing.
    problem, variant : str
        What the kernel must compute.
    results : tuple of ShapeResult
        One per size, up to the first fault.
    findings : tuple of Finding
        What the sanitizer found.
    warnings : tuple of str
        What the sanitizer found and GPUs accept.
    reasons : tuple of str
        Sentences for the student; empty if the kernel is correct.
    printed : str
        What `printf` wrote on the first size that printed anything.
    seed : int
        The seed that reproduces the inputs.
    """

    correct: bool
    problem: str
    variant: str
    results: tuple[ShapeResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    printed: str = ""
    seed: int = 0

    @property
    def plane(self) -> Plane | None:
        """The picture of the first size that has one."""
        return next((r.plane for r in self.results if r.plane is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without pictures."""
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
