"""Part of a cell's points, as a number that nbgrader reads."""

from __future__ import annotations

from math import floor
from numbers import Real

__all__ = ["as_points", "is_points", "share"]


def is_points(number: object) -> bool:
    """Whether this is a number of points, zero included."""
    return isinstance(number, Real) and float(number) >= 0


def as_points(number: float) -> float:
    """A plain Python number, whole where it can be: nbgrader reads the text of a cell's value."""
    return int(number) if float(number).is_integer() else float(number)


def share(points: float, right: int, of: int) -> float:
    """Points for `right` of `of` equal parts, rounded down to halves."""
    return as_points(floor(2 * points * right / of + 1e-9) / 2)
