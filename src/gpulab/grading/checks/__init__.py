"""Checks that the locked test cells of a lab call.

nbgrader takes the value of a test cell as its score: no value gives full points, an exception gives none. A
check is therefore the last line of its cell. It returns None for full points and a number for part of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.answers import graded_numbers
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.loops import compile_loops
from gpulab.grading.checks.points import as_score, is_points
from gpulab.grading.checks.recheck import last_cell, recheck_cell
from gpulab.grading.checks.speed import require_speed

__all__ = ["compile_loops", "graded_numbers", "random_generator", "require_correct", "require_speed"]


def require_correct(name: str, points: Mapping[int, float] | None = None) -> float | None:
    """Check a kernel cell again on new sizes and inputs, and return its points.

    The source of the cell that ran last under this name is compiled again. A kernel object that a notebook
    may have replaced is not used.

    Parameters
    ----------
    name : str
        The kernel as its header names it, such as ``"stencil.opt_1"``.
    points : mapping of int to float, optional
        Points at each level, such as ``{1: 10, 2: 8}``. Those of level 1 are the maximum of the cell, and a
        level that is left out gives the maximum. See `gpulab.choose_level`.

    Returns
    -------
    float or None
        The points of the session's level if they are fewer than the maximum, else None, which nbgrader
        counts as full points. A kernel that the lab gives at this level earns 0.

    Raises
    ------
    UsageError
        No such cell has run, `points` are not valid, or the cell ran a given kernel where only the student's
        own kernel can earn points.
    CompileError
        The source does not compile.
    WrongResult
        The kernel computes wrong values, faults, races, or misses a requirement of its step.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_correct
    >>> require_correct("stencil.opt_1", points={1: 10, 2: 8})  # doctest: +SKIP
    """
    from gpulab.devices import open_device
    from gpulab.notebook import failure, level
    from gpulab.notebook.screen import show
    from gpulab.views.html import paragraph

    failure.install_if_missing()
    maximum = _points_at(points, 1)
    cell, current = last_cell(name), level.current_level()
    if level.given_replacement(cell) is not None:
        raise UsageError(
            f"level {current} was chosen after the cell of {name} ran: run the cell `%%cuda {name}` again."
        )

    given = level.is_given(cell)
    if given and (current == 1 or points is None):
        raise UsageError(
            f"the cell of {name} ran the given kernel ({cell.origin}), which earns no points"
            f"{' at level 1' * (points is not None)}: write your own in the cell `%%cuda {name}` and run it."
        )

    result = recheck_cell(cell, open_device())
    if result.count_error:  # of a kernel that only a GPU can run
        raise WrongResult(
            f"the values of {name} are correct, but its memory traffic cannot be counted: "
            f"{result.count_error} Write the kernel without this instruction.",
            result.verdict,
        )
    if points is None:
        return None

    earned = 0.0 if given else _points_at(points, current)
    if earned == maximum:
        return None
    if given:
        show(paragraph(f"{name} is correct. It is given at level {current} and earns no points."))
    else:
        show(paragraph(f"{name} is correct: {earned:g} of {maximum:g} points at level {current}."))
    return as_score(earned)


def _points_at(points: object, level: int) -> float:
    """Return the points at a level; raise `UsageError` unless `points` maps levels to valid numbers."""
    if points is None:
        return 0.0
    maximum = points.get(1) if isinstance(points, Mapping) else None
    if (
        not isinstance(points, Mapping)
        or not is_points(maximum)
        or not all(is_points(value) and value <= maximum for value in points.values())
    ):
        raise UsageError(
            "`points` maps each level to a number that is not above that of level 1, as in {1: 10, 2: 8}; "
            f"got {points!r}."
        )
    return float(points.get(level, maximum))
