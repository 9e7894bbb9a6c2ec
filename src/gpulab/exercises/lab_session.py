"""The state of a lab in this session: the student, the release's seed, points and committed predictions."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real

from gpulab.errors import UsageError
from gpulab.views.html import View, paragraph

__all__ = ["LabSession", "current_lab", "grade_as", "own_key", "practice_key", "start_lab", "student"]


@dataclass
class LabSession:
    """The state of a lab in this session.

    Attributes
    ----------
    student : str
        The student's id; empty if none was given, which selects the practice parameters.
    graded : bool
        Whether the grader has set the id; the notebook then cannot change it.
    seed : int
        The seed of the release.
    max_points : mapping of int to float
        Sum of the points of all automatic test cells at each level; empty if the lab does not state it.
    points : dict of str to float
        Points so far by the name of the check.
    committed : dict of str to mapping
        The first predictions that were committed, by the name of the exercise.
    """

    student: str = ""
    graded: bool = False
    seed: int = 0
    max_points: Mapping[int, float] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    committed: dict[str, Mapping[str, float | str]] = field(default_factory=dict)


STATE = LabSession()


def current_lab() -> LabSession:
    """Return the state of this session's lab."""
    return STATE


def start_lab(*, seed: int, points: float | Mapping[int, float] | None = None) -> None:
    """State the seed of a release and the points of a lab; a locked cell near the top calls this.

    Parameters
    ----------
    seed : int
        The seed of the release. Another seed gives every student other parameters, so that the answers of an
        earlier term are of no use.
    points : float or mapping of int to float, optional
        Sum of the points of all automatic test cells, or that sum at each level of the lab, such as
        ``{1: 68, 2: 54}``. Without it, a test cell shows the points so far alone.

    Raises
    ------
    UsageError
        `seed` is not an integer, or `points` is not a number of at least 0, or a mapping to such numbers.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.start_lab(seed=2026, points=50)
    """
    if type(seed) is not int:
        raise UsageError(f"`seed` must be an integer such as 2026; got {seed!r}.")
    by_level = points if isinstance(points, Mapping) else {} if points is None else {1: points}
    if not all(map(_is_points, by_level.values())):
        raise UsageError(f"`points` must be a number of at least 0, or one for each level; got {points!r}.")
    STATE.seed, STATE.max_points = seed, dict(by_level)


def _is_points(value: object) -> bool:
    return isinstance(value, Real) and float(value) >= 0


def student(student_id: str) -> View:
    """Set the student's id, from which the parameters of the exercises follow.

    Parameters
    ----------
    student_id : str
        The id as the teacher spells it: the name of the folder of your submission. Upper and lower case do
        not differ. An empty text selects practice parameters, which are the same for everyone.

    Returns
    -------
    View
        A line that names the id.

    Raises
    ------
    UsageError
        `student_id` is not a text.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.student("")
    No student id yet: the exercises have practice parameters. Type your id between the quotes.
    """
    if not isinstance(student_id, str):
        raise UsageError(
            f'type your student id between quotes, as in gpulab.student("ada"); got {student_id!r}.'
        )
    if STATE.graded:
        return paragraph(f"Student id: {STATE.student}.")
    STATE.student = student_id.strip()
    if not STATE.student:
        return paragraph(
            "No student id yet: the exercises have practice parameters. Type your id between the quotes."
        )
    return paragraph(
        f"Student id: {STATE.student}. The exercises have parameters of your own; run their cells again if "
        "you change the id."
    )


def grade_as(student_id: str) -> None:
    """Set the student's id for the rest of this process; `student` does not change it any more."""
    STATE.student, STATE.graded = student_id, True


def own_key() -> str:
    """Return the text that the parameters of this session's student are drawn from."""
    return student_key(STATE.student)


def student_key(student_id: str) -> str:
    """Return the text that a student's parameters are drawn from; upper and lower case do not differ."""
    spelled = normalized_id(student_id)
    return f"{STATE.seed} student {spelled}" if spelled else practice_key()


def normalized_id(student_id: str) -> str:
    """Return an id in the form in which ids are compared."""
    return unicodedata.normalize("NFKC", student_id).strip().casefold()


def practice_key() -> str:
    """Return the text that the practice parameters are drawn from."""
    return f"{STATE.seed} practice"
