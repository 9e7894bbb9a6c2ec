"""Checks that the locked test cells of a lab call.

nbgrader takes the value of a test cell as its score: no value gives full points, an exception gives none. A
check is therefore the last line of its cell. It returns None for full points and a number for part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulab.errors import GpulabError, KernelNotWritten, UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.loops import compile_loops
from gpulab.grading.checks.points import Score, is_points
from gpulab.grading.checks.points_line import award, points_line, record_points
from gpulab.grading.checks.product_loops import require_loops
from gpulab.grading.checks.recheck import last_cell, recheck_cell
from gpulab.grading.checks.small_kernels import require_kernel
from gpulab.grading.checks.speed import require_speed

__all__ = [
    "award",
    "compile_loops",
    "random_generator",
    "require_correct",
    "require_kernel",
    "require_loops",
    "require_one_of",
    "require_speed",
]


def require_correct(
    name: str,
    points: Mapping[int, float] | float | None = None,
    *,
    next: str = "",  # noqa: A002  (the name in a notebook)
) -> float | None:
    """Check a kernel cell again on new sizes and inputs, and return its points.

    The source of the cell that ran last under this name is compiled again. A kernel object that a notebook
    may have replaced is not used.

    Parameters
    ----------
    name : str
        The kernel as its header names it, such as ``"stencil.opt_1"``.
    points : float or mapping of int to float, optional
        The maximum of the cell, or points at each level, such as ``{1: 10, 2: 8}``. Those of level 1 are the
        maximum of the cell, and a level that is left out gives the maximum. See `gpulab.choose_level`.
        Without `points`, the cell shows none.
    next : str, optional
        The next task, shown when all points are earned.

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
    from gpulab.views.html import note

    failure.install_if_missing()
    if points is not None and not isinstance(points, Mapping):
        points = {1: points}
    maximum = _points_at(points, 1)
    record_points(name, 0)
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

    result = recheck_cell(cell, open_device(), whole_launch=True)
    if result.count_error:  # of a kernel that only a GPU can run
        raise WrongResult(
            f"the values of {name} are correct, but its memory traffic cannot be counted: "
            f"{result.count_error} Write the kernel without this instruction.",
            result.verdict,
        )
    if points is None:
        return None

    earned = 0.0 if given else _points_at(points, current)
    record_points(name, earned)
    reasons = [f"{name} is given at level {current} and earns no points."] if given else []
    if earned < maximum and not given:
        reasons = [f"Level {current} gives {earned:g} of {maximum:g} points."]
    show(note("good", f"✓ {name} is correct: {points_line(earned, maximum, next, complete=True)}", reasons))
    return None if earned == maximum else Score(earned, maximum)


def require_one_of(
    names: Sequence[str],
    *,
    points: float,
    next: str = "",  # noqa: A002  (the name in a notebook)
) -> None:
    """Check the kernel that a student chose to write, as `require_correct` does.

    Parameters
    ----------
    names : sequence of str
        The kernels to choose from. If several have run, one correct kernel is enough.
    points : float
        Maximum of the cell.
    next : str, optional
        The next task, shown when all points are earned.

    Raises
    ------
    UsageError
        No cell of these kernels has run, or none is written yet.
    CompileError, WrongResult
        None is correct; the error is that of the kernel that is nearest to being correct.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_one_of
    >>> require_one_of(("matmul.K34", "matmul.K4g"), points=7)  # doctest: +SKIP
    """
    failures: list[GpulabError] = []
    for name in names:
        try:
            require_correct(name, points, next=next)
        except GpulabError as error:
            failures.append(error)
        else:
            return
    if all(isinstance(error, KernelNotWritten) for error in failures):
        raise UsageError(f"none of {', '.join(names)} is written yet: choose one of them.")
    raise min(failures, key=_distance)


def _distance(error: GpulabError) -> int:
    """Return how far a kernel is from being correct: wrong, written but not running, or not written."""
    if isinstance(error, WrongResult):
        return 0
    return 2 if isinstance(error, (UsageError, KernelNotWritten)) else 1


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
            "`points` is a number, or maps each level to one that is not above that of level 1, as in "
            f"{{1: 10, 2: 8}}; got {points!r}."
        )
    return float(points.get(level, maximum))
