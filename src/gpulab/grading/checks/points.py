"""Points of a test cell in the form that nbgrader accepts: the value of the cell's last line."""

from __future__ import annotations

from math import floor
from numbers import Real

__all__ = ["as_score", "is_points", "partial_score"]

ROUNDING = 1e-9  # in half points, because a product such as 0.3 * 10 may be just below one


def is_points(value: object) -> bool:
    """Return whether `value` is a number of at least zero."""
    return isinstance(value, Real) and float(value) >= 0


def as_score(points: float) -> float:
    """Return `points` as int if they are whole, else as float; nbgrader parses the text of the value."""
    return int(points) if float(points).is_integer() else float(points)


def partial_score(points: float, correct: int, total: int) -> float:
    """Return the points for `correct` of `total` equal parts, rounded down to half points."""
    return as_score(floor(2 * points * correct / total + ROUNDING) / 2)
