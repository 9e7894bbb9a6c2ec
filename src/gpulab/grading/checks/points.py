"""Points of a test cell in the form that nbgrader accepts: the value of the cell's last line."""

from __future__ import annotations

from math import floor
from numbers import Real
from typing import Self

from gpulab.views.html import paragraph

__all__ = ["Score", "is_points", "partial_score"]

ROUNDING = 1e-9  # half points: a product such as 0.3 * 10 may be just below a whole number of them


def is_points(value: object) -> bool:
    """Return True if `value` is a number of at least zero."""
    return isinstance(value, Real) and float(value) >= 0


class Score(float):
    """A part of a cell's points: as text the number that nbgrader parses, in a notebook a sentence.

    maximum: the points of the cell.
    """

    maximum: float

    def __new__(cls, points: float, maximum: float) -> Self:
        score = super().__new__(cls, points)
        score.maximum = maximum
        return score

    def __repr__(self) -> str:
        return f"{float(self):g}"

    def _repr_html_(self) -> str:
        return paragraph(f"This cell earns {self!r} of {self.maximum:g} points.", dim=True)._repr_html_()


def partial_score(points: float, correct: int, total: int) -> Score:
    """Return the points for `correct` of `total` equal parts, rounded down to half points."""
    return Score(floor(2 * points * correct / total + ROUNDING) / 2, points)
