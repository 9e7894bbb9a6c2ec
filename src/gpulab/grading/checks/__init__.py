"""What a lab's locked test cells call. A cell that gives only part of its points ends with their number.

nbgrader takes the value of a test cell for its points, no value for all of them, and an error for none. So
each of these calls is the last line of its cell.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpulab.errors import UsageError
from gpulab.grading.checks.answers import graded_numbers
from gpulab.grading.checks.recheck import check_again, last_run
from gpulab.grading.checks.shares import as_points, is_points
from gpulab.grading.checks.speed import require_speed

__all__ = ["graded_numbers", "require_correct", "require_speed"]


def require_correct(name: str, points: Mapping[int, float] | None = None) -> float | None:
    """Compile and run the kernel cell `name` (`"stencil.opt_1"`) again; return only when it is right.

    The text is that of the cell last run under this name, not the kernel object that a notebook
    could have replaced. Inputs and sizes are new in every call.

    points: what the cell gives at each level, `{1: 10, 2: 8}`; those of level 1 are the cell's maximum, and a
    level that is left out gives as many. Returns the session's level's points when they are fewer than that,
    else None, which gives the full mark. A text that was given earns nothing at any level.

    Raises `UsageError` when no such cell has run, `CompileError` when the compiler refuses its text,
    and `WrongResult` with the reasons when the check finds anything wrong, a fault included.
    """
    from gpulab.devices import open_device
    from gpulab.notebook import failure, level
    from gpulab.notebook.screen import show
    from gpulab.views.html import paragraph

    failure.install_here()
    most = _points_at(points, 1)
    cell, at = last_run(name), level.level()
    if level.given_in_place_of(cell) is not None:
        raise UsageError(
            f"level {at} was chosen after the cell of {name} ran: run the cell `%%cuda {name}` once more."
        )
    given = level.is_given(cell)
    if given and (at == 1 or points is None):
        raise UsageError(
            f"the text of {name} that ran last is the given one ({cell.origin}), which gives no points"
            f"{' at level 1' * (points is not None)}: write your own in the cell `%%cuda {name}` and run it."
        )
    check_again(cell, open_device())
    if points is None:
        return None
    here = 0.0 if given else _points_at(points, at)
    if here == most:
        return None
    if given:
        show(paragraph(f"Right. {name} is given at level {at} and gives no points."))
    else:
        show(paragraph(f"Right. At level {at} this gives {here:g} of {most:g} points."))
    return as_points(here)


def _points_at(points: object, at: int) -> float:
    """Points of a level; `UsageError` for what no test cell can give."""
    if points is None:
        return 0.0
    most = points.get(1) if isinstance(points, Mapping) else None
    if (
        not isinstance(points, Mapping)
        or not is_points(most)
        or not all(is_points(number) and number <= most for number in points.values())
    ):
        raise UsageError(
            f"the points of a test cell are a number for each level, none above level 1's, as in "
            f"{{1: 10, 2: 8}}; not {points!r}."
        )
    return float(points.get(at, most))
