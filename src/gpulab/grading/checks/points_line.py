"""The line under a test cell that earns points: its points, the points so far, and the next task."""

from __future__ import annotations

from gpulab.exercises.lab_session import current_lab

__all__ = ["award", "points_line", "record_points", "show_points"]


def award(name: str, points: float, *, next: str = "") -> None:  # noqa: A002  (the name in a notebook)
    """Show the points of a test cell whose own assertions have passed.

    Parameters
    ----------
    name : str
        A name of the test cell for the sum of the session, such as ``"axpy"``.
    points : float
        The points of the cell.
    next : str, optional
        The next task.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import award
    >>> award("axpy", points=5, next="sum")  # doctest: +SKIP
    """
    show_points(name, points, points, next)


def show_points(name: str, earned: float, maximum: float, following: str = "", verdict: str = "") -> None:
    """Store and show the points of a check, after its verdict."""
    from gpulab.notebook.screen import show
    from gpulab.views.html import note

    record_points(name, earned)
    hue = "good" if earned >= maximum else "hint"
    show(note(hue, f"{verdict}{points_line(earned, maximum, following)}"))


def record_points(name: str, points: float) -> None:
    """Store the points that a check earned last; a check that fails later loses them again."""
    current_lab().points[name] = points


def points_line(earned: float, maximum: float, following: str = "", *, complete: bool | None = None) -> str:
    """Return the points of a cell, the points so far, and the next task if the cell is complete.

    complete: by default, whether the cell earned all its points; some levels of a lab give fewer. The grader
    shows the points of the cell only: a submission has no next task.
    """
    from gpulab.notebook.level import current_level

    lab = current_lab()
    complete = earned >= maximum if complete is None else complete
    of_lab = lab.max_points.get(current_level(), lab.max_points.get(1))
    parts = [f"{earned:g} of {maximum:g} points"]
    if not lab.graded:
        total = f"{sum(lab.points.values()):g}"
        parts.append(f"{total} so far" if of_lab is None else f"{total} of {of_lab:g} so far")
        if following and complete:
            parts.append(f"Next: {following}")
    return " · ".join(parts)
